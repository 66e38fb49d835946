package mandate_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
	"github.com/google/go-cmp/cmp"
)

func hashOf(s string) jcs.Hex256 { return jcs.Hex256(hexHash(s)) }

func sampleRegistration() mandate.Registration {
	return mandate.Registration{
		TokenHash: hashOf("t"), SignedHash: hashOf("s"), OpenMandateHash: hashOf("o"), Variant: mandate.VariantClosed,
		PrincipalID: acme, AgentID: agent, CounterpartyAgent: "urn:anax:agent:bolt-desk",
		ChainID: hashOf("c"), CrossingID: crossingID, At: at(issuedAt),
	}
}

func sampleTriple() mandate.Triple {
	return mandate.Triple{CrossingID: crossingID, InitiatorToken: hashOf("i"), ResponderToken: hashOf("r")}
}

func samplePrincipal(w world) mandate.Principal {
	foreign := w.principal.key
	foreign.Kid = "2026-key"
	return mandate.Principal{
		ID: acme, Name: "Acme Übersee GmbH & Co. KG", Active: true,
		Keys:            []jose.Key{foreign},
		Agents:          []mandate.Agent{{ID: agent, Key: w.agent.key}},
		Humans:          []mandate.Human{{ID: human, Key: w.human.key}, {ID: "https://idp.example/7", Key: w.agent.key}},
		ClearanceIDHash: hashOf("clearance"), TrustBasis: "third_party_audited", AGCLevel: 3,
		At: at(issuedAt), Expires: at(issuedAt + 300),
	}
}

// statement is one kind of statement, behind one shape for all of them.
type statement struct {
	typ     string
	payload string // what is signed, as other implementations are to write it
	sign    func(*jose.Signer) (string, error)
	parse   func(string, jose.KeySet) (any, error)
	want    any
}

func parser[T any](parse func(string, jose.KeySet) (T, error)) func(string, jose.KeySet) (any, error) {
	return func(token string, keys jose.KeySet) (any, error) { return parse(token, keys) }
}

func statements(w world) map[string]statement {
	open := sampleRegistration()
	open.Variant, open.CounterpartyAgent, open.ChainID, open.CrossingID = mandate.VariantOpen, "", "", ""
	closed := sampleRegistration()
	receipt := mandate.SpendReceipt{Triple: sampleTriple(), Effector: bolt, State: mandate.Spent, At: at(issuedAt)}
	refusal := mandate.FinalRefusal{Triple: sampleTriple(), Name: "MANDATE_REVOKED", InitiatorSpent: true, At: at(issuedAt)}
	half, halfRefusal := receipt, refusal
	half.Half, halfRefusal.Half = mandate.InitiatorHalf, mandate.ResponderHalf
	status := mandate.Status{Hash: hashOf("t"), Active: true, PrincipalID: acme, Nonce: "n-1", At: at(issuedAt), Expires: at(issuedAt + 60)}
	principal := samplePrincipal(w)
	bare := mandate.Principal{ID: acme, Name: "Acme", At: at(issuedAt), Expires: at(issuedAt + 1)}
	grant := mandate.PublisherGrant{PrincipalID: acme, Key: w.human.key, CredentialHash: hashOf("cred"), At: at(issuedAt)}
	triple := `"crossing_id":"` + crossingID + `",`
	tokens := `"initiator_token_sha256":"` + hexHash("i") + `",`
	return map[string]statement{
		"open registration": {"bindery-registration+jwt",
			`{"agent_id":"` + agent + `","at":1786000000,"open_mandate_hash":"` + hexHash("o") + `","principal_id":"` + acme +
				`","signed_sha256":"` + hexHash("s") + `","token_sha256":"` + hexHash("t") + `","variant":"open"}`,
			open.Sign, parser(mandate.ParseRegistration), open},
		"closed registration": {"bindery-registration+jwt",
			`{"agent_id":"` + agent + `","at":1786000000,"chain_id":"` + hexHash("c") + `","counterparty_agent":"urn:anax:agent:bolt-desk",` + triple +
				`"open_mandate_hash":"` + hexHash("o") + `","principal_id":"` + acme + `","signed_sha256":"` + hexHash("s") +
				`","token_sha256":"` + hexHash("t") + `","variant":"closed"}`,
			closed.Sign, parser(mandate.ParseRegistration), closed},
		"receipt": {"bindery-spend+jwt",
			`{"at":1786000000,` + triple + `"effector":"` + bolt + `",` + tokens + `"responder_token_sha256":"` + hexHash("r") + `","state":"spent"}`,
			receipt.Sign, parser(mandate.ParseSpendReceipt), receipt},
		"refusal": {"bindery-refusal+jwt",
			`{"at":1786000000,` + triple + `"initiator_spent":true,` + tokens + `"name":"MANDATE_REVOKED","responder_spent":false,"responder_token_sha256":"` + hexHash("r") + `"}`,
			refusal.Sign, parser(mandate.ParseFinalRefusal), refusal},
		"receipt for a half": {"bindery-spend+jwt",
			`{"at":1786000000,` + triple + `"effector":"` + bolt + `","half":"initiator",` + tokens + `"responder_token_sha256":"` + hexHash("r") + `","state":"spent"}`,
			half.Sign, parser(mandate.ParseSpendReceipt), half},
		"refusal for a half": {"bindery-refusal+jwt",
			`{"at":1786000000,` + triple + `"half":"responder","initiator_spent":true,` + tokens + `"name":"MANDATE_REVOKED","responder_spent":false,"responder_token_sha256":"` + hexHash("r") + `"}`,
			halfRefusal.Sign, parser(mandate.ParseFinalRefusal), halfRefusal},
		"status": {"bindery-status+jwt",
			`{"active":true,"at":1786000000,"exp":1786000060,"hash":"` + hexHash("t") + `","nonce":"n-1","principal_id":"` + acme + `"}`,
			status.Sign, parser(mandate.ParseStatus), status},
		"principal": {"bindery-principal+jwt",
			`{"active":true,"agc_level":3,"agents":[{"id":"` + agent + `","jwk":` + string(w.agent.key.NamedJWK()) + `}],"at":1786000000,"clearance_id_hash":"` + hexHash("clearance") +
				`","exp":1786000300,"humans":[{"id":"` + human + `","jwk":` + string(w.human.key.NamedJWK()) + `},{"id":"https://idp.example/7","jwk":` + string(w.agent.key.NamedJWK()) +
				`}],"keys":[` + strings.Replace(string(w.principal.key.NamedJWK()), w.principal.key.ID, "2026-key", 1) + `],"name":"Acme Übersee GmbH & Co. KG","principal_id":"` + acme + `","trust_basis":"third_party_audited"}`,
			principal.Sign, parser(mandate.ParsePrincipal), principal},
		"bare principal": {"bindery-principal+jwt",
			`{"active":false,"agents":[],"at":1786000000,"exp":1786000001,"humans":[],"keys":[],"name":"Acme","principal_id":"` + acme + `"}`,
			bare.Sign, parser(mandate.ParsePrincipal), bare},
		"publisher": {"bindery-publisher+jwt",
			`{"at":1786000000,"credential_sha256":"` + hexHash("cred") + `","jwk":` + string(w.human.key.NamedJWK()) + `,"principal_id":"` + acme + `"}`,
			grant.Sign, parser(mandate.ParsePublisherGrant), grant},
	}
}

