package mandate_test

import (
	"strings"
	"testing"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/mandate"
)

// covers GC-146, GC-156, GC-158, GC-159, GC-161, GC-163, GC-164, GC-165, GC-166, GC-167
func TestClosed(t *testing.T) {
	w := newWorld(t)
	openToken := w.principal.token(w.open)
	open := mustOpen(t, openToken, w.principal.keys())
	token := w.agent.token(w.closedUnder(openToken))
	p, err := mandate.ParseClosed(token)
	if err != nil {
		t.Fatal(err)
	}
	if p.OpenMandateHash() != open.OpenHash() || p.SignerRole() != mandate.RoleAgent || p.CrossingID() != crossingID || p.Issuer() != agent {
		t.Error("presented claims changed")
	}
	c, err := p.Verify(jose.KeySet{}, open)
	if err != nil {
		t.Fatal(err)
	}
	if c.Token() != token || string(c.TokenHash()) != hexHash(token) || c.Issuer() != agent || c.Subject() != agent {
		t.Error("token or parties changed")
	}
	if c.Audience() != bolt || c.Nonce() != "b7d1f00d" || string(c.AgreementHash()) != hexHash("terms") ||
		c.OpenMandateHash() != open.OpenHash() || c.CrossingID() != crossingID || c.Act() != "engagement_code_issuance" ||
		c.Basis() != (mandate.GovernanceBasis{PackID: "anax-eu", PackVersion: "0.1.0"}) || c.SignerRole() != mandate.RoleAgent {
		t.Errorf("claims changed: %+v", c)
	}
	if !c.IssuedAt().Equal(at(1786000420)) || c.Expired(at(1786001019)) || !c.Expired(at(1786001020)) {
		t.Error("span changed")
	}
	limit, asserted, err := c.Amounts()
	if err != nil || limit != mustAmount(t, "irreversible", 2, "") || asserted != mustAmount(t, "irreversible", 1, "") {
		t.Errorf("amounts %v, %v, %v", limit, asserted, err)
	}
}

// covers GC-148, GC-149, GC-150, GC-152, GC-154, GC-155, GC-156, GC-157, GC-163, GC-164, GC-165, GC-166, GC-167, GC-168
func TestClosedForm(t *testing.T) {
	w := newWorld(t)
	base := w.closedUnder(w.principal.token(w.open))
	upper := strings.ToUpper(hexHash("terms"))
	for name, c := range map[string]struct {
		claim string
		with  claims
	}{
		"vct missing":         {"vct", claims{"vct": ""}},
		"vct of an Open":      {"vct", claims{"vct": `"mandate.agreement.open.1"`}},
		"role missing":        {"signer_role", claims{"signer_role": ""}},
		"role unknown":        {"signer_role", claims{"signer_role": `"robot"`}},
		"role upper case":     {"signer_role", claims{"signer_role": `"Agent"`}},
		"iss missing":         {"iss", claims{"iss": ""}},
		"iss not sub":         {"iss", claims{"iss": `"urn:anax:agent:other"`}},
		"agent role, human":   {"iss", claims{"iss": `"` + human + `"`}},
		"human role, agent":   {"iss", claims{"signer_role": `"human"`}},
		"human role, sub":     {"iss", claims{"signer_role": `"human"`, "iss": `"urn:x:y"`, "sub": `"urn:x:y"`}},
		"human role, firm":    {"iss", claims{"signer_role": `"human"`, "iss": `"` + acme + `"`}},
		"sub missing":         {"sub", claims{"sub": ""}},
		"aud missing":         {"aud", claims{"aud": ""}},
		"exp missing":         {"exp", claims{"exp": ""}},
		"iat missing":         {"iat", claims{"iat": ""}},
		"nonce missing":       {"nonce", claims{"nonce": ""}},
		"nonce empty":         {"nonce", claims{"nonce": `""`}},
		"nonce too long":      {"nonce", claims{"nonce": `"` + strings.Repeat("n", 129) + `"`}},
		"nonce not printable": {"nonce", claims{"nonce": `"a\u0007"`}},
		"nonce a number":      {"nonce", claims{"nonce": `7`}},
		"agreement missing":   {"agreement_hash", claims{"agreement_hash": ""}},
		"agreement upper":     {"agreement_hash", claims{"agreement_hash": `"` + upper + `"`}},
		"agreement prefixed":  {"agreement_hash", claims{"agreement_hash": `"sha256:` + hexHash("terms") + `"`}},
		"agreement short":     {"agreement_hash", claims{"agreement_hash": `"` + hexHash("terms")[:63] + `"`}},
		"open hash missing":   {"open_mandate_hash", claims{"open_mandate_hash": ""}},
		"open hash base64":    {"open_mandate_hash", claims{"open_mandate_hash": `"` + digest("x") + `"`}},
		"basis missing":       {"governance_basis", claims{"governance_basis": ""}},
		"basis a string":      {"governance_basis", claims{"governance_basis": `"anax-eu"`}},
		"basis no version":    {"governance_basis", claims{"governance_basis": `{"pack_id":"a"}`}},
		"basis empty id":      {"governance_basis", claims{"governance_basis": `{"pack_id":"","pack_version":"1"}`}},
		"basis empty version": {"governance_basis", claims{"governance_basis": `{"pack_id":"a","pack_version":""}`}},
		"basis with more":     {"governance_basis", claims{"governance_basis": `{"pack_id":"a","pack_version":"1","x":1}`}},
		"crossing missing":    {"crossing_id", claims{"crossing_id": ""}},
		"crossing upper":      {"crossing_id", claims{"crossing_id": `"` + strings.ToUpper(crossingID) + `"`}},
		"crossing braces":     {"crossing_id", claims{"crossing_id": `"{` + crossingID + `}"`}},
		"crossing variant":    {"crossing_id", claims{"crossing_id": `"b7d1c0de-1111-4222-c333-444455556666"`}},
		"crossing nil UUID":   {"crossing_id", claims{"crossing_id": `"00000000-0000-0000-0000-000000000000"`}},
		"crossing urn":        {"crossing_id", claims{"crossing_id": `"urn:uuid:` + crossingID + `"`}},
		"crossing letter":     {"crossing_id", claims{"crossing_id": `"b7d1c0dg-1111-4222-8333-444455556666"`}},
		"sd_hash empty":       {"sd_hash", claims{"sd_hash": `""`}},
		"sd_hash null":        {"sd_hash", claims{"sd_hash": `null`}},
		"act empty":           {"commitment_act", claims{"commitment_act": `""`}},
		"act a list":          {"commitment_act", claims{"commitment_act": `["engagement_code_issuance"]`}},
		"limit disclosable":   {"payload", claims{"_sd": `["` + digest("x") + `"]`}},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := mandate.ParseClosed(w.agent.token(base.with(c.with)))
			if p != nil {
				t.Error("accepted")
			}
			wantFault(t, err, mandate.Invalid, c.claim)
		})
	}
	if _, err := mandate.ParseClosed(w.agent.token(base) + digest("x") + "~"); err == nil {
		t.Error("accepted with a disclosure")
	}
}

