package crossing_test

import (
	"testing"
	"time"

	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/crossingtest"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
)

// screening is the responder's check of the initiator's P1.
func screening(t testing.TB, d *crossingtest.Deal) *crossing.Screening {
	t.Helper()
	b := d.Build(t)
	class, refusal := crossing.ParseIntent(d.Class, d.Act, d.Acts)
	if refusal != nil {
		t.Fatal(refusal)
	}
	return &crossing.Screening{
		At: d.At, P1: b.P1(crossing.Initiator), Issuer: b.Initiator.Principal, Own: d.Responder.PrincipalID,
		Class: class, Act: d.Act, OwnActs: d.Acts.Digest(),
	}
}

// covers GC-277, GC-278, GC-279, GC-280, GC-282
func TestScreen(t *testing.T) {
	tests := []struct {
		name string
		deal func(*crossingtest.Party)
		edit func(*crossing.Screening)
	}{
		{"limit withheld", nil, nil},
		{"explicitly unbounded", func(p *crossingtest.Party) { p.Open["permitted_counterparties"] = `"*"` }, nil},
		{"class above", func(p *crossingtest.Party) { p.Open["commitment_class"] = `"binding"` }, nil},
		{"no acts named", func(p *crossingtest.Party) { p.Open["commitment_act"] = "" }, nil},
		{"one act named", func(p *crossingtest.Party) { p.Open["commitment_act"] = `"engagement_code_issuance"` }, nil},
		{"aud of a star", func(p *crossingtest.Party) { p.Open["aud"] = `"*"` }, nil},
		{"aud of another", func(p *crossingtest.Party) { p.Open["aud"] = `"urn:anax:principal:third"` }, nil},
		{"aud of a number", func(p *crossingtest.Party) { p.Open["aud"] = `7` }, nil},
		{"no aud", func(p *crossingtest.Party) { p.Open["aud"] = "" }, nil},
		{"a human will close", func(p *crossingtest.Party) { p.Open["cnf"] = "" }, func(s *crossing.Screening) { s.P1.Closing = "human" }},
		{"a foreign peer without an act profile", nil, func(s *crossing.Screening) { s.P1.ActProfile = "" }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := crossingtest.New(t)
			if tt.deal != nil {
				tt.deal(&d.Initiator)
			}
			s := screening(t, d)
			if tt.edit != nil {
				tt.edit(s)
			}
			open, refusal := crossing.Screen(*s)
			if refusal != nil {
				t.Fatal(refusal)
			}
			if open.Token() != s.P1.OpenMandate || open.Issuer() != d.Initiator.PrincipalID {
				t.Errorf("Screen returned an Open of %s", open.Issuer())
			}
		})
	}
}

