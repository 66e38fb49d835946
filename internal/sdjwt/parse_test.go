package sdjwt_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/sdjwt"
	"github.com/bindery/bindery/jcs"
	"github.com/google/go-cmp/cmp"
)

const limit5 = `["c2FsdA","limit",5]`

// The token was made and signed by node's crypto module; so were its digests. Key and
// disclosure are those of the Open in package mandate's tests.
const (
	nodeJWK  = `{"crv":"P-256","kty":"EC","x":"cbUM0jxSqhy6bs8ffdbs4bZD764uyX0s4Wm2YinM8OI","y":"qX3Foq5GLa2sMnYHqyE8Gn3aqNcwpLf3CXbbEVzO0tc"}`
	nodeJWT  = "eyJhbGciOiJFUzI1NiIsInR5cCI6ImRjK3NkLWp3dCIsImtpZCI6IlhDczZnX2xzZGRHcTVYbkI5amg1QUhxdVRkYkxJLW5nRWRzN2tXU1lpM0EifQ.eyJhdWQiOiJ1cm46YW5heDp2YTowMDEiLCJjbmYiOnsiandrIjp7ImNydiI6IlAtMjU2Iiwia3R5IjoiRUMiLCJ4IjoiSVdvMmZvOE1pSDVUNW1OWnItMV9LYmhLdmRobW9mTjhmY3EwdnVsemNfcyIsInkiOiItSzd3ZXU0NUFpS1RjOVQwS2xFZDJZbTJVMHkwWUhWcGpOTUhwMHcwTHU0In19LCJjb21taXRtZW50X2FjdCI6WyJlbmdhZ2VtZW50X2NvZGVfaXNzdWFuY2UiLCJwcm9wb3NhbF93aXRoaW5fdGFyaWZmIl0sImNvbW1pdG1lbnRfY2xhc3MiOiJpcnJldmVyc2libGUiLCJleHAiOjE3ODYwODY0MDAsImlhdCI6MTc4NjAwMDAwMCwiaXNzIjoidXJuOmFuYXg6cHJpbmNpcGFsOmFjbWUiLCJwZXJtaXR0ZWRfY291bnRlcnBhcnRpZXMiOlsidXJuOmFuYXg6cHJpbmNpcGFsOmJvbHQiXSwic3ViIjoidXJuOmFuYXg6YWdlbnQ6YWNtZS1mcm9udCIsInZjdCI6Im1hbmRhdGUuYWdyZWVtZW50Lm9wZW4uMSIsIl9zZCI6WyJzN1duQnBldFN3NC1uellISVRITDFZZjhvTmk0WnRxNVpKSmhlbGdaQVZFIl0sIl9zZF9hbGciOiJzaGEtMjU2In0.C5ObOVTjFl3KE84SrvKVO8BoI4e5Jay_2uQLTlIOBOkDu8B6K38ejCqdlAiBPMOmvus__8ej_YKVtJfceWvjJw"
	nodeDisc = "WyJDTHF2R0N0MEZIRm5iY2pIVTN6UTN3IiwibWFnbml0dWRlX2xpbWl0Iiw1XQ"
	nodeKid  = "XCs6g_lsddGq5XnB9jh5AHquTdbLI-ngEds7kWSYi3A"

	nodeOpenHash   = "8c40b64b7a6fbdac63f252764291cb3cd16468196602cd4f4a4871bd1e6e0c2c" // sha256(JWT~)
	nodeFullHash   = "a51888dfbff563ecc9e76237423e5206820df7a5d7f9abf1bdb928d8ffd69364" // sha256(JWT~disclosure~)
	nodeSignedHash = "b67e526ccad238ab29523d49dbaaa45be1e2ba65c807841a65f84c4204d87f59" // sha256(header.payload)
)

