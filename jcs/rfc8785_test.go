package jcs_test

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/bindery/bindery/jcs"
)

// RFC 8785 is held here by its own examples. Texts, bytes and order are the RFC's; Node 20
// (String of the double, Array.prototype.sort, JSON.stringify) and a reference in Python gave the
// same, and the digests are Python's hashlib over the RFC's bytes.

// appendixB is the whole table of appendix B, in its order: IEEE 754 bits and ECMAScript text.
var appendixB = []struct {
	bits uint64
	text string // "" where the RFC demands an error
}{
	{0x0000000000000000, "0"},
	{0x8000000000000000, "0"},
	{0x0000000000000001, "5e-324"},
	{0x8000000000000001, "-5e-324"},
	{0x7fefffffffffffff, "1.7976931348623157e+308"},
	{0xffefffffffffffff, "-1.7976931348623157e+308"},
	{0x4340000000000000, "9007199254740992"},
	{0xc340000000000000, "-9007199254740992"},
	{0x4430000000000000, "295147905179352830000"},
	{0x7fffffffffffffff, ""}, // NaN
	{0x7ff0000000000000, ""}, // Infinity
	{0x44b52d02c7e14af5, "9.999999999999997e+22"},
	{0x44b52d02c7e14af6, "1e+23"},
	{0x44b52d02c7e14af7, "1.0000000000000001e+23"},
	{0x444b1ae4d6e2ef4e, "999999999999999700000"},
	{0x444b1ae4d6e2ef4f, "999999999999999900000"},
	{0x444b1ae4d6e2ef50, "1e+21"},
	{0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
	{0x3eb0c6f7a0b5ed8d, "0.000001"},
	{0x41b3de4355555553, "333333333.3333332"},
	{0x41b3de4355555554, "333333333.33333325"},
	{0x41b3de4355555555, "333333333.3333333"},
	{0x41b3de4355555556, "333333333.3333334"},
	{0x41b3de4355555557, "333333333.33333343"},
	{0xbecbf647612f3696, "-0.0000033333333333333333"},
	{0x43143ff3c1cb0959, "1424953923781206.2"},
}

// TestAppendixB feeds each double as the 17 digits that identify it. DoubleNumbers prints the
// RFC's text and takes it back unchanged; IntegerNumbers refuses every row but the two zeros,
// and never prints another number for it.
//
// covers GC-215
func TestAppendixB(t *testing.T) {
	doubles := jcs.Profile{Numbers: jcs.DoubleNumbers}
	strict := jcs.Profile{Numbers: jcs.DoubleNumbers, TokenStrict: true}
	if len(appendixB) != 26 {
		t.Errorf("%d rows, appendix B has 26", len(appendixB))
	}
	for _, tt := range appendixB {
		token := strconv.FormatFloat(math.Float64frombits(tt.bits), 'e', 16, 64)
		t.Run(strconv.FormatUint(tt.bits, 16), func(t *testing.T) {
			got, err := doubles.Append(nil, []byte(token))
			integer, ierr := jcs.Append(nil, []byte(token))
			if tt.text == "" { // there is no token of JSON for it
				wantFault(t, err, jcs.KindSyntax, 0)
				wantFault(t, ierr, jcs.KindSyntax, 0)
				return
			}
			if err != nil || string(got) != tt.text {
				t.Errorf("Append(%s) = %s, %v, want %s", token, got, err, tt.text)
			}
			if got, err := strict.Append(nil, []byte(tt.text)); err != nil || string(got) != tt.text {
				t.Errorf("token-strict Append(%s) = %s, %v", tt.text, got, err)
			}
			if tt.text == "0" {
				if ierr != nil || string(integer) != "0" {
					t.Errorf("Append(%s) = %s, %v as integer", token, integer, ierr)
				}
				return
			}
			wantFault(t, ierr, jcs.KindNumber, 0)
		})
	}
	for _, token := range []string{"NaN", "Infinity"} {
		_, err := doubles.Append(nil, []byte(`{"n":`+token+`}`))
		wantFault(t, err, jcs.KindSyntax, 5)
	}
	for _, token := range []string{"-NaN", "-Infinity"} {
		_, err := doubles.Append(nil, []byte(`{"n":`+token+`}`))
		wantFault(t, err, jcs.KindSyntax, 6)
	}
}

// sample is the text of RFC 8785 §3.2.2.
const sample = `{
  "numbers": [333333333.33333329, 1E30, 4.50,
              2e-3, 0.000000000000000000000000001],
  "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
  "literals": [null, true, false]
}`

// sampleBytes are the bytes that §3.2.4 prints for it.
const sampleBytes = "7b226c69746572616c73223a5b6e756c6c2c747275652c66616c73655d2c226e" +
	"756d62657273223a5b3333333333333333332e333333333333332c31652b3330" +
	"2c342e352c302e3030322c31652d32375d2c22737472696e67223a22e282ac24" +
	"5c75303030665c6e4127425c225c5c5c5c5c222f227d"

// TestSample shows what each profile makes of the sample: the bytes of §3.2.4 among doubles, a
// refusal of its first fraction under the integer profile.
//
// covers GC-215
func TestSample(t *testing.T) {
	const sum = "2d5e01a318d0f0879ab568c4be289c8b1f64ef8921a53c6277d5e069978baacb"
	doubles := jcs.Profile{Numbers: jcs.DoubleNumbers}
	got, err := doubles.Append(nil, []byte(sample))
	if err != nil || hex.EncodeToString(got) != sampleBytes {
		t.Errorf("Append = %x, %v, want %s", got, err, sampleBytes)
	}
	if s := sha256.Sum256(got); hex.EncodeToString(s[:]) != sum {
		t.Errorf("SHA-256 %x, want %s", s, sum)
	}
	strict := jcs.Profile{Numbers: jcs.DoubleNumbers, TokenStrict: true}
	_, err = strict.Append(nil, []byte(sample))
	wantFault(t, err, jcs.KindNumber, 16)
	_, err = jcs.Append(nil, []byte(sample))
	wantFault(t, err, jcs.KindNumber, 16)
	canonical, err := hex.DecodeString(sampleBytes)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := strict.Append(nil, canonical); err != nil || string(got) != string(canonical) {
		t.Errorf("the canonical sample gives %q, %v", got, err)
	}
	_, err = jcs.Append(nil, canonical)
	wantFault(t, err, jcs.KindNumber, strings.Index(string(canonical), "333333333.3333333"))
}

// sortSample is the object of RFC 8785 §3.2.3.
const sortSample = `{
  "\u20ac": "Euro Sign",
  "\r": "Carriage Return",
  "\ufb33": "Hebrew Letter Dalet With Dagesh",
  "1": "One",
  "\ud83d\ude00": "Emoji: Grinning Face",
  "\u0080": "Control",
  "\u00f6": "Latin Small Letter O With Diaeresis"
}`

// TestSortSample holds the order of §3.2.3, which is the same in every profile: there is no number
// in it.
//
// covers GC-215
func TestSortSample(t *testing.T) {
	const sum = "5e321556d22018a9656991a9e94f77ec175fa193e52a2429d312f8419ec8b08c"
	order := []string{
		"Carriage Return", "One", "Control", "Latin Small Letter O With Diaeresis", "Euro Sign",
		"Emoji: Grinning Face", "Hebrew Letter Dalet With Dagesh",
	}
	for _, p := range []jcs.Profile{{}, {TokenStrict: true}, {Numbers: jcs.DoubleNumbers}} {
		v, err := p.Parse([]byte(sortSample))
		if err != nil {
			t.Fatalf("%+v: %v", p, err)
		}
		if s := sha256.Sum256(v.Bytes()); hex.EncodeToString(s[:]) != sum {
			t.Errorf("%+v: SHA-256 %x, want %s", p, s, sum)
		}
		i := 0
		for _, value := range v.Members() {
			if text, _ := value.Text(); i >= len(order) || text != order[i] {
				t.Errorf("%+v: member %d is %q", p, i, text)
			}
			i++
		}
		if i != len(order) {
			t.Errorf("%+v: %d members, want %d", p, i, len(order))
		}
	}
}
