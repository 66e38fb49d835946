package sqlstore_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/bindery/bindery/actionbinding"
	"github.com/bindery/bindery/internal/audit"
	"github.com/bindery/bindery/internal/execution"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/store/sqlstore"
)

// cpu is the processor time that this process has used.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkNotes measures what the entry of an unbound call costs: processor time of this
// process, with its share of a transaction of 512.
func BenchmarkNotes(b *testing.B) {
	for _, name := range []string{"sqlite", "postgres"} {
		b.Run(name, func(b *testing.B) {
			s := engines()[name](b).Executions()
			list := make([]audit.Entry, 512)
			for i := range list {
				list[i] = audit.Entry{
					At: loadedAt, AgentID: "spiffe://example.test/agent", SessionID: "sha256:" + strings.Repeat("0", 64), CallID: "JBSWY3DPEHPK3PXPJBSWY3DPEH",
					Event: audit.EventCall, Upstream: "bank", Tool: "balance",
				}
			}
			used := cpu(b)
			for b.Loop() {
				if err := s.Append(b.Context(), list); err != nil {
					b.Fatal(err)
				}
			}
			n := float64(b.N * len(list))
			b.ReportMetric(float64(b.Elapsed())/n, "ns/entry")
			b.ReportMetric(float64(cpu(b)-used)/n, "cpu-ns/entry")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkExecutions measures admitted and finished calls of 64 callers through the registry,
// beside the same statements, recorded, in as many transactions and by one goroutine (raw). Rounds are interleaved and medians are reported.
func BenchmarkExecutions(b *testing.B) {
	for _, name := range []string{"sqlite", "postgres"} {
		b.Run(name, func(b *testing.B) {
			open := engines()[name]
			db, raw := open(b), open(b)
			var grouped batches
			db.Observe(&grouped)
			recorded := db.Record()
			r := executions(b, db)
			executions(b, raw) // the owner's epoch is another one, which no raw statement asks for
			var rates, rawRates []float64
			round := 0
			for b.Loop() {
				calls := make([]execution.Call, perRound)
				for i := range calls {
					calls[i] = numbered(b, round*perRound+i)
				}
				*recorded = (*recorded)[:0]
				before := grouped.Load()
				took := each(b, func(i int) error {
					p, _, err := r.Admit(context.Background(), calls[i])
					if err != nil {
						return err
					}
					_, err = p.Finish(context.Background(), execution.Outcome{State: execution.Succeeded, Answer: []byte(`{"content":[]}`)})
					return err
				})
				rates = append(rates, perRound/took.Seconds())
				began := time.Now()
				for part := range slices.Chunk(*recorded, len(*recorded)/int(grouped.Load()-before)+1) {
					if err := raw.Replay(b.Context(), part); err != nil {
						b.Fatal(err)
					}
				}
				rawRates = append(rawRates, perRound/time.Since(began).Seconds())
				round++
			}
			slices.Sort(rates)
			slices.Sort(rawRates)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(rates[round/2], "calls/s")
			b.ReportMetric(rawRates[round/2], "raw/s")
			b.ReportMetric(rates[round/2]/rawRates[round/2], "of-raw")
		})
	}
}

// batches counts transactions.
type batches struct{ atomic.Int64 }

func (n *batches) Batch(int) func(error) { return func(error) { n.Add(1) } }

func (n *batches) Changed(sqlstore.Change) {}

var benchKey = sync.OnceValues(func() (*jose.Signer, error) {
	key, err := jose.GenerateKey()
	if err != nil {
		return nil, err
	}
	return jose.NewSigner(key)
})

func executions(b testing.TB, db *sqlstore.DB) *execution.Registry {
	b.Helper()
	signer, err := benchKey()
	if err != nil {
		b.Fatal(err)
	}
	r, err := execution.New(execution.Config{Store: db.Executions(), Signer: signer, Now: func() time.Time { return loadedAt }})
	if err != nil {
		b.Fatal(err)
	}
	if err := r.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	return r
}

func numbered(b testing.TB, n int) execution.Call {
	b.Helper()
	id, err := execution.ParseID(fmt.Sprintf("execution-%d", n))
	if err != nil {
		b.Fatal(err)
	}
	action, err := actionbinding.New("spiffe://example.test/agent", "mcp.tools/call", fmt.Sprint("bank/pay#", n), "2026-08-06T08:00:00Z")
	if err != nil {
		b.Fatal(err)
	}
	return execution.Call{Agent: action.AgentID(), ID: id, Action: action, Binding: action.Bind(actionbinding.SHA256), Upstream: "bank", Tool: "pay"}
}