// covers GC-141, GC-207
func TestTokenOfAnotherImplementation(t *testing.T) {
	v, err := jcs.Parse([]byte(nodeJWK))
	if err != nil {
		t.Fatal(err)
	}
	key, err := jose.ParseJWK(v)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, token, hash string
		disclosed         []string
		hidden            int
		limit             int64
	}{
		{"withheld", nodeJWT + "~", nodeOpenHash, nil, 1, 0},
		{"disclosed", nodeJWT + "~" + nodeDisc + "~", nodeFullHash, []string{"magnitude_limit"}, 0, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			tok, err := sdjwt.Parse(c.token, "magnitude_limit")
			if err != nil {
				t.Fatal(err)
			}
			if err := tok.Verify(key); err != nil {
				t.Error(err)
			}
			if tok.TokenHash() != jcs.Hex256(c.hash) || tok.OpenHash() != nodeOpenHash || tok.SignedHash() != nodeSignedHash {
				t.Errorf("hashes %s %s %s", tok.TokenHash(), tok.OpenHash(), tok.SignedHash())
			}
			if diff := cmp.Diff(c.disclosed, tok.Disclosed()); diff != "" || tok.Hidden() != c.hidden {
				t.Errorf("disclosed %s hidden %d", diff, tok.Hidden())
			}
			if n, _ := tok.Claims().Get("magnitude_limit").Int(); n != c.limit {
				t.Errorf("magnitude_limit = %d", n)
			}
			if tok.Claims().Get("_sd").Type() != jcs.Absent || tok.Claims().Get("_sd_alg").Type() != jcs.Absent {
				t.Error("claims still hold RFC 9901's own members")
			}
			if tok.String() != c.token || tok.Bare() != nodeJWT+"~" || tok.KeyID() != nodeKid || tok.HighS() {
				t.Error("the token does not print as it was")
			}
		})
	}
}

func TestParseAccepts(t *testing.T) {
	is := newIssuer(t)
	two := []string{`["s","a",{"x":[1,2]}]`, `["s","b",null]`}
	for name, c := range map[string]struct{ token, claims string }{
		"plain":              {is.token(`{"limit":1}`), `{"limit":1}`},
		"no claims":          {is.token(`{}`), `{}`},
		"typ absent":         {is.jwt(`{"alg":"ES256","kid":"k"}`, `{}`) + "~", `{}`},
		"typ mandate":        {is.jwt(`{"alg":"ES256","kid":"k","typ":"mandate+sd-jwt"}`, `{}`) + "~", `{}`},
		"disclosed":          {is.token(sd("", limit5), limit5), `{"limit":5}`},
		"withheld":           {is.token(sd("", limit5)), `{}`},
		"two, both orders":   {is.token(sd("", two...), two[1], two[0]), `{"a":{"x":[1,2]},"b":null}`},
		"_sd empty":          {is.token(`{"_sd":[],"limit":1}`), `{"limit":1}`},
		"_sd_alg alone":      {is.token(`{"_sd_alg":"sha-256"}`), `{}`},
		"no _sd_alg":         {is.token(`{"_sd":["`+digest(b64(limit5))+`"]}`, limit5), `{"limit":5}`},
		"spaces in JSON":     {is.token(sd("", `[ "c2FsdA" , "limit",  5 ]`), `[ "c2FsdA" , "limit",  5 ]`), `{"limit":5}`},
		"number spelled 1.0": {is.token(`{"n":1.0}`), `{"n":1}`},
		"depth 16":           {is.token(`{"n":` + strings.Repeat("[", 15) + strings.Repeat("]", 15) + `}`), `{"n":` + strings.Repeat("[", 15) + strings.Repeat("]", 15) + `}`},
	} {
		t.Run(name, func(t *testing.T) {
			tok, err := sdjwt.Parse(c.token, "limit", "a", "b")
			if err != nil {
				t.Fatal(err)
			}
			if err := tok.Verify(is.public()); err != nil {
				t.Error(err)
			}
			if got := string(tok.Claims().Bytes()); got != c.claims {
				t.Errorf("claims %s, want %s", got, c.claims)
			}
		})
	}
}

