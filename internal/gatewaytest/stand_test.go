package gatewaytest_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/agentauth"
	"github.com/bindery/bindery/internal/audit"
	"github.com/bindery/bindery/internal/execution"
	"github.com/bindery/bindery/internal/gateway"
	"github.com/bindery/bindery/internal/gatewaytest"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/store/pgtest"
	"github.com/bindery/bindery/internal/store/postgres"
	"github.com/bindery/bindery/internal/store/sqlite"
	"github.com/bindery/bindery/internal/store/sqlitetest"
	"github.com/bindery/bindery/internal/store/sqlstore"
)

// A stand is replicas of one gateway in this process, in front of a counting server.
type stand struct {
	urls   []string // of each replica's endpoint
	ledger *gatewaytest.Ledger
	key    *jose.Signer

	received atomic.Int64        // calls that the counting server got
	registry *execution.Registry // of the first replica
}

// opener opens one more connection to one database.
type opener func(t testing.TB) *sqlstore.DB

var engines = map[string]func(t testing.TB) opener{
	"sqlite": func(t testing.TB) opener {
		path := sqlitetest.Path(t)
		return func(t testing.TB) *sqlstore.DB { return opened(t)(sqlite.Open(t.Context(), path)) }
	},
	"postgres": func(t testing.TB) opener {
		url := pgtest.Store(t)
		return func(t testing.TB) *sqlstore.DB { return opened(t)(postgres.Open(t.Context(), url)) }
	},
}

func opened(t testing.TB) func(*sqlstore.DB, error) *sqlstore.DB {
	return func(db *sqlstore.DB, err error) *sqlstore.DB {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	}
}

// onEachStore runs a test over two replicas on each store. cfg is the counting server's; its
// ledger is the stand's.
func onEachStore(t *testing.T, cfg gatewaytest.Config, test func(t *testing.T, s *stand)) {
	for name, open := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newStand(t, open(t), 2, cfg))
		})
	}
}

func newStand(t testing.TB, more opener, replicas int, cfg gatewaytest.Config) *stand {
	t.Helper()
	cfg.Ledger = ledger(t)
	s, record := &stand{ledger: cfg.Ledger}, cfg.Record
	cfg.Record = func(tool, arguments string) {
		s.received.Add(1)
		if record != nil {
			record(tool, arguments)
		}
	}
	_, upstream := counting(t, cfg)
	key, err := jose.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	if s.key, err = jose.NewSigner(key); err != nil {
		t.Fatal(err)
	}
	for range replicas {
		s.urls = append(s.urls, s.replica(t, more(t), upstream.URL))
	}
	return s
}

// replica serves one more gateway, whose agents are known by their word alone.
func (s *stand) replica(t testing.TB, db *sqlstore.DB, upstream string) string {
	t.Helper()
	registry, err := execution.New(execution.Config{Store: db.Executions(), Signer: s.key, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	if err := registry.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s.registry == nil {
		s.registry = registry
	}
	server := httptest.NewUnstartedServer(nil)
	g, err := gateway.New(gateway.Config{
		Upstreams: []gateway.Upstream{{Name: "counting", URL: upstream + "/mcp"}},
		Hosts:     []string{server.Listener.Addr().String()},
		Authenticate: func(r *http.Request) (agentauth.Identity, error) {
			agent, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
			return agentauth.Identity{ID: agent, How: agentauth.ByKey}, nil
		},
		Registry:   gateway.Executions(registry),
		SessionKey: make([]byte, 32),
	})
	if err != nil {
		t.Fatal(err)
	}
	server.Config.Handler = g
	server.Start()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- registry.Run(ctx) }()
	go func() { ended <- g.Run(ctx) }()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		cancel()
		for range cap(ended) {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
	return server.URL + "/mcp"
}

// as is an agent's client of a replica, with connections of its own.
func (s *stand) as(t testing.TB, agent string, replica int) *gatewaytest.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &gatewaytest.Client{URL: s.urls[replica%len(s.urls)], Token: agent, HTTP: &http.Client{Transport: transport}}
}

// audited exports the log and checks it as anybody can who knows the gateway's key. It
// returns how often each event stands in it for an execution.
func (s *stand) audited(t testing.TB, id string) map[string]int {
	t.Helper()
	events := map[string]int{}
	v := audit.NewVerifier(audit.LogGateway, s.key.Key().ID)
	v.Entries(func(e audit.Entry) error {
		if e.ExecutionID == id {
			events[e.Event]++
		}
		return nil
	})
	if err := s.registry.ExportAudit(t.Context(), 1, v.Line); err != nil {
		t.Fatal(err)
	}
	if _, err := v.End(); err != nil {
		t.Errorf("the log does not verify: %v", err)
	}
	return events
}

// now is an action_timestamp.
func now() string { return time.Now().UTC().Format("2006-01-02T15:04:05Z") }
