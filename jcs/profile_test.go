package jcs_test

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/bindery/bindery/jcs"
)

func itoa(i int) string { return strconv.Itoa(i) }

// The forms were computed by Node 20: JSON.stringify(JSON.parse(token)). The first rows are the
// cases of RFC 8785 appendix B that a decimal token can give.
func TestDoubleNumbers(t *testing.T) {
	tests := []struct{ token, want string }{
		{"0", "0"},
		{"-0", "0"},
		{"4.9406564584124654e-324", "5e-324"},
		{"-4.9406564584124654e-324", "-5e-324"},
		{"1.7976931348623157e308", "1.7976931348623157e+308"},
		{"-1.7976931348623157e308", "-1.7976931348623157e+308"},
		{"9007199254740992", "9007199254740992"},
		{"-9007199254740992", "-9007199254740992"},
		{"295147905179352825856", "295147905179352830000"},
		{"9.999999999999997e22", "9.999999999999997e+22"},
		{"1e23", "1e+23"},
		{"1.0000000000000001e23", "1.0000000000000001e+23"},
		{"999999999999999700000", "999999999999999700000"},
		{"999999999999999900000", "999999999999999900000"},
		{"1e21", "1e+21"},
		{"9.999999999999997e-7", "9.999999999999997e-7"},
		{"0.000001", "0.000001"},
		{"333333333.3333332", "333333333.3333332"},
		{"333333333.33333325", "333333333.33333325"},
		{"333333333.3333333", "333333333.3333333"},
		{"333333333.3333334", "333333333.3333334"},
		{"333333333.33333343", "333333333.33333343"},
		{"-0.0000033333333333333333", "-0.0000033333333333333333"},
		{"1424953923781206.2", "1424953923781206.2"},
		{"333333333.33333329", "333333333.3333333"},
		{"1E30", "1e+30"},
		{"4.50", "4.5"},
		{"2e-3", "0.002"},
		{"0.000000000000000000000000001", "1e-27"},
		{"1e20", "100000000000000000000"},
		{"1e-7", "1e-7"},
		{"0.0000012345", "0.0000012345"},
		{"1e-400", "0"},
		{"2.2250738585072014e-308", "2.2250738585072014e-308"},
		{"5e-324", "5e-324"},
		{"123456789012345678901234567890", "1.2345678901234568e+29"},
		{"0.1", "0.1"},
		{"100", "100"},
		{"1.0", "1"},
		{"1e2", "100"},
		{"-1.5e-10", "-1.5e-10"},
		{"1e100", "1e+100"},
		{"1E-10", "1e-10"},
		{"9007199254740993", "9007199254740992"},
		{"0.30000000000000004", "0.30000000000000004"},
		{"123e-20", "1.23e-18"},
		{"-12345678.5", "-12345678.5"},
		{"0.1e-6", "1e-7"},
		{"9007199254740991.4", "9007199254740991"},
		{"1e-10", "1e-10"},
		{"1.25e-99", "1.25e-99"},
	}
	p := jcs.Profile{Numbers: jcs.DoubleNumbers}
	for _, tt := range tests {
		got, err := p.Append(nil, []byte(tt.token))
		if err != nil || string(got) != tt.want {
			t.Errorf("Append(%s) = %s, %v, want %s", tt.token, got, err, tt.want)
		}
	}
	for _, token := range []string{"1e309", "-1e309", "1e400", "1e99999999999999999999", strings.Repeat("9", 1000), "1.7976931348623159e308"} {
		_, err := p.Append(nil, []byte("["+token+"]"))
		wantFault(t, err, jcs.KindNumber, 1)
	}
	for _, token := range []string{"01", "1.", ".5", "+1", "0x1p-2", "1_0", "NaN", "Infinity"} {
		if got, err := p.Append(nil, []byte(token)); err == nil {
			t.Errorf("Append(%s) = %s", token, got)
		}
	}
}

