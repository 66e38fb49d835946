package api_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/chain"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

const (
	crossingOne = "7f3c1a52-5d0e-4b7a-9c41-0a6f2d9be001"
	sealOne     = "canal-mf0z8k00-00112233aabb"

	// Written with Python: json.dumps(projection, sort_keys=True, separators=(',',':')).
	projectionText = `{"chain_id":"f4d3f04c5246feb5db0dfdc852c6ee8feffe7c6fb3a46c2fa59c75ead76caf63","chain_seq":0,` +
		`"crossing_id":"7f3c1a52-5d0e-4b7a-9c41-0a6f2d9be001","crossing_state":"committed","is_genesis":true,"outcome":"CLEARED",` +
		`"pack_id":"pack-anax","pack_version":"1.2.0","prev_hash":null,` +
		`"seal":"9d1890ad73042c722716153a2d43721b06e0c2e0d84ed2420b4e8573e83bf762","seal_id":"canal-mf0z8k00-00112233aabb",` +
		`"seal_version":3,"sealed_at":"2026-09-01T12:00:00Z","verify_url":"http://127.0.0.1:8080/?id=canal-mf0z8k00-00112233aabb"}`
	// The digest is hashlib.sha256 of that text, with Python.
	statementText = `{"crossing_id":"7f3c1a52-5d0e-4b7a-9c41-0a6f2d9be001",` +
		`"projection_sha256":"e0f6e4ca533fb8b4e0f84961cb384c5e3fb0d41d3b31faa38c7a2388f6dd3b54","role":"responder"}`
)

func projection() api.Projection {
	return api.Projection{
		CrossingID: crossingOne, ChainID: chain.ID("urn:anax:agent:trust", "urn:anax:agent:anax"),
		Block: crossing.Block{
			SealID: sealOne, Seal: "9d1890ad73042c722716153a2d43721b06e0c2e0d84ed2420b4e8573e83bf762", Position: chain.Genesis(),
			Basis:    mandate.GovernanceBasis{PackID: "pack-anax", PackVersion: "1.2.0"},
			SealedAt: time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC), VerifyURL: "http://127.0.0.1:8080/?id=" + sealOne,
		},
	}
}

func publication() api.Publication {
	return api.Publication{
		Projection: projection(), Role: crossing.Responder, InitiatorAgent: "urn:anax:agent:trust",
		ResponderAgent: "urn:anax:agent:anax", Signature: "a.b.c", Receipts: []string{"d.e.f", "g.h.i"},
	}
}

// covers GC-231
func TestProjectionBytes(t *testing.T) {
	if got := string(projection().Bytes()); got != projectionText {
		t.Errorf("projection\n%s\nwant\n%s", got, projectionText)
	}
	if got := string(publication().Statement()); got != statementText {
		t.Errorf("statement\n%s\nwant\n%s", got, statementText)
	}
}

