package httpapi_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/internal/store/storetest"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// refusalTables are what a refusal may add a row to.
var refusalTables = []string{"refusals", "publication_refusals"}

// forged is a mandate with one text of its payload replaced by another, signed again: what
// a client of ours would not sign.
func forged(t *testing.T, s *jose.Signer, token, old, new string) string {
	t.Helper()
	jwt, rest, _ := strings.Cut(token, "~")
	c, err := jose.ParseCompact(jwt, len(jwt))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(c.Payload, []byte(old)) {
		t.Fatalf("payload has no %s: %s", old, c.Payload)
	}
	out, err := jose.SignCompact(s, "dc+sd-jwt", bytes.Replace(c.Payload, []byte(old), []byte(new), 1))
	if err != nil {
		t.Fatal(err)
	}
	return out + "~" + rest
}

// TestBadInputChangesNothing sends what nobody may, each refused by its own name, and reads
// the whole database before and after.
//
// covers GC-073, GC-082, GC-120, GC-186, GC-203, GC-204, GC-205, GC-206
func TestBadInputChangesNothing(t *testing.T) {
	o := newOffice(t)
	operator, a, b := o.runBy(t, "ra"), o.join(t, "a"), o.join(t, "b")
	raw, err := sql.Open("sqlite", "file:"+o.path+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	plain := func(d *mandate.OpenDraft) { d.DiscloseLimit = true }
	openToken := a.open(t, unit(5), plain).Full()
	euroToken := a.open(t, money(500, "EUR"), plain).Full()
	units, euros := a.opened(t, unit(5)), a.opened(t, money(500, "EUR"))
	theirs := b.opened(t, unit(5))
	drawn := a.opened(t, unit(2))
	cleared(t, "draw", a.draw(t, drawn, b, unit(2)))
	sign := func(f, peer *firm, o mandate.IssuedOpen, change func(*mandate.ClosedDraft)) string {
		t.Helper()
		d := f.draft(o, peer, unit(1))
		change(&d)
		token, err := d.Sign(f.agent)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	same := func(*mandate.ClosedDraft) {}
	closedToken := sign(a, b, units, same)
	euroClosed := sign(a, b, euros, func(d *mandate.ClosedDraft) { d.Asserted = money(1, "EUR") })
	known := sign(b, a, theirs, same)
	if _, err := b.ra.RegisterClosed(t.Context(), api.RegisterClosed{Token: known, CounterpartyAgent: a.agentID}); err != nil {
		t.Fatal(err)
	}
	changed := known[:len(known)-2] + "A~"
	if changed == known {
		changed = known[:len(known)-2] + "Q~"
	}
	opens := func(token string) string { return string(api.RegisterOpen{Token: token}.Bytes()) }
	closeds := func(token string) string {
		return string(api.RegisterClosed{Token: token, CounterpartyAgent: b.agentID}.Bytes())
	}
	consume := func(token, class, units, currency string) string {
		money := ""
		if currency != "" {
			money = `"currency":"` + currency + `",`
		}
		return `{"class":"` + class + `",` + money + `"open_mandate":"` + token + `","request_id":"` + attempt(1) + `","units":` + units + `}`
	}
	hash := strings.Repeat("ab", 32)
	limit := func(new string) string {
		return forged(t, a.issuer, openToken, `"magnitude_limit":5`, `"magnitude_limit":`+new)
	}
	asserted := func(new string) string {
		return forged(t, a.agent, closedToken, `"magnitude_asserted":1`, `"magnitude_asserted":`+new)
	}
	secret, err := o.ra.NewCode(t.Context(), registry.CodeTerms{})
	if err != nil {
		t.Fatal(err)
	}
	twice := b.request
	twice.Secret, twice.Credentials = secret, slices.Clone(twice.Credentials)
	twice.Credentials[2].Hash = twice.Credentials[0].Hash

	for what, c := range map[string]struct{ route, as, body, name string }{
		// Wrong hash form.
		"hash in capitals":    {"revocations", "principal a", `{"hash":"` + strings.ToUpper(hash) + `"}`, `"malformed_request"`},
		"hash too short":      {"revocations", "principal a", `{"hash":"` + hash[1:] + `"}`, `"malformed_request"`},
		"hash with a prefix":  {"revocations", "operator ra", `{"hash":"sha256:` + hash + `"}`, `"malformed_request"`},
		"hash of a status":    {"status", "", `{"hash":"` + hash[2:] + `","nonce":"n"}`, `"malformed_request"`},
		"hash no text":        {"revocations", "principal a", `{"hash":7}`, `"malformed_request"`},
		"credential's hash":   {"withdrawals", "principal a", `{"credential_sha256":"` + hash + `0"}`, `"malformed_request"`},
		"issuer's hash":       {"issuers", "operator ra", `{"credential_sha256":"x","principal_id":"` + a.id + `","subjects":["urn:anax:agent:s"]}`, `"malformed_request"`},
		"hash in a Closed":    {"closeds", "agent a", closeds(forged(t, a.agent, closedToken, `"agreement_hash":"`, `"agreement_hash":"A`)), `"MANDATE_INVALID"`},
		"key no thumbprint":   {"retirements", "principal a", `{"key":"` + hash + `","principal_id":"` + a.id + `"}`, `"malformed_request"`},
		"key of a human":      {"human-decisions", "operator ra", `{"approve":true,"key":"","principal_id":"` + a.id + `"}`, `"malformed_request"`},
		"triple of no hashes": {"confirms", "effector b", `{"crossing_id":"` + crossingOne + `","initiator_token_sha256":"x","responder_token_sha256":"` + hash + `"}`, `"malformed_request"`},

		// Unknown token.
		"hold of unknown tokens": {"holds", "effector b", string(api.Hold{
			CrossingID: crossingOne, InitiatorClosed: closedToken, ResponderClosed: known,
		}.Bytes()), `"MANDATE_INVALID"`},
		"hold of a changed token": {"holds", "effector b", string(api.Hold{
			CrossingID: crossingOne, InitiatorClosed: changed, ResponderClosed: known,
		}.Bytes()), `"MANDATE_INVALID"`},
		"confirm of an unknown triple": {"confirms", "effector b", string(api.Confirm{Triple: mandate.Triple{
			CrossingID: crossingOne, InitiatorToken: jcs.HexOf([]byte(closedToken)), ResponderToken: jcs.HexOf([]byte(known)),
		}}.Bytes()), `"MAGNITUDE_EXHAUSTED"`},
		"units of an unknown token":     {"units", "effector a", consume(openToken, "irreversible", "1", ""), `"MANDATE_INVALID"`},
		"revocation of an unknown hash": {"revocations", "operator ra", `{"hash":"` + hash + `"}`, `"not_found"`},
		"a Closed of an unknown Open": {"closeds", "agent a", closeds(sign(a, b, units, func(d *mandate.ClosedDraft) {
			d.OpenMandateHash = jcs.Hex256(hash)
		})), `"MANDATE_INVALID"`},
		"burning what was not consumed": {"units/burned", "effector a", string(api.Burn{RequestID: attempt(9)}.Bytes()), `"not_found"`},
		"withdrawing the unknown":       {"withdrawals", "operator ra", `{"credential_sha256":"` + hash + `"}`, `"not_found"`},
		"a credential of nobody":        {"opens", "nobody", opens(openToken), `"unauthenticated"`},

		// Negative and fractional amounts.
		"negative limit":       {"opens", "principal a", opens(limit("-1")), `"MALFORMED_MANDATE"`},
		"fractional limit":     {"opens", "principal a", opens(limit("1.5")), `"MALFORMED_MANDATE"`},
		"limit over 2^53":      {"opens", "principal a", opens(limit("9007199254740992")), `"MALFORMED_MANDATE"`},
		"limit as text":        {"opens", "principal a", opens(limit(`"5"`)), `"MALFORMED_MANDATE"`},
		"negative asserted":    {"closeds", "agent a", closeds(asserted("-1")), `"MALFORMED_MANDATE"`},
		"fractional asserted":  {"closeds", "agent a", closeds(asserted("0.5")), `"MALFORMED_MANDATE"`},
		"asserted as exponent": {"closeds", "agent a", closeds(asserted("1e-1")), `"MALFORMED_MANDATE"`},
		"negative units":       {"units", "effector a", consume(units.Full(), "irreversible", "-1", ""), `"malformed_request"`},
		"fractional units":     {"units", "effector a", consume(units.Full(), "irreversible", "1.5", ""), `"malformed_request"`},
		"no units":             {"units", "effector a", consume(units.Full(), "irreversible", "0", ""), `"malformed_request"`},

		// Mixed currencies.
		"a Closed in another currency": {"closeds", "agent a", closeds(forged(t, a.agent, euroClosed, `"EUR"`, `"GBP"`)), `"CURRENCY_MISMATCH"`},
		"a Closed without currency":    {"closeds", "agent a", closeds(forged(t, a.agent, euroClosed, `"currency":"EUR",`, ``)), `"MALFORMED_MANDATE"`},
		"currency beside actions":      {"closeds", "agent a", closeds(forged(t, a.agent, closedToken, `"magnitude_asserted"`, `"currency":"EUR","magnitude_asserted"`)), `"MALFORMED_MANDATE"`},
		"a currency of nobody":         {"opens", "principal a", opens(forged(t, a.issuer, euroToken, `"EUR"`, `"EUX"`)), `"MALFORMED_MANDATE"`},
		"units in another currency":    {"units", "effector a", consume(euros.Full(), "financial", "1", "GBP"), `"CURRENCY_MISMATCH"`},
		"units without currency":       {"units", "effector a", consume(euros.Full(), "financial", "1", ""), `"CURRENCY_MISMATCH"`},

		// A draw above the limit.
		"a limit above the Open's": {"closeds", "agent a", closeds(sign(a, b, units, func(d *mandate.ClosedDraft) { d.Asserted = unit(6) })), `"NARROWING_VIOLATION"`},
		"a draw of what is gone":   {"closeds", "agent a", closeds(sign(a, b, drawn, same)), `"MAGNITUDE_EXHAUSTED"`},
		"units of what is gone":    {"units", "effector a", consume(drawn.Full(), "irreversible", "1", ""), `"MAGNITUDE_EXHAUSTED"`},
		"units above the limit":    {"units", "effector a", consume(units.Full(), "irreversible", "6", ""), `"MAGNITUDE_EXHAUSTED"`},
		"asserted above its own limit": {"closeds", "agent a", closeds(forged(t, a.agent, closedToken, `"magnitude_asserted":1`,
			`"magnitude_asserted":2`)), `"MAGNITUDE_EXHAUSTED"`},

		// Expiry beyond the parent.
		"a Closed that outlives its Open": {"closeds", "agent a", closeds(sign(a, b, units, func(d *mandate.ClosedDraft) {
			d.ExpiresAt = start.Add(time.Hour + time.Second)
		})), `"NARROWING_VIOLATION"`},
		"a Closed that has expired": {"closeds", "agent a", closeds(sign(a, b, units, func(d *mandate.ClosedDraft) {
			d.IssuedAt, d.ExpiresAt = start.Add(-time.Minute), start
		})), `"MANDATE_EXPIRED"`},
		"an Open without exp": {"opens", "principal a", opens(forged(t, a.issuer, openToken, `"exp":`, `"exq":`)), `"MANDATE_INVALID"`},

		// Two roles for one credential.
		"two roles in one enrolment":           {"enrol", "", string(twice.Bytes()), `"malformed_request"`},
		"an effector's credential as issuer's": {"issuers", "operator ra", string(api.RegisterIssuer{PrincipalID: b.id, CredentialHash: api.CredentialHash("effector b"), Subjects: []string{"urn:anax:agent:s"}}.Bytes()), `"conflict"`},
		"a principal's credential as effector's": {"additions", "principal a", string(api.Addition{
			PrincipalID: a.id, Credentials: []api.Credential{{Role: api.RoleEffector, Hash: api.CredentialHash("principal a")}},
		}.Bytes()), `"conflict"`},
		"another's credential": {"additions", "principal a", string(api.Addition{
			PrincipalID: a.id, Credentials: []api.Credential{{Role: api.RolePrincipal, Hash: api.CredentialHash("principal b")}},
		}.Bytes()), `"conflict"`},
		"the operator's role, asked for": {"additions", "principal a", string(api.Addition{
			PrincipalID: a.id, Credentials: []api.Credential{{Role: api.RoleOperator, Hash: jcs.HexOf(nil)}},
		}.Bytes()), `"ROLE_MISMATCH"`},
		"an effector issues": {"opens", "effector a", opens(openToken), `"ROLE_MISMATCH"`},
		"a principal holds":  {"holds", "principal b", string(api.Hold{CrossingID: crossingOne, InitiatorClosed: closedToken, ResponderClosed: known}.Bytes()), `"ROLE_MISMATCH"`},
	} {
		before := storetest.ReadRows(t, raw)
		status, body := o.post(t, c.route, c.as, c.body)
		if status < 400 || status > 499 || !strings.Contains(body, `"code":`+c.name) {
			t.Errorf("%s: %d %s, want %s", what, status, body, c.name)
		}
		changes := storetest.ReadRows(t, raw).Since(before)
		maps.DeleteFunc(changes, func(table string, _ storetest.Change) bool { return slices.Contains(refusalTables, table) })
		if len(changes) != 0 {
			t.Errorf("%s has changed %v", what, slices.Collect(maps.Keys(changes)))
		}
	}
	// None of that has harmed what is sound.
	if _, err := a.ra.RegisterOpen(t.Context(), api.RegisterOpen{Token: openToken}); err != nil {
		t.Error(err)
	}
	if _, err := a.ra.RegisterClosed(t.Context(), api.RegisterClosed{Token: closedToken, CounterpartyAgent: b.agentID}); err != nil {
		t.Error(err)
	}
	if audit, err := operator.AuditRows(t.Context(), 0, 2); err != nil || len(audit.Rows) != 2 || audit.Rows[0].Operation != "register_closed" {
		t.Error(fmt.Sprint(audit, err))
	}
}
