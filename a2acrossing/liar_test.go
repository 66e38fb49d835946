package a2acrossing_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"

	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/internal/wiretest"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// crossed is one crossing of an honest initiator, at the responder that answers at url.
func crossed(ctx context.Context, i *wiretest.Initiator, url string) (id string, report []byte, err error) {
	deal := i.Deal()
	deal.URL = url
	report, err = i.Centre.Cross(ctx, deal, i.Dial, func(crossingID string) { id = crossingID }, func(centre.Event) {})
	return id, report, err
}

// wantStopped requires the initiator to have ended a crossing with a refusal of its own,
// by name: the row of E-1, the state, no anchor, and nothing to publish.
func wantStopped(t *testing.T, i *wiretest.Initiator, id string, err error, name crossing.Name) {
	t.Helper()
	var refusal *crossing.Refusal
	if !errors.As(err, &refusal) || errors.Is(err, centre.ErrUnknown) || refusal.Name != name {
		t.Fatalf("error %v, want %s", err, name)
	}
	x, err := i.Store.CrossingByID(t.Context(), id)
	if err != nil || x.State != crossing.Refused || x.Refusal == nil || x.Refusal.Name != name || x.Report != nil {
		t.Errorf("the crossing is %+v, %v", x, err)
	}
	if rows := refusalsOf(t, i, id); len(rows) != 1 || rows[0].Refusal.Name != name || !rows[0].At.Equal(i.Clock.Now()) {
		t.Errorf("refusal rows %+v", rows)
	}
	if _, err := i.Store.Link(t.Context(), i.AgentID, id); !errors.Is(err, centre.ErrNone) {
		t.Errorf("the initiator has an anchor: %v", err)
	}
	if waiting, err := i.Store.Waiting(t.Context(), "", 10); err != nil || len(waiting) != 0 {
		t.Errorf("%d publications wait, %v", len(waiting), err)
	}
	if _, err := i.Centre.Resume(t.Context(), id, i.Dial, func(centre.Event) {}); !errors.As(err, &refusal) || refusal.Name != name {
		t.Errorf("resumed, it ends with %v", err)
	}
}