// TestRoundingCorners names the numbers that binary64 alone would make integers, or zero, or bring
// into the range. The integer profile decides by the exact decimal value and refuses each (decision
// J2); DoubleNumbers rounds first, as RFC 8785 and its libraries do. The doubles are by Node 20 and by a
// reference in Python.
//
// covers GC-215, GC-217
func TestRoundingCorners(t *testing.T) {
	tests := []struct{ token, double string }{ // double is "" where RFC 8785 demands an error
		{"1.00000000000000000001", "1"},
		{"0.99999999999999999999", "1"},
		{"-1.00000000000000000001", "-1"},
		{"9007199254740991.4", "9007199254740991"},
		{"-9007199254740991.4", "-9007199254740991"},
		{"9007199254740991.5", "9007199254740992"},
		{"1e-400", "0"},
		{"-1e-400", "0"},
		{"1e400", ""},
		{"-1e400", ""},
	}
	doubles := jcs.Profile{Numbers: jcs.DoubleNumbers}
	for _, tt := range tests {
		t.Run(tt.token, func(t *testing.T) {
			src := []byte(`{"n":` + tt.token + `}`)
			_, err := jcs.Append(nil, src)
			wantFault(t, err, jcs.KindNumber, 5)
			_, err = jcs.Profile{TokenStrict: true}.Append(nil, src)
			wantFault(t, err, jcs.KindNumber, 5)
			got, err := doubles.Append(nil, src)
			if tt.double == "" {
				wantFault(t, err, jcs.KindNumber, 5)
				return
			}
			if want := `{"n":` + tt.double + `}`; err != nil || string(got) != want {
				t.Errorf("Append(%s) = %s, %v among doubles, want %s", src, got, err, want)
			}
		})
	}
}

// TestAmountIsNotAMOUNT shows why nothing that is hashed here is decoded by encoding/json. The
// names differ, so the document is no repetition, and its digest is in order. But encoding/json
// matches names in any case and lets the last one win, so the amount that it reads is not the
// amount of the member that says so.
func TestAmountIsNotAMOUNT(t *testing.T) {
	const src = `{"amount_minor":1,"AMOUNT_MINOR":999}`
	var decoded struct {
		AmountMinor int64 `json:"amount_minor"`
	}
	if err := json.Unmarshal([]byte(src), &decoded); err != nil || decoded.AmountMinor != 999 {
		t.Errorf("encoding/json reads %d, %v: if that is no longer 999, say so in the comment", decoded.AmountMinor, err)
	}

	v, err := jcs.Parse([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	if n, ok := v.Get("amount_minor").Int(); n != 1 || !ok {
		t.Errorf("Get = %d, %t, want 1", n, ok)
	}
	if v.Len() != 2 || v.Get("Amount_Minor").Type() != jcs.Absent {
		t.Error("a name matches in another case")
	}
	r := jcs.NewReader(v)
	if n := r.Int("amount_minor"); n != 1 || r.Err() != nil {
		t.Errorf("Reader.Int = %d, %v, want 1", n, r.Err())
	}
	var fault *jcs.MemberError
	if err := r.Close(); !errors.As(err, &fault) || fault.Pointer != "/AMOUNT_MINOR" || fault.Rule != "unknown" {
		t.Errorf("Close() = %v, want an unknown member", err)
	}

	other, err := jcs.Parse([]byte(`{"AMOUNT_MINOR":999}`))
	if err != nil {
		t.Fatal(err)
	}
	if n, ok := jcs.NewReader(other).OptInt("amount_minor"); n != 0 || ok {
		t.Errorf("OptInt = %d, %t for a name in another case", n, ok)
	}
}

func TestTokenStrict(t *testing.T) {
	tests := []struct {
		numbers jcs.Numbers
		token   string
		ok      bool
	}{
		{jcs.IntegerNumbers, "1", true},
		{jcs.IntegerNumbers, "0", true},
		{jcs.IntegerNumbers, "-9007199254740991", true},
		{jcs.IntegerNumbers, "1.0", false},
		{jcs.IntegerNumbers, "1e0", false},
		{jcs.IntegerNumbers, "-0", false},
		{jcs.IntegerNumbers, "10E-1", false},
		{jcs.IntegerNumbers, "9007199254740992", false},
		{jcs.DoubleNumbers, "1.5", true},
		{jcs.DoubleNumbers, "1e+21", true},
		{jcs.DoubleNumbers, "9007199254740992", true},
		{jcs.DoubleNumbers, "1.50", false},
		{jcs.DoubleNumbers, "1e21", false},
		{jcs.DoubleNumbers, "1E+21", false},
		{jcs.DoubleNumbers, "-0", false},
		{jcs.DoubleNumbers, "9007199254740993", false},
	}
	for _, tt := range tests {
		p := jcs.Profile{Numbers: tt.numbers, TokenStrict: true}
		got, err := p.Append(nil, []byte(`{"a":`+tt.token+`}`))
		if tt.ok {
			if err != nil || string(got) != `{"a":`+tt.token+`}` {
				t.Errorf("%s: got %s, %v", tt.token, got, err)
			}
			continue
		}
		wantFault(t, err, jcs.KindNumber, 5)
	}
}

// covers GC-215
func TestLimits(t *testing.T) {
	nested := func(n int) []byte { return []byte(strings.Repeat("[", n) + strings.Repeat("]", n)) }
	text := func(n int) []byte { return []byte(`"` + strings.Repeat("x", n-2) + `"`) }
	tests := []struct {
		name    string
		profile jcs.Profile
		src     []byte
		offset  int // of the fault; -1 for none
		kind    jcs.Kind
	}{
		{"depth 16", jcs.Profile{MaxDepth: 16}, nested(16), -1, 0},
		{"depth 17 of 16", jcs.Profile{MaxDepth: 16}, nested(17), 16, jcs.KindDepth},
		{"depth 1 of 1", jcs.Profile{MaxDepth: 1}, []byte("[]"), -1, 0},
		{"depth 2 of 1", jcs.Profile{MaxDepth: 1}, []byte("[{}]"), 1, jcs.KindDepth},
		{"depth 200", jcs.Profile{MaxDepth: 200}, nested(200), -1, 0},
		{"depth 201 of 200", jcs.Profile{MaxDepth: 200}, nested(201), 200, jcs.KindDepth},
		{"negative depth is 64", jcs.Profile{MaxDepth: -1}, nested(65), 64, jcs.KindDepth},
		{"size 10", jcs.Profile{MaxSize: 10}, text(10), -1, 0},
		{"size 11 of 10", jcs.Profile{MaxSize: 10}, text(11), 10, jcs.KindSize},
		{"size before syntax", jcs.Profile{MaxSize: 3}, []byte("!!!!"), 3, jcs.KindSize},
		{"size 16 MiB", jcs.Profile{}, text(16 << 20), -1, 0},
		{"size 16 MiB and one", jcs.Profile{}, text(16<<20 + 1), 16 << 20, jcs.KindSize},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.profile.Append(nil, tt.src)
			if tt.offset >= 0 {
				wantFault(t, err, tt.kind, tt.offset)
				return
			}
			if err != nil || string(got) != string(tt.src) {
				t.Errorf("got %d bytes, %v", len(got), err)
			}
		})
	}
	if jcs.Canonical(text(16<<20 + 1)) {
		t.Error("Canonical accepts more than 16 MiB")
	}
}

