package mandate_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"hash"
	"math/big"
	"strings"
	"testing"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/mandate"
)

// The tamper matrix: every change to a signed token that some SD-JWT or JOSE library is
// known to accept, tried on an Open and on a Closed. Tokens are built with crypto/ecdsa
// alone. Where the change is to what is signed it is signed for real, by the right key,
// so that nothing but the rule under test can refuse it.

// A victim is a mandate in order, and what a verifier does with tokens like it.
type victim struct {
	party          // whose key the verifier has
	name    string // "open" or "closed"
	payload string
	verify  func(token string) error
}

func victims(t testing.TB) []victim {
	w := newWorld(t)
	openToken := w.principal.token(w.open)
	open := mustOpen(t, openToken, w.principal.keys())
	all := []victim{
		{w.principal, "open", w.open.json(), func(token string) error {
			p, err := mandate.ParseOpen(token)
			if err == nil {
				_, err = p.Verify(w.principal.keys())
			}
			return err
		}},
		{w.agent, "closed", w.closedUnder(openToken).json(), func(token string) error {
			p, err := mandate.ParseClosed(token)
			if err == nil {
				_, err = p.Verify(jose.KeySet{}, open)
			}
			return err
		}},
	}
	for _, v := range all {
		if err := v.verify(v.signed(v.own(), v.payload) + "~"); err != nil {
			t.Fatalf("%s without a change: %v", v.name, err)
		}
	}
	return all
}

func (v victim) own() string { return v.header("dc+sd-jwt") }

func (v victim) signed(header, payload string) string { return v.jws(header, payload) }

// spelled signs header and payload as they are spelled, base64url or not.
func (v victim) spelled(header, payload string) string {
	input := header + "." + payload
	return input + "." + b64(v.signature(input, false))
}

// parts are the three parts of the victim, of which header and payload leave 4 unused
// bits in their last characters, as every signature does.
func (v victim) parts() (header, payload, signature string) {
	h, p := v.own(), v.payload
	for len(h)%3 != 1 {
		h = strings.Replace(h, ",", ", ", 1)
	}
	for len(p)%3 != 1 {
		p = strings.Replace(p, ",", ", ", 1)
	}
	all := strings.Split(v.signed(h, p), ".")
	return all[0], all[1], all[2]
}

// A forgery is one row of the matrix. claim is where the fault of an Open is, and that of
// a Closed after a bar if it is elsewhere.
type forgery struct {
	name, claim string
	jwt         func(victim) string
}

func (f forgery) at(v victim) string {
	open, closed, two := strings.Cut(f.claim, "|")
	if two && v.name == "closed" {
		return closed
	}
	return open
}

func forge(t *testing.T, rows []forgery) {
	for _, v := range victims(t) {
		for _, f := range rows {
			t.Run(v.name+"/"+f.name, func(t *testing.T) {
				wantFault(t, v.verify(f.jwt(v)+"~"), mandate.Invalid, f.at(v))
			})
		}
	}
}

