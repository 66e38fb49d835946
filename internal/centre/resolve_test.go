package centre_test

import (
	"context"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/wiretest"
	"github.com/bindery/bindery/mandate"
)

// resolver answers as a test says.
type resolver struct {
	centre.Resolver
	asked int
	say   func(*mandate.Principal, error) (*mandate.Principal, error)
}

func (r *resolver) Principal(ctx context.Context, id string) (*mandate.Principal, error) {
	r.asked++
	p, err := r.Resolver.Principal(ctx, id)
	if r.say != nil {
		return r.say(p, err)
	}
	return p, err
}

// TestUnresolved: whatever way a principal does not resolve, at P1, at P3 or at the seal,
// the check that needs it has failed, and nothing is held.
//
// covers GC-209, GC-210, GC-304
func TestUnresolved(t *testing.T) {
	t.Parallel()
	change := func(f func(*mandate.Principal)) func(*mandate.Principal, error) (*mandate.Principal, error) {
		return func(p *mandate.Principal, err error) (*mandate.Principal, error) {
			if err == nil {
				f(p)
			}
			return p, err
		}
	}
	for name, say := range map[string]func(*mandate.Principal, error) (*mandate.Principal, error){
		"no answer":                     func(*mandate.Principal, error) (*mandate.Principal, error) { return nil, errLost },
		"nothing":                       func(*mandate.Principal, error) (*mandate.Principal, error) { return nil, nil },
		"another's":                     change(func(p *mandate.Principal) { p.ID = "urn:anax:principal:another" }),
		"lapsed":                        change(func(p *mandate.Principal) { p.Expires = p.At.Add(-time.Second) }),
		"suspended":                     change(func(p *mandate.Principal) { p.Active = false }),
		"without key":                   change(func(p *mandate.Principal) { p.Keys = nil }),
		"a key that was retired before": change(func(p *mandate.Principal) { p.Keys[0].NotAfter = wiretest.Start.Add(-time.Hour) }),
		"a key that signs later":        change(func(p *mandate.Principal) { p.Keys[0].NotBefore = wiretest.Start.Add(time.Hour) }),
		"another key by its name": change(func(p *mandate.Principal) {
			k := p.Agents[0].Key
			k.Kid = p.Keys[0].ID
			p.Keys = []jose.Key{k}
		}),
	} {
		for at, through := range map[string]wiretest.Phase{"P1": wiretest.P0, "P3": wiretest.P2, "seal": wiretest.P3} {
			t.Run(name+"/"+at, func(t *testing.T) {
				t.Parallel()
				w, _, _ := world(t, 0)
				r := new(resolver)
				w.Centre.Resolving(func(real centre.Resolver) centre.Resolver { r.Resolver = real; return r })
				s := w.Script(w.Party("acme")).Through(through)
				before := r.asked
				if at == "P3" {
					s.Close()
				}
				r.say = say
				var a wiretest.Answer
				switch at {
				case "P1":
					a = s.P1()
				case "P3":
					a = s.P3()
				case "seal":
					a = s.Seal()
				}
				wantName(t, a, "MANDATE_INVALID")
				if r.asked == before {
					t.Error("the resolver was not asked")
				}
				if got := w.Count(); got.Holds+got.Seals+got.Anchors != 0 {
					t.Errorf("counts %+v", got)
				}
			})
		}
	}
}

// TestResolvedEachTime: nothing is kept of a record beyond the check that asked for it.
//
// covers GC-209
func TestResolvedEachTime(t *testing.T) {
	t.Parallel()
	w, _, _ := world(t, 0)
	r := new(resolver)
	w.Centre.Resolving(func(real centre.Resolver) centre.Resolver { r.Resolver = real; return r })
	s := w.Script(w.Party("acme")).Through(wiretest.P0)
	for _, step := range []func() wiretest.Answer{s.P1, s.P2, s.Close, s.P3, s.Seal} {
		_ = step()
	}
	if r.asked < 3 {
		t.Errorf("asked %d times in P1, P3 and the seal", r.asked)
	}
}
