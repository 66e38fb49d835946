package api_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

const (
	hashA     = jcs.Hex256("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")
	hashB     = jcs.Hex256("bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb")
	crossing1 = "7f3c1a52-5d0e-4b7a-9c41-0a6f2d9be001"
)

func TestRegistryBytes(t *testing.T) {
	hold := api.Hold{CrossingID: crossing1, InitiatorClosed: "i~", ResponderClosed: "r~"}
	for what, c := range map[string]struct {
		got  []byte
		want string
	}{
		"open":      {api.RegisterOpen{Token: "t~"}.Bytes(), `{"open_mandate":"t~"}`},
		"closed":    {api.RegisterClosed{Token: "t~", CounterpartyAgent: "urn:x:a"}.Bytes(), `{"closed_mandate":"t~","counterparty_agent":"urn:x:a"}`},
		"hold":      {hold.Bytes(), `{"crossing_id":"7f3c1a52-5d0e-4b7a-9c41-0a6f2d9be001","initiator_closed":"i~","responder_closed":"r~"}`},
		"revoke":    {api.Revoke{Hash: hashA}.Bytes(), `{"hash":"` + string(hashA) + `"}`},
		"status":    {api.StatusRequest{Hash: hashA, Nonce: "n"}.Bytes(), `{"hash":"` + string(hashA) + `","nonce":"n"}`},
		"statement": {api.Statement{Token: "a.b.c"}.Bytes(), `{"statement":"a.b.c"}`},
		"revoked": {api.Revoked{Hash: hashA, Before: "held", At: time.Unix(5, 999), Receipt: "a.b.c"}.Bytes(),
			`{"at":5,"before":"held","hash":"` + string(hashA) + `","receipt":"a.b.c"}`},
		"enrolled": {api.Enrolled{PrincipalID: "urn:x:p"}.Bytes(), `{"principal_id":"urn:x:p","va_url":""}`},
		"confirm": {api.Confirm{Triple: mandate.Triple{CrossingID: crossing1, InitiatorToken: hashA, ResponderToken: hashB}}.Bytes(),
			`{"crossing_id":"7f3c1a52-5d0e-4b7a-9c41-0a6f2d9be001","initiator_token_sha256":"` + string(hashA) + `","responder_token_sha256":"` + string(hashB) + `"}`},
	} {
		if string(c.got) != c.want {
			t.Errorf("%s: %s, want %s", what, c.got, c.want)
		}
	}
	// printf 'i~' | sha256sum; printf 'r~' | sha256sum
	want := mandate.Triple{
		CrossingID:     crossing1,
		InitiatorToken: "38ab24e6f3364a72ff9bb471716d7dc428e75a90704ec5c17c7216a8e884ec7d",
		ResponderToken: "aafec9512802f546c0bcd962373ee30f07fc532093cab04206d58be5841e5242",
	}
	if got := hold.Triple(); got != want {
		t.Errorf("triple %+v, want %+v", got, want)
	}
}

