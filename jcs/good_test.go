package jcs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bindery/bindery/jcs"
)

// The canonical forms were computed by a reference in Python (exact fractions, names sorted by
// their utf-16-be bytes) and agree with JSON.parse, Array.prototype.sort and JSON.stringify of
// Node 20.
var good = []struct {
	name string
	src  string
	want string
}{
	{"empty object", `{}`, `{}`},
	{"empty array", ` [ ] `, `[]`},
	{"string", `"x"`, `"x"`},
	{"number", " 42\x0a", `42`},
	{"null", `null`, `null`},
	{"true", `true`, `true`},
	{"false", "\x09false\x0d\x0a", `false`},
	{"empty string", `""`, `""`},
	{"white space everywhere", " { \"b\" : [ 1 , 2 ] ,\x0d\x0a\x09\"a\" : null } ", `{"a":null,"b":[1,2]}`},
	{"order", `{"b":1,"a":2,"":3,"aa":4}`, `{"":3,"a":2,"aa":4,"b":1}`},
	{"order below", `{"z":{"b":1,"a":2},"y":[{"d":1,"c":2}]}`, `{"y":[{"c":2,"d":1}],"z":{"a":2,"b":1}}`},
	{"two unsorted side by side", `[{"b":1,"a":2},0,{"d":3,"c":4}]`, `[{"a":2,"b":1},0,{"c":4,"d":3}]`},
	{"unsorted in unsorted in unsorted", `{"c":{"c":{"b":1,"a":2},"b":3},"b":{"z":[{"y":1,"x":{"q":1,"p":2}}],"a":5}}`, `{"b":{"a":5,"z":[{"x":{"p":2,"q":1},"y":1}]},"c":{"b":3,"c":{"a":2,"b":1}}}`},
	{"digits sort as text", `{"10":1,"9":2,"1":3}`, `{"1":3,"10":1,"9":2}`},
	{"case sorts by code", `{"a":1,"B":2,"A":3}`, `{"A":3,"B":2,"a":1}`},
	{"AMOUNT is not amount", `{"amount":1,"AMOUNT":2}`, `{"AMOUNT":2,"amount":1}`},
	{"one", `[1.0,1e0,10e-1,1E+0,1.000,0.1e1,0.01E2]`, `[1,1,1,1,1,1,1]`},
	{"zero", `[0,-0,0.0,-0.0,0e5,0e-5,0E400,-0.000e-7]`, `[0,0,0,0,0,0,0,0]`},
	{"hundred", `[1e2,1E+2,100.00,0.001e5,1000e-1]`, `[100,100,100,100,100]`},
	{"bounds", `[9007199254740991,-9007199254740991,9007199254740991.0,900719925474099.1e1,90071992547409910e-1]`, `[9007199254740991,-9007199254740991,9007199254740991,9007199254740991,9007199254740991]`},
	{"9e15", `[9e15,-9E15,1e15]`, `[9000000000000000,-9000000000000000,1000000000000000]`},
	{"exponent with zeros", `[1e00000000000000000002]`, `[100]`},
	{"cancelling exponent", `[1000000000000000000000e-21,0.000000000000000000001e21]`, `[1,1]`},
	{"four hundred zeros", "[1." + strings.Repeat("0", 400) + "]", `[1]`},
	{"negative", `[-1,-1.0,-10e-1]`, `[-1,-1,-1]`},
	{"short escapes", `"\b\t\n\f\r\"\\"`, `"\b\t\n\f\r\"\\"`},
	{"long aliases of short escapes", `"\u0008\u0009\u000a\u000C\u000D\u0022\u005c"`, `"\b\t\n\f\r\"\\"`},
	{"solidus", `"\/ /"`, `"/ /"`},
	{"controls", `"\u0000\u0007\u000b\u000E\u001F"`, `"\u0000\u0007\u000b\u000e\u001f"`},
	{"delete is not escaped", "\"\\u007f\x7f\"", "\"\x7f\x7f\""},
	{"escaped letters", `"\u0041\u00e9\u20AC"`, `"Aé€"`},
	{"line separators", "\"\\u2028\\u2029\xe2\x80\xa8\"", "\"\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xa8\""},
	{"markup", `"<script>&amp;\u003c\u0026"`, `"<script>&amp;<&"`},
	{"surrogate pair", `"\ud83d\ude00\uD83D\uDE00"`, `"😀😀"`},
	{"largest pair", `"\udbff\udfff\ud800\udc00"`, "\"\xf4\x8f\xbf\xbf\xf0\x90\x80\x80\""},
	{"noncharacters", `"\uffff\ufffe\ufdd0"`, "\"\xef\xbf\xbf\xef\xbf\xbe\xef\xb7\x90\""},
	{"raw noncharacter", "\"\xef\xbf\xbf\"", "\"\xef\xbf\xbf\""},
	{"byte order mark in string", "\"\\ufeff\xef\xbb\xbf\"", "\"\xef\xbb\xbf\xef\xbb\xbf\""},
	{"replacement character", `"�\ufffd"`, `"��"`},
	{"composed stays composed", `{"é":"é"}`, `{"é":"é"}`},
	{"decomposed stays decomposed", `{"é":"\u0065\u0301"}`, `{"é":"é"}`},
	{"two normal forms are two names", `{"é":1,"é":2}`, `{"é":2,"é":1}`},
	{"RFC 8785 sort sample", `{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`, "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\xc2\x80\":\"Control\",\"\xc3\xb6\":\"Latin Small Letter O With Diaeresis\",\"\xe2\x82\xac\":\"Euro Sign\",\"\xf0\x9f\x98\x80\":\"Emoji: Grinning Face\",\"\xef\xac\xb3\":\"Hebrew Letter Dalet With Dagesh\"}"},
	{"astral before halfwidth", `{"｡":1,"😀":2}`, `{"😀":2,"｡":1}`},
	{"U+D7FF, astral, U+E000, U+FFFF", "{\"\xef\xbf\xbf\":1,\"\xee\x80\x80\":2,\"\xf0\x90\x80\x80\":3,\"\xed\x9f\xbf\":4,\"\xf4\x8f\xbf\xbf\":5}", "{\"\xed\x9f\xbf\":4,\"\xf0\x90\x80\x80\":3,\"\xf4\x8f\xbf\xbf\":5,\"\xee\x80\x80\":2,\"\xef\xbf\xbf\":1}"},
	{"astral after a common prefix", "{\"a\xef\xbf\xbf\":1,\"a\xf0\x9f\x98\x80\":2,\"a\":3}", "{\"a\":3,\"a\xf0\x9f\x98\x80\":2,\"a\xef\xbf\xbf\":1}"},
	{"two astral", `{"😁":1,"😀":2,"𐀀":3}`, `{"𐀀":3,"😀":2,"😁":1}`},
	{"escapes sort by what they mean", `{"[":1,"\n":2,"\u001f":3,"\"":4,"\\":5,"!":6,"]":7}`, `{"\n":2,"\u001f":3,"!":6,"\"":4,"[":1,"\\":5,"]":7}`},
	{"escape against its own spelling", `{"\\n":1,"\n":2,"n":3}`, `{"\n":2,"\\n":1,"n":3}`},
	{"prefix with escape", `{"a\n":1,"a":2,"a\u0000":3,"a ":4}`, `{"a":2,"a\u0000":3,"a\n":1,"a ":4}`},
	{"escaped name already sorted", `{"\n":1,"a":2}`, `{"\n":1,"a":2}`},
	{"prototype names", `{"toJSON":1,"__proto__":2,"constructor":3}`, `{"__proto__":2,"constructor":3,"toJSON":1}`},
	{"sender escapes", `{"q":"a\u0026b","p":"\u00fc"}`, `{"p":"ü","q":"a&b"}`},
	{"array where an object was", `[{"a":1},[1],{"b":[2]},[{}]]`, `[{"a":1},[1],{"b":[2]},[{}]]`},
	{"object where an array was", `[[1],{"a":1},[2]]`, `[[1],{"a":1},[2]]`},
	{"zero to any power", `[0e18446744073709551616,0.00e-99999999999999999999]`, `[0,0]`},
	{"depth 64 arrays", strings.Repeat("[", 64) + strings.Repeat("]", 64), strings.Repeat("[", 64) + strings.Repeat("]", 64)},
	{"depth 64 objects", strings.Repeat(`{"d":`, 64) + "1" + strings.Repeat("}", 64), strings.Repeat(`{"d":`, 64) + "1" + strings.Repeat("}", 64)},
	{"depth 64 unsorted", strings.Repeat(`{"b":0,"a":`, 64) + "1" + strings.Repeat("}", 64), strings.Repeat(`{"a":`, 64) + "1" + strings.Repeat(`,"b":0}`, 64)},
	{"wide array", `[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59,60,61,62,63,64,65,66,67,68,69,70,71,72,73,74,75,76,77,78,79,80,81,82,83,84,85,86,87,88,89,90,91,92,93,94,95,96,97,98,99]`, `[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59,60,61,62,63,64,65,66,67,68,69,70,71,72,73,74,75,76,77,78,79,80,81,82,83,84,85,86,87,88,89,90,91,92,93,94,95,96,97,98,99]`},
	{"same name in different objects", `{"a":{"a":{"a":1}},"b":{"a":2}}`, `{"a":{"a":{"a":1}},"b":{"a":2}}`},
	{"items keep order", `[3,1,2,{"b":1},{"a":1}]`, `[3,1,2,{"b":1},{"a":1}]`},
}

