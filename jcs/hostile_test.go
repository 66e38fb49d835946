package jcs_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/bindery/bindery/jcs"
)

// Kind and offset of every row were computed by a reference in Python that shares nothing with
// this package: a recursive-descent parser over bytes which stops at the first fault, and decides
// numbers with fractions.Fraction.
var hostile = []struct {
	name   string
	src    string
	kind   jcs.Kind
	offset int
}{
	{"empty", ``, jcs.KindSyntax, 0},
	{"white space only", " \x0a\x09", jcs.KindSyntax, 3},
	{"byte order mark", "\xef\xbb\xbf{}", jcs.KindSyntax, 0},
	{"byte order mark inside", "[\xef\xbb\xbf1]", jcs.KindSyntax, 1},
	{"UTF-16", "\xff\xfe{\x00}\x00", jcs.KindUTF8, 0},
	{"NUL", "\x00", jcs.KindSyntax, 0},
	{"NUL after", "{}\x00", jcs.KindSyntax, 2},
	{"two values", `{}{}`, jcs.KindSyntax, 2},
	{"trailing comma", `{},`, jcs.KindSyntax, 2},
	{"trailing word", `{"a":1}x`, jcs.KindSyntax, 7},
	{"bracket left open", `[1`, jcs.KindSyntax, 2},
	{"object left open", `{"a":1`, jcs.KindSyntax, 6},
	{"value missing", `{"a":`, jcs.KindSyntax, 5},
	{"colon missing", `{"a" 1}`, jcs.KindSyntax, 5},
	{"name only", `{"a"}`, jcs.KindSyntax, 4},
	{"unquoted name", `{a:1}`, jcs.KindSyntax, 1},
	{"single quotes", `{'a':1}`, jcs.KindSyntax, 1},
	{"number as name", `{1:1}`, jcs.KindSyntax, 1},
	{"leading comma", `[,1]`, jcs.KindSyntax, 1},
	{"comma before bracket", `[1,]`, jcs.KindSyntax, 3},
	{"comma before brace", `{"a":1,}`, jcs.KindSyntax, 7},
	{"double comma", `[1,,2]`, jcs.KindSyntax, 3},
	{"missing comma", `[1 2]`, jcs.KindSyntax, 3},
	{"mismatched bracket", `[1}`, jcs.KindSyntax, 2},
	{"mismatched brace", `{"a":1]`, jcs.KindSyntax, 6},
	{"closing first", `]`, jcs.KindSyntax, 0},
	{"comment", `[1/*c*/]`, jcs.KindSyntax, 2},
	{"line comment", "//\x0a1", jcs.KindSyntax, 0},
	{"upper-case literal", `True`, jcs.KindSyntax, 0},
	{"literal too long", `nulll`, jcs.KindSyntax, 4},
	{"literal cut", `[tru]`, jcs.KindSyntax, 4},
	{"literal broken by a space", `[tr ue]`, jcs.KindSyntax, 3},
	{"literal at the end", `fals`, jcs.KindSyntax, 4},
	{"NaN", `[NaN]`, jcs.KindSyntax, 1},
	{"Infinity", `[Infinity]`, jcs.KindSyntax, 1},
	{"minus Infinity", `[-Infinity]`, jcs.KindSyntax, 2},
	{"form feed as space", "[\x0c1]", jcs.KindSyntax, 1},
	{"vertical tab as space", "[\x0b1]", jcs.KindSyntax, 1},
	{"no-break space as space", "[\xc2\xa01]", jcs.KindSyntax, 1},
	{"leading zero", `[01]`, jcs.KindSyntax, 2},
	{"leading zero after minus", `[-01]`, jcs.KindSyntax, 3},
	{"two zeros", `[00]`, jcs.KindSyntax, 2},
	{"plus", `[+1]`, jcs.KindSyntax, 1},
	{"no fraction digits", `[1.]`, jcs.KindSyntax, 3},
	{"no integer digits", `[.5]`, jcs.KindSyntax, 1},
	{"no exponent digits", `[1e]`, jcs.KindSyntax, 3},
	{"no digits after exponent sign", `[1e+]`, jcs.KindSyntax, 4},
	{"lone minus", `[-]`, jcs.KindSyntax, 2},
	{"minus at the end", `-`, jcs.KindSyntax, 1},
	{"hexadecimal", `[0x10]`, jcs.KindSyntax, 2},
	{"underscore", `[1_000]`, jcs.KindSyntax, 2},
	{"two points", `[1.0.0]`, jcs.KindSyntax, 4},
	{"letter after number", `[1x]`, jcs.KindSyntax, 2},
	{"string left open", `"abc`, jcs.KindSyntax, 4},
	{"string ending in backslash", `"abc\`, jcs.KindSyntax, 4},
	{"raw newline", "\"a\x0ab\"", jcs.KindSyntax, 2},
	{"raw tab in name", "{\"a\x09\":1}", jcs.KindSyntax, 3},
	{"raw NUL in string", "\"\x00\"", jcs.KindSyntax, 1},
	{"raw 1F", "\"\x1f\"", jcs.KindSyntax, 1},
	{"unknown escape", `"\x41"`, jcs.KindSyntax, 1},
	{"escaped apostrophe", `"\'"`, jcs.KindSyntax, 1},
	{"upper-case U", `"\U0041"`, jcs.KindSyntax, 1},
	{"short escape", `"\u12"`, jcs.KindSyntax, 1},
	{"bad hex", `"\u00g1"`, jcs.KindSyntax, 1},
	{"plus in hex", `"\u+041"`, jcs.KindSyntax, 1},
	{"escape cut", `"\u00`, jcs.KindSyntax, 1},
	{"lone high surrogate", `"\ud800"`, jcs.KindSurrogate, 1},
	{"lone low surrogate", `"\udc00"`, jcs.KindSurrogate, 1},
	{"high then letter", `"\ud800x"`, jcs.KindSurrogate, 1},
	{"high then newline escape", `"\ud800\n"`, jcs.KindSurrogate, 1},
	{"reversed pair", `"\ude00\ud83d"`, jcs.KindSurrogate, 1},
	{"high then other escape", `"\ud800\u0041"`, jcs.KindSurrogate, 1},
	{"two highs", `"\ud800\ud800"`, jcs.KindSurrogate, 1},
	{"high at the end", `["\ud83d`, jcs.KindSurrogate, 2},
	{"high then bad escape", `"\ud800\uZZZZ"`, jcs.KindSurrogate, 1},
	{"surrogate in name", `{"\ud800":1}`, jcs.KindSurrogate, 2},
	{"two surrogate names", `{"\ud800":1,"\ud801":2}`, jcs.KindSurrogate, 2},
	{"byte FF", "\"\xff\"", jcs.KindUTF8, 1},
	{"name FF", "{\"\xff\":1}", jcs.KindUTF8, 2},
	{"FF outside strings", "[\xff]", jcs.KindUTF8, 1},
	{"truncated sequence", "\"\xe2\x82\"", jcs.KindUTF8, 1},
	{"lone continuation", "\"\x80\"", jcs.KindUTF8, 1},
	{"overlong slash", "\"\xc0\xaf\"", jcs.KindUTF8, 1},
	{"overlong slash in three", "\"\xe0\x80\xaf\"", jcs.KindUTF8, 1},
	{"overlong NUL", "\"\xc0\x80\"", jcs.KindUTF8, 1},
	{"beyond U+10FFFF", "\"\xf4\x90\x80\x80\"", jcs.KindUTF8, 1},
	{"F5", "\"\xf5\x80\x80\x80\"", jcs.KindUTF8, 1},
	{"encoded surrogates", "\"\xed\xa0\xbd\xed\xb8\x80\"", jcs.KindUTF8, 1},
	{"bad byte after good text", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xff\"", jcs.KindUTF8, 10},
	{"repeated name", `{"a":1,"a":2}`, jcs.KindDuplicate, 7},
	{"repeated name and value", `{"a":1,"a":1}`, jcs.KindDuplicate, 7},
	{"repeated empty name", `{"":1,"":2}`, jcs.KindDuplicate, 6},
	{"repeated far apart", `{"b":1,"a":2,"c":3,"b":4}`, jcs.KindDuplicate, 19},
	{"repeated by escape", `{"a":1,"\u0061":2}`, jcs.KindDuplicate, 7},
	{"repeated by slash escape", `{"a/b":1,"a\/b":2}`, jcs.KindDuplicate, 9},
	{"repeated NUL", `{"\u0000":1,"\u0000":2}`, jcs.KindDuplicate, 12},
	{"repeated by pair", `{"😀":1,"\ud83d\uDE00":2}`, jcs.KindDuplicate, 10},
	{"repeated below", `{"x":[{"o":{"k":1,"k":2}}]}`, jcs.KindDuplicate, 18},
	{"repeated in item", `[{},{"a":1,"b":2,"a":3}]`, jcs.KindDuplicate, 17},
	{"repeated by tab escape", `{"\t":1,"\u0009":2}`, jcs.KindDuplicate, 8},
	{"repeated before the text breaks off", `{"a":1,"a"`, jcs.KindDuplicate, 7},
	{"repeated before another fault", `{"b":1,"a":2,"b":[1.5]}`, jcs.KindDuplicate, 13},
	{"outer repetition before inner", `{"a":1,"a":{"b":1,"b":2}}`, jcs.KindDuplicate, 7},
	{"inner repetition before outer", `{"a":{"b":1,"b":2},"a":1}`, jcs.KindDuplicate, 12},
	{"fault before repetition", `{"a":01,"a":2}`, jcs.KindSyntax, 6},
	{"repeated in an open outer object", `{"k":1,"k":[{"x":[tru]}]}`, jcs.KindDuplicate, 7},
	{"lower of two repetitions", `{"z":1,"a":1,"z":2,"a":2}`, jcs.KindDuplicate, 13},
	{"name repeated but cut", `{"a":1,"a`, jcs.KindSyntax, 9},
	{"fraction", `[1.5]`, jcs.KindNumber, 1},
	{"tiny fraction", `[1e-400]`, jcs.KindNumber, 1},
	{"2^53", `[9007199254740992]`, jcs.KindNumber, 1},
	{"minus 2^53", `[-9007199254740992]`, jcs.KindNumber, 1},
	{"2^53 by exponent", `[9007199254740.992e3]`, jcs.KindNumber, 1},
	{"2^53+1", `[9007199254740993]`, jcs.KindNumber, 1},
	{"rounds to 2^53-1", `[9007199254740991.4]`, jcs.KindNumber, 1},
	{"rounds to 2^53", `[9007199254740991.5]`, jcs.KindNumber, 1},
	{"rounds to one from above", `[1.00000000000000000001]`, jcs.KindNumber, 1},
	{"rounds to one from below", `[0.99999999999999999999]`, jcs.KindNumber, 1},
	{"1e21", `[1e21]`, jcs.KindNumber, 1},
	{"1e16", `[1e16]`, jcs.KindNumber, 1},
	{"thirty digits", `[123456789012345678901234567890]`, jcs.KindNumber, 1},
	{"2^63-1", `[9223372036854775807]`, jcs.KindNumber, 1},
	{"overflow", `[1e400]`, jcs.KindNumber, 1},
	{"huge exponent", `[1e99999999999999999999]`, jcs.KindNumber, 1},
	{"huge negative exponent", `[1e-99999999999999999999]`, jcs.KindNumber, 1},
	{"tenth by exponent", `[1e-1]`, jcs.KindNumber, 1},
	{"fraction in a name's value", `{"a":{"b":-0.5}}`, jcs.KindNumber, 10},
	{"nineteen nines with fraction", `[9999999999999999999.0]`, jcs.KindNumber, 1},
	{"2^64", `[18446744073709551616.0]`, jcs.KindNumber, 1},
	{"2^64 by exponent", `[1.8446744073709551616e19]`, jcs.KindNumber, 1},
	{"exponent 2^64", `[1e18446744073709551616]`, jcs.KindNumber, 1},
	{"negative exponent 2^64", `[10e-18446744073709551615]`, jcs.KindNumber, 1},
	{"fault in an object with a name of its parent", `{"b":1,"a":{"a":@`, jcs.KindSyntax, 16},
	{"depth 65 arrays", strings.Repeat("[", 65) + strings.Repeat("]", 65), jcs.KindDepth, 64},
	{"depth 65 objects", strings.Repeat(`{"d":`, 65) + "1" + strings.Repeat("}", 65), jcs.KindDepth, 320},
	{"depth 66 alternating", strings.Repeat(`[{"a":`, 33) + "1" + strings.Repeat("}]", 33), jcs.KindDepth, 192},
	{"depth 1000 left open", strings.Repeat("[", 1000), jcs.KindDepth, 64},
}

// covers GC-215, GC-324
func TestHostile(t *testing.T) {
	for _, tt := range hostile {
		t.Run(tt.name, func(t *testing.T) {
			dst, err := jcs.Append([]byte("kept"), []byte(tt.src))
			if string(dst) != "kept" {
				t.Errorf("Append(%q) changed dst to %q", tt.src, dst)
			}
			wantFault(t, err, tt.kind, tt.offset)
			if jcs.Canonical([]byte(tt.src)) {
				t.Errorf("Canonical(%q) = true", tt.src)
			}
			if v, err := jcs.Parse([]byte(tt.src)); err == nil || v.Type() != jcs.Absent {
				t.Errorf("Parse(%q) = %q, %v", tt.src, v.Bytes(), err)
			}
			if sum, err := jcs.Sum256([]byte(tt.src)); err == nil || sum != [32]byte{} {
				t.Errorf("Sum256(%q) = %x, %v", tt.src, sum, err)
			}
		})
	}
}

func wantFault(t *testing.T, err error, kind jcs.Kind, offset int) {
	t.Helper()
	var fault *jcs.Error
	if !errors.As(err, &fault) {
		t.Fatalf("error = %v, want a *jcs.Error", err)
	}
	if fault.Kind != kind || fault.Offset != offset {
		t.Errorf("error = %v, want %v at byte %d", err, kind, offset)
	}
}

func TestErrorText(t *testing.T) {
	_, err := jcs.Append(nil, []byte(`{"secret":1,"b":2,"secret":3}`))
	if got, want := err.Error(), "jcs: duplicate: member name repeated at byte 18"; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
	_, err = jcs.Append(nil, []byte("\uFEFF{}"))
	if got, want := err.Error(), "jcs: syntax: byte order mark at byte 0"; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
}

// TestFirstFaultUnderOpenObjects puts repetitions into several open objects at once: the lowest
// offset must win over the fault that ends the parse.
func TestFirstFaultUnderOpenObjects(t *testing.T) {
	src := `{"a":1,"b":{"c":1,"d":[{"x":1,"x":2,"y":{"p":0,"p":@`
	_, err := jcs.Append(nil, []byte(src))
	wantFault(t, err, jcs.KindDuplicate, strings.LastIndex(src, `"x"`))
}
