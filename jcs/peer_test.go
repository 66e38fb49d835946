package jcs_test

import (
	"bytes"
	"fmt"
	"math/big"
	"os"
	"strings"
	"testing"

	cyberphone "github.com/cyberphone/json-canonicalization/go/src/webpki.org/jsoncanonicalizer"
	gowebpki "github.com/gowebpki/jcs"

	"github.com/bindery/bindery/jcs"
)

// FuzzAgainstPeer compares with gowebpki/jcs 1.0.2, which shares no code with this package: the
// two accept the same inputs and print the same bytes, once what the profile asks beyond RFC 8785
// is added to the peer. Those additions are judged here, from the text alone.
func FuzzAgainstPeer(f *testing.F) {
	for _, tt := range good {
		f.Add([]byte(tt.src))
	}
	for _, tt := range hostile {
		f.Add([]byte(tt.src))
	}
	for _, tt := range peerDifferences {
		f.Add([]byte(tt.src))
	}
	for _, src := range peerSeeds(f) {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) > 64<<10 {
			return
		}
		want, err := gowebpki.Transform(append([]byte{}, src...))
		var found peerFaults
		if err == nil {
			if found = scan(src); found.longest > 700 {
				return // the peer misreads such numbers: see the two rows of peerDifferences
			}
		}
		doubles := err == nil && found.depth <= 64
		agree(t, jcs.Profile{Numbers: jcs.DoubleNumbers}, src, want, doubles)
		agree(t, jcs.Profile{}, src, want, doubles && found.integers)
		agree(t, jcs.Profile{TokenStrict: true}, src, want, doubles && found.integers && found.plain)
	})
}

// peerSeeds are the documents of the differential corpus, none where it is missing.
func peerSeeds(tb testing.TB) (list [][]byte) {
	data, err := os.ReadFile("testdata/differential.txt")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) < 2 || strings.HasPrefix(line, "#") || fields[0] == "-" {
			continue
		}
		var src []byte
		if _, err := fmt.Sscanf(fields[0], "%x", &src); err != nil {
			tb.Fatal(err)
		}
		list = append(list, src)
	}
	return list
}

func agree(t *testing.T, p jcs.Profile, src, want []byte, accepted bool) {
	t.Helper()
	got, err := p.Append(nil, src)
	switch {
	case accepted && (err != nil || !bytes.Equal(got, want)):
		t.Errorf("%+v: Append(%q) = %q, %v; the peer has %q", p, src, got, err, want)
	case !accepted && err == nil:
		t.Errorf("%+v: Append(%q) = %q; the peer with the profile's checks refuses it", p, src, got)
	}
}

// peerFaults is what the profile looks at and the peer does not.
type peerFaults struct {
	depth    int
	integers bool // every number is an exact integer within ±(2^53−1)
	plain    bool // every number is spelled as an integer is printed
	longest  int  // the length of the longest number
}

// scan looks at a text that the peer has accepted, so that it need not judge grammar.
func scan(src []byte) peerFaults {
	found := peerFaults{integers: true, plain: true}
	depth := 0
	for i := 0; i < len(src); i++ {
		switch c := src[i]; {
		case c == '"':
			for i++; src[i] != '"'; i++ {
				if src[i] == '\\' {
					i++
				}
			}
		case c == '[' || c == '{':
			depth++
			found.depth = max(found.depth, depth)
		case c == ']' || c == '}':
			depth--
		case c == '-' || '0' <= c && c <= '9':
			end := i + 1
			for end < len(src) && strings.IndexByte("0123456789+-.eE", src[end]) >= 0 {
				end++
			}
			found.longest = max(found.longest, end-i)
			n, ok := exactInteger(string(src[i:end]))
			found.integers = found.integers && ok
			found.plain = found.plain && ok && n.String() == string(src[i:end])
			i = end - 1
		}
	}
	return found
}