// covers GC-141, GC-142, GC-143
func TestForgedHeader(t *testing.T) {
	rows := []forgery{
		{"alg none, no signature", "signature", func(v victim) string {
			return b64([]byte(`{"alg":"none","kid":"`+v.key.ID+`"}`)) + "." + b64([]byte(v.payload)) + "."
		}},
		{"alg none over a signature of the true header", "header", func(v victim) string {
			_, rest, _ := strings.Cut(v.signed(v.own(), v.payload), ".")
			return b64([]byte(strings.Replace(v.own(), "ES256", "none", 1))) + "." + rest
		}},
	}
	// Each header is signed by the right key.
	for name, members := range map[string]string{
		"alg none": `"alg":"none"`, "alg None": `"alg":"None"`, "alg missing": `"x":1`, "alg null": `"alg":null`,
		"alg es256": `"alg":"es256"`, "alg Es256": `"alg":"Es256"`, "alg with a space": `"alg":"ES256 "`, "alg a list": `"alg":["ES256"]`,
		"alg HS256": `"alg":"HS256"`, "alg EdDSA": `"alg":"EdDSA"`, "alg ES384": `"alg":"ES384"`, "alg ES256K": `"alg":"ES256K"`,
		"ALG for alg": `"ALG":"ES256"`, "alg and ALG": `"alg":"ES256","ALG":"none"`, "Alg and alg": `"Alg":"none","alg":"ES256"`,
		"alg twice": `"alg":"ES256","alg":"none"`, "alg twice, none first": `"alg":"none","alg":"ES256"`, "alg twice alike": `"alg":"ES256","alg":"ES256"`,
		"alg twice, escaped": `"alg":"ES256","\u0061lg":"none"`, "kid twice": `"alg":"ES256","kid":"other"`, "Kid and kid": `"alg":"ES256","Kid":"other"`,
		"typ twice": `"alg":"ES256","typ":"dc+sd-jwt","typ":"dc+sd-jwt"`, "Typ and typ": `"alg":"ES256","typ":"dc+sd-jwt","Typ":"JWT"`,
		"crit unknown": `"alg":"ES256","crit":["exp"],"exp":1`, "crit empty": `"alg":"ES256","crit":[]`, "crit names alg": `"alg":"ES256","crit":["alg"]`,
		"crit names kid": `"alg":"ES256","crit":["kid"]`, "crit of what is not there": `"alg":"ES256","crit":["b64"]`, "crit names itself": `"alg":"ES256","crit":["crit"]`,
		"crit null": `"alg":"ES256","crit":null`, "crit a string": `"alg":"ES256","crit":"b64"`, "crit true": `"alg":"ES256","crit":true`, "crit an object": `"alg":"ES256","crit":{}`,
		"crit of a number": `"alg":"ES256","crit":[1]`, "Crit": `"alg":"ES256","Crit":["b64"]`,
		"b64 false": `"alg":"ES256","b64":false`, "b64 true": `"alg":"ES256","b64":true`,
		"b64 false, crit": `"alg":"ES256","b64":false,"crit":["b64"]`, "b64 true, crit": `"alg":"ES256","b64":true,"crit":["b64"]`,
		"jku": `"alg":"ES256","jku":"https://example.org"`, "x5u": `"alg":"ES256","x5u":"https://example.org"`, "x5c": `"alg":"ES256","x5c":["AAAA"]`,
		"x5t": `"alg":"ES256","x5t#S256":"AAAA"`, "zip": `"alg":"ES256","zip":"DEF"`, "cty": `"alg":"ES256","cty":"JWT"`, "nonce": `"alg":"ES256","nonce":"AAAA"`,
		"typ JWT": `"alg":"ES256","typ":"JWT"`, "typ kb+jwt": `"alg":"ES256","typ":"kb+jwt"`, "typ vc+sd-jwt": `"alg":"ES256","typ":"vc+sd-jwt"`,
		"typ upper case": `"alg":"ES256","typ":"DC+SD-JWT"`, "typ application/": `"alg":"ES256","typ":"application/dc+sd-jwt"`, "typ empty": `"alg":"ES256","typ":""`,
		"typ null": `"alg":"ES256","typ":null`, "typ a list": `"alg":"ES256","typ":["dc+sd-jwt"]`, "typ of a statement": `"alg":"ES256","typ":"bindery-status+jwt"`,
		"not UTF-8": "\"alg\":\"ES256\",\"typ\":\"dc+sd-jwt\xff\"", "lone surrogate": `"alg":"ES256","typ":"\ud800"`, "nested 300 deep": `"alg":"ES256","x":` + strings.Repeat("[", 300) + strings.Repeat("]", 300),
	} {
		rows = append(rows, forgery{name, "header", func(v victim) string {
			return v.signed(`{"kid":"`+v.key.ID+`",`+members+`}`, v.payload)
		}})
	}
	for name, f := range map[string]func(own string) string{
		"trailing object": func(own string) string { return own + "{}" }, "trailing letter": func(own string) string { return own + "x" },
		"byte order mark": func(own string) string { return "\ufeff" + own }, "in a list": func(own string) string { return "[" + own + "]" },
		"nested 9000 deep": func(own string) string { return strings.Repeat("[", 9000) + own + strings.Repeat("]", 9000) },
		"empty":            func(string) string { return "" },
	} {
		rows = append(rows, forgery{"header " + name, "header", func(v victim) string { return v.signed(f(v.own()), v.payload) }})
	}
	forge(t, rows)
}

