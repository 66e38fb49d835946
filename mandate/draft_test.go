package mandate_test

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
	"github.com/google/go-cmp/cmp"
)

func draftOf(w world) mandate.OpenDraft {
	return mandate.OpenDraft{
		Issuer: acme, Subject: agent,
		IssuedAt: at(issuedAt), ExpiresAt: at(expiresAt),
		ConfirmationKey: w.agent.key,
		Counterparties:  mandate.OnlyCounterparties(bolt),
		Acts:            []string{"engagement_code_issuance"},
		Amount:          commitment.Amount{Class: commitment.Irreversible, Magnitude: 5},
	}
}

func closedDraftOf(open *mandate.Open) mandate.ClosedDraft {
	return mandate.ClosedDraft{
		SignerRole: mandate.RoleAgent, Issuer: agent, Subject: agent, Audience: bolt,
		IssuedAt: at(issuedAt), ExpiresAt: at(issuedAt + 600),
		CrossingID: crossingID, AgreementHash: jcs.Hex256(hexHash("terms")),
		OpenMandateHash: open.OpenHash(), OpenPresented: open.Presented(),
		Basis:    mandate.GovernanceBasis{PackID: "anax-eu", PackVersion: "0.1.0"},
		Act:      "engagement_code_issuance",
		Asserted: commitment.Amount{Class: commitment.Irreversible, Magnitude: 1},
	}
}