func TestRegistryRoundTrips(t *testing.T) {
	again(t, api.RegisterOpen{Token: "t~"}, api.RegisterOpen{Token: "t~"}.Bytes(), api.ParseRegisterOpen)
	closed := api.RegisterClosed{Token: "t~", CounterpartyAgent: "urn:anax:agent:b"}
	again(t, closed, closed.Bytes(), api.ParseRegisterClosed)
	hold := api.Hold{CrossingID: crossing1, InitiatorClosed: "i~", ResponderClosed: "r~"}
	again(t, hold, hold.Bytes(), api.ParseHold)
	confirm := api.Confirm{Triple: hold.Triple()}
	again(t, confirm, confirm.Bytes(), api.ParseConfirm)
	again(t, api.Revoke{Hash: hashA}, api.Revoke{Hash: hashA}.Bytes(), api.ParseRevoke)
	status := api.StatusRequest{Hash: hashA, Nonce: "n"}
	again(t, status, status.Bytes(), api.ParseStatusRequest)
	again(t, api.Statement{Token: "a.b.c"}, api.Statement{Token: "a.b.c"}.Bytes(), api.ParseStatement)
	revoked := api.Revoked{Hash: hashA, Before: api.BeforeSpent, At: time.Unix(5, 0).UTC(), Receipt: "a.b.c"}
	again(t, revoked, revoked.Bytes(), api.ParseRevoked)
	enrolled := api.Enrolled{PrincipalID: "urn:x:p", VAURL: "https://va.example/", PublisherGrant: "a.b.c"}
	again(t, enrolled, enrolled.Bytes(), api.ParseEnrolled)
	e := enrol(t)
	again(t, e, e.Bytes(), api.ParseEnrol)
	e.Proofs = []string{"a.b.c"}
	again(t, e, e.Bytes(), api.ParseEnrol)
	e.Publisher, e.Humans, e.Proofs = nil, nil, nil
	again(t, e, e.Bytes(), api.ParseEnrol)
}

// pointerOf is where the error says that the body is malformed.
func pointerOf(t *testing.T, what string, err error) string {
	t.Helper()
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.Code != api.CodeMalformed {
		t.Errorf("%s: %v", what, err)
		return "?"
	}
	return e.Pointer
}

// covers GC-074
func TestRegistryBodiesAreClosed(t *testing.T) {
	hold := string(api.Hold{CrossingID: crossing1, InitiatorClosed: "i~", ResponderClosed: "r~"}.Bytes())
	confirm := string(api.Confirm{Triple: mandate.Triple{CrossingID: crossing1, InitiatorToken: hashA, ResponderToken: hashB}}.Bytes())
	for _, c := range []struct {
		parse         func([]byte) error
		body, pointer string
	}{
		{parseHold, strings.Replace(hold, `"crossing_id"`, `"CROSSING_ID"`, 1), "/crossing_id"},
		{parseHold, strings.Replace(hold, crossing1, strings.ToUpper(crossing1), 1), "/crossing_id"},
		{parseHold, strings.Replace(hold, `"i~"`, `""`, 1), "/initiator_closed"},
		{parseHold, strings.Replace(hold, `"i~"`, `7`, 1), "/initiator_closed"},
		{parseHold, strings.Replace(hold, `"i~"`, `"i ~"`, 1), "/initiator_closed"},
		{parseHold, strings.Replace(hold, `"i~"`, `"é~"`, 1), "/initiator_closed"},
		{parseHold, strings.Replace(hold, `"i~"`, `"`+strings.Repeat("x", 64<<10)+`~"`, 1), "/initiator_closed"},
		{parseHold, strings.Replace(hold, `"initiator_closed"`, `"initiator_token"`, 1), "/initiator_closed"},
		{parseHold, `[]`, ""},
		{parseHold, ``, ""},
		{parseConfirm, strings.Replace(confirm, string(hashA), strings.ToUpper(string(hashA)), 1), "/initiator_token_sha256"},
		{parseConfirm, strings.Replace(confirm, string(hashB), string(hashA), 1), "/responder_token_sha256"},
		{parseConfirm, strings.Replace(confirm, `{`, `{"at":1,`, 1), "/at"},
		{parseStatus, `{"hash":"` + string(hashA) + `","nonce":"` + strings.Repeat("n", 129) + `"}`, "/nonce"},
		{parseRevoked, `{"at":-1,"before":"held","hash":"` + string(hashA) + `"}`, "/at"},
		{parseRevoked, `{"at":1,"before":"gone","hash":"` + string(hashA) + `"}`, "/before"},
	} {
		if got := pointerOf(t, c.body[:min(80, len(c.body))], c.parse([]byte(c.body))); got != c.pointer {
			t.Errorf("%.200s: at %q, want %q", c.body, got, c.pointer)
		}
	}
}

