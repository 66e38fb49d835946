package crossing_test

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/crossingtest"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// A fault breaks one rule of a seal whose deal is crossingtest.NewFinancial. The hooks are
// run in the order of the fields.
type fault struct {
	what string
	role crossing.Role // whose mandate or entry is broken; initiator where it is nobody's own
	step int           // of AG-58, times ten; the floor stands between 40 and 50
	name crossing.Name
	path string
	at   string // Refusal.Member

	// sets are the values that the fault changes; rests are others that it would not be one
	// without. A name stands for all names that continue it after a dot.
	sets, rests []string

	deal     func(*crossingtest.Deal)
	built    func(testing.TB, *crossingtest.Built)
	params   func(testing.TB, string) string
	evidence func(*crossing.Evidence)
}

// applies reports whether both faults are there when both are made.
func (f fault) applies(g fault) bool {
	return !meet(f.sets, g.sets) && !meet(f.sets, g.rests) && !meet(f.rests, g.sets)
}

func meet(a, b []string) bool {
	for _, x := range a {
		for _, y := range b {
			if x == y || strings.HasPrefix(x, y+".") || strings.HasPrefix(y, x+".") {
				return true
			}
		}
	}
	return false
}

// before is AG-58's order; within one step the initiator is looked at first. ok is false
// for two faults of one step and side, which AG-58 does not order.
func (f fault) before(g fault) (first, ok bool) {
	if f.step != g.step {
		return f.step < g.step, true
	}
	return f.role == crossing.Initiator, f.role != g.role
}

// judge makes the faults and hands the request to the responder.
func judge(t testing.TB, base *crossingtest.Deal, faults ...fault) (*crossing.Cleared, *crossing.Refusal) {
	t.Helper()
	d := base.Clone()
	for _, f := range faults {
		if f.deal != nil {
			f.deal(d)
		}
	}
	b := d.Build(t)
	for _, f := range faults {
		if f.built != nil {
			f.built(t, b)
		}
	}
	body := string(b.ParamsBytes())
	for _, f := range faults {
		if f.params != nil {
			body = f.params(t, body)
		}
	}
	p, refusal := crossing.ParseSealParams(parse(t, body))
	if refusal != nil {
		return nil, refusal
	}
	ev := b.Evidence(p)
	for _, f := range faults {
		if f.evidence != nil {
			f.evidence(&ev)
		}
	}
	return crossing.Clear(ev)
}

func faults(t testing.TB) []fault {
	all := append(requestFaults(), recordFaults()...)
	for _, role := range []crossing.Role{crossing.Initiator, crossing.Responder} {
		all = append(all, signatureFaults(t, role)...)
		all = append(all, claimFaults(role)...)
		all = append(all, entryFaults(role)...)
		all = append(all, amountFaults(role)...)
	}
	return all
}

// leads are the first fault of each step, side and clause: the others break the same rule
// in another way.
func leads(all []fault) (out []fault) {
	for _, f := range all {
		same := func(g fault) bool {
			return f.step == g.step && f.role == g.role && f.name == g.name && f.path == g.path
		}
		if !slices.ContainsFunc(out, same) {
			out = append(out, f)
		}
	}
	return out
}

// requestFaults are of the shape of the request (step 2), and of what only the responder
// knows.
func requestFaults() []fault {
	body := func(pointer string, value any) func(testing.TB, string) string {
		return func(t testing.TB, src string) string { return edited(t, src, pointer, value) }
	}
	shape := func(what, path, at string, params func(testing.TB, string) string) fault {
		return fault{what: what, role: crossing.Initiator, step: 20, name: crossing.RecordMalformed, path: path, at: at, sets: []string{"request"}, params: params}
	}
	return []fault{
		shape("unknown member of the record", "§4.4 unknown", "/record/zz", body("/record/zz", 1)),
		shape("key of another crossing", "§3.7.1 idempotency_key", "/idempotency_key", body("/idempotency_key", "7f3c1a52-5d0e-4b7a-9c41-0a6f2d9be003")),
		shape("no Closed", "§3.7.1 missing", "/initiator_closed_mandate", body("/initiator_closed_mandate", removed{})),
		{what: "other terms here", role: crossing.Initiator, step: 120, name: crossing.AgreementHashMismatch, path: "§4.2",
			sets: []string{"here.agreement"}, evidence: func(ev *crossing.Evidence) { ev.AgreementHash = someHash }},
		{what: "another crossing here", role: crossing.Initiator, step: 190, name: crossing.SealMismatch, path: "§4.4-6",
			sets: []string{"here.crossing"}, evidence: func(ev *crossing.Evidence) { ev.CrossingID = otherUUID }},
		{what: "another task here", role: crossing.Initiator, step: 190, name: crossing.SealMismatch, path: "§4.4-6",
			sets: []string{"here.task"}, evidence: func(ev *crossing.Evidence) { ev.TaskID = "another" }},
		{what: "another seal claimed", role: crossing.Initiator, step: 190, name: crossing.SealMismatch, path: "§4.4-6",
			sets: []string{"claim"}, params: body("/initiator_joint_seal", someHash)},
	}
}