// covers GC-273, GC-274, GC-275, GC-276, GC-277, GC-278, GC-279, GC-317
func TestScreenRefuses(t *testing.T) {
	stranger := crossingtest.NewSigner(t)
	type party = crossingtest.Party
	type check = crossing.Screening
	tests := []struct {
		name string
		deal func(*party)
		edit func(*check)
		want crossing.Name
		path string
	}{
		{"1 broken signature", nil, func(s *check) { s.P1.OpenMandate = tampered(s.P1.OpenMandate) },
			crossing.MandateInvalid, "§5.2-1 open signature"},
		{"1 another algorithm", nil, func(s *check) { s.P1.OpenMandate = withHeader(s.P1.OpenMandate, `{"alg":"EdDSA","kid":"k"}`) },
			crossing.MandateInvalid, "§5.2 open header"},
		{"1 none at all", nil, func(s *check) { s.P1.OpenMandate = withHeader(s.P1.OpenMandate, `{"alg":"none","kid":"k"}`) },
			crossing.MandateInvalid, "§5.2 open header"},
		{"1 a key that is not the issuer's", nil, func(s *check) { s.Issuer.Keys = []jose.Key{stranger.Key()} },
			crossing.MandateInvalid, "§5.2-1 open kid"},
		{"1 a key of the issuer's under another's name", nil, func(s *check) { k := stranger.Key(); k.Kid = s.Issuer.Keys[0].ID; s.Issuer.Keys = []jose.Key{k} },
			crossing.MandateInvalid, "§5.2-1 open signature"},
		{"2 a Closed", func(p *party) { p.Open["vct"] = `"mandate.agreement.closed.1"` }, nil, crossing.MandateInvalid, "§5.2 open vct"},
		{"2 no vct", func(p *party) { p.Open["vct"] = "" }, nil, crossing.MandateInvalid, "§5.2 open vct"},
		{"3 expired", nil, func(s *check) { s.At = s.At.AddDate(0, 0, 1); s.Issuer.Expires = s.At.AddDate(0, 0, 1) },
			crossing.MandateExpired, "§5.7 F1"},
		{"3 no exp", func(p *party) { p.Open["exp"] = "" }, nil, crossing.MandateInvalid, "§5.2 open exp"},
		{"4 unresolved", nil, func(s *check) { s.Issuer = nil }, crossing.MandateInvalid, "§4.1.5 iss"},
		{"4 another's record", nil, func(s *check) { s.Issuer.ID = "urn:anax:principal:third" }, crossing.MandateInvalid, "§4.1.5 iss"},
		{"4 another claimed", nil, func(s *check) { s.P1.Party.PrincipalID = "urn:anax:principal:third" }, crossing.MandateInvalid, "§4.1.5 iss"},
		{"4 an Open of another", func(p *party) { p.Open["iss"] = `"urn:anax:principal:third"` }, nil, crossing.MandateInvalid, "§4.1.5 iss"},
		{"4 inactive", nil, func(s *check) { s.Issuer.Active = false }, crossing.MandateInvalid, "§5.2-1 open kid"},
		{"4 lapsed", nil, func(s *check) { s.Issuer.Expires = s.At }, crossing.MandateInvalid, "§5.2-1 open kid"},
		{"5 others", func(p *party) { p.Open["permitted_counterparties"] = `["urn:anax:principal:third"]` }, nil,
			crossing.CounterpartyNotPermitted, "§4.1.3 permitted_counterparties"},
		{"5 nobody", func(p *party) { p.Open["permitted_counterparties"] = `[]` }, nil, crossing.CounterpartyNotPermitted, "§4.1.3 permitted_counterparties"},
		{"5 silence", func(p *party) { p.Open["permitted_counterparties"] = "" }, nil, crossing.CounterpartyNotPermitted, "§4.1.3 permitted_counterparties"},
		{"5 a star in a list", func(p *party) { p.Open["permitted_counterparties"] = `["*"]` }, nil, crossing.CounterpartyNotPermitted, "§4.1.3 permitted_counterparties"},
		{"6 class below", func(p *party) { p.Open["commitment_class"] = `"reversible"` }, nil, crossing.ClassExceeded, "§5.2-6"},
		{"6 observe", func(p *party) { p.Open["commitment_class"] = `"observe"` }, nil, crossing.ClassExceeded, "§5.2-6"},
		{"6 class unknown", func(p *party) { p.Open["commitment_class"] = `"extreme"` }, nil, crossing.MalformedMandate, "§5.2-6 open commitment_class"},
		{"6 financial without currency", func(p *party) { p.Open["commitment_class"] = `"financial"` }, nil, crossing.MalformedMandate, "§5.2-6 open currency"},
		{"6 no class intended", nil, func(s *check) { s.Class = 0 }, crossing.ClassExceeded, "§5.2-6"},
		{"6 act outside", func(p *party) { p.Open["commitment_act"] = `["proposal_within_tariff"]` }, nil, crossing.NarrowingViolation, "§4.1.3 commitment_act"},
		{"6 no act intended", nil, func(s *check) { s.Act = "" }, crossing.NarrowingViolation, "§4.1.3 commitment_act"},
		{"7 no cnf", func(p *party) { p.Open["cnf"] = "" }, nil, crossing.MandateInvalid, "§5.2-7 cnf"},
		{"another act vocabulary", nil, func(s *check) { s.P1.ActProfile = someHash }, crossing.MalformedMandate, "§5.4-9 act vocabulary"},
		{"an Open for another agent", func(p *party) { p.Open["sub"] = `"urn:anax:agent:other"` }, nil, crossing.MandatePartyMismatch, "§4.4-7"},
		{"one's own principal", nil, func(s *check) { s.Own = s.P1.Party.PrincipalID }, crossing.MandatePartyMismatch, "§4.4-7"},
		{"another clearance", nil, func(s *check) { s.P1.Party.ClearanceIDHash = someHash }, crossing.MandateInvalid, "§3.4 party"},
		{"another trust basis", nil, func(s *check) { s.P1.Party.TrustBasis = "nca_verified" }, crossing.MandateInvalid, "§3.4 party"},
		{"another level", nil, func(s *check) { s.P1.Party.AGCLevel++ }, crossing.MandateInvalid, "§3.4 party"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := crossingtest.New(t)
			if tt.deal != nil {
				tt.deal(&d.Initiator)
			}
			s := screening(t, d)
			if tt.edit != nil {
				tt.edit(s)
			}
			open, refusal := crossing.Screen(*s)
			if open != nil {
				t.Error("Screen returned an Open beside its refusal")
			}
			wantRefusal(t, refusal, tt.want, tt.path, "")
		})
	}
}

