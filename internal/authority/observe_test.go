package authority_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/chain"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/authority"
	"github.com/bindery/bindery/jcs"
)

// told keeps what an authority tells its observer.
type told struct {
	mu    sync.Mutex
	words []string
}

func (o *told) add(word string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.words = append(o.words, word)
}

func (o *told) Published(code string)   { o.add("published " + code) }
func (o *told) Verified(verdict string) { o.add("verified " + verdict) }
func (o *told) Limited()                { o.add("limited") }

// TestObserver: every answer is told once, and by no identifier. Faults of a verify call
// are counted and leave no row.
//
// covers AG-76
func TestObserver(t *testing.T) {
	w := newWorld(t)
	seen := &told{}
	w.cfg.Observer = seen
	w.cfg.RateLimit = authority.Rate{PerSecond: 1, Burst: 1}
	va, err := authority.New(w.cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	p := w.sign(w.publication(crossing.Responder), w.responder)
	verify := func(req api.VerifyRequest) { _, _ = va.Verify(ctx, req) }
	for _, credential := range []string{"nobody's", w.responder.credential, w.responder.credential} {
		_, _ = va.Publish(ctx, credential, p.Bytes())
	}
	verify(api.VerifyRequest{SealID: sealOne})
	verify(api.VerifyRequest{SealID: "canal-mf0z8k00-00112233aabc"})
	verify(api.VerifyRequest{SealID: sealOne, CrossingID: crossingOne})
	verify(api.VerifyRequest{SealID: sealOne, Record: parse(t, `[]`)})
	_, _ = va.Resolve(ctx, crossingOne)
	_, _ = va.Resolve(ctx, "x")
	foreign := w.next(crossing.Responder, 2, chain.Position{Prev: jcs.HexOf([]byte("another chain")), Seq: 1})
	w.publish(w.responder, foreign)
	verify(api.VerifyRequest{CrossingID: foreign.Projection.CrossingID})
	for range 2 {
		_ = va.Admit("192.0.2.1")
	}
	want := []string{
		"published unauthenticated", "published ", "published ",
		"verified verified", "verified unknown", "verified refused", "verified refused", "verified verified", "verified unknown",
		"verified not_verified", "limited",
	}
	if !slices.Equal(seen.words, want) {
		t.Errorf("told %q", seen.words)
	}
}