// recordFaults are of the record's own members.
func recordFaults() []fault {
	record := func(what string, step int, name crossing.Name, path string, sets, rests []string, edit func(*crossing.Record)) fault {
		return fault{what: what, role: crossing.Initiator, step: step, name: name, path: path, sets: sets, rests: rests,
			built: func(_ testing.TB, b *crossingtest.Built) { edit(b.Record) }}
	}
	malformed, floor := crossing.MalformedMandate, crossing.ClassBelowFloor
	class, currency, act := []string{"record.class"}, []string{"record.currency"}, []string{"record.act"}
	unit := []string{"record.class", "record.currency"}
	return []fault{
		record("unknown class", 40, malformed, "§4.1.3 L-5", class, nil, func(r *crossing.Record) { r.Class = "extreme" }),
		record("negative magnitude", 40, malformed, "§4.1.3 M-1", []string{"record.magnitude"}, nil, func(r *crossing.Record) { r.Magnitude = -1 }),
		record("financial without currency", 40, malformed, "§4.1.3 M-2", currency, class, func(r *crossing.Record) { r.Currency = "" }),
		record("unlisted act", 40, malformed, "§5.4-9 act vocabulary", act, nil, func(r *crossing.Record) { r.Act = "unlisted_act" }),
		record("class below the floor", 45, floor, "§10 11-16 ii", unit, act, func(r *crossing.Record) { r.Class, r.Currency = "reversible", "" }),
		record("observe", 45, floor, "§10 11-16 ii", append(unit, "record.observe"), act, func(r *crossing.Record) { r.Class, r.Currency = "observe", "" }),
		record("another crossing", 110, crossing.MandatePartyMismatch, "§5.4-9",
			[]string{"record.crossing"}, nil, func(r *crossing.Record) { r.CrossingID = otherUUID }),
		record("another listed act", 110, crossing.MandatePartyMismatch, "§5.4-9",
			act, []string{"record.class"}, func(r *crossing.Record) { r.Act = "proposal_within_tariff" }),
		record("other terms", 120, crossing.AgreementHashMismatch, "§4.2",
			[]string{"record.agreement"}, nil, func(r *crossing.Record) { r.AgreementHash = someHash }),
		record("another currency", 150, crossing.CurrencyMismatch, "§4.1.3 M-2",
			currency, []string{"record.class", "initiator.closed.unit"}, func(r *crossing.Record) { r.Currency = "CHF" }),
		record("one less", 170, crossing.MagnitudeMismatch, "§5.4 magnitude equality",
			[]string{"record.magnitude"}, []string{"initiator.closed.asserted", "record.class"}, func(r *crossing.Record) { r.Magnitude-- }),
		record("another task", 190, crossing.SealMismatch, "§4.4-6",
			[]string{"record.task"}, []string{"here.task"}, func(r *crossing.Record) { r.Context.TaskID = "another" }),
		record("another context", 190, crossing.SealMismatch, "§4.4-6",
			[]string{"record.context"}, nil, func(r *crossing.Record) { r.Context.ContextID = "another" }),
		{what: "nothing at all", role: crossing.Initiator, step: 180, name: crossing.MagnitudeExhausted, path: "§4.1.3 M-4",
			sets: []string{"record.magnitude", "initiator.closed.asserted", "responder.closed.asserted"},
			deal: func(d *crossingtest.Deal) { d.Magnitude = 0 }},
	}
}