// covers GC-215, GC-324
func TestGood(t *testing.T) {
	for _, tt := range good {
		t.Run(tt.name, func(t *testing.T) {
			got, err := jcs.Append([]byte("kept"), []byte(tt.src))
			if err != nil {
				t.Fatalf("Append(%q): %v", tt.src, err)
			}
			if string(got) != "kept"+tt.want {
				t.Fatalf("Append(%q) = %q, want %q", tt.src, got[4:], tt.want)
			}
			if got, want := jcs.Canonical([]byte(tt.src)), tt.src == tt.want; got != want {
				t.Errorf("Canonical(%q) = %t, want %t", tt.src, got, want)
			}
			if !jcs.Canonical([]byte(tt.want)) {
				t.Errorf("Canonical(%q) = false", tt.want)
			}
			v, err := jcs.Parse([]byte(tt.src))
			if err != nil || string(v.Bytes()) != tt.want {
				t.Errorf("Parse(%q) = %q, %v", tt.src, v.Bytes(), err)
			}
		})
	}
}

// TestControls tries every spelling of every control character: one of them is canonical.
//
// covers GC-215
func TestControls(t *testing.T) {
	canonical := []string{ // by the Python reference
		`"\u0000"`, `"\u0001"`, `"\u0002"`, `"\u0003"`, `"\u0004"`, `"\u0005"`, `"\u0006"`, `"\u0007"`,
		`"\b"`, `"\t"`, `"\n"`, `"\u000b"`, `"\f"`, `"\r"`, `"\u000e"`, `"\u000f"`,
		`"\u0010"`, `"\u0011"`, `"\u0012"`, `"\u0013"`, `"\u0014"`, `"\u0015"`, `"\u0016"`, `"\u0017"`,
		`"\u0018"`, `"\u0019"`, `"\u001a"`, `"\u001b"`, `"\u001c"`, `"\u001d"`, `"\u001e"`, `"\u001f"`,
	}
	for c, want := range canonical {
		for _, src := range []string{fmt.Sprintf(`"\u%04x"`, c), fmt.Sprintf(`"\u%04X"`, c), want} {
			got, err := jcs.Append(nil, []byte(src))
			if err != nil || string(got) != want {
				t.Errorf("Append(%s) = %s, %v, want %s", src, got, err, want)
			}
			if got := jcs.Canonical([]byte(src)); got != (src == want) {
				t.Errorf("Canonical(%s) = %t", src, got)
			}
		}
	}
}