// TestForgedKey has everything signed by a key, or as if by a key, that is not the signer's.
//
// covers GC-143, GC-209, GC-288, GC-336
func TestForgedKey(t *testing.T) {
	stranger := newParty(t)
	jwk := string(stranger.key.JWK())
	rows := []forgery{
		{"other key", "signature", func(v victim) string { return stranger.jws(v.own(), v.payload) }},
		{"other key under its own kid", "kid|signature", func(v victim) string { return stranger.jws(stranger.header("dc+sd-jwt"), v.payload) }},
		{"other key, in the header too", "header", func(v victim) string {
			return stranger.jws(strings.Replace(v.own(), `{`, `{"jwk":`+jwk+`,`, 1), v.payload)
		}},
		{"other key, in the header alone", "header", func(v victim) string { return stranger.jws(`{"alg":"ES256","jwk":`+jwk+`}`, v.payload) }},
		{"ES384 on P-256", "header", func(v victim) string { return sha384Signed(v, "ES384") }},
		{"SHA-384 as ES256", "signature", func(v victim) string { return sha384Signed(v, "ES256") }},
		{"ES384 on P-384", "signature", func(v victim) string {
			p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
			if err != nil {
				v.t.Fatal(err)
			}
			input := b64([]byte(strings.Replace(v.own(), "ES256", "ES384", 1))) + "." + b64([]byte(v.payload))
			sum := sha512.Sum384([]byte(input))
			r, s, err := ecdsa.Sign(rand.Reader, p384, sum[:])
			if err != nil {
				v.t.Fatal(err)
			}
			return input + "." + b64(append(r.FillBytes(make([]byte, 48)), s.FillBytes(make([]byte, 48))...))
		}},
	}
	// The public key, which everybody has, as the secret of an HMAC. That of 64 bytes has
	// the size of a signature.
	for name, secret := range map[string]func(victim) []byte{
		"DER":   func(v victim) []byte { return spki(v) },
		"PEM":   func(v victim) []byte { return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: spki(v)}) },
		"JWK":   func(v victim) []byte { return v.key.JWK() },
		"empty": func(victim) []byte { return nil },
		"point": func(v victim) []byte {
			point, err := v.priv.PublicKey.Bytes()
			if err != nil {
				v.t.Fatal(err)
			}
			return point
		},
	} {
		for _, h := range []struct {
			alg, claim string
			mac        func() hash.Hash
		}{{"HS256", "signature", sha256.New}, {"HS512", "header", sha512.New}, {"ES256", "signature", sha512.New}} {
			rows = append(rows, forgery{h.alg + " of the " + name, h.claim, func(v victim) string {
				input := b64([]byte(strings.Replace(v.own(), "ES256", h.alg, 1))) + "." + b64([]byte(v.payload))
				mac := hmac.New(h.mac, secret(v))
				mac.Write([]byte(input))
				return input + "." + b64(mac.Sum(nil))
			}})
		}
	}
	forge(t, rows)
}

func spki(v victim) []byte {
	der, err := x509.MarshalPKIXPublicKey(&v.priv.PublicKey)
	if err != nil {
		v.t.Fatal(err)
	}
	return der
}