// closed and open make faults of one claim.
func claim(role crossing.Role, variant, claim, raw, what string, step int, name crossing.Name, path string, sets string, rests ...string) fault {
	who := string(role) + "."
	f := fault{what: what, role: role, step: step, name: name, path: path, sets: []string{who + variant + "." + sets}}
	for _, r := range rests {
		if !strings.HasPrefix(r, "record.") && !strings.HasPrefix(r, "here.") {
			r = who + r
		}
		f.rests = append(f.rests, r)
	}
	f.deal = func(d *crossingtest.Deal) {
		p := d.Party(role)
		if variant == "open" {
			p.Open[claim] = raw
		} else {
			p.Closed[claim] = raw
		}
	}
	return f
}

// signatureFaults are of step 5: what is needed to know whose word a mandate is.
func signatureFaults(t testing.TB, role crossing.Role) []fault {
	who := string(role) + "."
	stranger := crossingtest.NewSigner(t)
	invalid := func(what, path string, sets, rests []string, built func(*crossingtest.Tokens)) fault {
		return fault{what: what, role: role, step: 50, name: crossing.MandateInvalid, path: path, sets: sets, rests: rests,
			built: func(_ testing.TB, b *crossingtest.Built) { built(b.Tokens(role)) }}
	}
	issuer, entry := []string{who + "issuer"}, []string{who + "entry.principal"}
	all := []fault{
		claim(role, "closed", "vct", `"mandate.agreement.open.1"`, "Closed of another vct", 50, crossing.MandateInvalid, "§5.4-1 closed vct", "vct"),
		claim(role, "closed", "nonce", "", "Closed without nonce", 50, crossing.MandateInvalid, "§5.4-1 closed nonce", "nonce"),
		claim(role, "closed", "aud", "", "Closed without aud", 50, crossing.MandateInvalid, "§5.4-1 closed aud", "aud"),
		claim(role, "closed", "magnitude_asserted", "2.5", "Closed with a fraction", 50, crossing.MalformedMandate, "§5.4-1 closed magnitude_asserted", "asserted"),
		claim(role, "closed", "open_mandate_hash", `"`+someHash+`"`, "Closed under another Open", 50, crossing.MandateInvalid, "§5.4-2 open_mandate_hash", "open", "entry.agent"),
		claim(role, "closed", "sd_hash", `"bm90IGl0"`, "Closed with another sd_hash", 50, crossing.MandateInvalid, "§5.4-1 closed sd_hash", "sd_hash"),
		claim(role, "open", "vct", `"mandate.agreement.closed.1"`, "Open of another vct", 50, crossing.MandateInvalid, "§5.4 open vct", "vct"),
		claim(role, "open", "cnf", "", "agent's Closed under an Open without cnf", 50, crossing.MandateInvalid, "§5.4-1 closed cnf", "cnf"),
		{what: "Closed signed by another key", role: role, step: 50, name: crossing.MandateInvalid, path: "§5.4-1 closed signature",
			sets: []string{who + "closer"}, rests: []string{who + "open.cnf"},
			deal: func(d *crossingtest.Deal) { d.Party(role).Closer = stranger }},
		{what: "Closed of a foreign agent", role: role, step: 50, name: crossing.MandatePartyMismatch, path: "§5.4-9 sub",
			sets: []string{who + "closed.iss", who + "closed.sub", who + "closed.open"}, rests: []string{who + "entry.agent"},
			deal: func(d *crossingtest.Deal) {
				maps.Copy(d.Party(role).Closed, crossingtest.Claims{
					"iss": `"urn:anax:agent:foreign"`, "sub": `"urn:anax:agent:foreign"`, "open_mandate_hash": `"` + someHash + `"`})
			}},
		invalid("EdDSA", "§5.4-1 closed header", []string{who + "closed", who + "closer"}, nil, func(k *crossingtest.Tokens) { k.Closed = withHeader(k.Closed, `{"alg":"EdDSA","kid":"k"}`) }),
		invalid("bytes after the last tilde", "§5.4-1 closed token", []string{who + "closed", who + "closer"}, nil, func(k *crossingtest.Tokens) { k.Closed += "x" }),
		invalid("broken signature of the Open", "§5.2-1 open signature", []string{who + "open.signature"}, issuer, func(k *crossingtest.Tokens) { k.Open = tampered(k.Open) }),
		invalid("unresolved issuer", "§4.1.5 iss", issuer, nil, func(k *crossingtest.Tokens) { k.Principal = nil }),
		invalid("issuer without the key", "§5.2-1 open kid", issuer, entry, func(k *crossingtest.Tokens) { k.Principal.Keys = []jose.Key{stranger.Key()} }),
		invalid("inactive issuer", "§5.2-1 open kid", issuer, entry, func(k *crossingtest.Tokens) { k.Principal.Active = false }),
		invalid("lapsed record of the issuer", "§5.2-1 open kid", issuer, entry, func(k *crossingtest.Tokens) { k.Principal.Expires = sealedAt }),
		invalid("record of another principal", "§4.1.5 iss", issuer, nil, func(k *crossingtest.Tokens) { k.Principal.ID = "urn:anax:principal:other" }),
	}
	if role == crossing.Responder { // the initiator's comes with the request
		none := invalid("no Closed of its own", "§5.4-9", []string{who + "closed", who + "closer"}, nil, func(k *crossingtest.Tokens) { k.Closed = "" })
		none.name = crossing.MandatePartyMismatch
		all = append(all, none)
	}
	return all
}

