package sqlstore_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/internal/store/sqlstore"
	"github.com/bindery/bindery/jcs"
)

const (
	benchCallers = 64
	perRound     = 512
)

// BenchmarkHold measures hold and confirm of crossings by 64 callers through the Registry,
// beside the same statements, recorded, in transactions of 64 requests and by one goroutine
// (raw); and a table of many mandates beside one of 10³. Rounds are interleaved and medians
// are reported. BINDERY_MANDATES is how many are many: 10⁵ if it is not set.
func BenchmarkHold(b *testing.B) {
	many := 100_000
	if n, err := strconv.Atoi(os.Getenv("BINDERY_MANDATES")); err == nil {
		many = n
	}
	for _, name := range []string{"sqlite", "postgres"} {
		b.Run(name, func(b *testing.B) {
			open := engines()[name]
			few, large, raw := &bench{db: open(b)}, &bench{db: open(b)}, &bench{db: open(b)}
			recorded := few.db.Record()
			few.load(b, 1000)
			large.load(b, many)
			raw.load(b, 1000)
			var rates, manyRates, rawRates []float64
			round := 0
			for b.Loop() {
				few.register(b, round)
				large.register(b, round)
				raw.register(b, round)
				*recorded = (*recorded)[:0]
				rates = append(rates, few.cross(b, round))
				manyRates = append(manyRates, large.cross(b, round))
				rawRates = append(rawRates, raw.replay(b, *recorded))
				round++
			}
			slices.Sort(rates)
			slices.Sort(manyRates)
			slices.Sort(rawRates)
			mid := round / 2
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(rates[mid], "crossings/s")
			b.ReportMetric(rawRates[mid], "raw/s")
			b.ReportMetric(rates[mid]/rawRates[mid], "of-raw")
			b.ReportMetric(manyRates[mid]/rates[mid], "many/few")
		})
	}
}

// A bench is one database with an RA over it.
type bench struct {
	db *sqlstore.DB
	ra *registry.Registry
}

func (x *bench) load(b *testing.B, n int) {
	b.Helper()
	load(b, x.db, n)
	key, err := jose.GenerateKey()
	if err != nil {
		b.Fatal(err)
	}
	signer, err := jose.NewSigner(key)
	if err != nil {
		b.Fatal(err)
	}
	x.ra, err = registry.New(registry.Config{
		Store: x.db.Registry(), Signer: signer, Now: func() time.Time { return loadedAt }, VAURL: "https://va.example/",
	})
	if err != nil {
		b.Fatal(err)
	}
}

// deal is what one effector presents: to a hold the tokens are bytes.
func deal(round, i int) api.Hold {
	n := round*perRound + i
	return api.Hold{
		CrossingID:      fmt.Sprintf("00000000-0000-4000-8000-%012x", n),
		InitiatorClosed: fmt.Sprint("initiator's closed ", n), ResponderClosed: fmt.Sprint("responder's closed ", n),
	}
}

// each runs f for every crossing of a round, by 64 callers.
func each(b *testing.B, f func(i int) error) time.Duration {
	b.Helper()
	var wg sync.WaitGroup
	began := time.Now()
	for c := range benchCallers {
		wg.Go(func() {
			for i := c; i < perRound; i += benchCallers {
				if err := f(i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return time.Since(began)
}

// register enters the Closeds of a round, each under an Open of its own.
func (x *bench) register(b *testing.B, round int) {
	b.Helper()
	s, ctx := x.db.Registry(), b.Context()
	limit := commitment.Amount{Class: commitment.Irreversible, Magnitude: 5}
	until := loadedAt.Add(time.Hour)
	each(b, func(i int) error {
		d := deal(round, i)
		for side, token := range []string{d.InitiatorClosed, d.ResponderClosed} {
			principal, other := string("ab"[side]), string("ba"[side])
			hash := func(what string) jcs.Hex256 { return jcs.HexOf([]byte(what + token)) }
			_, err := s.AddOpen(ctx, registry.Open{
				OpenHash: hash("open"), TokenHash: hash("open token"), SignedHash: hash("open signed"), PrincipalID: partyPrefix + principal,
				AgentID: "agent-" + principal, Limit: limit, ExpiresAt: until, Token: "token", Receipt: "r", At: loadedAt,
			})
			if err != nil {
				return err
			}
			_, err = s.AddClosed(ctx, registry.Closed{
				TokenHash: hash(""), SignedHash: hash("signed"), OpenHash: hash("open"), PrincipalID: partyPrefix + principal,
				AgentID: "agent-" + principal, CounterpartyAgent: "agent-" + other, ChainID: jcs.HexOf([]byte("chain")),
				CrossingID: d.CrossingID, Limit: 1, Draw: 1, ExpiresAt: until, Receipt: "r", At: loadedAt,
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// cross holds and confirms a round, in crossings per second.
func (x *bench) cross(b *testing.B, round int) float64 {
	b.Helper()
	effector := registry.Actor{Role: api.RoleEffector, PrincipalID: partyPrefix + "b"}
	took := each(b, func(i int) error {
		d := deal(round, i)
		if _, err := x.ra.Hold(b.Context(), effector, d); err != nil {
			return err
		}
		_, err := x.ra.Confirm(b.Context(), effector, d.Triple())
		return err
	})
	return perRound / took.Seconds()
}

// replay sends a round's statements, 64 requests' worth in each transaction.
func (x *bench) replay(b *testing.B, all []sqlstore.Statement) float64 {
	b.Helper()
	began := time.Now()
	for part := range slices.Chunk(all, max(len(all)*benchCallers/(2*perRound), 1)) {
		if err := x.db.Replay(b.Context(), part); err != nil {
			b.Fatal(err)
		}
	}
	return perRound / time.Since(began).Seconds()
}