// TestPayloadAttacks signs every payload for real: only the payload is at fault.
//
// covers GC-141, GC-142
func TestPayloadAttacks(t *testing.T) {
	is := newIssuer(t)
	good := `"` + digest(b64(limit5)) + `"`
	for name, payload := range map[string]string{
		"array":                 `[]`,
		"string":                `"x"`,
		"null":                  `null`,
		"empty":                 ``,
		"trailing bytes":        `{} {}`,
		"repeated member":       `{"iss":"a","iss":"b"}`,
		"repeated, escaped":     `{"iss":"a","\u0069ss":"b"}`,
		"repeated, nested":      `{"cnf":{"jwk":1,"jwk":2}}`,
		"invalid UTF-8":         "{\"a\":\"\xc3\x28\"}",
		"lone surrogate":        `{"a":"\udc00"}`,
		"byte order mark":       "\ufeff{}",
		"fraction":              `{"exp":1.5}`,
		"beyond 2^53":           `{"exp":9007199254740993}`,
		"depth 17":              `{"n":` + strings.Repeat("[", 16) + strings.Repeat("]", 16) + `}`,
		"depth 9000":            strings.Repeat(`{"a":`, 9000) + "1" + strings.Repeat("}", 9000),
		"_sd an object":         `{"_sd":{}}`,
		"_sd null":              `{"_sd":null}`,
		"_sd a string":          `{"_sd":` + good + `}`,
		"_sd of a number":       `{"_sd":[1]}`,
		"_sd of null":           `{"_sd":[null]}`,
		"_sd short digest":      `{"_sd":["AAAA"]}`,
		"_sd digest padded":     `{"_sd":["` + digest("x") + `="]}`,
		"_sd digest line end":   `{"_sd":["` + digest("x")[:20] + `\n` + digest("x")[20:] + `"]}`,
		"_sd digest twice":      `{"_sd":[` + good + `,` + good + `]}`,
		"_sd decoys":            `{"_sd":[` + good + `,"` + digest("x") + `"]}`,
		"_sd beside the claim":  `{"_sd":[` + good + `],"limit":1}`,
		"_sd_alg md5":           `{"_sd_alg":"md5"}`,
		"_sd_alg SHA-256":       `{"_sd_alg":"SHA-256"}`,
		"_sd_alg sha-512":       `{"_sd_alg":"sha-512"}`,
		"_sd_alg null":          `{"_sd_alg":null}`,
		"_sd_alg a list":        `{"_sd_alg":["sha-256"]}`,
		"_sd nested":            `{"cnf":{"_sd":[` + good + `]}}`,
		"_sd nested and empty":  `{"cnf":{"_sd":[]}}`,
		"_sd in an array":       `{"a":[[{"_sd":[]}]]}`,
		"_sd_alg nested":        `{"a":{"_sd_alg":"sha-256"}}`,
		"array element digest":  `{"a":[{"...":` + good + `}]}`,
		"dots at the top":       `{"...":` + good + `}`,
		"dots nested":           `{"a":{"b":{"...":1}}}`,
		"_sd within _sd":        `{"_sd":[{"_sd":[]}]}`,
		"_sd repeated":          `{"_sd":[],"_sd":[` + good + `]}`,
		"_sd escaped, repeated": `{"_sd":[],"\u005fsd":[` + good + `]}`,
	} {
		t.Run(name, func(t *testing.T) { refused(t, is.token(payload)) })
	}
}

// refused fails the test if the token is accepted or its error is not one of ours.
func refused(t *testing.T, token string) {
	t.Helper()
	tok, err := sdjwt.Parse(token, "limit")
	if err == nil {
		t.Fatalf("accepted: %s", tok.Claims().Bytes())
	}
	if bad := (*sdjwt.Error)(nil); !errors.As(err, &bad) || tok != nil {
		t.Errorf("error %v, token %v", err, tok)
	}
}