// claimFaults are of single claims, steps 6 to 14.
func claimFaults(role crossing.Role) []fault {
	now := strconv.FormatInt(sealedAt.Unix(), 10)
	expired, audience, counterparty := crossing.MandateExpired, crossing.MandateAudience, crossing.CounterpartyNotPermitted
	c := func(name, raw, what string, step int, n crossing.Name, path, sets string, rests ...string) fault {
		return claim(role, "closed", name, raw, what, step, n, path, sets, rests...)
	}
	o := func(name, raw, what string, step int, n crossing.Name, path, sets string, rests ...string) fault {
		return claim(role, "open", name, raw, what, step, n, path, sets, rests...)
	}
	return []fault{
		c("commitment_class", `"extreme"`, "Closed of unknown class", 60, crossing.MalformedMandate, "§4.1.3 closed commitment_class", "unit"),
		c("commitment_class", "", "Closed without class", 60, crossing.MalformedMandate, "§4.1.3 closed commitment_class", "unit"),
		c("currency", "", "Closed without currency", 60, crossing.MalformedMandate, "§4.1.3 closed currency", "unit"),
		c("currency", "null", "Closed with currency null", 60, crossing.MalformedMandate, "§4.1.3 closed currency", "unit"),
		c("magnitude_asserted", "", "Closed that asserts nothing", 60, crossing.MalformedMandate, "§4.1.3 closed magnitude_asserted", "asserted", "closed.unit"),
		c("magnitude_limit", "-1", "Closed with a negative draw", 60, crossing.MalformedMandate, "§4.1.3 closed magnitude_limit", "limit", "closed.unit", "closed.asserted"),
		o("commitment_class", `"extreme"`, "Open of unknown class", 60, crossing.MalformedMandate, "§4.1.3 open commitment_class", "unit"),
		o("currency", "", "Open without currency", 60, crossing.MalformedMandate, "§4.1.3 open currency", "unit"),
		c("exp", now, "Closed expires now", 70, expired, "§5.7 F1", "exp"),
		o("exp", now, "Open expires now", 70, expired, "§5.7 F1", "exp"),
		c("aud", `"urn:anax:principal:third"`, "Closed for a third party", 80, audience, "§5.4-7", "aud"),
		c("aud", `["urn:anax:principal:trust","urn:anax:principal:anax"]`, "Closed for two", 80, audience, "§5.4-7", "aud"),
		c("aud", "7", "Closed for a number", 80, audience, "§5.4-7", "aud"),
		o("permitted_counterparties", `["urn:anax:principal:third"]`, "Open for others", 90, counterparty, "§4.1.3 permitted_counterparties", "list"),
		o("permitted_counterparties", `[]`, "Open for nobody", 90, counterparty, "§4.1.3 permitted_counterparties", "list"),
		o("permitted_counterparties", `["*"]`, "star in a list", 90, counterparty, "§4.1.3 permitted_counterparties", "list"),
		o("permitted_counterparties", "", "silent Open", 90, counterparty, "§4.1.3 permitted_counterparties", "list"),
		c("commitment_act", "", "Closed without act", 110, crossing.MandatePartyMismatch, "§5.4-9", "act"),
		c("commitment_act", `"proposal_within_tariff"`, "Closed of another act", 110, crossing.MandatePartyMismatch, "§5.4-9", "act", "record.act"),
		c("crossing_id", `"`+otherUUID+`"`, "Closed of another crossing", 110, crossing.MandatePartyMismatch, "§5.4-9", "crossing", "record.crossing"),
		c("agreement_hash", `"`+strings.Repeat("0", 64)+`"`, "Closed over other terms", 120, crossing.AgreementHashMismatch, "§4.2", "agreement"),
		o("commitment_act", `["proposal_within_tariff"]`, "act outside the Open", 130, crossing.NarrowingViolation, "§4.1.3 commitment_act", "act", "closed.act"),
	}
}