// covers GC-152
func TestClosedAudience(t *testing.T) {
	w := newWorld(t)
	openToken := w.principal.token(w.open)
	open := mustOpen(t, openToken, w.principal.keys())
	for aud, want := range map[string]string{
		`"` + bolt + `"`:                  bolt,
		`["` + bolt + `"]`:                bolt,
		`["` + bolt + `","` + acme + `"]`: "",
		`[]`:                              "",
		`[["` + bolt + `"]]`:              "",
		`null`:                            "",
		`7`:                               "",
		`"*"`:                             "",
		`"` + agent + `"`:                 "",
		`{"0":"` + bolt + `"}`:            "",
	} {
		c := mustClosed(t, w.agent.token(w.closedUnder(openToken).with(claims{"aud": aud})), jose.KeySet{}, open)
		if c.Audience() != want {
			t.Errorf("aud %s is %q, want %q", aud, c.Audience(), want)
		}
	}
}

// covers GC-021, GC-146, GC-153, GC-167, GC-169, GC-288, GC-336
func TestClosedSigner(t *testing.T) {
	w := newWorld(t)
	bound := w.principal.token(w.open)
	unbound := w.principal.token(w.open.with(claims{"cnf": ""}))
	asHuman := claims{"signer_role": `"human"`, "iss": `"` + human + `"`}
	both := jose.NewKeySet(w.human.key, w.agent.key)
	for name, c := range map[string]struct {
		open   string
		signer party
		with   claims
		keys   jose.KeySet
		claim  string // "" if it verifies
	}{
		"agent":                     {bound, w.agent, nil, jose.KeySet{}, ""},
		"agent, key not registered": {bound, w.agent, nil, w.human.keys(), ""},
		"human":                     {bound, w.human, asHuman, w.human.keys(), ""},
		"human, no cnf":             {unbound, w.human, asHuman, w.human.keys(), ""},
		"agent, no cnf":             {unbound, w.agent, nil, w.agent.keys(), "cnf"},
		"agent, stranger's key":     {bound, newParty(t), nil, jose.KeySet{}, "signature"},
		"agent, human's key":        {bound, w.human, nil, w.human.keys(), "signature"},
		"agent, Principal's key":    {bound, w.principal, nil, w.principal.keys(), "signature"},
		"human, agent's key":        {bound, w.agent, asHuman, both, "kid"},
		"human, not registered":     {bound, w.human, asHuman, jose.KeySet{}, "kid"},
		"human, stranger's key":     {bound, newParty(t), asHuman, w.human.keys(), "kid"},
	} {
		t.Run(name, func(t *testing.T) {
			open := mustOpen(t, c.open, w.principal.keys())
			p, err := mandate.ParseClosed(c.signer.token(w.closedUnder(c.open).with(c.with)))
			if err != nil {
				t.Fatal(err)
			}
			closed, err := p.Verify(c.keys, open)
			if c.claim == "" {
				if err != nil || closed == nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			if closed != nil {
				t.Error("verified")
			}
			wantFault(t, err, mandate.Invalid, c.claim)
		})
	}
	// A foreign Principal may not sign as a human either.
	foreign := "https://acme.example"
	openToken := w.principal.token(w.open.with(claims{"iss": `"` + foreign + `"`}))
	p, err := mandate.ParseClosed(w.principal.token(w.closedUnder(openToken).with(claims{"signer_role": `"human"`, "iss": `"` + foreign + `"`})))
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Verify(w.principal.keys(), mustOpen(t, openToken, w.principal.keys()))
	wantFault(t, err, mandate.Invalid, "iss")
}

// covers GC-147, GC-157, GC-164
func TestClosedBelongsToItsOpen(t *testing.T) {
	w := newWorld(t)
	openToken := w.principal.token(w.open)
	open := mustOpen(t, openToken, w.principal.keys())
	other := "urn:anax:agent:other"
	for name, c := range map[string]struct {
		claim string
		with  claims
	}{
		"another Open":       {"open_mandate_hash", claims{"open_mandate_hash": `"` + hexHash("x") + `"`}},
		"another agent":      {"sub", claims{"iss": `"` + other + `"`, "sub": `"` + other + `"`}},
		"sd_hash of another": {"sd_hash", claims{"sd_hash": `"` + digest("x~") + `"`}},
		"sd_hash in hex":     {"sd_hash", claims{"sd_hash": `"` + hexHash(openToken) + `"`}},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := mandate.ParseClosed(w.agent.token(w.closedUnder(openToken).with(c.with)))
			if err != nil {
				t.Fatal(err)
			}
			_, err = p.Verify(jose.KeySet{}, open)
			wantFault(t, err, mandate.Invalid, c.claim)
		})
	}
	mustClosed(t, w.agent.token(w.closedUnder(openToken).with(claims{"sd_hash": `"` + digest(openToken) + `"`})), jose.KeySet{}, open)
	p, err := mandate.ParseClosed(w.agent.token(w.closedUnder(openToken)))
	if err != nil {
		t.Fatal(err)
	}
	for _, open := range []*mandate.Open{nil, {}} {
		_, err := p.Verify(w.agent.keys(), open)
		wantFault(t, err, mandate.Invalid, "token")
	}
}