func authorityKey(t *testing.T) jose.Key {
	t.Helper()
	private, err := jose.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	key, err := jose.NewKey(&private.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// again requires that parsing what v writes gives v.
func again[T any](t *testing.T, v T, bytes []byte, parse func([]byte) (T, error)) {
	t.Helper()
	got, err := parse(bytes)
	if err != nil || !reflect.DeepEqual(got, v) {
		t.Errorf("%s\nparsed %+v (%v)\nwant %+v", bytes, got, err, v)
	}
	if !jcs.Canonical(bytes) {
		t.Errorf("not canonical: %s", bytes)
	}
	if _, err := parse([]byte(strings.Replace(string(bytes), "{", `{"unknown":1,`, 1))); !errors.Is(err, &api.Error{Code: api.CodeMalformed}) {
		t.Errorf("unknown member: %v", err)
	}
	for _, bad := range []string{"", "null", "[]", "{}", "{", string(bytes) + "x", string(bytes[1:])} {
		if _, err := parse([]byte(bad)); !errors.Is(err, &api.Error{Code: api.CodeMalformed}) {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
	if _, err := parse(make([]byte, api.MaxBody+1)); !errors.Is(err, &api.Error{Code: api.CodeTooLarge}) {
		t.Errorf("too large: %v", err)
	}
}

func TestAuthorityRoundTrips(t *testing.T) {
	later := projection()
	later.Block.Position = chain.Position{Prev: jcs.HexOf([]byte("before")), Seq: 1<<53 - 1}
	bare := publication()
	bare.Role, bare.Receipts, bare.Projection = crossing.Initiator, nil, later
	enrol := api.EnrolRegistry{Secret: "AAAAAAAAAAAAAAAAAAAAAA", Key: authorityKey(t), PrincipalID: "urn:anax:principal:third", URL: "https://ra.example"}
	enrolled := api.RegistryEnrolled{VerifiedBy: "VA-001", BaseURL: "https://verify.example/", RegistryKey: enrol.Key.ID}
	grant := api.AddPublisher{Grant: "a.b.c"}
	published := api.Published{CrossingID: crossingOne, Role: crossing.Initiator, ProjectionJWS: "a.b.c"}

	again(t, projection(), projection().Bytes(), api.ParseProjection)
	again(t, later, later.Bytes(), api.ParseProjection)
	again(t, publication(), publication().Bytes(), api.ParsePublication)
	again(t, bare, bare.Bytes(), api.ParsePublication)
	again(t, enrol, enrol.Bytes(), api.ParseEnrolRegistry)
	again(t, enrolled, enrolled.Bytes(), api.ParseRegistryEnrolled)
	again(t, grant, grant.Bytes(), api.ParseAddPublisher)
	again(t, published, published.Bytes(), api.ParsePublished)
}

func TestCode(t *testing.T) {
	const secret = "AAECAwQFBgcICQoLDA0ODw"                       // 16 bytes
	const thumb = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"   // 32 bytes
	const another = "ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8" // 32 others
	for _, c := range []struct {
		text string
		want api.Code
	}{
		{"bindery1." + secret + "." + thumb + "." + another, api.Code{Secret: secret, RAKey: thumb, VAKey: another}},
		{"bindery1." + secret + ".-." + another, api.Code{Secret: secret, VAKey: another}},
		{"bindery1." + secret + "." + thumb + ".-", api.Code{Secret: secret, RAKey: thumb}},
	} {
		got, err := api.ParseCode(c.text)
		if err != nil || got != c.want || got.String() != c.text {
			t.Errorf("%s: %+v, %v", c.text, got, err)
		}
	}
	good := "bindery1." + secret + "." + thumb + "." + another
	for name, bad := range map[string]string{
		"empty":          "",
		"another format": strings.Replace(good, "bindery1", "bindery2", 1),
		"no pins":        "bindery1." + secret + ".-.-",
		"three parts":    "bindery1." + secret + "." + thumb,
		"five parts":     good + ".x",
		"short secret":   strings.Replace(good, secret, secret[1:], 1),
		"padding":        strings.Replace(good, secret, secret[:20]+"==", 1),
		"line end":       strings.Replace(good, secret, secret[:21]+"\n", 1),
		"space":          " " + good,
		"loose bits":     strings.Replace(good, secret, secret[:21]+"x", 1),
		"short key":      strings.Replace(good, thumb, thumb[1:], 1),
		"empty key":      strings.Replace(good, thumb, "", 1),
	} {
		if got, err := api.ParseCode(bad); !errors.Is(err, &api.Error{Code: api.CodeEnrolment}) || got != (api.Code{}) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	// hashlib.sha256(b"credential").hexdigest(), with Python.
	const hash = "e265b6f564601a1fe8dc42785cd18a868bd8013eb5899560e79248767a683e6b"
	if got := api.CredentialHash("credential"); got != hash {
		t.Errorf("credential hash %s", got)
	}
}

// covers GC-087, GC-116
func TestParseVerifyRequest(t *testing.T) {
	record, err := jcs.Parse([]byte(`{"a":1}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		body string
		want api.VerifyRequest
	}{
		{`{"seal_id":"x"}`, api.VerifyRequest{SealID: "x"}},
		{`{"crossing_id":"x"}`, api.VerifyRequest{CrossingID: "x"}},
		{`{"seal_id":""}`, api.VerifyRequest{}},
		{`{"seal_id":"\ud83d\ude00"}`, api.VerifyRequest{SealID: "😀"}},
		{`{"seal_id":"x","record":{"a":1.0}}`, api.VerifyRequest{SealID: "x", Record: record}},
		{`{"seal_id":"x","new":[{"clearance_id":1}]}`, api.VerifyRequest{SealID: "x"}},
	} {
		got, err := api.ParseVerifyRequest([]byte(c.body))
		if err != nil || got.SealID != c.want.SealID || got.CrossingID != c.want.CrossingID || string(got.Record.Bytes()) != string(c.want.Record.Bytes()) {
			t.Errorf("%s: %+v, %v", c.body, got, err)
		}
		if back, err := api.ParseVerifyRequest(got.Bytes()); err != nil || string(back.Bytes()) != string(got.Bytes()) {
			t.Errorf("%s: again %s, %v", c.body, back.Bytes(), err)
		}
	}
	for _, c := range []struct{ body, code, pointer string }{
		{``, "VERIFY_PARAMS", ""},
		{`"x"`, "VERIFY_PARAMS", ""},
		{`{}`, "VERIFY_PARAMS", ""},
		{`{"record":{}}`, "VERIFY_PARAMS", ""},
		{`{"seal_id":"x","crossing_id":"y"}`, "VERIFY_PARAMS", ""},
		{`{"seal_id":"x","crossing_id":null}`, "VERIFY_PARAMS", ""},
		{`{"seal_id":["x"]}`, "VERIFY_PARAMS", ""},
		{`{"SEAL_ID":"x"}`, "VERIFY_PARAMS", ""},
		{`{"seal_id":"\ud83d"}`, "VERIFY_PARAMS", ""},
		{`{"seal_id":"x","records":{"a":1.5}}`, "VERIFY_PARAMS", ""},
		{`{"seal_id":"x","record":1}`, "RECORD_MALFORMED", "/record"},
		{`{"seal_id":"x","record":1.5}`, "RECORD_MALFORMED", "/record"},
		{`{"seal_id":"x","record":{"a":{"b":1.5}}}`, "RECORD_MALFORMED", "/record/a/b"},
		{`{"record":{"a":1,"a":2},"seal_id":"x"}`, "RECORD_MALFORMED", "/record/a"},
		{strings.Repeat(" ", api.MaxBody) + `{"seal_id":"x"}`, api.CodeTooLarge, ""},
	} {
		_, err := api.ParseVerifyRequest([]byte(c.body))
		if e, ok := errors.AsType[*api.Error](err); !ok || e.Code != c.code || e.Pointer != c.pointer {
			t.Errorf("%.60s: %v, want %s at %q", c.body, err, c.code, c.pointer)
		}
	}
}

// covers GC-128
func TestParseVerifyResult(t *testing.T) {
	checks := `"checks":{"resolves":true,"seal_matches":null,"chain_consistent":true,"basis_present":true,"not_superseded":false}`
	full := strings.Replace(projectionText, "{", `{"verified_by":"VA-009",`+checks+`,"new":{"a":[]},`, 1)
	r, err := api.ParseVerifyResult([]byte(full))
	if err != nil {
		t.Fatal(err)
	}
	want := api.Checks{Resolves: api.True, ChainConsistent: api.True, BasisPresent: api.True, NotSuperseded: api.False}
	if r.Checks != want || r.VerifiedBy != "VA-009" || !reflect.DeepEqual(r.Projection, projection()) || r.ProjectionJWS != "" || !r.AsOf.IsZero() {
		t.Errorf("result %+v", r)
	}
	unknown := `{"verified_by":"VA-001","checks":` + string(api.Checks{}.Bytes()) + `}`
	if r, err := api.ParseVerifyResult([]byte(unknown)); err != nil || r.Checks != (api.Checks{Resolves: api.False}) {
		t.Errorf("unknown: %+v, %v", r, err)
	}
	for name, bad := range map[string]string{
		"empty":            ``,
		"no checks":        `{"verified_by":"VA-001"}`,
		"no authority":     `{` + checks + `}`,
		"resolves null":    strings.Replace(full, `"resolves":true`, `"resolves":null`, 1),
		"resolves text":    strings.Replace(full, `"resolves":true`, `"resolves":"true"`, 1),
		"check as number":  strings.Replace(full, `"basis_present":true`, `"basis_present":1`, 1),
		"a check missing":  strings.Replace(full, `"basis_present":true,`, ``, 1),
		"no seal":          strings.Replace(full, `"seal":`, `"sael":`, 1),
		"repeated member":  strings.Replace(full, `"outcome":`, `"outcome":"CLEARED","outcome":`, 1),
		"wrong evidence":   strings.Replace(full, `"new":{"a":[]}`, `"evidence":{"as_of":"today"}`, 1),
		"evidence no list": strings.Replace(full, `"new":{"a":[]}`, `"evidence":[]`, 1),
	} {
		if r, err := api.ParseVerifyResult([]byte(bad)); err == nil || r != nil {
			t.Errorf("%s: accepted as %+v", name, r)
		}
	}
}

// FuzzParsePublication looks for a body that is taken and comes back different.
func FuzzParsePublication(f *testing.F) {
	f.Add(publication().Bytes())
	f.Add([]byte(projectionText))
	f.Fuzz(func(t *testing.T, body []byte) {
		p, err := api.ParsePublication(body)
		if err != nil {
			return
		}
		canonical, err := jcs.Append(nil, body)
		if err != nil || string(canonical) != string(p.Bytes()) {
			t.Fatalf("taken as\n%s\nfrom\n%s (%v)", p.Bytes(), canonical, err)
		}
	})
}