// covers GC-141
func TestDisclosureAttacks(t *testing.T) {
	is := newIssuer(t)
	// Each disclosure is listed in "_sd" under its true digest: only what it says is at fault.
	for name, d := range map[string]string{
		"two elements":         `["s",5]`,
		"four elements":        `["s","limit",5,6]`,
		"object":               `{"s":"limit"}`,
		"not JSON":             `limit`,
		"trailing bytes":       `["s","limit",5][]`,
		"salt a number":        `[1,"limit",5]`,
		"salt empty":           `["","limit",5]`,
		"name a number":        `["s",1,5]`,
		"name null":            `["s",null,5]`,
		"name _sd":             `["s","_sd",5]`,
		"name ...":             `["s","...",5]`,
		"name _sd_alg":         `["s","_sd_alg",5]`,
		"name not listed":      `["s","exp",5]`,
		"name in other case":   `["s","Limit",5]`,
		"value with _sd":       `["s","limit",{"_sd":[]}]`,
		"value with dots":      `["s","limit",[{"...":"x"}]]`,
		"value a fraction":     `["s","limit",5.5]`,
		"value repeats":        `["s","limit",{"a":1,"a":2}]`,
		"value lone surrogate": `["s","limit","\ud800"]`,
		"value depth 17":       `["s","limit",` + strings.Repeat("[", 16) + strings.Repeat("]", 16) + `]`,
	} {
		t.Run(name, func(t *testing.T) { refused(t, is.token(sd("", d), d)) })
	}
	jwt := is.jwt(header, sd("", limit5))
	d := b64(limit5)
	for name, token := range map[string]string{
		"value changed":      jwt + "~" + b64(`["c2FsdA","limit",6]`) + "~",
		"salt changed":       jwt + "~" + b64(`["c2FsdB","limit",5]`) + "~",
		"spelled otherwise":  jwt + "~" + b64(`["c2FsdA","limit", 5]`) + "~",
		"unreferenced":       jwt + "~" + d + "~" + b64(`["s","exp",1]`) + "~",
		"twice":              jwt + "~" + d + "~" + d + "~",
		"empty":              jwt + "~~",
		"empty after":        jwt + "~" + d + "~~",
		"padded":             jwt + "~" + d + "=~",
		"no tilde":           jwt,
		"no last tilde":      jwt + "~" + d,
		"trailing letter":    jwt + "~x",
		"trailing space":     jwt + "~ ",
		"trailing line end":  jwt + "~\n",
		"trailing dots":      jwt + "~a.b.c",
		"key binding":        jwt + "~" + d + "~" + is.jwt(`{"alg":"ES256","typ":"kb+jwt"}`, `{}`),
		"delegation":         jwt + "~~" + jwt + "~",
		"leading tilde":      "~" + jwt + "~",
		"tilde only":         "~",
		"empty token":        "",
		"space before":       " " + jwt + "~",
		"disclosure of none": is.token(`{}`, limit5),
		"claim in the plain": is.token(`{"limit":1,"_sd":["`+digest(d)+`"]}`, limit5),
	} {
		t.Run(name, func(t *testing.T) { refused(t, token) })
	}
}

