package httpapi_test

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/client"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/mandate"
)

// domains is what domains publish.
type domains struct {
	keys  []jose.Key
	fault string
}

func (d *domains) Keys(context.Context, string) (jose.KeySet, error) {
	if d.fault != "" {
		return jose.KeySet{}, &api.Error{Code: d.fault}
	}
	return jose.NewKeySet(d.keys...), nil
}

// TestKeysRoundTrip rotates a key, asks for a human's and proves a domain, over the wire.
//
// covers GC-021, GC-209, GC-369
func TestKeysRoundTrip(t *testing.T) {
	o := newOffice(t)
	ctx := t.Context()
	operator, a, b := o.runBy(t, "ra"), o.join(t, "a"), o.join(t, "b")
	record := func() mandate.Principal {
		t.Helper()
		p, err := operator.Principal(ctx, a.id)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	next, human := newSigner(t).Key(), newSigner(t).Key()
	next.NotBefore, human.NotAfter = start.Add(time.Hour), start.Add(2*time.Hour)
	addition := api.Addition{PrincipalID: a.id, Keys: []jose.Key{next}, Humans: []mandate.Human{{ID: "urn:anax:human:h", Key: human}}}
	for range 2 {
		cleared(t, "add", a.ra.Add(ctx, addition))
	}
	retirement := api.Retirement{PrincipalID: a.id, Key: a.issuer.Key().ID, NotAfter: start.Add(time.Hour)}
	for range 2 {
		cleared(t, "retire", a.ra.Retire(ctx, retirement))
	}
	named(t, "retired by another", b.ra.Retire(ctx, retirement), api.CodeNotFound)
	if p := record(); len(p.Keys) != 2 || !p.Keys[0].NotAfter.Equal(retirement.NotAfter) || !p.Keys[1].NotBefore.Equal(next.NotBefore) || len(p.Humans) != 0 {
		t.Errorf("record %+v", p)
	}

	for what, c := range map[string]struct {
		from      *client.Registry
		principal string
		requests  int
	}{"A's own": {a.ra, "", 1}, "A's, by name": {a.ra, a.id, 1}, "B's own": {b.ra, "", 0}, "all": {operator, "", 1}, "A's, by the operator": {operator, a.id, 1}} {
		all, err := c.from.HumanRequests(ctx, c.principal)
		if err != nil || len(all.Requests) != c.requests {
			t.Errorf("%s: %+v, %v", what, all, err)
			continue
		}
		for _, r := range all.Requests {
			if r.PrincipalID != a.id || !r.Human.Key.Same(human) || !r.Human.Key.NotAfter.Equal(human.NotAfter) || r.State != api.HumanPending || !r.RequestedAt.Equal(start) {
				t.Errorf("%s: %+v", what, r)
			}
		}
	}
	_, err := b.ra.HumanRequests(ctx, a.id)
	named(t, "A's, by B", err, api.CodeNotFound)
	decision := api.HumanDecision{PrincipalID: a.id, Key: human.ID, Approve: true}
	named(t, "without the operator", a.ra.DecideHuman(ctx, decision), api.CodeUnauthenticated)
	cleared(t, "approve", operator.DecideHuman(ctx, decision))
	if p := record(); len(p.Humans) != 1 || !p.Humans[0].Key.NotAfter.Equal(human.NotAfter) {
		t.Errorf("humans %+v", p.Humans)
	}

	proof := api.DomainProof{PrincipalID: a.id, Domain: "a.example"}
	for code, status := range map[string]int{api.CodeDomainUnreachable: 502, api.CodeDomainMalformed: 409, api.CodeDomainMismatch: 409} {
		o.web.fault = code
		if got, body := o.post(t, "domains", "principal a", string(proof.Bytes())); got != status || !strings.Contains(body, code) {
			t.Errorf("%s: %d %s", code, got, body)
		}
	}
	o.web.fault = ""
	named(t, "nothing published", a.ra.ProveDomain(ctx, proof), api.CodeDomainMismatch)
	if p := record(); p.Domain != "" {
		t.Errorf("refused, and shown: %q", p.Domain)
	}
	o.web.keys = []jose.Key{next, a.issuer.Key()}
	cleared(t, "published", a.ra.ProveDomain(ctx, proof))
	if p := record(); p.Domain != "a.example" || !p.DomainProvedAt.Equal(start) {
		t.Errorf("%q, proved at %v", p.Domain, p.DomainProvedAt)
	}

	for query, status := range map[string]int{
		"": 200, "?principal_id=" + url.QueryEscape(a.id): 200, "?principal_id=x": 400, "?principal_id=": 400, "?x=1": 400,
		"?principal_id=" + url.QueryEscape(a.id) + "&principal_id=" + url.QueryEscape(a.id): 400,
	} {
		if got := o.get(t, "/v1/ra/human-requests"+query, "operator ra"); got != status {
			t.Errorf("human-requests%s: %d, want %d", query, got, status)
		}
	}
	if got := o.get(t, "/v1/ra/human-requests", "agent a"); got != 403 {
		t.Errorf("an agent asks: %d", got)
	}
}
