package api_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/mandate"
)

func consume() api.Consume {
	return api.Consume{RequestID: crossing1, Token: "t~", Class: "financial", Units: 250, Currency: "EUR"}
}

func consumed() api.Consumed {
	return api.Consumed{
		RequestID: crossing1, TokenHash: hashA, Effector: "urn:x:p", Class: "financial", Units: 250, Currency: "EUR",
		At: time.Unix(5, 0).UTC(), Receipt: "a.b.c",
	}
}

func issuer() api.RegisterIssuer {
	return api.RegisterIssuer{PrincipalID: "urn:x:p", CredentialHash: hashA, Subjects: []string{"urn:x:a", "urn:x:b"}}
}

// addition is a request with one of everything.
func addition(t *testing.T) api.Addition {
	t.Helper()
	return api.Addition{
		PrincipalID: "urn:anax:principal:acme",
		Keys:        []jose.Key{authorityKey(t)},
		Agents:      []mandate.Agent{{ID: "urn:anax:agent:two", Key: authorityKey(t)}},
		Humans:      []mandate.Human{{ID: "urn:anax:human:one", Key: authorityKey(t)}},
		Credentials: []api.Credential{
			{Role: api.RoleEffector, Hash: hashA},
			{Role: api.RoleAgent, AgentID: "urn:anax:agent:one", Hash: hashB}, // registered before, perhaps
		},
	}
}

var auditRow = api.AuditRow{
	ID: 7, At: time.UnixMilli(1_786_000_000_123).UTC(), Role: "effector", PrincipalID: "urn:x:p", Operation: "hold", Subject: crossing1, Outcome: "held",
}

func TestOfficeBytes(t *testing.T) {
	units := consume()
	units.Class, units.Currency = "irreversible", ""
	for what, c := range map[string]struct {
		got  []byte
		want string
	}{
		"units": {units.Bytes(), `{"class":"irreversible","open_mandate":"t~","request_id":"` + crossing1 + `","units":250}`},
		"money": {consume().Bytes(), `{"class":"financial","currency":"EUR","open_mandate":"t~","request_id":"` + crossing1 + `","units":250}`},
		"consumed": {consumed().Bytes(), `{"at":5,"class":"financial","currency":"EUR","effector":"urn:x:p","receipt":"a.b.c","request_id":"` + crossing1 +
			`","token_sha256":"` + string(hashA) + `","units":250}`},
		"burn":   {api.Burn{RequestID: crossing1}.Bytes(), `{"request_id":"` + crossing1 + `"}`},
		"issuer": {issuer().Bytes(), `{"credential_sha256":"` + string(hashA) + `","principal_id":"urn:x:p","subjects":["urn:x:a","urn:x:b"]}`},
		"addition": {api.Addition{PrincipalID: "urn:x:p", Credentials: []api.Credential{{Role: "effector", Hash: hashA}}}.Bytes(),
			`{"agents":[],"credentials":[{"role":"effector","sha256":"` + string(hashA) + `"}],"humans":[],"keys":[],"principal_id":"urn:x:p"}`},
		"suspension": {api.Suspension{PrincipalID: "urn:x:p", Suspended: true}.Bytes(), `{"principal_id":"urn:x:p","suspended":true}`},
		"withdrawal": {api.Withdrawal{CredentialHash: hashA}.Bytes(), `{"credential_sha256":"` + string(hashA) + `"}`},
		"audit": {api.Audit{Rows: []api.AuditRow{auditRow}}.Bytes(), `{"rows":[{"at_ms":1786000000123,"id":7,"operation":"hold","outcome":"held",` +
			`"principal_id":"urn:x:p","role":"effector","subject":"` + crossing1 + `"}]}`},
	} {
		if string(c.got) != c.want {
			t.Errorf("%s: %s, want %s", what, c.got, c.want)
		}
	}
}

func TestOfficeRoundTrips(t *testing.T) {
	again(t, consume(), consume().Bytes(), api.ParseConsume)
	again(t, consumed(), consumed().Bytes(), api.ParseConsumed)
	again(t, api.Burn{RequestID: crossing1}, api.Burn{RequestID: crossing1}.Bytes(), api.ParseBurn)
	again(t, issuer(), issuer().Bytes(), api.ParseRegisterIssuer)
	a := addition(t)
	again(t, a, a.Bytes(), api.ParseAddition)
	for _, suspended := range []bool{true, false} {
		s := api.Suspension{PrincipalID: "urn:x:p", Suspended: suspended}
		again(t, s, s.Bytes(), api.ParseSuspension)
	}
	again(t, api.Withdrawal{CredentialHash: hashA}, api.Withdrawal{CredentialHash: hashA}.Bytes(), api.ParseWithdrawal)
	audit := api.Audit{Rows: []api.AuditRow{auditRow, {ID: 6, At: auditRow.At}}}
	again(t, audit, audit.Bytes(), api.ParseAudit)
}