func parseHold(b []byte) error    { _, err := api.ParseHold(b); return err }
func parseConfirm(b []byte) error { _, err := api.ParseConfirm(b); return err }
func parseStatus(b []byte) error  { _, err := api.ParseStatusRequest(b); return err }
func parseRevoked(b []byte) error { _, err := api.ParseRevoked(b); return err }

// enrol is a request with one of everything.
func enrol(t *testing.T) api.Enrol {
	t.Helper()
	return api.Enrol{
		Secret: "AAAAAAAAAAAAAAAAAAAAAA", PrincipalID: "urn:anax:principal:acme", Name: "Acme Ünited",
		ClearanceIDHash: hashA, TrustBasis: "nca_verified", AGCLevel: 3,
		Keys:   []jose.Key{authorityKey(t), authorityKey(t)},
		Agents: []mandate.Agent{{ID: "urn:anax:agent:one", Key: authorityKey(t)}, {ID: "urn:anax:agent:two", Key: authorityKey(t)}},
		Humans: []mandate.Human{{ID: "urn:anax:human:one", Key: authorityKey(t)}},
		Credentials: []api.Credential{
			{Role: api.RolePrincipal, Hash: hashA},
			{Role: api.RoleAgent, AgentID: "urn:anax:agent:two", Hash: hashB},
		},
		Publisher: &api.Publisher{Key: authorityKey(t), CredentialHash: "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"},
	}
}

// covers GC-038, GC-082
func TestEnrolRules(t *testing.T) {
	for what, c := range map[string]struct {
		spoil   func(*api.Enrol)
		pointer string
	}{
		"principal form":   {func(e *api.Enrol) { e.PrincipalID = "urn:anax:agent:acme" }, "/principal_id"},
		"no name":          {func(e *api.Enrol) { e.Name = "" }, "/name"},
		"line in a name":   {func(e *api.Enrol) { e.Name = "a\nb" }, "/name"},
		"long name":        {func(e *api.Enrol) { e.Name = strings.Repeat("n", 257) }, "/name"},
		"trust basis":      {func(e *api.Enrol) { e.TrustBasis = "Self_declared" }, "/trust_basis"},
		"negative level":   {func(e *api.Enrol) { e.AGCLevel = -1 }, "/agc_level"},
		"no key":           {func(e *api.Enrol) { e.Keys = nil }, "/keys"},
		"one key twice":    {func(e *api.Enrol) { e.Keys[1] = e.Keys[0] }, "/keys/1"},
		"key of two uses":  {func(e *api.Enrol) { e.Agents[1].Key = e.Keys[0] }, "/agents/1"},
		"agent form":       {func(e *api.Enrol) { e.Agents[0].ID = "urn:anax:principal:one" }, "/agents/0"},
		"one agent twice":  {func(e *api.Enrol) { e.Agents[1].ID = e.Agents[0].ID }, "/agents/1"},
		"human form":       {func(e *api.Enrol) { e.Humans[0].ID = "urn:anax:agent:x" }, "/humans/0"},
		"human's key":      {func(e *api.Enrol) { e.Humans[0].Key = e.Agents[0].Key }, "/humans/0"},
		"publisher's key":  {func(e *api.Enrol) { e.Publisher.Key = e.Keys[0] }, "/publisher/jwk"},
		"two roles":        {func(e *api.Enrol) { e.Credentials[1].Hash = hashA }, "/credentials/1"},
		"unknown role":     {func(e *api.Enrol) { e.Credentials[0].Role = "Principal" }, "/credentials/0"},
		"agent of a role":  {func(e *api.Enrol) { e.Credentials[0].AgentID = "urn:anax:agent:one" }, "/credentials/0"},
		"no agent":         {func(e *api.Enrol) { e.Credentials[1].AgentID = "" }, "/credentials/1"},
		"foreign agent":    {func(e *api.Enrol) { e.Credentials[1].AgentID = "urn:anax:agent:x" }, "/credentials/1"},
		"publisher's role": {func(e *api.Enrol) { e.Publisher.CredentialHash = hashA }, "/publisher/credential_sha256"},
		"too many": {func(e *api.Enrol) {
			e.Credentials = slices.Repeat([]api.Credential{{Role: api.RolePrincipal, Hash: hashA}}, api.MaxCredentials+1)
		}, "/credentials"},
	} {
		e := enrol(t)
		c.spoil(&e)
		if got := pointerOf(t, what, e.Validate()); got != c.pointer {
			t.Errorf("%s: at %q, want %q", what, got, c.pointer)
		}
		if _, err := api.ParseEnrol(e.Bytes()); pointerOf(t, what, err) != c.pointer {
			t.Errorf("%s, parsed: %v", what, err)
		}
	}
	if err := enrol(t).Validate(); err != nil {
		t.Errorf("the request that the cases are made of: %v", err)
	}
}