// covers GC-207, GC-209
func TestStatements(t *testing.T) {
	w, ra, stranger := newWorld(t), newParty(t), newParty(t)
	all := statements(w)
	for name, s := range all {
		t.Run(name, func(t *testing.T) {
			token, err := s.sign(ra.signer())
			if err != nil {
				t.Fatal(err)
			}
			parts := strings.Split(token, ".")
			header, _ := base64.RawURLEncoding.DecodeString(parts[0])
			payload, _ := base64.RawURLEncoding.DecodeString(parts[1])
			if want := `{"alg":"ES256","kid":"` + ra.key.ID + `","typ":"` + s.typ + `"}`; string(header) != want {
				t.Errorf("header %s", header)
			}
			if diff := cmp.Diff(s.payload, string(payload)); diff != "" {
				t.Error(diff)
			}
			got, err := s.parse(token, ra.keys())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(s.want, got, cmp.Comparer(jose.Key.Same)); diff != "" {
				t.Error(diff)
			}
			// Another key, no key, and a key that only bears the name.
			impostor := stranger
			impostor.key = ra.key
			for why, c := range map[string]struct {
				token string
				keys  jose.KeySet
				claim string
			}{
				"stranger":  {stranger.jws(stranger.header(s.typ), s.payload), ra.keys(), "kid"},
				"no keys":   {token, jose.KeySet{}, "kid"},
				"impostor":  {impostor.jws(impostor.header(s.typ), s.payload), ra.keys(), "signature"},
				"no typ":    {ra.jws(`{"alg":"ES256","kid":"`+ra.key.ID+`"}`, s.payload), ra.keys(), "typ"},
				"typ JWT":   {ra.jws(ra.header("JWT"), s.payload), ra.keys(), "typ"},
				"with more": {ra.jws(ra.header(s.typ), strings.Replace(s.payload, "{", `{"zz":1,`, 1)), ra.keys(), "payload"},
				"repeated":  {ra.jws(ra.header(s.typ), strings.Replace(s.payload, "{", `{"at":1,`, 1)), ra.keys(), "payload"},
				"an array":  {ra.jws(ra.header(s.typ), `[]`), ra.keys(), "payload"},
				"a tilde":   {token + "~", ra.keys(), "token"},
			} {
				_, err := s.parse(c.token, c.keys)
				if err == nil {
					t.Fatalf("%s: accepted", why)
				}
				wantFault(t, err, mandate.Invalid, c.claim)
			}
			// One statement cannot be passed off as another.
			for other, o := range all {
				if _, err := o.parse(token, ra.keys()); err == nil && o.typ != s.typ {
					t.Errorf("accepted as %s", other)
				}
			}
		})
	}
}