// exactInteger decides decision J2 with big integers: the token is D × 10^E, D without a zero at
// its end, and so an integer just if E is not negative.
func exactInteger(token string) (n *big.Int, ok bool) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(token), "e")
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(mantissa, "-"), ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return new(big.Int), true
	}
	e := new(big.Int)
	if exponent != "" {
		if _, ok := e.SetString(strings.TrimPrefix(exponent, "+"), 10); !ok {
			panic("exponent " + exponent)
		}
	}
	trimmed := strings.TrimRight(digits, "0")
	e.Add(e, big.NewInt(int64(len(digits)-len(trimmed)-len(fraction))))
	if e.Sign() < 0 || e.Cmp(big.NewInt(16)) > 0 || len(trimmed) > 16 {
		return nil, false
	}
	n, _ = new(big.Int).SetString(trimmed+strings.Repeat("0", int(e.Int64())), 10)
	if n.Cmp(big.NewInt(1<<53-1)) > 0 {
		return nil, false
	}
	if token[0] == '-' {
		n.Neg(n)
	}
	return n, true
}

// peerDifferences names every known difference to the two peers that run here, each with the
// smallest input, what the peer makes of it ("" if it refuses), and what we do: as integers, as
// doubles ("" for a refusal). The package comment says the same in words.
var peerDifferences = []struct {
	name, src                    string
	gowebpki, cyberphone         string
	integers, doubles            string
	kindAsInteger, kindAsDoubles jcs.Kind
}{
	// What the profile refuses and RFC 8785 admits: both peers print it.
	{name: "fraction", src: `[0.5]`, gowebpki: `[0.5]`, cyberphone: `[0.5]`, doubles: `[0.5]`, kindAsInteger: jcs.KindNumber},
	{name: "beyond 2^53-1", src: `[9007199254740992]`, gowebpki: `[9007199254740992]`, cyberphone: `[9007199254740992]`, doubles: `[9007199254740992]`, kindAsInteger: jcs.KindNumber},
	{name: "beyond and rounded", src: `[9007199254740993]`, gowebpki: `[9007199254740992]`, cyberphone: `[9007199254740992]`, doubles: `[9007199254740992]`, kindAsInteger: jcs.KindNumber},
	{name: "rounded into an integer", src: `[1.00000000000000000001]`, gowebpki: `[1]`, cyberphone: `[1]`, doubles: `[1]`, kindAsInteger: jcs.KindNumber},
	{name: "rounded up to an integer", src: `[0.99999999999999999999]`, gowebpki: `[1]`, cyberphone: `[1]`, doubles: `[1]`, kindAsInteger: jcs.KindNumber},
	{name: "rounded into the range", src: `[9007199254740991.4]`, gowebpki: `[9007199254740991]`, cyberphone: `[9007199254740991]`, doubles: `[9007199254740991]`, kindAsInteger: jcs.KindNumber},
	{name: "rounded out of the range", src: `[9007199254740991.5]`, gowebpki: `[9007199254740992]`, cyberphone: `[9007199254740992]`, doubles: `[9007199254740992]`, kindAsInteger: jcs.KindNumber},
	{name: "rounded to zero", src: `[1e-400]`, gowebpki: `[0]`, cyberphone: `[0]`, doubles: `[0]`, kindAsInteger: jcs.KindNumber},
	{
		name: "depth 65", src: strings.Repeat("[", 65) + strings.Repeat("]", 65),
		gowebpki: strings.Repeat("[", 65) + strings.Repeat("]", 65), cyberphone: strings.Repeat("[", 65) + strings.Repeat("]", 65),
		kindAsInteger: jcs.KindDepth, kindAsDoubles: jcs.KindDepth,
	},
	// What strconv.ParseFloat misreads, and so both peers do. It takes five digits of an exponent
	// (golang/go#42436): the first is 10^90000, which no double holds. And it counts 800 digits
	// before the point, whatever there are: the second is 1.
	{
		name: "long exponent", src: "[0." + strings.Repeat("0", 9_999) + "1e100000]", gowebpki: `[1]`, cyberphone: `[1]`,
		kindAsInteger: jcs.KindNumber, kindAsDoubles: jcs.KindNumber,
	},
	{
		name: "long integer", src: "[1" + strings.Repeat("0", 800) + "e-800]", gowebpki: `[0.1]`, cyberphone: `[0.1]`,
		integers: `[1]`, doubles: `[1]`,
	},
	// What cyberphone alone takes for JSON, or does not.
	{name: "scalar text", src: `0`, gowebpki: `0`, integers: `0`, doubles: `0`},
	{name: "leading zero", src: `[01]`, cyberphone: `[1]`},
	{name: "plus", src: `[+1]`, cyberphone: `[1]`},
	{name: "no digit after the point", src: `[1.]`, cyberphone: `[1]`},
	{name: "no digit before the point", src: `[.5]`, cyberphone: `[0.5]`},
	{name: "hexadecimal", src: `[0x1p-2]`, cyberphone: `[0.25]`},
	{name: "underscore", src: `[1_000]`, cyberphone: `[1000]`},
	{name: "byte that is no UTF-8", src: "[\"\xff\"]", cyberphone: "[\"\xff\"]", kindAsInteger: jcs.KindUTF8, kindAsDoubles: jcs.KindUTF8},
	{name: "reversed pair", src: `["\udc00\ud800"]`, cyberphone: "[\"\uFFFD\"]", kindAsInteger: jcs.KindSurrogate, kindAsDoubles: jcs.KindSurrogate},
	{name: "half a pair and a letter", src: `["\ud800\u0041"]`, cyberphone: "[\"\uFFFD\"]", kindAsInteger: jcs.KindSurrogate, kindAsDoubles: jcs.KindSurrogate},
}

