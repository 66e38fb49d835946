package jose_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
	"github.com/google/go-cmp/cmp"
)

const nodeJWK = `{"crv":"P-256","kty":"EC","x":"` + nodeX + `","y":"` + nodeY + `"}`

// covers GC-207
func TestParseJWKOfAnotherImplementation(t *testing.T) {
	for name, src := range map[string]string{
		"bare":          nodeJWK,
		"other order":   `{"y":"` + nodeY + `","x":"` + nodeX + `","kty":"EC","crv":"P-256"}`,
		"own name":      strings.Replace(nodeJWK, `{`, `{"kid":"`+nodeThumbprint+`",`, 1),
		"alg and use":   strings.Replace(nodeJWK, `{`, `{"alg":"ES256","use":"sig",`, 1),
		"escaped names": strings.Replace(nodeJWK, `"kty"`, `"\u006bty"`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			k, err := jose.ParseJWK(mustValue(t, src))
			if err != nil {
				t.Fatal(err)
			}
			if k.ID != nodeThumbprint || k.Name() != nodeThumbprint {
				t.Errorf("ID = %q, Name = %q, want %q", k.ID, k.Name(), nodeThumbprint)
			}
			if diff := cmp.Diff(nodeJWK, string(k.JWK())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseJWKForeignName(t *testing.T) {
	k, err := jose.ParseJWK(mustValue(t, strings.Replace(nodeJWK, `{`, `{"kid":"k-1",`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	if k.ID != nodeThumbprint || k.Name() != "k-1" {
		t.Errorf("ID = %q, Name = %q", k.ID, k.Name())
	}
}

func TestParseJWKRefuses(t *testing.T) {
	with := func(member string) string { return strings.Replace(nodeJWK, `{`, `{`+member+`,`, 1) }
	xy := func(x, y string) string {
		return fmt.Sprintf(`{"crv":"P-256","kty":"EC","x":%q,"y":%q}`, x, y)
	}
	zero := strings.Repeat("A", 43)
	// p of P-256 as an x coordinate: 2^256 − 2^224 + 2^192 + 2^96 − 1.
	const p = "_____wAAAAEAAAAAAAAAAAAAAAD_______________8"
	// The 64 bytes of the point, cut after 31: python3, base64.urlsafe_b64encode.
	const cutX, cutY = "cbUM0jxSqhy6bs8ffdbs4bZD764uyX0s4Wm2YinM8A", "4ql9xaKuRi2trDJ2B6shPBp92qjXMKS39wl22xFcztLX"
	// The point of P-256 whose x is 0 has this y: p as its x is the same point in another
	// spelling. The other two points are the generators of secp256k1 and P-384. All by
	// python3's integers.
	const y0 = "ZkhceA4vg9ckM71dhKBrtlQcKvMdrocXKL-FahdPk_Q"
	const kx, ky = "eb5mfvncu6xVoGKVzocLBwKb_NstzijZWfKBWxb4F5g", "SDradyajxGVdpPv8DhEIqP0XtEimhVQZnEfQj_sQ1Lg"
	const wideX, wideY = "qofKIr6LBTeOscce8yCtdG4dO2KLp5uYWfdB4IJUKjhVAvJdv1UpbDpUXjhydgq3", "NhfeSpYmLG9dnpi_kpLcKfj0Hb0omhR86doxE7XwuMAKYLHOHX6BnXpDHXyQ6g5f"
	if _, err := jose.ParseJWK(mustValue(t, xy(zero, y0))); err != nil {
		t.Fatalf("the point with x 0: %v", err)
	}
	const offByOne = "qX3Foq5GLa2sMnYHqyE8Gn3aqNcwpLf3CXbbEVzO0tg" // y + 1
	for name, src := range map[string]string{
		"not an object":       `["EC"]`,
		"null":                `null`,
		"private part":        with(`"d":"` + nodeX + `"`),
		"unknown member":      with(`"ext":true`),
		"key_ops":             with(`"key_ops":["verify"]`),
		"x5c":                 with(`"x5c":[]`),
		"kty RSA":             strings.Replace(nodeJWK, "EC", "RSA", 1),
		"kty lower case":      strings.Replace(nodeJWK, "EC", "ec", 1),
		"crv P-384":           strings.Replace(nodeJWK, "P-256", "P-384", 1),
		"crv secp256k1":       strings.Replace(nodeJWK, "P-256", "secp256k1", 1),
		"no crv":              strings.Replace(nodeJWK, `"crv":"P-256",`, "", 1),
		"no kty":              strings.Replace(nodeJWK, `"kty":"EC",`, "", 1),
		"no y":                `{"crv":"P-256","kty":"EC","x":"` + nodeX + `"}`,
		"crv a number":        strings.Replace(nodeJWK, `"P-256"`, `256`, 1),
		"KTY for kty":         strings.Replace(nodeJWK, "kty", "KTY", 1),
		"y off the curve":     xy(nodeX, offByOne),
		"origin":              xy(zero, zero),
		"x is p":              xy(p, nodeY),
		"x is p, y that of 0": xy(p, y0),
		"y is p":              xy(nodeX, p),
		"x and y zero, named": strings.Replace(xy(zero, zero), `{`, `{"kid":"k",`, 1),
		"y of 31 bytes":       xy(nodeX, nodeY[:42]),
		"y of 33 bytes":       xy(nodeX, nodeY+"A"),
		"y empty":             xy(nodeX, ""),
		"of secp256k1":        xy(kx, ky),
		"of secp256k1, named": strings.Replace(xy(kx, ky), "P-256", "secp256k1", 1),
		"of P-384":            xy(wideX, wideY),
		"of P-384, named":     strings.Replace(xy(wideX, wideY), "P-256", "P-384", 1),
		"of P-384, cut":       xy(wideX[:43], wideY[:43]),
		"crv and CRV":         with(`"CRV":"P-384"`),
		"crv and Crv alike":   with(`"Crv":"P-256"`),
		"CRV for crv":         strings.Replace(nodeJWK, "crv", "CRV", 1),
		"crv lower case":      strings.Replace(nodeJWK, "P-256", "p-256", 1),
		"crv another name":    strings.Replace(nodeJWK, "P-256", "secp256r1", 1),
		"crv null":            strings.Replace(nodeJWK, `"P-256"`, `null`, 1),
		"private part, empty": with(`"d":""`),
		"private part, null":  with(`"d":null`),
		"private part, D":     with(`"D":"` + nodeX + `"`),
		"symmetric":           `{"kty":"oct","k":"AAAA"}`,
		"symmetric on top":    with(`"k":"AAAA"`),
		"x and y swapped":     xy(nodeY, nodeX),
		"x of 31 bytes":       xy(zero[:42], nodeY),
		"x of 33 bytes":       xy(nodeX+"A", nodeY),
		"point cut elsewhere": xy(cutX, cutY),
		"x empty":             xy("", nodeY),
		"x padded":            xy(nodeX+"=", nodeY),
		"x trailing bits":     xy(nodeX[:42]+"J", nodeY),
		"x with a line end":   strings.Replace(nodeJWK, nodeX, nodeX[:20]+`\n`+nodeX[20:], 1),
		"x in plain base64":   xy(nodeX[:41]+"+I", nodeY),
		"x with a space":      xy(nodeX[:42]+" ", nodeY),
		"x in hex":            xy(strings.Repeat("ab", 32), nodeY),
		"alg ES384":           with(`"alg":"ES384"`),
		"alg es256":           with(`"alg":"es256"`),
		"alg empty":           with(`"alg":""`),
		"use enc":             with(`"use":"enc"`),
		"use a list":          with(`"use":["sig"]`),
		"kid empty":           with(`"kid":""`),
		"kid a number":        with(`"kid":1`),
		"kid null":            with(`"kid":null`),
		"kid too long":        with(`"kid":"` + strings.Repeat("k", 129) + `"`),
		"x and y in an array": `{"crv":"P-256","kty":"EC","x":["` + nodeX + `"],"y":["` + nodeY + `"]}`,
	} {
		t.Run(name, func(t *testing.T) {
			k, err := jose.ParseJWK(mustValue(t, src))
			if err == nil || k.Public != nil || k.ID != "" {
				t.Errorf("accepted: %+v, %v", k, err)
			}
			if err != nil && (strings.Contains(err.Error(), nodeX[:8]) || strings.Contains(err.Error(), nodeY[:8])) {
				t.Errorf("error shows the input: %v", err)
			}
		})
	}
	if _, err := jose.ParseJWK(jcs.Value{}); err == nil {
		t.Error("an absent value is a key")
	}
}

func TestNewKeyRefuses(t *testing.T) {
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, pub := range map[string]*ecdsa.PublicKey{
		"nil": nil, "zero": {}, "P-384": &p384.PublicKey,
	} {
		if k, err := jose.NewKey(pub); err == nil || k.ID != "" {
			t.Errorf("%s: accepted", name)
		}
	}
	if (jose.Key{}).JWK() != nil || (jose.Key{}).NamedJWK() != nil {
		t.Error("the zero Key has a JWK")
	}
	if (jose.Key{}).Same(jose.Key{}) {
		t.Error("two zero Keys are the same key")
	}
}

// covers GC-207
func TestKeySet(t *testing.T) {
	a, _ := jose.NewKey(&mustKey(t).PublicKey)
	b, _ := jose.NewKey(&mustKey(t).PublicKey)
	c, _ := jose.NewKey(&mustKey(t).PublicKey)
	c.Kid = "zz-foreign"
	set, err := jose.ParseJWKS(jose.NewKeySet(a, b, c, a).JWKS())
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []jose.Key{a, b, c} {
		got, ok := set.Find(k.Name())
		if !ok || !got.Same(k) || got.Name() != k.Name() {
			t.Errorf("Find(%q) = %+v, %v", k.Name(), got, ok)
		}
	}
	if _, ok := set.Find(c.ID); ok {
		t.Error("a key that has a name is found by its thumbprint")
	}
	if _, ok := set.Find(""); ok || len(set.Keys()) != 3 {
		t.Errorf("empty name found: %v, %d keys", ok, len(set.Keys()))
	}
	if _, ok := (jose.KeySet{}).Find(a.ID); ok {
		t.Error("the zero set has a key")
	}
	if got := string(jose.KeySet{}.JWKS()); got != `{"keys":[]}` {
		t.Errorf("empty set = %s", got)
	}
}

func TestKeySetAmbiguousName(t *testing.T) {
	a, _ := jose.NewKey(&mustKey(t).PublicKey)
	b, _ := jose.NewKey(&mustKey(t).PublicKey)
	a.Kid, b.Kid = "same", "same"
	set := jose.NewKeySet(a, b)
	if k, ok := set.Find("same"); ok {
		t.Errorf("found %s under a name of two keys", k.ID)
	}
}

func TestParseJWKSRefuses(t *testing.T) {
	entry := func(kid string) string { return strings.Replace(nodeJWK, `{`, `{"kid":"`+kid+`",`, 1) }
	many := make([]string, 65)
	for i := range many {
		many[i] = entry(fmt.Sprint("k", i))
	}
	if _, err := jose.ParseJWKS([]byte(`{"keys":[` + strings.Join(many[:64], ",") + `]}`)); err != nil {
		t.Fatalf("64 keys: %v", err)
	}
	for name, src := range map[string]string{
		"65 keys":           `{"keys":[` + strings.Join(many, ",") + `]}`,
		"two of one name":   `{"keys":[` + entry("a") + `,` + entry("a") + `]}`,
		"bad key among two": `{"keys":[` + entry("a") + `,{"kty":"RSA"}]}`,
		"no keys":           `{}`,
		"keys an object":    `{"keys":{}}`,
		"more members":      `{"keys":[],"x":1}`,
		"repeated member":   `{"keys":[],"keys":[` + nodeJWK + `]}`,
		"trailing bytes":    `{"keys":[]}{}`,
		"crv twice":         `{"keys":[` + strings.Replace(nodeJWK, `{`, `{"crv":"P-384",`, 1) + `]}`,
		"crv twice, alike":  `{"keys":[` + strings.Replace(nodeJWK, `{`, `{"crv":"P-256",`, 1) + `]}`,
		"crv twice, \\u":    `{"keys":[` + strings.Replace(nodeJWK, `{`, `{"\u0063rv":"P-384",`, 1) + `]}`,
		"key in a list":     `{"keys":[[` + nodeJWK + `]]}`,
		"too large":         `{"keys":[]` + strings.Repeat(" ", jose.MaxJWKSSize) + `}`,
		"empty":             ``,
	} {
		if _, err := jose.ParseJWKS([]byte(src)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestPrivateKeyPEM(t *testing.T) {
	k, err := jose.ParsePrivateKeyPEM([]byte(nodePEM))
	if err != nil {
		t.Fatal(err)
	}
	key, err := jose.NewKey(&k.PublicKey)
	if err != nil || key.ID != nodeThumbprint {
		t.Fatalf("key %s, %v", key.ID, err)
	}
	out, err := jose.MarshalPrivateKeyPEM(k)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(nodePEM, string(out)); diff != "" {
		t.Error(diff)
	}
}

func TestPrivateKeyPEMRefuses(t *testing.T) {
	body := strings.TrimSuffix(strings.TrimPrefix(nodePEM, "-----BEGIN PRIVATE KEY-----\n"), "-----END PRIVATE KEY-----\n")
	for name, src := range map[string]string{
		"empty":         "",
		"text before":   "key:\n" + nodePEM,
		"text after":    nodePEM + "x",
		"two blocks":    nodePEM + nodePEM,
		"other type":    "-----BEGIN EC PRIVATE KEY-----\n" + body + "-----END EC PRIVATE KEY-----\n",
		"headers":       "-----BEGIN PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n" + body + "-----END PRIVATE KEY-----\n",
		"garbage":       "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
		"far too large": nodePEM + strings.Repeat("\n", 9000),
		// The secret key of RFC 8032 §7.1, test 1, in PKCS #8.
		"Ed25519": "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n-----END PRIVATE KEY-----\n",
		"P-384":   p384PEM(t),
	} {
		if _, err := jose.ParsePrivateKeyPEM([]byte(src)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := jose.MarshalPrivateKeyPEM(nil); err == nil {
		t.Error("nil key marshalled")
	}
}

func p384PEM(t *testing.T) string {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}