// TestStatementMembers takes every member out, and gives it a wrong type, in turn.
func TestStatementMembers(t *testing.T) {
	w, ra := newWorld(t), newParty(t)
	for name, s := range statements(w) {
		v, err := jcs.Parse([]byte(s.payload))
		if err != nil {
			t.Fatal(err)
		}
		for member := range v.Members() {
			for how, value := range map[string][]byte{"missing": nil, "null": jcs.Null(), "list": jcs.Array(jcs.Null()), "negative": jcs.Int(-1), "empty": jcs.String("")} {
				if member == "half" && how == "missing" {
					continue // that is both
				}
				var members []jcs.Member
				for n, old := range v.Members() {
					if m := (jcs.Member{Name: n, Value: old.Bytes()}); n != member {
						members = append(members, m)
					}
				}
				payload := jcs.Object(append(members, jcs.Member{Name: member, Value: value})...)
				if _, err := s.parse(ra.jws(ra.header(s.typ), string(payload)), ra.keys()); err == nil {
					t.Errorf("%s: %s %s: accepted", name, member, how)
				}
			}
		}
	}
}

func TestStatementsRefuseToSign(t *testing.T) {
	w, ra := newWorld(t), newParty(t)
	registration := func(edit func(*mandate.Registration)) func(*jose.Signer) (string, error) {
		g := sampleRegistration()
		edit(&g)
		return g.Sign
	}
	principal := func(edit func(*mandate.Principal)) func(*jose.Signer) (string, error) {
		p := samplePrincipal(w)
		edit(&p)
		return p.Sign
	}
	same := sampleTriple()
	same.ResponderToken = same.InitiatorToken
	for name, sign := range map[string]func(*jose.Signer) (string, error){
		"no hash":                        registration(func(g *mandate.Registration) { g.TokenHash = "" }),
		"hash upper case":                registration(func(g *mandate.Registration) { g.SignedHash = jcs.Hex256(strings.ToUpper(string(g.SignedHash))) }),
		"no variant":                     registration(func(g *mandate.Registration) { g.Variant = "" }),
		"no time":                        registration(func(g *mandate.Registration) { g.At = time.Time{} }),
		"far time":                       registration(func(g *mandate.Registration) { g.At = time.Unix(1<<60, 0) }),
		"no counterparty":                registration(func(g *mandate.Registration) { g.CounterpartyAgent = "" }),
		"no chain":                       registration(func(g *mandate.Registration) { g.ChainID = "" }),
		"open with crossing":             registration(func(g *mandate.Registration) { g.Variant = mandate.VariantOpen }),
		"agent not UTF-8":                registration(func(g *mandate.Registration) { g.AgentID = "\xff" }),
		"principal an agent":             registration(func(g *mandate.Registration) { g.PrincipalID = agent }),
		"one token twice":                mandate.SpendReceipt{Triple: same, Effector: bolt, State: mandate.Held, At: at(1)}.Sign,
		"unknown state":                  mandate.SpendReceipt{Triple: sampleTriple(), Effector: bolt, State: "burned", At: at(1)}.Sign,
		"unknown half":                   mandate.SpendReceipt{Triple: sampleTriple(), Half: "both", Effector: bolt, State: mandate.Held, At: at(1)}.Sign,
		"no effector":                    mandate.SpendReceipt{Triple: sampleTriple(), State: mandate.Held, At: at(1)}.Sign,
		"refusal name":                   mandate.FinalRefusal{Triple: sampleTriple(), Name: "revoked", At: at(1)}.Sign,
		"refusal no name":                mandate.FinalRefusal{Triple: sampleTriple(), At: at(1)}.Sign,
		"status lapsed":                  mandate.Status{Hash: hashOf("t"), Active: true, PrincipalID: acme, Nonce: "n", At: at(2), Expires: at(2)}.Sign,
		"status no nonce":                mandate.Status{Hash: hashOf("t"), Active: true, PrincipalID: acme, At: at(2), Expires: at(3)}.Sign,
		"status of nobody":               mandate.Status{Hash: hashOf("t"), Active: true, Nonce: "n", At: at(2), Expires: at(3)}.Sign,
		"status not active, of somebody": mandate.Status{Hash: hashOf("t"), PrincipalID: acme, Nonce: "n", At: at(2), Expires: at(3)}.Sign,
		"no name":                        principal(func(p *mandate.Principal) { p.Name = "" }),
		"name with line end":             principal(func(p *mandate.Principal) { p.Name = "Acme\nInc" }),
		"name not UTF-8":                 principal(func(p *mandate.Principal) { p.Name = "\xff" }),
		"zero key":                       principal(func(p *mandate.Principal) { p.Keys = append(p.Keys, jose.Key{}) }),
		"one key twice":                  principal(func(p *mandate.Principal) { p.Keys = append(p.Keys, p.Keys[0]) }),
		"agent without key":              principal(func(p *mandate.Principal) { p.Agents[0].Key = jose.Key{} }),
		"human is an agent":              principal(func(p *mandate.Principal) { p.Humans[0].ID = agent }),
		"513 agents":                     principal(func(p *mandate.Principal) { p.Agents = slices.Repeat(p.Agents, 513) }),
		"trust basis":                    principal(func(p *mandate.Principal) { p.TrustBasis = "trusted" }),
		"level alone":                    principal(func(p *mandate.Principal) { p.ClearanceIDHash, p.TrustBasis = "", "" }),
		"level negative":                 principal(func(p *mandate.Principal) { p.AGCLevel = -1 }),
		"lapses as it begins":            principal(func(p *mandate.Principal) { p.Expires = p.At }),
		"grant without key":              mandate.PublisherGrant{PrincipalID: acme, CredentialHash: hashOf("x"), At: at(1)}.Sign,
	} {
		if token, err := sign(ra.signer()); err == nil || token != "" {
			t.Errorf("%s: signed", name)
		}
	}
}