// covers GC-158, GC-160, GC-161, GC-172, GC-173, GC-186, GC-187
func TestClosedAmounts(t *testing.T) {
	w := newWorld(t)
	openToken := w.principal.token(w.open)
	open := mustOpen(t, openToken, w.principal.keys())
	for name, c := range map[string]struct {
		claim string
		with  claims
	}{
		"class missing":        {"commitment_class", claims{"commitment_class": ""}},
		"class unknown":        {"commitment_class", claims{"commitment_class": `"OBSERVE"`}},
		"asserted missing":     {"magnitude_asserted", claims{"magnitude_asserted": ""}},
		"asserted a string":    {"magnitude_asserted", claims{"magnitude_asserted": `"1"`}},
		"asserted negative":    {"magnitude_asserted", claims{"magnitude_asserted": `-1`}},
		"limit null":           {"magnitude_limit", claims{"magnitude_limit": `null`}},
		"limit a string":       {"magnitude_limit", claims{"magnitude_limit": `"2"`}},
		"financial, currency":  {"currency", claims{"commitment_class": `"financial"`}},
		"currency without use": {"currency", claims{"currency": `"EUR"`}},
	} {
		t.Run(name, func(t *testing.T) {
			closed := mustClosed(t, w.agent.token(w.closedUnder(openToken).with(c.with)), jose.KeySet{}, open)
			_, _, err := closed.Amounts()
			wantFault(t, err, mandate.Malformed, c.claim)
		})
	}
	_, err := mandate.ParseClosed(w.agent.token(w.closedUnder(openToken).with(claims{"magnitude_asserted": "0.5"})))
	wantFault(t, err, mandate.Malformed, "magnitude_asserted")

	for name, c := range map[string]struct {
		with            claims
		limit, asserted int64
	}{
		"both":             {claims{}, 2, 1},
		"limit missing":    {claims{"magnitude_limit": ""}, 1, 1},
		"asserted above":   {claims{"magnitude_asserted": "3"}, 2, 3}, // the caller's to refuse
		"asserted 1.0":     {claims{"magnitude_asserted": "1.0"}, 2, 1},
		"above any budget": {claims{"magnitude_limit": "9007199254740991"}, 1<<53 - 1, 1},
	} {
		closed := mustClosed(t, w.agent.token(w.closedUnder(openToken).with(c.with)), jose.KeySet{}, open)
		limit, asserted, err := closed.Amounts()
		if err != nil || limit != mustAmount(t, "irreversible", c.limit, "") || asserted != mustAmount(t, "irreversible", c.asserted, "") {
			t.Errorf("%s: %v, %v, %v", name, limit, asserted, err)
		}
	}
	// An act that is absent is not a fault of form: the caller answers it by its own name.
	if c := mustClosed(t, w.agent.token(w.closedUnder(openToken).with(claims{"commitment_act": ""})), jose.KeySet{}, open); c.Act() != "" {
		t.Errorf("act %q", c.Act())
	}
}
