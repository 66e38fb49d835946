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
	{"zero", `0`, `0`},
	{"minus zero", `-0`, `0`},
	{"minus one", `-1`, `-1`},
	{"ten", `[10,1e1,1.0e1,100e-1]`, `[10,10,10,10]`},
	{"largest as a document", `9007199254740991`, `9007199254740991`},
	{"least as a document", `-9007199254740991`, `-9007199254740991`},
	{"one under the bounds", `[9007199254740990,-9007199254740990,9.00719925474099e15]`, `[9007199254740990,-9007199254740990,9007199254740990]`},
	{"each length of integer", `[1,12,123,1234,12345,123456,1234567,12345678,123456789,1234567890,12345678901,123456789012,1234567890123,12345678901234,123456789012345,1234567890123456]`, `[1,12,123,1234,12345,123456,1234567,12345678,123456789,1234567890,12345678901,123456789012,1234567890123,12345678901234,123456789012345,1234567890123456]`},
	{"zeros inside", `[1000000000000001,1000000010000000,8999999999999999,9000000000000000]`, `[1000000000000001,1000000010000000,8999999999999999,9000000000000000]`},
	{"powers of two", `[4294967295,4294967296,2147483648,-2147483649,4503599627370496,65536]`, `[4294967295,4294967296,2147483648,-2147483649,4503599627370496,65536]`},
	{"fraction of zeros only", `[12.0,12.00e1,1200.00e-2,-12.0]`, `[12,120,12,-12]`},
	{"fraction moved away", `[1.5e1,0.25e2,12.345E+3,-0.5e1,0.0001e4]`, `[15,25,12345,-5,1]`},
	{"exponent signs", `[1e+0,1E-0,1e+00,1E-00,1e0000]`, `[1,1,1,1,1]`},
	{"long and still one", `[0.` + strings.Repeat(`0`, 399) + `1e400]`, `[1]`},
	{"one with four hundred zeros moved back", `[1` + strings.Repeat(`0`, 400) + `e-400]`, `[1]`},
	{"zero of four hundred digits", `[0.` + strings.Repeat(`0`, 400) + `e99]`, `[0]`},
	{"minus zero, long", `[-0e-0,-0.000,-0E99999999999999999999]`, `[0,0,0]`},
	{"carriage return and line feed", "\x0d\x0a[\x0d\x0a1\x0d\x0a]\x0d\x0a", `[1]`},
	{"tabs", "\x09{\x09\"a\"\x09:\x091\x09}\x09", `{"a":1}`},
	{"space around each token", ` [ true , false , null , "" , { } , [ ] , 0 ] `, `[true,false,null,"",{},[],0]`},
	{"no space", `[true,false,null,"",{},[],0]`, `[true,false,null,"",{},[],0]`},
	{"empty containers inside", `{"b":{},"a":[],"c":[[],{}]}`, `{"a":[],"b":{},"c":[[],{}]}`},
	{"array of empty arrays", `[[],[],[[]]]`, `[[],[],[[]]]`},
	{"object of empty name alone", `{"":{"":{"":[]}}}`, `{"":{"":{"":[]}}}`},
	{"empty name last in text", `{"a":1,"":0}`, `{"":0,"a":1}`},
	{"space as name", `{"!":3," ":2,"":1}`, `{"":1," ":2,"!":3}`},
	{"name of digits and signs", `{"1e0":1,"1.0":2,"1":3,"-0":4,"+1":5}`, `{"+1":5,"-0":4,"1":3,"1.0":2,"1e0":1}`},
	{"quote and what lies around it", `{"a#":4,"a\"":3,"a!":2,"a ":1,"a":0}`, `{"a":0,"a ":1,"a!":2,"a\"":3,"a#":4}`},
	{"name against itself and an exclamation mark", `{"ab!":2,"ab":1}`, `{"ab":1,"ab!":2}`},
	{"canonical, prefix and space", `{"ab":1,"ab ":2,"ab!":3}`, `{"ab":1,"ab ":2,"ab!":3}`},
	{"prefix and NUL", `{"ab\u0000":2,"ab":1,"ab\u0000\u0000":3}`, `{"ab":1,"ab\u0000":2,"ab\u0000\u0000":3}`},
	{"escapes behind seven letters", `{"abcdefg\\":3,"abcdefg\"":2,"abcdefg\n":1,"abcdefg[":0}`, `{"abcdefg\n":1,"abcdefg\"":2,"abcdefg[":0,"abcdefg\\":3}`},
	{"escape splits a block of eight", `{"abcdef\u001fz":2,"abcdef\u001fa":1,"abcdef\tz":0}`, `{"abcdef\tz":0,"abcdef\u001fa":1,"abcdef\u001fz":2}`},
	{"newline, 1F, bracket", `{"[":3,"\u001f":2,"\n":1}`, `{"\n":1,"\u001f":2,"[":3}`},
	{"1F, newline, bracket, each in raw order", `{"\u001f":1,"[":2,"\n":3}`, `{"\n":3,"\u001f":1,"[":2}`},
	{"control in each spelling as name", `{"\u000A":1,"\u0009":2,"\u000b":3,"\b":4}`, `{"\b":4,"\t":2,"\n":1,"\u000b":3}`},
	{"backslash, bracket, tilde", `{"~":3,"]":2,"\\":1,"[":0}`, `{"[":0,"\\":1,"]":2,"~":3}`},
	{"DEL and the first beyond ASCII", "{\"\xc2\x80\":2,\"\x7f\":1,\"~\":0}", "{\"~\":0,\"\x7f\":1,\"\xc2\x80\":2}"},
	{"border of two and three bytes", "{\"\xe0\xa0\x80\":2,\"\xdf\xbf\":1}", "{\"\xdf\xbf\":1,\"\xe0\xa0\x80\":2}"},
	{"border of three and four bytes", "{\"\xef\xbf\xbf\":2,\"\xf0\x90\x80\x80\":1}", "{\"\xf0\x90\x80\x80\":1,\"\xef\xbf\xbf\":2}"},
	{"around the surrogates", `{"\uFFFF":6,"\uFF61":5,"\uE000":4,"\uDBFF\uDFFF":3,"\uD800\uDC00":2,"\uD7FF":1}`, "{\"\xed\x9f\xbf\":1,\"\xf0\x90\x80\x80\":2,\"\xf4\x8f\xbf\xbf\":3,\"\xee\x80\x80\":4,\"\xef\xbd\xa1\":5,\"\xef\xbf\xbf\":6}"},
	{"around the surrogates behind eight letters", `{"abcdefgh\uffff":3,"abcdefgh\ud83d\ude00":2,"abcdefgh\ue000":4,"abcdefgh\ud7ff":1}`, "{\"abcdefgh\xed\x9f\xbf\":1,\"abcdefgh\xf0\x9f\x98\x80\":2,\"abcdefgh\xee\x80\x80\":4,\"abcdefgh\xef\xbf\xbf\":3}"},
	{"astral by low half", `{"\ud83d\ude01":2,"\ud83d\ude00":1,"\ud83c\udfff":0}`, `{"🏿":0,"😀":1,"😁":2}`},
	{"astral then letter", `{"😀b":3,"😀":1,"😀a":2,"｡":4}`, `{"😀":1,"😀a":2,"😀b":3,"｡":4}`},
	{"U+F8FF, U+FFFD, U+10FFFD", `{"\ufffd":3,"\udbff\udffd":1,"\uf8ff":2}`, "{\"\xf4\x8f\xbf\xbd\":1,\"\xef\xa3\xbf\":2,\"\xef\xbf\xbd\":3}"},
	{"full-width sign against emoji", `{"＠":1,"😀":1}`, `{"😀":1,"＠":1}`},
	{"kanji, kana, hangul", `{"한":3,"漢":2,"か":1}`, `{"か":1,"漢":2,"한":3}`},
	{"Greek and Cyrillic", `{"я":2,"ω":1,"Ω":0}`, `{"Ω":0,"ω":1,"я":2}`},
	{"two-byte lead bytes that carry a quote's bits", "{\"\xc2\xa2\":\"\xc2\xa2\",\"\xc3\x9c\":\"\xc3\x9c\",\"\xdc\xa2\":1}", "{\"\xc2\xa2\":\"\xc2\xa2\",\"\xc3\x9c\":\"\xc3\x9c\",\"\xdc\xa2\":1}"},
	{"lower before upper beyond ASCII", `{"é":2,"É":1,"z":0}`, `{"z":0,"É":1,"é":2}`},
	{"long names of one beginning", `{"` + strings.Repeat(`n`, 17) + `":5,"` + strings.Repeat(`n`, 16) + `":4,"` + strings.Repeat(`n`, 9) + `":3,"` + strings.Repeat(`n`, 8) + `":2,"` + strings.Repeat(`n`, 7) + `":1}`, `{"` + strings.Repeat(`n`, 7) + `":1,"` + strings.Repeat(`n`, 8) + `":2,"` + strings.Repeat(`n`, 9) + `":3,"` + strings.Repeat(`n`, 16) + `":4,"` + strings.Repeat(`n`, 17) + `":5}`},
	{"hundred letters, last differs", `{"` + strings.Repeat(`n`, 99) + `b":2,"` + strings.Repeat(`n`, 99) + `a":1}`, `{"` + strings.Repeat(`n`, 99) + `a":1,"` + strings.Repeat(`n`, 99) + `b":2}`},
	{"every short escape in a name", `{"\"\\\/\b\f\n\r\t":1}`, `{"\"\\/\b\f\n\r\t":1}`},
	{"escaped solidus in a name", `{"a\/c":2,"a\/b":1}`, `{"a/b":1,"a/c":2}`},
	{"letter by escape in a name", `{"\u0062":2,"\u0061":1}`, `{"a":1,"b":2}`},
	{"noncharacters as names", `{"\uffff":3,"\ufffe":2,"\ufdd0":1,"\udbff\udfff":0}`, "{\"\xf4\x8f\xbf\xbf\":0,\"\xef\xb7\x90\":1,\"\xef\xbf\xbe\":2,\"\xef\xbf\xbf\":3}"},
	{"astral noncharacters", `"\ud83f\udffe\ud83f\udfff"`, "\"\xf0\x9f\xbf\xbe\xf0\x9f\xbf\xbf\""},
	{"U+D7FF and U+E000 by escape", `"\ud7ff\ue000"`, "\"\xed\x9f\xbf\xee\x80\x80\""},
	{"replacement character stays", `"�"`, `"�"`},
	{"markup of Go's encoder", `"\u003cb\u003e\u0026\u2028"`, "\"<b>&\xe2\x80\xa8\""},
	{"backslash u in text", `"\\u0041\\n"`, `"\\u0041\\n"`},
	{"many backslashes", `"\\\\\\\\\\\""`, `"\\\\\\\\\\\""`},
	{"quote at each end", `"\"x\""`, `"\"x\""`},
	{"flag and family", "\"\xf0\x9f\x87\xa9\xf0\x9f\x87\xaa\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7\"", "\"\xf0\x9f\x87\xa9\xf0\x9f\x87\xaa\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7\""},
	{"right to left", "\"\xe2\x80\xaeabc\xe2\x80\xac\"", "\"\xe2\x80\xaeabc\xe2\x80\xac\""},
	{"zero-width and soft hyphen", "\"\xe2\x80\x8b\xc2\xad\"", "\"\xe2\x80\x8b\xc2\xad\""},
	{"long text", `"` + strings.Repeat(`abcdefgh`, 100) + `\u0069"`, `"` + strings.Repeat(`abcdefgh`, 100) + `i"`},
	{"long text beyond ASCII", `"` + strings.Repeat(`é€😀`, 100) + `\u00e9"`, `"` + strings.Repeat(`é€😀`, 100) + `é"`},
	{"sorted outside, unsorted inside", `{"a":{"y":1,"x":2},"b":[{"d":1,"c":2}]}`, `{"a":{"x":2,"y":1},"b":[{"c":2,"d":1}]}`},
	{"unsorted outside, sorted inside", `{"b":{"x":1,"y":2},"a":[{"c":1,"d":2}]}`, `{"a":[{"c":1,"d":2}],"b":{"x":1,"y":2}}`},
	{"last member out of place", `{"b":1,"c":2,"d":3,"e":4,"a":5}`, `{"a":5,"b":1,"c":2,"d":3,"e":4}`},
	{"first member out of place", `{"e":1,"a":2,"b":3,"c":4,"d":5}`, `{"a":2,"b":3,"c":4,"d":5,"e":1}`},
	{"two swapped in the middle", `{"a":1,"c":2,"b":3,"d":4}`, `{"a":1,"b":3,"c":2,"d":4}`},
	{"reverse of ten", `{"j":0,"i":1,"h":2,"g":3,"f":4,"e":5,"d":6,"c":7,"b":8,"a":9}`, `{"a":9,"b":8,"c":7,"d":6,"e":5,"f":4,"g":3,"h":2,"i":1,"j":0}`},
	{"unsorted after a long value", `{"b":"` + strings.Repeat(`x`, 300) + `","a":1}`, `{"a":1,"b":"` + strings.Repeat(`x`, 300) + `"}`},
	{"equal names in siblings", `[{"a":1},{"a":2},{"a":3}]`, `[{"a":1},{"a":2},{"a":3}]`},
	{"equal names above and below", `{"a":{"b":{"a":1,"b":2}},"b":1}`, `{"a":{"b":{"a":1,"b":2}},"b":1}`},
	{"name equal to a value", `{"a":"a","b":"b"}`, `{"a":"a","b":"b"}`},
	{"depth 64 alternating", strings.Repeat(`[{"a":`, 32) + `1` + strings.Repeat(`}]`, 32), strings.Repeat(`[{"a":`, 32) + `1` + strings.Repeat(`}]`, 32)},
	{"depth 64, then 64 again", `[` + strings.Repeat(`[`, 63) + strings.Repeat(`]`, 63) + `,` + strings.Repeat(`[`, 63) + strings.Repeat(`]`, 63) + `]`, `[` + strings.Repeat(`[`, 63) + strings.Repeat(`]`, 63) + `,` + strings.Repeat(`[`, 63) + strings.Repeat(`]`, 63) + `]`},
	{"hundred brackets inside a string", `["` + strings.Repeat(`[`, 100) + `"]`, `["` + strings.Repeat(`[`, 100) + `"]`},
	{"grows in print", `["1e15",1e15,"\u000b"]`, `["1e15",1000000000000000,"\u000b"]`},
	{"numbers side by side", `{"b":[1.0,-0,1e2],"a":[0.0,2E0]}`, `{"a":[0,2],"b":[1,0,100]}`},
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