func payloadOf(t *testing.T, token string) map[string]any {
	t.Helper()
	src, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	if err != nil {
		t.Fatal(err)
	}
	var p map[string]any
	if err := json.Unmarshal(src, &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// covers GC-141, GC-145, GC-151, GC-160
func TestOpenDraftWithholdsTheLimit(t *testing.T) {
	w := newWorld(t)
	issued, err := draftOf(w).Sign(w.principal.signer())
	if err != nil {
		t.Fatal(err)
	}
	p := payloadOf(t, issued.Token)
	if _, there := p["magnitude_limit"]; there || strings.Count(issued.Token, "~") != 1 {
		t.Error("the limit is in the token")
	}
	want := map[string]any{
		"_sd": []any{digest(issued.LimitDisclosure)}, "_sd_alg": "sha-256",
		"vct": "mandate.agreement.open.1", "iss": acme, "sub": agent, "aud": "urn:anax:va:001",
		"iat": float64(issuedAt), "exp": float64(expiresAt),
		"commitment_class": "irreversible", "commitment_act": []any{"engagement_code_issuance"},
		"permitted_counterparties": []any{bolt}, "cnf": p["cnf"],
	}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Error(diff)
	}

	presented := mustOpen(t, issued.Token, w.principal.keys())
	amount, disclosed, err := presented.Amount()
	if err != nil || disclosed || amount != (commitment.Amount{Class: commitment.Irreversible}) {
		t.Errorf("withheld: %v, %v, %v", amount, disclosed, err)
	}
	full := mustOpen(t, issued.Full(), w.principal.keys())
	if amount, disclosed, err = full.Amount(); err != nil || !disclosed || amount.Magnitude != 5 {
		t.Errorf("disclosed: %v, %v, %v", amount, disclosed, err)
	}
	if presented.OpenHash() != full.OpenHash() || presented.SignedHash() != full.SignedHash() || presented.TokenHash() == full.TokenHash() {
		t.Error("open_mandate_hash or signed_sha256 depends on what is disclosed")
	}
	if string(full.OpenHash()) != hexHash(issued.Token) {
		t.Error("open_mandate_hash is not over the JWT and one tilde")
	}
}

// covers GC-157
func TestDiscloseLater(t *testing.T) {
	w := newWorld(t)
	issued, err := draftOf(w).Sign(w.principal.signer())
	if err != nil {
		t.Fatal(err)
	}
	p1, err := mandate.ParseOpen(issued.Token)
	if err != nil {
		t.Fatal(err)
	}
	p3, err := p1.Disclose(issued.LimitDisclosure)
	if err != nil {
		t.Fatal(err)
	}
	open, err := p3.Verify(w.principal.keys())
	if err != nil {
		t.Fatal(err)
	}
	if amount, disclosed, err := open.Amount(); err != nil || !disclosed || amount.Magnitude != 5 {
		t.Errorf("amount %v, %v, %v", amount, disclosed, err)
	}
	if open.Presented() != issued.Token || open.Token() != issued.Full() {
		t.Error("the presentation at P1 is lost")
	}
	token, err := closedDraftOf(open).Sign(w.agent.signer())
	if err != nil {
		t.Fatal(err)
	}
	mustClosed(t, token, jose.KeySet{}, open)
	if got := payloadOf(t, token)["sd_hash"]; got != digest(issued.Token) {
		t.Errorf("sd_hash %v", got)
	}
	for name, ds := range map[string][]string{
		"forged": {b64([]byte(`["s","magnitude_limit",500]`))}, "twice": {issued.LimitDisclosure, issued.LimitDisclosure},
		"empty": {""}, "smuggled tilde": {issued.LimitDisclosure + "~" + issued.LimitDisclosure}, "huge": {strings.Repeat("A", 64<<10)},
	} {
		if p, err := p1.Disclose(ds...); err == nil || p != nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := p3.Disclose(issued.LimitDisclosure); err == nil {
		t.Error("disclosed twice")
	}
}

// TestOnlyTheLimitMayHide builds Opens whose other claims, or more than the limit, are
// selectively disclosable. Leaving commitment_act out would widen what an Open permits.
//
// covers GC-160
func TestOnlyTheLimitMayHide(t *testing.T) {
	w := newWorld(t)
	limit, act := b64([]byte(`["s","magnitude_limit",5]`)), b64([]byte(`["s","commitment_act","a"]`))
	sd := func(ds ...string) string { return `["` + strings.Join(ds, `","`) + `"]` }
	hidden := w.open.with(claims{"magnitude_limit": ""})
	for name, token := range map[string]string{
		"act hidden, limit plain":       w.principal.token(w.open.with(claims{"commitment_act": "", "_sd": sd(digest(act))})),
		"act hidden beside the limit":   w.principal.token(hidden.with(claims{"commitment_act": "", "_sd": sd(digest(act), digest(limit))})),
		"act disclosed":                 w.principal.token(hidden.with(claims{"commitment_act": "", "_sd": sd(digest(act))})) + act + "~",
		"limit twice":                   w.principal.token(w.open.with(claims{"_sd": sd(digest(limit))})),
		"counterparties partly hidden":  w.principal.token(w.open.with(claims{"permitted_counterparties": `["` + bolt + `",{"...":"` + digest("x") + `"}]`})),
		"cnf partly hidden":             w.principal.token(w.open.with(claims{"cnf": `{"_sd":["` + digest("x") + `"]}`})),
		"limit forged in a disclosure":  w.principal.token(hidden.with(claims{"_sd": sd(digest(limit))})) + b64([]byte(`["s","magnitude_limit",6]`)) + "~",
		"limit disclosed, key bound to": w.principal.token(hidden.with(claims{"_sd": sd(digest(limit))})) + limit + "~" + w.agent.jws(w.agent.header("kb+jwt"), `{}`),
	} {
		if _, err := mandate.ParseOpen(token); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	// A limit that is neither there nor withheld is missing.
	_, _, err := mustOpen(t, w.principal.token(hidden.with(claims{"_sd": `[]`})), w.principal.keys()).Amount()
	wantFault(t, err, mandate.Malformed, "magnitude_limit")
}

// covers GC-142
func TestDraftsSignAnew(t *testing.T) {
	w := newWorld(t)
	a, errA := draftOf(w).Sign(w.principal.signer())
	b, errB := draftOf(w).Sign(w.principal.signer())
	if errA != nil || errB != nil || a.Token == b.Token || a.LimitDisclosure == b.LimitDisclosure {
		t.Fatalf("two Opens of one draft are alike: %v, %v", errA, errB)
	}
	open := mustOpen(t, a.Token, w.principal.keys())
	draft := closedDraftOf(open)
	draft.Nonce = "fixed"
	c, errC := draft.Sign(w.agent.signer())
	d, errD := draft.Sign(w.agent.signer())
	if errC != nil || errD != nil || c == d {
		t.Fatalf("two signatures of one payload are alike: %v, %v", errC, errD)
	}
	draft.Nonce = ""
	e, errE := draft.Sign(w.agent.signer())
	f, errF := draft.Sign(w.agent.signer())
	if errE != nil || errF != nil {
		t.Fatal(errE, errF)
	}
	n, m := mustClosed(t, e, jose.KeySet{}, open).Nonce(), mustClosed(t, f, jose.KeySet{}, open).Nonce()
	if raw, err := base64.RawURLEncoding.DecodeString(n); err != nil || len(raw) < 16 || n == m {
		t.Errorf("nonces %q, %q", n, m)
	}
}

// covers GC-145, GC-168, GC-170, GC-171
func TestOpenDraftRefuses(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct {
		kind  mandate.FaultKind
		claim string
		edit  func(*mandate.OpenDraft)
	}{
		"no issuer":         {mandate.Invalid, "iss", func(d *mandate.OpenDraft) { d.Issuer = "" }},
		"issuer an agent":   {mandate.Invalid, "iss", func(d *mandate.OpenDraft) { d.Issuer = agent }},
		"issuer not UTF-8":  {mandate.Invalid, "iss", func(d *mandate.OpenDraft) { d.Issuer = "urn:x:\xff" }},
		"no subject":        {mandate.Invalid, "sub", func(d *mandate.OpenDraft) { d.Subject = "" }},
		"no expiry":         {mandate.Invalid, "exp", func(d *mandate.OpenDraft) { d.ExpiresAt = time.Time{} }},
		"no issue time":     {mandate.Invalid, "exp", func(d *mandate.OpenDraft) { d.IssuedAt = time.Time{} }},
		"ends as it begins": {mandate.Invalid, "exp", func(d *mandate.OpenDraft) { d.ExpiresAt = d.IssuedAt.Add(time.Millisecond) }},
		"silent":            {mandate.Invalid, "permitted_counterparties", func(d *mandate.OpenDraft) { d.Counterparties = mandate.Counterparties{} }},
		"star in the list":  {mandate.Invalid, "permitted_counterparties", func(d *mandate.OpenDraft) { d.Counterparties = mandate.OnlyCounterparties("*") }},
		"agent in the list": {mandate.Invalid, "permitted_counterparties", func(d *mandate.OpenDraft) { d.Counterparties = mandate.OnlyCounterparties(agent) }},
		"empty act":         {mandate.Invalid, "commitment_act", func(d *mandate.OpenDraft) { d.Acts = []string{""} }},
		"257 acts":          {mandate.Invalid, "commitment_act", func(d *mandate.OpenDraft) { d.Acts = strings.Split(strings.Repeat("a,", 256)+"a", ",") }},
		"far too many": {mandate.Invalid, "payload", func(d *mandate.OpenDraft) {
			d.Counterparties = mandate.OnlyCounterparties(slices.Repeat([]string{"urn:x:" + strings.Repeat("a", 250)}, 999)...)
		}},
		"1001 parties": {mandate.Invalid, "permitted_counterparties", func(d *mandate.OpenDraft) {
			d.Counterparties = mandate.OnlyCounterparties(slices.Repeat([]string{"x:y"}, 1001)...)
		}},
		"no class":           {mandate.Malformed, "magnitude_limit", func(d *mandate.OpenDraft) { d.Amount.Class = 0 }},
		"negative":           {mandate.Malformed, "magnitude_limit", func(d *mandate.OpenDraft) { d.Amount.Magnitude = -1 }},
		"too large":          {mandate.Malformed, "magnitude_limit", func(d *mandate.OpenDraft) { d.Amount.Magnitude = 1 << 53 }},
		"currency missing":   {mandate.Malformed, "magnitude_limit", func(d *mandate.OpenDraft) { d.Amount.Class = commitment.Financial }},
		"currency in excess": {mandate.Malformed, "magnitude_limit", func(d *mandate.OpenDraft) { d.Amount.Currency = "EUR" }},
	} {
		t.Run(name, func(t *testing.T) {
			d := draftOf(w)
			c.edit(&d)
			issued, err := d.Sign(w.principal.signer())
			if issued.Token != "" {
				t.Error("signed")
			}
			wantFault(t, err, c.kind, c.claim)
		})
	}
}

// covers GC-146, GC-156, GC-168, GC-172
func TestClosedDraftRefuses(t *testing.T) {
	w := newWorld(t)
	open := mustOpen(t, w.principal.token(w.open), w.principal.keys())
	for name, c := range map[string]struct {
		kind  mandate.FaultKind
		claim string
		edit  func(*mandate.ClosedDraft)
	}{
		"no role":            {mandate.Invalid, "signer_role", func(d *mandate.ClosedDraft) { d.SignerRole = "" }},
		"human is the agent": {mandate.Invalid, "iss", func(d *mandate.ClosedDraft) { d.SignerRole = mandate.RoleHuman }},
		"other agent":        {mandate.Invalid, "iss", func(d *mandate.ClosedDraft) { d.Issuer = "urn:anax:agent:other" }},
		"no subject":         {mandate.Invalid, "sub", func(d *mandate.ClosedDraft) { d.Subject = "" }},
		"no audience":        {mandate.Invalid, "aud", func(d *mandate.ClosedDraft) { d.Audience = "" }},
		"audience wildcard":  {mandate.Invalid, "aud", func(d *mandate.ClosedDraft) { d.Audience = "*" }},
		"nonce with space":   {mandate.Invalid, "nonce", func(d *mandate.ClosedDraft) { d.Nonce = "a b" }},
		"no crossing":        {mandate.Invalid, "crossing_id", func(d *mandate.ClosedDraft) { d.CrossingID = "" }},
		"no terms":           {mandate.Invalid, "agreement_hash", func(d *mandate.ClosedDraft) { d.AgreementHash = "" }},
		"no Open":            {mandate.Invalid, "open_mandate_hash", func(d *mandate.ClosedDraft) { d.OpenMandateHash = "" }},
		"no pack":            {mandate.Invalid, "governance_basis", func(d *mandate.ClosedDraft) { d.Basis.PackID = "" }},
		"no act":             {mandate.Invalid, "commitment_act", func(d *mandate.ClosedDraft) { d.Act = "" }},
		"no expiry":          {mandate.Invalid, "exp", func(d *mandate.ClosedDraft) { d.ExpiresAt = time.Time{} }},
		"no class":           {mandate.Malformed, "magnitude_asserted", func(d *mandate.ClosedDraft) { d.Asserted.Class = 0 }},
		"above the limit":    {mandate.Malformed, "magnitude_asserted", func(d *mandate.ClosedDraft) { d.Limit = d.Asserted; d.Asserted.Magnitude++ }},
		"units differ":       {mandate.Malformed, "magnitude_limit", func(d *mandate.ClosedDraft) { d.Limit = d.Asserted; d.Limit.Class = commitment.Binding }},
		"limit malformed":    {mandate.Malformed, "magnitude_limit", func(d *mandate.ClosedDraft) { d.Limit = d.Asserted; d.Limit.Magnitude = -1 }},
	} {
		t.Run(name, func(t *testing.T) {
			d := closedDraftOf(open)
			c.edit(&d)
			token, err := d.Sign(w.agent.signer())
			if token != "" {
				t.Error("signed")
			}
			wantFault(t, err, c.kind, c.claim)
		})
	}
}

// covers GC-161, GC-169
func TestClosedDraftHuman(t *testing.T) {
	w := newWorld(t)
	d := draftOf(w)
	d.ConfirmationKey, d.Counterparties, d.Acts = jose.Key{}, mandate.AnyCounterparty(), nil
	d.Amount = commitment.Amount{Class: commitment.Financial, Magnitude: 250000, Currency: "EUR"}
	issued, err := d.Sign(w.principal.signer())
	if err != nil {
		t.Fatal(err)
	}
	open := mustOpen(t, issued.Token, w.principal.keys())
	if open.Acts() != nil || !open.Counterparties().Any() {
		t.Error("acts or counterparties changed")
	}
	c := closedDraftOf(open)
	c.SignerRole, c.Issuer, c.OpenPresented = mandate.RoleHuman, human, ""
	c.Asserted = commitment.Amount{Class: commitment.Financial, Magnitude: 100, Currency: "EUR"}
	c.Limit = commitment.Amount{Class: commitment.Financial, Magnitude: 200, Currency: "EUR"}
	token, err := c.Sign(w.human.signer())
	if err != nil {
		t.Fatal(err)
	}
	limit, asserted, err := mustClosed(t, token, w.human.keys(), open).Amounts()
	if err != nil || limit != c.Limit || asserted != c.Asserted {
		t.Errorf("amounts %v, %v, %v", limit, asserted, err)
	}
	if _, there := payloadOf(t, token)["sd_hash"]; there {
		t.Error("sd_hash without being asked for")
	}
}

// covers GC-142
func TestDraftSignatureIsLowS(t *testing.T) {
	w := newWorld(t)
	for range 16 {
		issued, err := draftOf(w).Sign(w.principal.signer())
		if err != nil {
			t.Fatal(err)
		}
		if mustOpen(t, issued.Token, w.principal.keys()).HighS() {
			t.Fatal("high s")
		}
	}
}
