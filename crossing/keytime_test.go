package crossing_test

import (
	"testing"
	"time"

	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/crossingtest"
	"github.com/bindery/bindery/mandate"
)

// TestKeysOwnTime: what was signed outside the time of its key is refused, by either
// party, at P3 and at the seal.
//
// covers GC-146, GC-153, GC-209, GC-210
func TestKeysOwnTime(t *testing.T) {
	signed := crossingtest.New(t).At
	for name, c := range map[string]struct {
		bound func(*mandate.Principal, time.Time)
		human bool
		path  string // "" if it clears
	}{
		"issuer's, in time":          {bound: func(r *mandate.Principal, at time.Time) { r.Keys[0].NotAfter = at.Add(time.Hour) }},
		"issuer's, retired before":   {bound: func(r *mandate.Principal, at time.Time) { r.Keys[0].NotAfter = at.Add(-2 * time.Hour) }, path: "§5.2-1 open iat"},
		"issuer's, not yet in force": {bound: func(r *mandate.Principal, at time.Time) { r.Keys[0].NotBefore = at.Add(time.Hour) }, path: "§5.2-1 open iat"},
		"agent's, in time":           {bound: func(r *mandate.Principal, at time.Time) { r.Agents[0].Key.NotAfter = at.Add(time.Hour) }},
		"agent's, retired before":    {bound: func(r *mandate.Principal, at time.Time) { r.Agents[0].Key.NotAfter = at.Add(-2 * time.Hour) }, path: "§5.4-1 closed iat"},
		"agent's, not yet in force":  {bound: func(r *mandate.Principal, at time.Time) { r.Agents[0].Key.NotBefore = at.Add(time.Hour) }, path: "§5.4-1 closed iat"},
		"human's, in time":           {bound: func(r *mandate.Principal, at time.Time) { r.Humans[0].Key.NotAfter = at.Add(time.Hour) }, human: true},
		"human's, retired before":    {bound: func(r *mandate.Principal, at time.Time) { r.Humans[0].Key.NotAfter = at.Add(-2 * time.Hour) }, human: true, path: "§5.4-1 closed iat"},
		"human's, not yet in force":  {bound: func(r *mandate.Principal, at time.Time) { r.Humans[0].Key.NotBefore = at.Add(time.Hour) }, human: true, path: "§5.4-1 closed iat"},
	} {
		for _, side := range []crossing.Role{crossing.Initiator, crossing.Responder} {
			t.Run(name+"/"+string(side), func(t *testing.T) {
				d := crossingtest.New(t)
				if c.human {
					human(d, side)
				}
				b := d.Build(t)
				if c.human {
					b.Record.Party(side).SignerRole = "human"
				}
				c.bound(b.Tokens(side).Principal, signed)
				_, sealed := crossing.Clear(b.Evidence(b.Params(t)))
				_, _, closed := crossing.CheckClosed(closingOf(t, b, side))
				if c.path == "" {
					if sealed != nil || closed != nil {
						t.Errorf("seal: %v; P3: %v", sealed, closed)
					}
					return
				}
				wantRefusal(t, sealed, crossing.MandateInvalid, c.path, "")
				wantRefusal(t, closed, crossing.MandateInvalid, c.path, "")
			})
		}
	}
}