// sha384Signed signs with the right key over another digest.
func sha384Signed(v victim, alg string) string {
	input := b64([]byte(strings.Replace(v.own(), "ES256", alg, 1))) + "." + b64([]byte(v.payload))
	sum := sha512.Sum384([]byte(input))
	r, s, err := ecdsa.Sign(rand.Reader, v.priv, sum[:])
	if err != nil {
		v.t.Fatal(err)
	}
	return input + "." + b64(concat(r, s))
}

// TestForgedSignature has numbers and sizes that are no signature.
//
// covers GC-142
func TestForgedSignature(t *testing.T) {
	n := elliptic.P256().Params().N
	zero, one := new(big.Int), big.NewInt(1)
	numbers := func(name string, f func(r, s *big.Int) (*big.Int, *big.Int)) forgery {
		return forgery{name, "signature", func(v victim) string {
			h, p, sig := v.parts()
			raw, err := jose.DecodeBase64(sig)
			if err != nil {
				v.t.Fatal(err)
			}
			r, s := f(new(big.Int).SetBytes(raw[:32]), new(big.Int).SetBytes(raw[32:]))
			return h + "." + p + "." + b64(concat(r, s))
		}}
	}
	whole := func(name string, f func(raw []byte) []byte) forgery {
		return forgery{name, "signature", func(v victim) string {
			h, p, sig := v.parts()
			raw, err := jose.DecodeBase64(sig)
			if err != nil {
				v.t.Fatal(err)
			}
			return h + "." + p + "." + b64(f(raw))
		}}
	}
	forge(t, []forgery{
		numbers("r and s zero", func(_, _ *big.Int) (*big.Int, *big.Int) { return zero, zero }),
		numbers("r zero", func(_, s *big.Int) (*big.Int, *big.Int) { return zero, s }),
		numbers("s zero", func(r, _ *big.Int) (*big.Int, *big.Int) { return r, zero }),
		numbers("r and s one", func(_, _ *big.Int) (*big.Int, *big.Int) { return one, one }),
		numbers("r is n", func(_, s *big.Int) (*big.Int, *big.Int) { return n, s }),
		numbers("s is n", func(r, _ *big.Int) (*big.Int, *big.Int) { return r, n }),
		numbers("r and s are n", func(_, _ *big.Int) (*big.Int, *big.Int) { return n, n }),
		numbers("n-r for r", func(r, s *big.Int) (*big.Int, *big.Int) { return r.Sub(n, r), s }),
		numbers("swapped", func(r, s *big.Int) (*big.Int, *big.Int) { return s, r }),
		whole("all ones", func(raw []byte) []byte { return []byte(strings.Repeat("\xff", len(raw))) }),
		whole("DER", func(raw []byte) []byte {
			der, err := asn1.Marshal(struct{ R, S *big.Int }{new(big.Int).SetBytes(raw[:32]), new(big.Int).SetBytes(raw[32:])})
			if err != nil {
				t.Fatal(err)
			}
			return der
		}),
		whole("63 bytes", func(raw []byte) []byte { return raw[:63] }),
		whole("65 bytes, zero after", func(raw []byte) []byte { return append(raw, 0) }),
		whole("65 bytes, zero before", func(raw []byte) []byte { return append([]byte{0}, raw...) }),
		whole("66 bytes, each padded", func(raw []byte) []byte {
			return append(append([]byte{0}, raw[:32]...), append([]byte{0}, raw[32:]...)...)
		}),
		whole("twice", func(raw []byte) []byte { return append(raw, raw...) }),
		whole("of nothing", func([]byte) []byte { return nil }),
	})
}