func TestStatusConfirms(t *testing.T) {
	good := mandate.Status{Hash: hashOf("t"), Active: true, PrincipalID: acme, Nonce: "n", At: at(100), Expires: at(160)}
	inactive := good
	inactive.Active = false
	if good.Confirms("", hashOf("t"), "n", at(159)) {
		t.Error("of nobody's mandate")
	}
	for name, c := range map[string]struct {
		status mandate.Status
		hash   jcs.Hex256
		nonce  string
		at     int64
		want   bool
	}{
		"yes":           {good, hashOf("t"), "n", 159, true},
		"lapsed":        {good, hashOf("t"), "n", 160, false},
		"other mandate": {good, hashOf("u"), "n", 159, false},
		"other nonce":   {good, hashOf("t"), "m", 159, false},
		"not active":    {inactive, hashOf("t"), "n", 159, false},
		"no question":   {good, hashOf("t"), "", 159, false},
		"empty nonce":   {mandate.Status{Hash: hashOf("t"), Active: true, PrincipalID: acme, Expires: at(999)}, hashOf("t"), "", 1, false},
		"empty hash":    {mandate.Status{Nonce: "n", Active: true, PrincipalID: acme, Expires: at(999)}, "", "n", 1, false},
		"zero":          {mandate.Status{Active: true, PrincipalID: acme, Expires: at(999)}, "", "", 1, false},
		"another's":     {func() mandate.Status { s := good; s.PrincipalID = acme + "-2"; return s }(), hashOf("t"), "n", 159, false},
		"nobody's":      {func() mandate.Status { s := good; s.PrincipalID = ""; return s }(), hashOf("t"), "n", 159, false},
	} {
		if got := c.status.Confirms(acme, c.hash, c.nonce, at(c.at)); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// covers GC-021, GC-209, GC-210
func TestPrincipalResolves(t *testing.T) {
	w := newWorld(t)
	p := samplePrincipal(w)
	now := at(issuedAt + 299)
	if k, ok := p.IssuerKeys(now).Find("2026-key"); !ok || !k.Same(w.principal.key) {
		t.Error("issuer key not found by its name")
	}
	if _, ok := p.HumanKeys(human, now).Find(w.human.key.ID); !ok {
		t.Error("human's key not found")
	}
	if len(p.HumanKeys("urn:anax:human:eve", now).Keys()) != 0 || len(p.HumanKeys(human, now).Keys()) != 1 {
		t.Error("one human has another's keys")
	}
	if !p.HasAgent(agent, w.agent.key, now) || p.HasAgent(agent, w.human.key, now) || p.HasAgent("urn:anax:agent:x", w.agent.key, now) || p.HasAgent(agent, jose.Key{}, now) {
		t.Error("agents are mixed up")
	}
	inactive := p
	inactive.Active = false
	for name, c := range map[string]struct {
		p  mandate.Principal
		at time.Time
	}{"lapsed": {p, at(issuedAt + 300)}, "inactive": {inactive, now}} {
		if len(c.p.IssuerKeys(c.at).Keys())+len(c.p.HumanKeys(human, c.at).Keys()) != 0 || c.p.HasAgent(agent, w.agent.key, c.at) {
			t.Errorf("%s: resolves", name)
		}
	}
}