// covers GC-107, GC-298, GC-364
func TestParseIntent(t *testing.T) {
	acts := commitment.Builtin()
	tests := []struct {
		class, act string
		want       crossing.Name
		path       string
	}{
		{"irreversible", "engagement_code_issuance", "", ""},
		{"binding", "engagement_code_issuance", "", ""},
		{"reversible", "proposal_within_tariff", "", ""},
		{"reversible", "engagement_code_issuance", crossing.ClassBelowFloor, "§10 11-16 ii"},
		{"observe", "proposal_within_tariff", crossing.ClassBelowFloor, "§10 11-16 ii"},
		{"extreme", "engagement_code_issuance", crossing.MalformedMandate, "§4.1.3 L-5"},
		{"", "engagement_code_issuance", crossing.MalformedMandate, "§4.1.3 L-5"},
		{"irreversible", "unlisted_act", crossing.MalformedMandate, "§5.4-9 act vocabulary"},
		{"irreversible", "", crossing.MalformedMandate, "§5.4-9 act vocabulary"},
		{"observe", "unlisted_act", crossing.MalformedMandate, "§5.4-9 act vocabulary"},
	}
	for _, tt := range tests {
		class, refusal := crossing.ParseIntent(tt.class, tt.act, acts)
		if tt.want == "" {
			if refusal != nil || class.String() != tt.class {
				t.Errorf("ParseIntent(%s, %s) = %v, %v", tt.class, tt.act, class, refusal)
			}
			continue
		}
		wantRefusal(t, refusal, tt.want, tt.path, "")
	}
}

// closing is the responder's check of the initiator's P3.
func closing(t testing.TB, d *crossingtest.Deal) *crossing.Closing {
	t.Helper()
	b := d.Build(t)
	amount, refusal := b.Record.Amount()
	if refusal != nil {
		t.Fatal(refusal)
	}
	return &crossing.Closing{
		At: d.At, Peer: b.Side(crossing.Initiator), Own: d.Responder.PrincipalID, CrossingID: d.CrossingID,
		AgreementHash: d.Agreement(), Class: amount.Class, Act: d.Act, Amount: &amount, Used: map[crossing.Nonce]jcs.Hex256{},
	}
}

