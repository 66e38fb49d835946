package a2acrossing_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/wiretest"
)

// A broken is one rule of crossing:seal that a request breaks. Two that change the same
// member are not broken at once.
type broken struct {
	name           string
	members        string
	closed, record func(wiretest.Doc)
	params         func(wiretest.Doc)
	header         func(http.Header)
	foreignKey     bool
}

// brokenRules are in the order of AG-58, which names the first of several.
func brokenRules(expired int64) []broken {
	slot := func(i int, member string, value any) func(wiretest.Doc) {
		return func(record wiretest.Doc) { wiretest.Slot(record, i)[member] = value }
	}
	return []broken{
		{name: "EXT_NOT_ACTIVATED", members: "header", header: lines()},
		{name: "RECORD_MALFORMED", members: "clearance_id", record: set("clearance_id", "x")},
		{name: "MALFORMED_MANDATE", members: "act", record: set("commitment_act", "unheard_of")},
		{name: "CLASS_BELOW_FLOOR", members: "class", record: set("commitment_class", "reversible")},
		{name: "MANDATE_INVALID", members: "key", foreignKey: true},
		{name: "MALFORMED_MANDATE", members: "closed-class", closed: set("commitment_class", "finance")},
		{name: "MANDATE_EXPIRED", members: "exp", closed: set("exp", expired)},
		{name: "MANDATE_AUDIENCE", members: "aud", closed: set("aud", "urn:anax:principal:third")},
		{name: "MANDATE_PARTY_MISMATCH", members: "responder-token", record: slot(1, "closed_mandate_hash", wiretest.Hash("another"))},
		{name: "AGREEMENT_HASH_MISMATCH", members: "agreement", closed: set("agreement_hash", wiretest.Hash("other terms"))},
		{name: "NARROWING_VIOLATION", members: "closed-class", closed: set("commitment_class", "binding")},
		{name: "CLASS_EXCEEDED", members: "class", record: set("commitment_class", "binding")},
		{name: "NARROWING_VIOLATION", members: "limit", closed: set("magnitude_limit", 1000)},
		{name: "MAGNITUDE_MISMATCH", members: "magnitude", record: set("magnitude_asserted", 2)},
		{name: "MAGNITUDE_EXHAUSTED", members: "limit", closed: set("magnitude_limit", 0)},
		{name: "SEAL_MISMATCH", members: "agc_level", record: slot(1, "agc_level", 9)},
		{name: "CHAIN_POSITION_UNAVAILABLE", members: "intent", params: set("initiator_anchor_intent", wiretest.Doc{"prev_hash": nil, "chain_seq": 1})},
	}
}

// TestPrecedenceOnTheWire breaks one, two, three and five rules at once; each request gets
// the name that comes first, and its row says the same.
//
// covers GC-299, GC-322
func TestPrecedenceOnTheWire(t *testing.T) {
	t.Parallel()
	w := wiretest.New(t, wiretest.Config{})
	s := w.Script(w.Party("acme"))
	s.Disclose = true
	s.Through(wiretest.P3)
	registered := s.Closed
	nonces := len(w.Rows()["nonces"]) // of P3; a refused seal adds none
	key, err := jose.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := jose.NewSigner(key)
	if err != nil {
		t.Fatal(err)
	}
	rules := brokenRules(w.Clock.Now().Unix())
	tries := 0
	try := func(picked ...int) {
		var names []string
		members := map[string]bool{}
		e := wiretest.Edits{}
		s.Closer, s.Closed = nil, registered
		for _, n := range picked {
			b := rules[n]
			if members[b.members] {
				return
			}
			members[b.members] = true
			names = append(names, b.name)
			e.Closed, e.Record, e.Params = both(e.Closed, b.closed), both(e.Record, b.record), both(e.Params, b.params)
			if b.header != nil {
				e.Header = b.header
			}
			if b.foreignKey {
				s.Closer = foreign
			}
		}
		t.Run(strings.Join(names, "+"), func(t *testing.T) {
			tries++ // in a record of its own: a refusal is final for a record
			e.Record = both(e.Record, func(record wiretest.Doc) {
				wiretest.Object(record, "a2a_context")["artifact_id"] = strconv.Itoa(tries)
			})
			s.Edit = e
			s.Forget()
			if e.Closed != nil || s.Closer != nil {
				s.Present(e.Closed)
			}
			a := s.Seal()
			row, _ := crossing.RowOf(crossing.Name(names[0]))
			wantError(t, a, names[0], strconv.Itoa(row.Code))
			rows, err := w.Store.Refusals(t.Context(), 1000)
			if err != nil || len(rows) != tries || string(rows[0].Refusal.Name) != names[0] {
				t.Errorf("%d refusal rows after %d refusals, %v", len(rows), tries, err)
			}
		})
	}
	for i := range rules {
		try(i)
		for j := i + 1; j < len(rules); j++ {
			try(i, j)
		}
	}
	for i := range len(rules) - 4 {
		try(i, i+1, i+2)
		try(i, i+2, i+4)
		try(i, i+1, i+2, i+3, i+4)
		try(i, len(rules)-4, len(rules)-3, len(rules)-2, len(rules)-1)
	}
	if n := w.Count(); n.Holds+n.Seals+n.Anchors+n.Outbox != 0 || nonces != 1 || len(w.Rows()["nonces"]) != nonces {
		t.Errorf("counts %+v", n)
	}
	s.Edit, s.Closer, s.Closed = wiretest.Edits{}, nil, registered
	s.Forget()
	if a := s.Seal(); a.Result() == nil {
		t.Errorf("unbroken, it is refused: %s", a.Body)
	}
}

func both(a, b func(wiretest.Doc)) func(wiretest.Doc) {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return func(d wiretest.Doc) { a(d); b(d) }
}