// TestTwoDisclosuresOfOneName lists two digests of one claim, which the number of
// disclosable claims would allow.
func TestTwoDisclosuresOfOneName(t *testing.T) {
	is := newIssuer(t)
	a, b := `["s1","limit",5]`, `["s2","limit",500]`
	for name, token := range map[string]string{
		"two of one name":     is.token(sd("", a, b), a, b),
		"one, and in plain":   is.token(sd(`,"limit":1`, a), a),
		"one presented twice": is.token(sd("", a, b), a, a),
		"one listed twice":    is.token(sd("", a, a), a),
	} {
		if _, err := sdjwt.Parse(token, "limit", "other"); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// covers GC-142, GC-143
func TestHeaderAttacks(t *testing.T) {
	is := newIssuer(t)
	for name, h := range map[string]string{
		"typ JWT":        `{"alg":"ES256","kid":"k","typ":"JWT"}`,
		"typ vc":         `{"alg":"ES256","kid":"k","typ":"vc+sd-jwt"}`,
		"typ kb":         `{"alg":"ES256","kid":"k","typ":"kb+jwt"}`,
		"typ upper case": `{"alg":"ES256","kid":"k","typ":"DC+SD-JWT"}`,
		"typ of ours":    `{"alg":"ES256","kid":"k","typ":"bindery-spend+jwt"}`,
		"alg none":       `{"alg":"none","kid":"k"}`,
		"alg EdDSA":      `{"alg":"EdDSA","kid":"k"}`,
		"alg ES384":      `{"alg":"ES384","kid":"k"}`,
		"no kid":         `{"alg":"ES256"}`,
		"crit":           `{"alg":"ES256","kid":"k","crit":["x"],"x":1}`,
		"jwk":            `{"alg":"ES256","kid":"k","jwk":` + nodeJWK + `}`,
		"vctm":           `{"alg":"ES256","kid":"k","vctm":[]}`,
	} {
		t.Run(name, func(t *testing.T) { refused(t, is.jwt(h, `{}`)+"~") })
	}
}

func TestLimitsComeFirst(t *testing.T) {
	is := newIssuer(t)
	for _, token := range []string{
		is.jwt(header, `{}`) + strings.Repeat("~", 20<<20),
		strings.Repeat("a", 20<<20),
		strings.Repeat(".", 20<<20),
	} {
		wantRule(t, token, "longer than 64 KiB")
		if n := testing.AllocsPerRun(10, func() { _, _ = sdjwt.Parse(token) }); n > 2 {
			t.Errorf("%v allocations before the size was looked at", n)
		}
	}
	wantRule(t, is.jwt(header, `{}`)+strings.Repeat("~", 66), "more than 64 disclosures")

	// All is in order with this token but its size: a claim in plain sight fills it up.
	fill := func(n int) string {
		d := `["s","limit","` + strings.Repeat("d", 30<<10) + `"]`
		return is.token(sd(`,"a":"`+strings.Repeat("a", n)+`"`, d), d)
	}
	room := (sdjwt.MaxSize - len(fill(0))) / 4 * 3
	if token := fill(room - 3); len(token) > sdjwt.MaxSize || len(token) < sdjwt.MaxSize-8 {
		t.Fatalf("token of %d bytes", len(token))
	} else if _, err := sdjwt.Parse(token, "limit"); err != nil {
		t.Errorf("%d bytes: %v", len(token), err)
	}
	wantRule(t, fill(room+6), "longer than 64 KiB")
}

func wantRule(t *testing.T, token, rule string) {
	t.Helper()
	_, err := sdjwt.Parse(token, "limit")
	if bad := (*sdjwt.Error)(nil); !errors.As(err, &bad) || bad.Rule != rule {
		t.Errorf("error %v, want %q", err, rule)
	}
}

func TestErrorsHoldNoInput(t *testing.T) {
	is := newIssuer(t)
	const secret = "hunter2"
	for _, token := range []string{
		is.token(`{"` + secret + `":1.5}`),
		is.token(`{"a":"` + secret + `","a":1}`),
		is.jwt(`{"alg":"`+secret+`","kid":"k"}`, `{}`) + "~",
		is.jwt(header, `{}`) + "~" + secret,
		is.token(`{"_sd":["` + secret + `"]}`),
	} {
		if _, err := sdjwt.Parse(token); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("error %v", err)
		}
	}
}

func TestNumberFaultSaysWhere(t *testing.T) {
	is := newIssuer(t)
	_, err := sdjwt.Parse(is.token(`{"iss":"x","magnitude_limit":1.5}`))
	bad, number := (*sdjwt.Error)(nil), (*jcs.Error)(nil)
	if !errors.As(err, &bad) || bad.Part != "payload" || bad.Pointer != "/magnitude_limit" ||
		!errors.As(err, &number) || number.Kind != jcs.KindNumber {
		t.Errorf("error %v", err)
	}
}

func TestVerifyWrongKey(t *testing.T) {
	is, other := newIssuer(t), newIssuer(t)
	tok, err := sdjwt.Parse(is.token(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	if tok.Verify(other.public()) == nil || tok.Verify(jose.Key{}) == nil || (*sdjwt.Token)(nil).Verify(is.public()) == nil {
		t.Error("verifies under another key")
	}
}

// TestSubstitutions changes one character at a time and wants none of the results.
func TestSubstitutions(t *testing.T) {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~=+/ \n\r"
	is := newIssuer(t)
	token, key := is.token(sd(`,"iss":"x"`, limit5), limit5), is.public()
	accepted, tried := 0, 0
	for i := range len(token) {
		for j := range 7 {
			c := alphabet[(i*31+j*11)%len(alphabet)]
			if c == token[i] {
				continue
			}
			tried++
			if tok, err := sdjwt.Parse(token[:i]+string(c)+token[i+1:], "limit"); err == nil && tok.Verify(key) == nil {
				accepted++
			}
		}
		for _, c := range " \n\r\tA~" {
			tried++
			if tok, err := sdjwt.Parse(token[:i]+string(c)+token[i:], "limit"); err == nil && tok.Verify(key) == nil {
				accepted++
			}
		}
	}
	if accepted != 0 || tried < 2000 {
		t.Errorf("%d of %d variants accepted", accepted, tried)
	}
}

func TestHashesAreOfExactBytes(t *testing.T) {
	is := newIssuer(t)
	token := is.token(sd("", limit5), limit5)
	tok, err := sdjwt.Parse(token, "limit")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(token))
	if string(tok.TokenHash()) != hex.EncodeToString(sum[:]) {
		t.Error("TokenHash is not over the exact string")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(nodeJWT + "~" + nodeDisc + "~")
	f.Add(nodeJWT + "~")
	f.Add("~")
	f.Fuzz(func(t *testing.T, token string) {
		tok, err := sdjwt.Parse(token, "magnitude_limit")
		if err != nil {
			if bad := (*sdjwt.Error)(nil); !errors.As(err, &bad) {
				t.Fatalf("error of another type: %v", err)
			}
			return
		}
		if tok.String() != token || !jcs.Canonical(tok.Claims().Bytes()) {
			t.Fatal("accepted token does not print as it was, or its claims are not canonical")
		}
	})
}