// covers GC-074, GC-186
func TestOfficeBodiesAreClosed(t *testing.T) {
	units := string(consume().Bytes())
	listing := string(issuer().Bytes())
	consume := func(b []byte) error { _, err := api.ParseConsume(b); return err }
	issuer := func(b []byte) error { _, err := api.ParseRegisterIssuer(b); return err }
	suspension := func(b []byte) error { _, err := api.ParseSuspension(b); return err }
	audit := func(b []byte) error { _, err := api.ParseAudit(b); return err }
	for _, c := range []struct {
		parse             func([]byte) error
		body              string
		old, new, pointer string
	}{
		{consume, units, `"units":250`, `"units":0`, "/units"},
		{consume, units, `"units":250`, `"units":-1`, "/units"},
		{consume, units, `"units":250`, `"units":"250"`, "/units"},
		{consume, units, `"units":250`, `"units":true`, "/units"},
		{consume, units, `"units":250`, `"units":9007199254740992`, "/units"},
		{consume, units, `"units":250`, `"units":2.5`, "/units"},
		{consume, units, `"t~"`, `""`, "/open_mandate"},
		{consume, units, `"open_mandate"`, `"token_sha256"`, "/open_mandate"},
		{consume, units, `"currency":"EUR"`, `"currency":""`, "/currency"},
		{consume, units, `"currency":"EUR"`, `"currency":null`, "/currency"},
		{consume, units, `"class":"financial"`, `"class":""`, "/class"},
		{consume, units, crossing1, strings.ToUpper(crossing1), "/request_id"},
		{consume, units, `{`, `{"x":1,`, "/x"},
		{issuer, listing, `["urn:x:a","urn:x:b"]`, `[]`, "/subjects"},
		{issuer, listing, `"urn:x:b"`, `"urn:x:a"`, "/subjects/1"},
		{issuer, listing, `"urn:x:b"`, `"*"`, "/subjects/1"},
		{issuer, listing, `"urn:x:b"`, `7`, "/subjects/1"},
		{issuer, listing, `"urn:x:b"`, `"urn:x:b"` + strings.Repeat(`,"urn:x:b"`, api.MaxSubjects), "/subjects"},
		{issuer, listing, `"urn:x:p"`, `"p"`, "/principal_id"},
		{issuer, listing, string(hashA), "a", "/credential_sha256"},
		{suspension, `{"principal_id":"urn:x:p","suspended":1}`, `1`, `1`, "/suspended"},
		{audit, `{"rows":[{"id":1}]}`, `1`, `1`, "/rows/0/at_ms"},
	} {
		body := strings.Replace(c.body, c.old, c.new, 1)
		if got := pointerOf(t, body, c.parse([]byte(body))); got != c.pointer {
			t.Errorf("%.200s: at %q, want %q", body, got, c.pointer)
		}
	}
}

// covers GC-082
func TestAdditionRules(t *testing.T) {
	for what, c := range map[string]struct {
		spoil   func(*api.Addition)
		pointer string
	}{
		"principal form": {func(a *api.Addition) { a.PrincipalID = "urn:anax:agent:acme" }, "/principal_id"},
		"nothing":        {func(a *api.Addition) { *a = api.Addition{PrincipalID: a.PrincipalID} }, "/keys"},
		"one key twice":  {func(a *api.Addition) { a.Keys = append(a.Keys, a.Keys[0]) }, "/keys/1"},
		"key of two":     {func(a *api.Addition) { a.Agents[0].Key = a.Keys[0] }, "/agents/0"},
		"agent form":     {func(a *api.Addition) { a.Agents[0].ID = "urn:anax:principal:one" }, "/agents/0"},
		"human's key":    {func(a *api.Addition) { a.Humans[0].Key = a.Agents[0].Key }, "/humans/0"},
		"two roles":      {func(a *api.Addition) { a.Credentials[1].Hash = hashA }, "/credentials/1"},
		"unknown role":   {func(a *api.Addition) { a.Credentials[0].Role = "Effector" }, "/credentials/0"},
		"agent of one":   {func(a *api.Addition) { a.Credentials[0].AgentID = "urn:anax:agent:one" }, "/credentials/0"},
		"no agent":       {func(a *api.Addition) { a.Credentials[1].AgentID = "" }, "/credentials/1"},
		"bad hash":       {func(a *api.Addition) { a.Credentials[1].Hash = "b" }, "/credentials/1"},
	} {
		a := addition(t)
		c.spoil(&a)
		if got := pointerOf(t, what, a.Validate()); got != c.pointer {
			t.Errorf("%s: at %q, want %q", what, got, c.pointer)
		}
	}
	a := addition(t)
	for range api.MaxHumans {
		a.Humans = append(a.Humans, mandate.Human{ID: "urn:anax:human:x", Key: authorityKey(t)})
	}
	if got := pointerOf(t, "humans", a.Validate()); got != "/humans" {
		t.Errorf("too many humans: at %q", got)
	}
}