// covers GC-167, GC-287, GC-288
func TestCheckClosed(t *testing.T) {
	tests := []struct {
		name string
		deal func(*crossingtest.Deal)
		edit func(*crossing.Closing)
	}{
		{"limit withheld", nil, nil},
		{"limit disclosed, the RA silent", func(d *crossingtest.Deal) { d.Initiator.DiscloseLimit = true }, func(c *crossing.Closing) { c.Peer.Registered = false }},
		{"no amount of one's own yet", nil, func(c *crossing.Closing) { c.Amount = nil }},
		{"no nonces seen", nil, func(c *crossing.Closing) { c.Used = nil }},
		{"signed by a human", func(d *crossingtest.Deal) { human(d, crossing.Initiator) }, nil},
		{"financial", func(d *crossingtest.Deal) { d.Class, d.Currency = "financial", "JPY" }, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := crossingtest.New(t)
			if tt.deal != nil {
				tt.deal(d)
			}
			c := closing(t, d)
			if tt.edit != nil {
				tt.edit(c)
			}
			closed, amount, refusal := crossing.CheckClosed(*c)
			if refusal != nil {
				t.Fatal(refusal)
			}
			if closed.Token() != c.Peer.Closed || closed.CrossingID() != d.CrossingID {
				t.Error("CheckClosed returned another Closed")
			}
			if amount.Class.String() != d.Class || int64(amount.Magnitude) != d.Magnitude || string(amount.Currency) != d.Currency {
				t.Errorf("amount %+v", amount)
			}
		})
	}
}