// refusalsOf are the initiator's refusal rows about one crossing.
func refusalsOf(t *testing.T, i *wiretest.Initiator, id string) []centre.RefusalRow {
	t.Helper()
	rows, err := i.Store.Refusals(t.Context(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(rows, func(row centre.RefusalRow) bool { return row.CrossingID != id })
}

// A stage is where lies are told: a responder, an honest initiator, and somebody else who
// is enrolled.
type stage struct {
	w     *wiretest.World
	i     *wiretest.Initiator
	other *wiretest.Party
}

func newStage(t *testing.T, cfg wiretest.Config) stage {
	t.Helper()
	w := wiretest.New(t, cfg)
	return stage{w, w.Initiator("acme", nil), w.Party("other")}
}

// A lie is told by the stage's responder to its initiator, who ends with name.
type lie struct {
	tell func(*testing.T, stage) wiretest.Lies
	name crossing.Name
}

// always is a lie that needs nothing of its World.
func always(l wiretest.Lies, name crossing.Name) lie {
	return lie{func(*testing.T, stage) wiretest.Lies { return l }, name}
}

// party is a lie about oneself.
func party(member string, value any) lie {
	edit := func(meta wiretest.Doc) { wiretest.Object(meta, "party")[member] = value }
	return always(wiretest.Lies{P1: edit}, crossing.MandateInvalid)
}

// presentedOpen is a lie by an Open of the responder's own.
func presentedOpen(amount commitment.Amount, edit func(wiretest.Doc), name crossing.Name) lie {
	return lie{func(_ *testing.T, s stage) wiretest.Lies {
		return wiretest.Lies{P1: set("open_mandate", s.w.Responder.Issue(amount, edit).Token)}
	}, name}
}

// presentedClosed is a lie by the responder's Closed with other claims.
func presentedClosed(edit func(wiretest.Doc), name crossing.Name) lie {
	return lie{func(_ *testing.T, s stage) wiretest.Lies {
		return wiretest.Lies{P3: func(meta wiretest.Doc) {
			meta["closed_mandate"] = s.w.Resign(wiretest.Text(meta, "closed_mandate"), edit)
		}}
	}, name}
}

// drawn is a lie by another Closed of the responder, which its RA has registered.
func drawn(edit func(*centre.Draw, stage), name crossing.Name) lie {
	return lie{func(t *testing.T, s stage) wiretest.Lies {
		return wiretest.Lies{P3: func(meta wiretest.Doc) {
			d := centre.Draw{
				CrossingID: wiretest.Text(meta, "crossing_id"), AgreementHash: jcs.Hex256(wiretest.Hash(wiretest.CanonicalTerms)),
				Counterparty: s.i.PrincipalID, CounterpartyAgent: s.i.AgentID, Act: s.i.Deal().Act, Amount: actions(1),
			}
			edit(&d, s)
			token, receipt, err := s.w.Centre.Close(t.Context(), d)
			if err != nil {
				t.Error(err)
			}
			meta["closed_mandate"], meta["receipt"] = token, receipt
		}}
	}, name}
}

// echo is a lie by headers at one call.
func echo(call string, values ...string) lie {
	return always(wiretest.Lies{Header: func(at string, h http.Header) {
		if at == call {
			lines(values...)(h)
		}
	}}, crossing.ExtNotActivated)
}

// liesOfP1 end a crossing at the exchange of Opens.
func liesOfP1() map[string]lie {
	return map[string]lie{
		"another's Open": {func(_ *testing.T, s stage) wiretest.Lies {
			return wiretest.Lies{P1: set("open_mandate", s.other.Issue(actions(9), nil).Token)}
		}, crossing.MandateInvalid},
		"another party altogether": {func(_ *testing.T, s stage) wiretest.Lies {
			return wiretest.Lies{P1: func(meta wiretest.Doc) {
				meta["open_mandate"], meta["party"] = s.other.Issue(actions(9), nil).Token, s.other.Doc()
			}}
		}, crossing.MandateInvalid},
		"a mirror": {func(_ *testing.T, s stage) wiretest.Lies {
			return wiretest.Lies{P1: func(meta wiretest.Doc) {
				meta["open_mandate"], meta["party"] = s.i.Issue(actions(9), nil).Token, s.i.Doc()
			}}
		}, crossing.MandateInvalid},
		"a principal on the card that has never enrolled": always(wiretest.Lies{Card: func(card wiretest.Doc) {
			wiretest.Object(card, "capabilities", "extensions", 0, "params", "principal")["id"] = "urn:anax:principal:nobody"
		}}, crossing.MandateInvalid),
		"another agent":                 {party("agent_id", "urn:anax:agent:other").tell, crossing.MandatePartyMismatch},
		"a better trust_basis":          party("trust_basis", "nca_verified"),
		"a higher agc_level":            party("agc_level", 9),
		"another clearance":             party("clearance_id_hash", wiretest.Hash("another")),
		"an Open that has expired":      presentedOpen(actions(9), set("exp", wiretest.Start.Unix()), crossing.MandateExpired),
		"an Open for others":            presentedOpen(actions(9), set("permitted_counterparties", []any{"urn:anax:principal:third"}), crossing.CounterpartyNotPermitted),
		"an Open for nobody":            presentedOpen(actions(9), without("permitted_counterparties"), crossing.CounterpartyNotPermitted),
		"an Open of a lower class":      presentedOpen(commitment.Amount{Class: commitment.Reversible, Magnitude: 9}, nil, crossing.ClassExceeded),
		"an Open for another act":       presentedOpen(actions(9), set("commitment_act", "proposal_within_tariff"), crossing.NarrowingViolation),
		"an Open of no class":           presentedOpen(actions(9), set("commitment_class", "finance"), crossing.MalformedMandate),
		"an Open that no agent may use": presentedOpen(actions(9), without("cnf"), crossing.MandateInvalid),
		"an Open of another type":       presentedOpen(actions(9), set("vct", "https://example.com/other"), crossing.MandateInvalid),
		"an Open with a bent signature": always(wiretest.Lies{P1: bendToken("open_mandate")}, crossing.MandateInvalid),
		"another vocabulary":            always(wiretest.Lies{P1: set("act_profile", wiretest.Hash("another"))}, crossing.MalformedMandate),
		"terms before mandates":         always(wiretest.Lies{P1: set("crossing_state", "terms_proposed")}, crossing.RecordMalformed),
		"committed at once":             always(wiretest.Lies{P1: set("crossing_state", "committed")}, crossing.RecordMalformed),
		"no Open":                       always(wiretest.Lies{P1: without("open_mandate")}, crossing.RecordMalformed),
		"no echo":                       echo("P1"),
		"the echo of another extension": echo("P1", "https://example.com/other"),
	}
}

// liesOfP2 end it at the terms, liesOfP3 at the exchange of Closeds.
func liesOfP2() map[string]lie {
	return map[string]lie{
		"other terms":      always(wiretest.Lies{P2: set("agreement_hash", wiretest.Hash("other terms"))}, crossing.AgreementHashMismatch),
		"another crossing": always(wiretest.Lies{P2: set("crossing_id", otherCrossing)}, crossing.AgreementHashMismatch),
		"no hash":          always(wiretest.Lies{P2: without("agreement_hash")}, crossing.RecordMalformed),
		"another phase":    always(wiretest.Lies{P2: set("crossing_state", "sealing")}, crossing.RecordMalformed),
		"no echo":          echo("P2"),
	}
}

const otherCrossing = "7f3c1a52-5d0e-4b7a-8c41-0a6f2d9be001"

func liesOfP3() map[string]lie {
	return map[string]lie{
		"another crossing":                always(wiretest.Lies{P3: set("crossing_id", otherCrossing)}, crossing.MandatePartyMismatch),
		"a Closed for another audience":   presentedClosed(set("aud", "urn:anax:principal:third"), crossing.MandateAudience),
		"a Closed for other terms":        presentedClosed(set("agreement_hash", wiretest.Hash("other terms")), crossing.AgreementHashMismatch),
		"a Closed of another crossing":    presentedClosed(set("crossing_id", otherCrossing), crossing.MandatePartyMismatch),
		"a Closed for another act":        presentedClosed(set("commitment_act", "proposal_within_tariff"), crossing.MandatePartyMismatch),
		"a Closed without an act":         presentedClosed(without("commitment_act"), crossing.MandatePartyMismatch),
		"a Closed that has expired":       presentedClosed(set("exp", wiretest.Start.Unix()), crossing.MandateExpired),
		"a Closed of no class":            presentedClosed(set("commitment_class", "finance"), crossing.MalformedMandate),
		"a Closed of a higher class":      presentedClosed(set("commitment_class", "binding"), crossing.NarrowingViolation),
		"a Closed under another Open":     presentedClosed(set("open_mandate_hash", wiretest.Hash("another")), crossing.MandateInvalid),
		"a Closed that is no Closed":      presentedClosed(set("vct", mandate.OpenType), crossing.MandateInvalid),
		"a Closed with a bent signature":  always(wiretest.Lies{P3: bendToken("closed_mandate")}, crossing.MandateInvalid),
		"a Closed that nobody registered": presentedClosed(set("nonce", "0123456789abcdef0123456789abcdef"), crossing.NarrowingViolation),
		"a receipt of nobody":             always(wiretest.Lies{P3: set("receipt", "none")}, crossing.NarrowingViolation),
		"a bent receipt":                  always(wiretest.Lies{P3: bendToken("receipt")}, crossing.NarrowingViolation),
		"a mirror": {func(*testing.T, stage) wiretest.Lies {
			var own, receipt string
			return wiretest.Lies{
				Request: func(call string, request wiretest.Doc) {
					if call == "P3" {
						meta := wiretest.Object(request, "params", "message", "metadata", crossing.URI)
						own, receipt = wiretest.Text(meta, "closed_mandate"), wiretest.Text(meta, "receipt")
					}
				},
				P3: func(meta wiretest.Doc) { meta["closed_mandate"], meta["receipt"] = own, receipt },
			}
		}, crossing.MandatePartyMismatch},
		"another amount":           drawn(func(d *centre.Draw, _ stage) { d.Amount = actions(2) }, crossing.MagnitudeMismatch),
		"a draw for another agent": drawn(func(d *centre.Draw, s stage) { d.CounterpartyAgent = s.other.AgentID }, crossing.NarrowingViolation),
		"no Closed":                always(wiretest.Lies{P3: without("closed_mandate")}, crossing.RecordMalformed),
		"no echo":                  echo("P3"),
	}
}

// bendToken changes the last letter but two of a signature.
func bendToken(member string) func(wiretest.Doc) {
	return func(meta wiretest.Doc) {
		token := []byte(wiretest.Text(meta, member))
		at := len(token) - 4
		token[at] ^= 1 // one letter of base64url beside another, or a character that is none
		meta[member] = string(token)
	}
}

// TestLyingResponder: an honest initiator stops at the first lie, records why, and goes no
// further: no seal is asked for, and it writes no anchor.
//
// covers GC-013, GC-046, GC-065, GC-121, GC-281, GC-283, GC-285, GC-292, GC-304, GC-317, GC-318, GC-345
func TestLyingResponder(t *testing.T) {
	for _, phase := range []struct {
		name string
		lies map[string]lie
	}{{"P1", liesOfP1()}, {"P2", liesOfP2()}, {"P3", liesOfP3()}} {
		s := newStage(t, wiretest.Config{})
		for name, lie := range phase.lies {
			t.Run(phase.name+" "+name, func(t *testing.T) {
				var asked []string
				l := lie.tell(t, s)
				inner := l.Request
				l.Request = func(call string, request wiretest.Doc) {
					asked = append(asked, call)
					if inner != nil {
						inner(call, request)
					}
				}
				id, report, err := crossed(t.Context(), s.i, s.w.Liar(l))
				if report != nil {
					t.Errorf("reported %s", report)
				}
				if n := len(asked); n == 0 || asked[n-1] != phase.name {
					t.Errorf("the calls were %v, want none after %s", asked, phase.name)
				}
				wantStopped(t, s.i, id, err, lie.name)
				if n := s.w.Count(); n.Attempts+n.Holds+n.Seals+n.Anchors+n.Projections != 0 {
					t.Errorf("the responder has %+v", n)
				}
			})
		}
	}
}