// entryFaults are of the record's entry for a party, and of its nonce.
func entryFaults(role crossing.Role) []fault {
	entry := func(what, field string, step int, name crossing.Name, path string, edit func(*crossing.Party), rests ...string) fault {
		return fault{what: what, role: role, step: step, name: name, path: path, sets: []string{string(role) + ".entry." + field}, rests: rests,
			built: func(_ testing.TB, b *crossingtest.Built) { edit(b.Record.Party(role)) }}
	}
	nonce := fault{what: "nonce used before", role: role, step: 100, name: crossing.MandateNonceReplay, path: "§5.4-8",
		sets: []string{string(role) + ".used"}, rests: []string{string(role) + ".closed.iss", string(role) + ".closed.nonce"},
		evidence: func(ev *crossing.Evidence) {
			s := ev.Initiator
			if role == crossing.Responder {
				s = ev.Responder
			}
			ev.Used[crossing.Nonce{Issuer: s.AgentID, Value: "nonce-of-" + s.AgentID}] = someHash
		}}
	mismatch, seal := crossing.MandatePartyMismatch, crossing.SealMismatch
	return []fault{
		nonce,
		entry("another principal", "principal", 50, crossing.MandateInvalid, "§4.1.5 iss", func(p *crossing.Party) { p.PrincipalID += "-2" }),
		entry("another agent", "agent", 110, mismatch, "§5.4-9", func(p *crossing.Party) { p.AgentID += "-2" }),
		entry("another Closed", "closed", 110, mismatch, "§5.4-9", func(p *crossing.Party) { p.ClosedMandateHash = someHash }),
		entry("another Open", "open", 110, mismatch, "§5.4-9", func(p *crossing.Party) { p.OpenMandateHash = someHash }),
		entry("another signer", "signer", 110, mismatch, "§5.4-9", func(p *crossing.Party) { p.SignerRole = "human" }),
		entry("another pack", "pack", 110, mismatch, "§5.4-9", func(p *crossing.Party) { p.Basis.PackID += "-2" }),
		entry("another pack version", "pack", 110, mismatch, "§5.4-9", func(p *crossing.Party) { p.Basis.PackVersion += "-2" }),
		entry("another clearance", "clearance", 190, seal, "§4.4-6", func(p *crossing.Party) { p.ClearanceIDHash = someHash }),
		entry("another trust basis", "trust", 190, seal, "§4.4-6", func(p *crossing.Party) { p.TrustBasis = "nca_verified" }),
		entry("another level", "level", 190, seal, "§4.4-6", func(p *crossing.Party) { p.AGCLevel++ }),
	}
}