// TestAppendInPlace is the idiom that a caller with one buffer uses.
func TestAppendInPlace(t *testing.T) {
	buf := []byte(` {"b":[1.0],"a":"\u20ac"} `)
	got, err := jcs.Append(buf[:0], buf)
	if want := `{"a":"€","b":[1]}`; err != nil || string(got) != want {
		t.Errorf("Append = %q, %v, want %q", got, err, want)
	}
}

// TestWideObjects is quadratic for an implementation that inserts names one by one.
func TestWideObjects(t *testing.T) {
	const n = 50_000
	name := func(i int) string { return strings.Repeat("0", 5-len(itoa(i))) + itoa(i) }
	var up, down []string
	for i := range n {
		up = append(up, `"`+name(i)+`":0`)
		down = append(down, `"`+name(n-1-i)+`":0`)
	}
	want := "{" + strings.Join(up, ",") + "}"
	got, err := jcs.Append(nil, []byte("{"+strings.Join(down, ",")+"}"))
	if err != nil || string(got) != want {
		t.Errorf("descending names: wrong bytes or error %v", err)
	}
	if !jcs.Canonical([]byte(want)) {
		t.Error("ascending names are not canonical")
	}
}

// TestDeepBrackets kills an implementation that recurses.
func TestDeepBrackets(t *testing.T) {
	_, err := jcs.Append(nil, []byte(strings.Repeat("[", 5_000_000)))
	wantFault(t, err, jcs.KindDepth, 64)
}