func TestKindNames(t *testing.T) {
	for kind, want := range map[jcs.Kind]string{
		jcs.KindSyntax: "syntax", jcs.KindUTF8: "utf8", jcs.KindSurrogate: "surrogate",
		jcs.KindDuplicate: "duplicate", jcs.KindNumber: "number", jcs.KindDepth: "depth",
		jcs.KindSize: "size", jcs.KindSize + 1: "unknown",
	} {
		if got := kind.String(); got != want {
			t.Errorf("Kind(%d).String() = %q, want %q", kind, got, want)
		}
	}
}

// A long exponent and a long whole part are read in full: strconv stops at five digits of the one
// and at 800 of the other. The forms were computed by
// Node 20 as above, where the refused ones are Infinity.
func TestLongExponents(t *testing.T) {
	zeros := func(n int) string { return strings.Repeat("0", n) }
	tests := []struct{ token, want string }{
		{"0." + zeros(99_999) + "1e100000", "1"},
		{"-0." + zeros(99_998) + "15e100000", "-15"},
		{"1" + zeros(100_000) + "e-100000", "1"},
		{"1" + zeros(800) + "e-800", "1"},
		{"-1" + zeros(2_000) + ".5e-2000", "-1"},
		{"1e+" + zeros(40) + "12", "1000000000000"},
		{"1e-100000", "0"},
		{"0." + zeros(20_000) + "e99999999999999999999", "0"},
		{"0." + zeros(9_999) + "1e100000", ""},
		{"15e99999999999999999999", ""},
	}
	p := jcs.Profile{Numbers: jcs.DoubleNumbers}
	for i, tt := range tests {
		got, err := p.Append(nil, []byte(tt.token))
		if tt.want == "" {
			wantFault(t, err, jcs.KindNumber, 0)
		} else if err != nil || string(got) != tt.want {
			t.Errorf("row %d: %s, %v, want %s", i, got, err, tt.want)
		}
	}
}