// TestPeerDifferences fails when a difference is gone, on either side: then its row, and its line
// in the package comment, must go too.
func TestPeerDifferences(t *testing.T) {
	for _, tt := range peerDifferences {
		t.Run(tt.name, func(t *testing.T) {
			theirs := func(what, want string, got []byte, err error) {
				if err != nil {
					got = nil // cyberphone returns what it has so far
				}
				if string(got) != want {
					t.Errorf("%s has %.80q, %.80v; want %.80q", what, got, err, want)
				}
			}
			b, err := gowebpki.Transform([]byte(tt.src))
			theirs("gowebpki", tt.gowebpki, b, err)
			b, err = cyberphone.Transform([]byte(tt.src))
			theirs("cyberphone", tt.cyberphone, b, err)
			ours := func(p jcs.Profile, want string, kind jcs.Kind) {
				got, err := p.Append(nil, []byte(tt.src))
				if fault, ok := err.(*jcs.Error); string(got) != want || want == "" && (!ok || fault.Kind != kind) {
					t.Errorf("%+v: %.80q, %v; want %.80q or %v", p, got, err, want, kind)
				}
			}
			ours(jcs.Profile{}, tt.integers, tt.kindAsInteger)
			ours(jcs.Profile{Numbers: jcs.DoubleNumbers}, tt.doubles, tt.kindAsDoubles)
			if tt.integers == tt.gowebpki && tt.doubles == tt.gowebpki && tt.doubles == tt.cyberphone {
				t.Error("no difference at all")
			}
		})
	}
}

// TestExactInteger watches the judge: the table was computed with fractions.Fraction of Python 3.
func TestExactInteger(t *testing.T) {
	for token, want := range map[string]string{
		"0": "0", "-0": "0", "-0.0e-7": "0", "0e99999999999999999999": "0", "1.0": "1", "10e-1": "1", "-12e2": "-1200",
		"9007199254740991": "9007199254740991", "900719925474099.1E+1": "9007199254740991", "90071992547409910e-1": "9007199254740991",
		"9007199254740992": "", "9007199254740991.4": "", "1.00000000000000000001": "", "1e-400": "", "1e400": "", "1e16": "",
		"1e99999999999999999999": "", "1e-99999999999999999999": "", "0.5": "", "9e15": "9000000000000000",
	} {
		if n, ok := exactInteger(token); ok != (want != "") || ok && n.String() != want {
			t.Errorf("exactInteger(%s) = %v, %t; want %q", token, n, ok, want)
		}
	}
}