// TestHumanMayHaveSeveralKeys in one request, too.
func TestHumanMayHaveSeveralKeys(t *testing.T) {
	a := addition(t)
	a.Humans = append(a.Humans, mandate.Human{ID: a.Humans[0].ID, Key: authorityKey(t)})
	if err := a.Validate(); err == nil {
		again(t, a, a.Bytes(), api.ParseAddition)
	} else {
		t.Error(err)
	}
}

func TestConsumedReceipt(t *testing.T) {
	private, err := jose.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	s, err := jose.NewSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	keys := jose.NewKeySet(s.Key())
	c, err := consumed().Sign(s)
	if err != nil || c.Verify(keys) != nil {
		t.Fatalf("%v, %v", err, c.Verify(keys))
	}
	parsed, err := api.ParseConsumed(c.Bytes())
	if err != nil || parsed.Verify(keys) != nil {
		t.Errorf("over the wire: %v, %v", err, parsed.Verify(keys))
	}
	if c.Verify(jose.NewKeySet(authorityKey(t))) == nil {
		t.Error("verifies under another key")
	}
	for what, change := range map[string]func(*api.Consumed){
		"units":    func(c *api.Consumed) { c.Units++ },
		"effector": func(c *api.Consumed) { c.Effector = "urn:x:q" },
		"request":  func(c *api.Consumed) { c.RequestID = strings.Replace(crossing1, "7", "8", 1) },
		"token":    func(c *api.Consumed) { c.TokenHash = hashB },
		"class":    func(c *api.Consumed) { c.Class = "binding" },
		"currency": func(c *api.Consumed) { c.Currency = "" },
		"time":     func(c *api.Consumed) { c.At = c.At.Add(time.Second) },
	} {
		x := c
		change(&x)
		if x.Verify(keys) == nil {
			t.Errorf("another %s verifies", what)
		}
	}
	// The same words signed as a revocation are no consumption.
	other := c
	other.Receipt = ""
	if other.Receipt, err = jose.SignCompact(s, api.TypeRevocation, other.Bytes()); err != nil || other.Verify(keys) == nil {
		t.Errorf("a statement of another type verifies (%v)", err)
	}
}

func FuzzParseAddition(f *testing.F) {
	f.Add([]byte(`{"agents":[],"credentials":[],"humans":[],"keys":[],"principal_id":"urn:x:p"}`))
	f.Add([]byte(`{"agents":[],"credentials":[{"role":"effector","sha256":"` + string(hashA) + `"}],"humans":[],"keys":[],"principal_id":"urn:x:p"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		a, err := api.ParseAddition(body)
		if err != nil {
			if _, ok := errors.AsType[*api.Error](err); !ok {
				t.Fatalf("error of type %T", err)
			}
			return
		}
		if _, err := api.ParseAddition(a.Bytes()); err != nil {
			t.Fatalf("its own bytes are refused: %v", err)
		}
	})
}

func FuzzParseConsume(f *testing.F) {
	f.Add(consume().Bytes())
	f.Add([]byte(`{"class":"observe","open_mandate":"t~","request_id":"` + crossing1 + `","units":1e3}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		c, err := api.ParseConsume(body)
		if err != nil {
			if _, ok := errors.AsType[*api.Error](err); !ok {
				t.Fatalf("error of type %T", err)
			}
			return
		}
		if c.Validate() != nil {
			t.Fatal("what was parsed is not valid")
		}
		if again, err := api.ParseConsume(c.Bytes()); err != nil || again != c {
			t.Fatalf("its own bytes: %+v, %v", again, err)
		}
	})
}
