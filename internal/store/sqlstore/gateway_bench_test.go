package sqlstore_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/agentauth"
	"github.com/bindery/bindery/internal/execution"
	"github.com/bindery/bindery/internal/gateway"
	"github.com/bindery/bindery/internal/gatewaytest"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/store/sqlstore"
)

// BenchmarkGatewayBound measures calls with an execution_id over HTTP, through the gateway, by
// 64 connections, to an upstream that does nothing else: each is reserved, dispatched and
// ended durably. Beside it the same statements, recorded, in as many transactions and by one
// goroutine (raw). Client, gateway and upstream share the machine; raw has it alone.
// Five rounds, interleaved; medians are reported.
func BenchmarkGatewayBound(b *testing.B) {
	for _, name := range []string{"sqlite", "postgres"} {
		b.Run(name, func(b *testing.B) {
			open := engines()[name]
			db, raw := open(b), open(b)
			var grouped batches
			db.Observe(&grouped)
			recorded := db.Record()
			g := newBenchGateway(b, db)
			g.round(b, "warm")
			var rates, rawRates []float64
			var used, rawUsed time.Duration
			for round := range 5 {
				*recorded = (*recorded)[:0]
				before, busy := grouped.Load(), cpu(b)
				rates = append(rates, g.round(b, fmt.Sprint("round-", round)))
				used += cpu(b) - busy
				statements, groups := slices.Clone(*recorded), int(grouped.Load()-before)
				began := time.Now()
				busy = cpu(b)
				for part := range slices.Chunk(statements, len(statements)/groups+1) {
					if err := raw.Replay(b.Context(), part); err != nil {
						b.Fatal(err)
					}
				}
				rawRates = append(rawRates, perRound/time.Since(began).Seconds())
				rawUsed += cpu(b) - busy
			}
			slices.Sort(rates)
			slices.Sort(rawRates)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(rates[2], "calls/s")
			b.ReportMetric(rawRates[2], "raw/s")
			b.ReportMetric(rates[2]/rawRates[2], "of-raw")
			b.ReportMetric(float64(used.Microseconds())/(5*perRound), "cpu-µs/call") // of client, gateway, store and upstream
			b.ReportMetric(float64(rawUsed.Microseconds())/(5*perRound), "raw-cpu-µs/call")
		})
	}
}

// benchGateway is a gateway over a store, in front of a counting server.
type benchGateway struct {
	clients []*http.Client
	url     string
	ledger  *gatewaytest.Ledger
	at      string
}

func newBenchGateway(b *testing.B, db *sqlstore.DB) *benchGateway {
	b.Helper()
	key, err := jose.GenerateKey()
	if err != nil {
		b.Fatal(err)
	}
	signer, err := jose.NewSigner(key)
	if err != nil {
		b.Fatal(err)
	}
	registry, err := execution.New(execution.Config{Store: db.Executions(), Signer: signer, Now: time.Now})
	if err != nil {
		b.Fatal(err)
	}
	if err := registry.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	g := &benchGateway{at: time.Now().UTC().Format("2006-01-02T15:04:05Z")}
	if g.ledger, err = gatewaytest.OpenLedger(""); err != nil {
		b.Fatal(err)
	}
	upstream := httptest.NewServer(gatewaytest.New(gatewaytest.Config{Ledger: g.ledger}))
	server := httptest.NewUnstartedServer(nil)
	h, err := gateway.New(gateway.Config{
		Upstreams: []gateway.Upstream{{Name: "counting", URL: upstream.URL + "/mcp"}},
		Hosts:     []string{server.Listener.Addr().String()},
		Authenticate: func(*http.Request) (agentauth.Identity, error) {
			return agentauth.Identity{ID: "bench", How: agentauth.ByKey}, nil
		},
		Registry: gateway.Executions(registry), SessionKey: make([]byte, 32),
	})
	if err != nil {
		b.Fatal(err)
	}
	server.Config.Handler = h
	server.Start()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- registry.Run(ctx) }()
	b.Cleanup(func() {
		server.Close()
		upstream.Close()
		cancel()
		<-ended
	})
	g.url = server.URL + "/mcp"
	for range benchCallers {
		t := &http.Transport{}
		b.Cleanup(t.CloseIdleConnections)
		g.clients = append(g.clients, &http.Client{Transport: t})
	}
	return g
}

// round makes the calls of a round, in calls per second.
func (g *benchGateway) round(b *testing.B, name string) float64 {
	b.Helper()
	bodies := make([][]byte, perRound)
	for i := range bodies {
		id := fmt.Sprint(name, "-", i)
		bodies[i] = gatewaytest.Call{Tool: "pay", Arguments: fmt.Sprintf(`{"key":%q}`, id), ExecutionID: id, Timestamp: g.at}.Body()
	}
	took := each(b, func(i int) error {
		resp, err := g.clients[i%benchCallers].Post(g.url, "application/json", bytes.NewReader(bodies[i]))
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		answer, err := io.ReadAll(resp.Body)
		if err == nil && !bytes.Contains(answer, []byte(`"state":"succeeded"`)) {
			err = fmt.Errorf("told %s", answer)
		}
		return err
	})
	return perRound / took.Seconds()
}
