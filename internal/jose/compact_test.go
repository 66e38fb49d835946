package jose_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/bindery/bindery/internal/jose"
)

// covers GC-207
func TestVerifyTokenOfAnotherImplementation(t *testing.T) {
	k, err := jose.ParseJWK(mustValue(t, nodeJWK))
	if err != nil {
		t.Fatal(err)
	}
	c, err := jose.ParseCompact(nodeToken, 1<<10)
	if err != nil {
		t.Fatal(err)
	}
	if c.Header != (jose.Header{Alg: "ES256", Kid: "k-1"}) || string(c.Payload) != `{"hello":"world"}` {
		t.Errorf("header %+v, payload %s", c.Header, c.Payload)
	}
	if err := c.Verify(k); err != nil {
		t.Error(err)
	}
	other, _ := jose.NewKey(&mustKey(t).PublicKey)
	for name, k := range map[string]jose.Key{"other key": other, "zero key": {}} {
		if err := c.Verify(k); !errors.Is(err, jose.ErrSignature) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestHighSTwin(t *testing.T) {
	k := mustKey(t)
	key, _ := jose.NewKey(&k.PublicKey)
	input := b64(`{"alg":"ES256","kid":"k"}`) + "." + b64(`{}`)
	raw := rawSignature(t, k, input)
	for _, high := range []bool{false, true} {
		c, err := jose.ParseCompact(input+"."+base64.RawURLEncoding.EncodeToString(withHighS(raw, high)), 1<<10)
		if err != nil {
			t.Fatal(err)
		}
		if c.Verify(key) != nil || c.HighS() != high {
			t.Errorf("high %v: verify %v, HighS %v", high, c.Verify(key), c.HighS())
		}
	}
}

// TestHeaderAttacks signs every header for real, so that only the header can be at fault.
//
// covers GC-142, GC-143
func TestHeaderAttacks(t *testing.T) {
	k := mustKey(t)
	for name, header := range map[string]string{
		"alg none":           `{"alg":"none","kid":"k"}`,
		"alg None":           `{"alg":"None","kid":"k"}`,
		"alg empty":          `{"alg":"","kid":"k"}`,
		"alg HS256":          `{"alg":"HS256","kid":"k"}`,
		"alg RS256":          `{"alg":"RS256","kid":"k"}`,
		"alg EdDSA":          `{"alg":"EdDSA","kid":"k"}`,
		"alg ES384":          `{"alg":"ES384","kid":"k"}`,
		"alg es256":          `{"alg":"es256","kid":"k"}`,
		"alg missing":        `{"kid":"k"}`,
		"ALG for alg":        `{"ALG":"ES256","kid":"k"}`,
		"alg and ALG":        `{"alg":"ES256","ALG":"none","kid":"k"}`,
		"alg a list":         `{"alg":["ES256"],"kid":"k"}`,
		"alg repeated":       `{"alg":"none","alg":"ES256","kid":"k"}`,
		"alg repeated, \\u":  `{"alg":"ES256","\u0061lg":"none","kid":"k"}`,
		"kid repeated":       `{"alg":"ES256","kid":"a","kid":"k"}`,
		"kid missing":        `{"alg":"ES256"}`,
		"kid empty":          `{"alg":"ES256","kid":""}`,
		"kid a number":       `{"alg":"ES256","kid":7}`,
		"kid null":           `{"alg":"ES256","kid":null}`,
		"kid too long":       `{"alg":"ES256","kid":"` + strings.Repeat("k", 129) + `"}`,
		"typ empty":          `{"alg":"ES256","kid":"k","typ":""}`,
		"typ null":           `{"alg":"ES256","kid":"k","typ":null}`,
		"crit unknown":       `{"alg":"ES256","kid":"k","crit":["x"],"x":1}`,
		"crit empty":         `{"alg":"ES256","kid":"k","crit":[]}`,
		"crit names alg":     `{"alg":"ES256","kid":"k","crit":["alg"]}`,
		"b64 false":          `{"alg":"ES256","kid":"k","b64":false}`,
		"b64 false, crit":    `{"alg":"ES256","kid":"k","b64":false,"crit":["b64"]}`,
		"jwk embedded":       `{"alg":"ES256","kid":"k","jwk":` + nodeJWK + `}`,
		"jku":                `{"alg":"ES256","kid":"k","jku":"https://example.org"}`,
		"x5c":                `{"alg":"ES256","kid":"k","x5c":["AAAA"]}`,
		"zip":                `{"alg":"ES256","kid":"k","zip":"DEF"}`,
		"cty":                `{"alg":"ES256","kid":"k","cty":"JWT"}`,
		"array":              `["ES256"]`,
		"string":             `"ES256"`,
		"not JSON":           `alg=ES256`,
		"empty":              ``,
		"trailing bytes":     `{"alg":"ES256","kid":"k"} {}`,
		"byte order mark":    "\ufeff" + `{"alg":"ES256","kid":"k"}`,
		"invalid UTF-8":      "{\"alg\":\"ES256\",\"kid\":\"\xff\"}",
		"lone surrogate":     `{"alg":"ES256","kid":"\ud800"}`,
		"header of 1100 b":   `{"alg":"ES256","kid":"k"` + strings.Repeat(" ", 1100) + `}`,
		"single quotes":      `{'alg':'ES256','kid':'k'}`,
		"comment":            `{"alg":"ES256",/**/"kid":"k"}`,
		"nested for unknown": `{"alg":"ES256","kid":"k","x":{"y":{}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			if c, err := jose.ParseCompact(rawToken(t, k, header, `{}`), 1<<16); err == nil {
				t.Errorf("accepted: %+v", c.Header)
			}
		})
	}
}

// covers GC-142
func TestEncodingAttacks(t *testing.T) {
	k := mustKey(t)
	good := rawToken(t, k, `{"alg":"ES256","kid":"key"}`, `{"a":1}`)
	if _, err := jose.ParseCompact(good, len(good)); err != nil {
		t.Fatal(err)
	}
	if _, err := jose.ParseCompact(good, len(good)-1); err == nil {
		t.Error("accepted above its limit")
	}
	parts := strings.Split(good, ".")
	header, payload, sig := parts[0], parts[1], parts[2]
	raw, _ := base64.RawURLEncoding.DecodeString(sig)
	join := func(p ...string) string { return strings.Join(p, ".") }
	jsonForm, _ := json.Marshal(map[string]string{"protected": header, "payload": payload, "signature": sig})
	for name, token := range map[string]string{
		"empty":                "",
		"dots":                 "..",
		"20 MB of dots":        strings.Repeat(".", 20<<20),
		"two parts":            join(header, payload),
		"four parts":           join(header, payload, sig, ""),
		"JSON form":            string(jsonForm),
		"no signature":         join(header, payload, ""),
		"no payload":           header + "." + sig,
		"DER signature":        join(header, payload, b64("\x30\x44"+string(raw))),
		"65 bytes":             join(header, payload, b64(string(raw)+"\x00")),
		"63 bytes":             join(header, payload, b64(string(raw[:63]))),
		"signature padded":     good + "==",
		"signature line end":   join(header, payload, sig[:40]+"\n"+sig[40:85]),
		"line end at the end":  good + "\n",
		"line end, one longer": join(header, payload, sig[:40]+"\n"+sig[40:]),
		"header line end":      join(header[:4]+"\r\n"+header[4:], payload, sig),
		"payload line end":     join(header, payload[:2]+"\n"+payload[2:], sig),
		"space before":         " " + good,
		"plain base64":         join(header, payload, strings.Repeat("+/", 43)),
		"payload padded":       join(header, payload+"=", sig),
		"NUL":                  good[:len(good)-1] + "\x00",
	} {
		if _, err := jose.ParseCompact(token, 1<<16); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	key, _ := jose.NewKey(&k.PublicKey)
	for name, sig := range map[string]string{
		"r and s zero": strings.Repeat("\x00", 64),
		"s zero":       string(raw[:32]) + strings.Repeat("\x00", 32),
		"all ones":     strings.Repeat("\xff", 64),
		"swapped":      string(raw[32:]) + string(raw[:32]),
	} {
		c, err := jose.ParseCompact(join(header, payload, b64(sig)), 1<<16)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if c.Verify(key) == nil {
			t.Errorf("%s: verifies", name)
		}
	}
}

// TestUnusedBits tries every other spelling of the last character of each part: base64
// decoders that are not strict take some of them for the same bytes.
func TestUnusedBits(t *testing.T) {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	k := mustKey(t)
	key, _ := jose.NewKey(&k.PublicKey)
	good := rawToken(t, k, `{"alg":"ES256","kid":"key1"}`, `{"a":12}`)
	tried := 0
	for i := range len(good) {
		if i+1 != len(good) && good[i+1] != '.' {
			continue
		}
		for _, c := range []byte(alphabet) {
			if c == good[i] {
				continue
			}
			tried++
			bad := good[:i] + string(c) + good[i+1:]
			if p, err := jose.ParseCompact(bad, 1<<16); err == nil && p.Verify(key) == nil {
				t.Errorf("byte %d: %q accepted for %q", i, c, good[i])
			}
		}
	}
	if tried != 3*63 {
		t.Errorf("tried %d spellings", tried)
	}
}

func TestDecodeBase64(t *testing.T) {
	for _, data := range []string{"", "a", "ab", "abc", "\xff\xfe\xfd\xfc"} {
		got, err := jose.DecodeBase64(jose.EncodeBase64([]byte(data)))
		if err != nil || string(got) != data {
			t.Errorf("%q: %q, %v", data, got, err)
		}
	}
	for _, bad := range []string{"A", "AB", "AAB", "AA==", "AA=", "A\nA", "AA\n", " AA", "+/AA", "AAAAA", "é"} {
		if got, err := jose.DecodeBase64(bad); err == nil {
			t.Errorf("%q: accepted as %q", bad, got)
		}
	}
}

func FuzzParseCompact(f *testing.F) {
	f.Add(nodeToken)
	f.Add("..")
	f.Add(strings.Replace(nodeToken, ".", "\n.", 1))
	f.Fuzz(func(t *testing.T, token string) {
		c, err := jose.ParseCompact(token, 1<<12)
		if err != nil {
			if bad := (*jose.Error)(nil); !errors.As(err, &bad) {
				t.Fatalf("error of another type: %v", err)
			}
			return
		}
		// What is accepted has one spelling: printing the parts gives the token back.
		header, _, _ := strings.Cut(c.SigningInput, ".")
		if got := header + "." + jose.EncodeBase64(c.Payload) + "." + jose.EncodeBase64(c.Signature[:]); got != token {
			t.Fatalf("token\n%q\nprints as\n%q", token, got)
		}
	})
}