// TestForgedSpelling spells the three parts in every other way that decoders accept. Of
// header and payload the other spelling is signed.
//
// covers GC-141, GC-142
func TestForgedSpelling(t *testing.T) {
	var rows []forgery
	each := func(name string, f func(string) string) {
		rows = append(rows,
			forgery{"header/" + name, "header", func(v victim) string { h, p, _ := v.parts(); return v.spelled(f(h), p) }},
			forgery{"payload/" + name, "payload", func(v victim) string { h, p, _ := v.parts(); return v.spelled(h, f(p)) }},
			forgery{"signature/" + name, "signature", func(v victim) string { h, p, s := v.parts(); return h + "." + p + "." + f(s) }})
	}
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	for twin := 1; twin < 16; twin++ { // the last character has two bits that count
		each(fmt.Sprintf("unused bits %d", twin), func(part string) string {
			last := len(part) - 1
			return part[:last] + string(alphabet[strings.IndexByte(alphabet, part[last])|twin])
		})
	}
	for _, pad := range []string{"=", "==", "===", "%3D%3D"} {
		each("padding "+pad, func(part string) string { return part + pad })
	}
	for _, gap := range []string{" ", "\n", "\r", "\r\n", "\t", "\v", "\x00", "\u00a0", "\u200b"} {
		each(fmt.Sprintf("%q before", gap), func(part string) string { return gap + part })
		each(fmt.Sprintf("%q within", gap), func(part string) string { return part[:12] + gap + part[12:] })
		each(fmt.Sprintf("%q after", gap), func(part string) string { return part + gap })
		// As long as before, where the size alone does not tell.
		each(fmt.Sprintf("%q instead", gap), func(part string) string { return part[:12] + gap + part[min(12+len(gap), len(part)):] })
	}
	each("two characters more", func(part string) string { return part + "AA" })
	forge(t, rows)
}

// TestForgedAlphabet spells a payload and a signature in plain base64.
func TestForgedAlphabet(t *testing.T) {
	forge(t, []forgery{
		{"payload", "payload", func(v victim) string {
			for payload := strings.Replace(v.payload, "{", `{"jti":"???~~~",`, 1); ; payload += " " {
				if plain := base64.RawStdEncoding.EncodeToString([]byte(payload)); strings.ContainsAny(plain, "+/") {
					return v.spelled(b64([]byte(v.own())), plain)
				}
			}
		}},
		{"signature", "signature", func(v victim) string {
			for {
				h, p, sig := v.parts()
				if plain := strings.NewReplacer("-", "+", "_", "/").Replace(sig); plain != sig {
					return h + "." + p + "." + plain
				}
			}
		}},
	})
}

// covers GC-141
func TestForgedForm(t *testing.T) {
	form := func(name, claim string, f func(h, p, s string) string) forgery {
		return forgery{name, claim, func(v victim) string { return f(v.parts()) }}
	}
	forge(t, []forgery{
		form("header alone", "token", func(h, _, _ string) string { return h }),
		form("two parts", "token", func(h, p, _ string) string { return h + "." + p }),
		form("four parts, the last empty", "signature", func(h, p, s string) string { return h + "." + p + "." + s + "." }),
		form("four parts", "signature", func(h, p, s string) string { return h + "." + p + "." + s + "." + s }),
		form("five parts", "signature", func(h, p, s string) string { return h + "." + p + "." + s + "." + s + "." + s }),
		form("a dot before", "signature", func(h, p, s string) string { return "." + h + "." + p + "." + s }),
		form("two dots", "signature", func(h, p, s string) string { return h + ".." + p + "." + s }),
		form("detached payload", "payload", func(h, _, s string) string { return h + ".." + s }),
		form("flattened JSON", "token", func(h, p, s string) string {
			return `{"protected":"` + h + `","payload":"` + p + `","signature":"` + s + `"}`
		}),
		form("general JSON and an object", "token", func(h, p, s string) string {
			return `{"payload":"` + p + `","signatures":[{"protected":"` + h + `","signature":"` + s + `"}]}{}`
		}),
		form("Bearer", "header", func(h, p, s string) string { return "Bearer " + h + "." + p + "." + s }),
		form("quoted", "signature", func(h, p, s string) string { return `"` + h + "." + p + "." + s + `"` }),
	})
}