// covers GC-287, GC-288, GC-289, GC-290, GC-291, GC-292, GC-293, GC-294, GC-295, GC-296, GC-297
func TestCheckClosedRefuses(t *testing.T) {
	type party = crossingtest.Party
	type check = crossing.Closing
	stranger := crossingtest.NewSigner(t)
	claim := func(name, raw string) func(*party) { return func(p *party) { p.Closed[name] = raw } }
	open := func(name, raw string) func(*party) { return func(p *party) { p.Open[name] = raw } }
	unit := func(class, currency string) func(*party) {
		return func(p *party) { p.Closed["commitment_class"], p.Closed["currency"] = class, currency }
	}
	tests := []struct {
		name string
		deal func(*party)
		edit func(*check)
		want crossing.Name
		path string
	}{
		{"1 signed by another key", func(p *party) { p.Closer = stranger }, nil, crossing.MandateInvalid, "§5.4-1 closed signature"},
		{"1 agent's Closed signed by the human", func(p *party) { p.Closer = p.Human }, nil, crossing.MandateInvalid, "§5.4-1 closed signature"},
		{"1 agent's Closed under an Open without cnf", open("cnf", ""), nil, crossing.MandateInvalid, "§5.4-1 closed cnf"},
		{"1 broken signature", nil, func(c *check) { c.Peer.Closed = tampered(c.Peer.Closed) }, crossing.MandateInvalid, "§5.4-1 closed signature"},
		{"1 signer_role of neither", claim("signer_role", `"service"`), nil, crossing.MandateInvalid, "§5.4-1 closed signer_role"},
		{"1 no nonce", claim("nonce", ""), nil, crossing.MandateInvalid, "§5.4-1 closed nonce"},
		{"1 no agreement_hash", claim("agreement_hash", ""), nil, crossing.MandateInvalid, "§5.4-1 closed agreement_hash"},
		{"1 no crossing_id", claim("crossing_id", ""), nil, crossing.MandateInvalid, "§5.4-1 closed crossing_id"},
		{"1 no magnitude_asserted", claim("magnitude_asserted", ""), nil, crossing.MalformedMandate, "§4.1.3 closed magnitude_asserted"},
		{"1 issuer unresolved", nil, func(c *check) { c.Peer.Issuer = nil }, crossing.MandateInvalid, "§4.1.5 iss"},
		{"1 none", nil, func(c *check) { c.Peer.Closed = "" }, crossing.MandatePartyMismatch, "§5.4-9"},
		{"2 another Open", claim("open_mandate_hash", `"`+someHash+`"`), nil, crossing.MandateInvalid, "§5.4-2 open_mandate_hash"},
		{"2 a foreign agent's", func(p *party) {
			p.Closed["iss"], p.Closed["sub"], p.Closed["open_mandate_hash"] = `"urn:anax:agent:foreign"`, `"urn:anax:agent:foreign"`, `"`+someHash+`"`
		}, nil, crossing.MandatePartyMismatch, "§5.4-9 sub"},
		{"3 other terms", nil, func(c *check) { c.AgreementHash = someHash }, crossing.AgreementHashMismatch, "§4.2"},
		{"4 above the Open's class", open("commitment_class", `"reversible"`), nil, crossing.NarrowingViolation, "§4.1.3 L-2"},
		{"4 above what was intended", func(p *party) { p.Open["commitment_class"] = `"binding"`; unit(`"binding"`, "")(p) }, nil, crossing.ClassExceeded, "§4.1.3 L-1"},
		{"4 below what was intended", unit(`"reversible"`, ""), nil, crossing.MagnitudeMismatch, "§5.4 magnitude equality"},
		{"4 act outside the Open", open("commitment_act", `["proposal_within_tariff"]`), nil, crossing.NarrowingViolation, "§4.1.3 commitment_act"},
		{"5 unregistered", nil, func(c *check) { c.Peer.Registered = false }, crossing.NarrowingViolation, "§4.1.3 M-3"},
		{"5 draw above the disclosed limit", func(p *party) { p.DiscloseLimit = true; p.Closed["magnitude_limit"] = "6" }, nil, crossing.NarrowingViolation, "§4.1.3 M-3"},
		{"5 asserts more than it draws", claim("magnitude_limit", "0"), nil, crossing.MagnitudeExhausted, "§4.1.3 M-4"},
		{"5 asserts another amount", claim("magnitude_asserted", "2"), nil, crossing.MagnitudeMismatch, "§5.4 magnitude equality"},
		{"5 nothing", claim("magnitude_asserted", "0"), func(c *check) { c.Amount = nil }, crossing.MagnitudeExhausted, "§4.1.3 M-4"},
		{"6 expires now", nil, func(c *check) { c.At = c.At.Add(9 * time.Minute) }, crossing.MandateExpired, "§5.7 F1"},
		{"7 for another", nil, func(c *check) { c.Own = "urn:anax:principal:third" }, crossing.MandateAudience, "§5.4-7"},
		{"7 Open that does not permit us", open("permitted_counterparties", `[]`), nil, crossing.CounterpartyNotPermitted, "§4.1.3 permitted_counterparties"},
		{"8 nonce seen", nil, func(c *check) {
			c.Used[crossing.Nonce{Issuer: c.Peer.AgentID, Value: "nonce-of-" + c.Peer.AgentID}] = someHash
		}, crossing.MandateNonceReplay, "§5.4-8"},
		{"9 no act", claim("commitment_act", ""), nil, crossing.MandatePartyMismatch, "§5.4-9"},
		{"9 another act", nil, func(c *check) { c.Act = "proposal_within_tariff" }, crossing.MandatePartyMismatch, "§5.4-9"},
		{"9 another crossing", nil, func(c *check) { c.CrossingID = otherUUID }, crossing.MandatePartyMismatch, "§5.4-9"},
		{"9 another agent", nil, func(c *check) { c.Peer.AgentID += "-2" }, crossing.MandatePartyMismatch, "§5.4-9"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := crossingtest.New(t)
			if tt.deal != nil {
				tt.deal(&d.Initiator)
			}
			c := closing(t, d)
			if tt.edit != nil {
				tt.edit(c)
			}
			closed, amount, refusal := crossing.CheckClosed(*c)
			if closed != nil || amount != (commitment.Amount{}) {
				t.Error("CheckClosed returned a Closed beside its refusal")
			}
			wantRefusal(t, refusal, tt.want, tt.path, "")
		})
	}
}

// TestCheckClosedCurrency: at P3 too the currencies come before the magnitudes.
//
// covers GC-106
func TestCheckClosedCurrency(t *testing.T) {
	d := crossingtest.NewFinancial(t)
	c := closing(t, d)
	other := *c.Amount
	other.Currency, other.Magnitude = "CHF", 1
	c.Amount = &other
	_, _, refusal := crossing.CheckClosed(*c)
	wantRefusal(t, refusal, crossing.CurrencyMismatch, "§4.1.3 M-2", "")
}