// amountFaults are of class, currency and magnitude, steps 13 to 18.
func amountFaults(role crossing.Role) []fault {
	who := string(role) + "."
	names := func(list ...string) (out []string) {
		for _, name := range list {
			if !strings.HasPrefix(name, "record.") {
				name = who + name
			}
			out = append(out, name)
		}
		return out
	}
	deal := func(what string, step int, name crossing.Name, path string, sets, rests []string, edit func(*crossingtest.Party)) fault {
		return fault{what: what, role: role, step: step, name: name, path: path, sets: sets, rests: rests,
			deal: func(d *crossingtest.Deal) { edit(d.Party(role)) }}
	}
	unit := func(c crossingtest.Claims, class, currency string) {
		c["commitment_class"], c["currency"] = `"`+class+`"`, currency
	}
	narrow := crossing.NarrowingViolation
	return []fault{
		deal("Closed above its Open's class", 130, narrow, "§4.1.3 L-2", names("open.unit"), names("closed.unit"),
			func(p *crossingtest.Party) { unit(p.Open, "irreversible", "") }),
		deal("Closed of class observe", 140, crossing.ClassExceeded, "§4.1.3 L-1", names("closed.unit"), names("open.unit", "record.observe"),
			func(p *crossingtest.Party) { unit(p.Closed, "observe", "") }),
		deal("Closed below the record's class", 140, crossing.ClassExceeded, "§4.1.3 L-1", names("closed.unit"), names("open.unit", "record.class"),
			func(p *crossingtest.Party) { unit(p.Closed, "irreversible", "") }),
		deal("Closed in another currency", 150, crossing.CurrencyMismatch, "§4.1.3 M-2", names("closed.unit"), names("open.unit"),
			func(p *crossingtest.Party) { unit(p.Closed, "financial", `"USD"`) }),
		deal("Open in another currency", 150, crossing.CurrencyMismatch, "§4.1.3 M-2", names("open.unit"), names("closed.unit"),
			func(p *crossingtest.Party) { unit(p.Open, "financial", `"USD"`) }),
		{what: "limit withheld and draw unregistered", role: role, step: 160, name: narrow, path: "§4.1.3 M-3",
			sets: names("word"), evidence: func(ev *crossing.Evidence) { *registered(ev, role) = false }},
		deal("draw above the disclosed limit", 160, narrow, "§4.1.3 M-3", names("word", "open.limit"), names("open.unit", "closed.unit", "closed.limit"),
			func(p *crossingtest.Party) { p.DiscloseLimit, p.Open["magnitude_limit"] = true, "299" }),
		deal("Closed that asserts less", 170, crossing.MagnitudeMismatch, "§5.4 magnitude equality", names("closed.asserted"), names("record.magnitude", "closed.unit"),
			func(p *crossingtest.Party) { p.Closed["magnitude_asserted"] = "248" }),
		deal("Closed above the record's class", 170, crossing.MagnitudeMismatch, "§5.4 magnitude equality", names("closed.unit", "open.unit"), names("record.class"),
			func(p *crossingtest.Party) { unit(p.Closed, "binding", ""); unit(p.Open, "binding", "") }),
		deal("Closed that draws less than it asserts", 180, crossing.MagnitudeExhausted, "§4.1.3 M-4", names("closed.limit"), names("closed.asserted"),
			func(p *crossingtest.Party) { p.Closed["magnitude_limit"] = "249" }),
	}
}

func registered(ev *crossing.Evidence, role crossing.Role) *bool {
	if role == crossing.Initiator {
		return &ev.Initiator.Registered
	}
	return &ev.Responder.Registered
}

// withHeader puts another header before a token's payload and signature.
func withHeader(token, header string) string {
	_, rest, _ := strings.Cut(token, ".")
	return jose.EncodeBase64([]byte(header)) + "." + rest
}

// tampered changes the signature of a token in its first character.
func tampered(token string) string {
	i := strings.LastIndexByte(token, '.') + 1
	c := byte('A')
	if token[i] == c {
		c = 'B'
	}
	return token[:i] + string(c) + token[i+1:]
}

// human makes a party's Closed one that its human signs (T2).
func human(d *crossingtest.Deal, role crossing.Role) {
	p := d.Party(role)
	p.Closer = p.Human
	p.Closed["iss"], p.Closed["signer_role"] = string(jcs.String(p.HumanID())), `"`+string(mandate.RoleHuman)+`"`
}