func TestParseEnrolPointers(t *testing.T) {
	good := string(enrol(t).Bytes())
	for _, c := range []struct{ old, new, pointer string }{
		{`"secret":"AAAAAAAAAAAAAAAAAAAAAA"`, `"secret":"AAAA"`, "/secret"},
		{`"secret":"AAAAAAAAAAAAAAAAAAAAAA",`, ``, "/secret"},
		{`"id":"urn:anax:human:one"`, `"id":7`, "/humans/0/id"},
		{`"id":"urn:anax:agent:two"`, `"id":"urn:anax:agent:two","x":1`, "/agents/1/x"},
		{`"role":"agent"`, `"role":"agent","scope":"all"`, "/credentials/1/scope"},
		{`"sha256":"` + string(hashB) + `"`, `"sha256":"b"`, "/credentials/1/sha256"},
		{`"keys":[{"crv":"P-256"`, `"keys":[{"crv":"P-384"`, "/keys/0"},
		{`"keys":[{`, `"keys":[{"d":"AA",`, "/keys/0"},
		{`"keys":[{`, `"keys":[{"kid":"one",`, "/keys/0"}, // the store knows keys by thumbprint alone
		{`"publisher":{`, `"publisher":{"x":1,`, "/publisher/x"},
	} {
		body := strings.Replace(good, c.old, c.new, 1)
		if body == good {
			t.Fatalf("%s is not in %s", c.old, good)
		}
		if _, err := api.ParseEnrol([]byte(body)); pointerOf(t, c.new, err) != c.pointer {
			t.Errorf("%s: %v, want %s", c.new, err, c.pointer)
		}
	}
}

func FuzzParseEnrol(f *testing.F) {
	f.Add([]byte(`{"agc_level":0,"agents":[],"clearance_id_hash":"","credentials":[],"humans":[],"keys":[],"name":"","principal_id":"","secret":"","trust_basis":""}`))
	// The key is that of RFC 7515 appendix A.3.
	f.Add([]byte(`{"agc_level":0,"agents":[],"clearance_id_hash":"` + string(hashA) + `","credentials":[],"humans":[],"keys":[{"crv":"P-256","kty":"EC",` +
		`"x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}],"name":"n",` +
		`"principal_id":"urn:x:p","secret":"AAAAAAAAAAAAAAAAAAAAAA","trust_basis":"self_declared"}`))
	f.Add([]byte(`{"keys":[{"crv":"P-256","kty":"EC","x":"AA","y":"AA"}],"agents":[{"id":1}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		e, err := api.ParseEnrol(body)
		if err != nil {
			if _, ok := errors.AsType[*api.Error](err); !ok {
				t.Fatalf("error of type %T", err)
			}
			return
		}
		if _, err := api.ParseEnrol(e.Bytes()); err != nil {
			t.Fatalf("its own bytes are refused: %v", err)
		}
	})
}
