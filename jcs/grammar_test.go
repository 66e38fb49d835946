package jcs_test

import (
	"strings"
	"testing"

	"github.com/bindery/bindery/jcs"
)

// The grammar of RFC 8259, case by case, in three groups: what every parser must accept, what
// every parser must refuse, and what the RFC leaves to the parser and the profile decides. The
// inputs are our own. Forms, kinds and offsets were computed by a reference in Python that shares
// nothing with this package; interop/canon/oracle.mjs gives the same.

// grammarYes are texts that RFC 8259 admits, in numbers that every profile has, and their forms.
var grammarYes = []struct{ name, src, want string }{
	{"array empty", `[]`, `[]`},
	{"array with spaces", `[ ]`, `[]`},
	{"array of an array", `[[]]`, `[[]]`},
	{"array of an empty string", `[""]`, `[""]`},
	{"array ending in a line feed", "[\"a\"]\x0a", `["a"]`},
	{"array of several types", `[null,1,"1",{},[],true,false]`, `[null,1,"1",{},[],true,false]`},
	{"array, space before", ` [1]`, `[1]`},
	{"array, space behind", `[2] `, `[2]`},
	{"array of nulls", `[0,null,null,9]`, `[0,null,null,9]`},
	{"object empty", `{}`, `{}`},
	{"object of one", `{"a":[]}`, `{"a":[]}`},
	{"object of two", `{"b":"c","a":"d"}`, `{"a":"d","b":"c"}`},
	{"object, empty name", `{"":0}`, `{"":0}`},
	{"object, NUL in a name", `{"x\u0000y":0}`, `{"x\u0000y":0}`},
	{"object, long texts", `{"a":{"s":"` + strings.Repeat(`x`, 40) + `"},"s":"` + strings.Repeat(`y`, 40) + `"}`, `{"a":{"s":"` + strings.Repeat(`x`, 40) + `"},"s":"` + strings.Repeat(`y`, 40) + `"}`},
	{"object over lines", "{\x0a\"a\":\x0d\x0a\"b\"\x09}", `{"a":"b"}`},
	{"object, name like a number", `{"1":1,"-1":2}`, `{"-1":2,"1":1}`},
	{"object in object in object", `{"a":{"b":{"c":{}}}}`, `{"a":{"b":{"c":{}}}}`},
	{"number zero", `0`, `0`},
	{"number minus zero", `[-0]`, `[0]`},
	{"number, plus in exponent", `[1E+2]`, `[100]`},
	{"number, zero exponent", `[1e0]`, `[1]`},
	{"number, small e", `[1e1]`, `[10]`},
	{"number, large E", `[1E1]`, `[10]`},
	{"number, fraction of zeros", `[7.000]`, `[7]`},
	{"number, minus and fraction of zeros", `[-7.0e0]`, `[-7]`},
	{"number, minus in exponent", `[700e-2]`, `[7]`},
	{"number, many exponent zeros", `[1e0002]`, `[100]`},
	{"number as document", `-123`, `-123`},
	{"number before a line end", "[4\x0a]", `[4]`},
	{"number of sixteen digits", `[1234567890123456]`, `[1234567890123456]`},
	{"number before each separator", `{"a":[1,2],"b":3}`, `{"a":[1,2],"b":3}`},
	{"string empty", `""`, `""`},
	{"string of a space", `" "`, `" "`},
	{"string, each escape", `"\"\\\/\b\f\n\r\t"`, `"\"\\/\b\f\n\r\t"`},
	{"string, backslash then u", `"\\u0000"`, `"\\u0000"`},
	{"string, pair", `"\uD801\uDC37"`, `"𐐷"`},
	{"string, two pairs", `"\ud83e\udd80\ud83e\udd91"`, `"🦀🦑"`},
	{"string, hexadecimal in both cases", `"\uCafe\uBABE"`, `"쫾몾"`},
	{"string, escaped NUL", `"\u0000"`, `"\u0000"`},
	{"string, escaped DEL", `"\u007F"`, "\"\x7f\""},
	{"string, raw DEL", "\"\x7f\"", "\"\x7f\""},
	{"string of two-byte characters", `"éß"`, `"éß"`},
	{"string of three-byte characters", `"€漢"`, `"€漢"`},
	{"string of four-byte characters", `"😀🏿"`, `"😀🏿"`},
	{"string, line separators", "\"\xe2\x80\xa8\xe2\x80\xa9\"", "\"\xe2\x80\xa8\xe2\x80\xa9\""},
	{"string, comment inside", `"/*x*/ //y"`, `"/*x*/ //y"`},
	{"string, brackets inside", `"[{]},:"`, `"[{]},:"`},
	{"string, escaped quote last", `"a\""`, `"a\""`},
	{"string, escaped backslash last", `"a\\"`, `"a\\"`},
	{"string, no-break space", "\"\xc2\xa0\"", "\"\xc2\xa0\""},
	{"string of a surrogate's neighbours", `"\uD7FF\uE000"`, "\"\xed\x9f\xbf\xee\x80\x80\""},
	{"literal true", `true`, `true`},
	{"literal false", `false`, `false`},
	{"literal null", `null`, `null`},
	{"literal between spaces", "\x09 null\x0d\x0a", `null`},
	{"white space of each kind", "\x09\x0a\x0d [\x09\x0a\x0d 1\x09\x0a\x0d ,\x09\x0a\x0d 2\x09\x0a\x0d ]\x09\x0a\x0d ", `[1,2]`},
}

// grammarNo are texts that RFC 8259 does not admit: each is a fault of syntax at that byte.
var grammarNo = []struct {
	name, src string
	offset    int
}{
	{"empty", ``, 0},
	{"space alone", ` `, 1},
	{"line feed alone", "\x0a", 1},
	{"array, comma for a value", `[1,,2]`, 3},
	{"array, comma last", `["",]`, 4},
	{"array, two commas last", `["",,]`, 4},
	{"array, comma first", `[,""]`, 1},
	{"array, comma alone", `[,]`, 1},
	{"array, colon", `["":1]`, 3},
	{"array left open", `[""`, 3},
	{"array, open after comma", `[1,`, 3},
	{"array, open, nested", `[[[1]`, 5},
	{"array closed twice", `[1]]`, 3},
	{"array closed by brace", `["a"}`, 4},
	{"array, text behind", `["a"]"b"`, 5},
	{"array, star", `[*]`, 1},
	{"array, no comma", `["a" "b"]`, 5},
	{"array, no comma before an array", `[5[6]]`, 2},
	{"array, vertical tab", "[\"a\x0b\"]", 3},
	{"array, escaped form feed outside", `[\f]`, 1},
	{"array, semicolon", `[1;2]`, 2},
	{"array, closing one alone", `]`, 0},
	{"array, nothing before the end", `[`, 1},
	{"object, comma first", `{,}`, 1},
	{"object, comma last", `{"a":0,}`, 7},
	{"object, two commas", `{"a":0,,"b":1}`, 7},
	{"object, no colon", `{"a"b}`, 4},
	{"object, two colons", `{"a"::0}`, 5},
	{"object, value missing", `{"a":}`, 5},
	{"object, comma for a colon", `{"a",0}`, 4},
	{"object, equals sign", `{"a"=0}`, 4},
	{"object, bare name", `{a:0}`, 1},
	{"object, single quotes", `{'a':0}`, 1},
	{"object, number as name", `{1:1}`, 1},
	{"object, number with exponent as name", `{1e1:1}`, 1},
	{"object, literal as name", `{true:1}`, 1},
	{"object, object as name", `{{}:1}`, 1},
	{"object left open", `{"a":0`, 6},
	{"object open after a name", `{"a"`, 4},
	{"object open after a colon", `{"a":`, 5},
	{"object open in a name", `{"a`, 3},
	{"object closed by bracket", `{"a":0]`, 6},
	{"object closed twice", `{"a":0}}`, 7},
	{"object, sharp behind", `{"a":0}#`, 7},
	{"object, comment behind", `{"a":0}/**/`, 7},
	{"object, comment in it", `{"a":/*b*/0}`, 5},
	{"object, line comment", `{"a":0}//`, 7},
	{"object, half a comment", `{"a":0}/`, 7},
	{"object, no comma", `{"a":0 "b":1}`, 7},
	{"object, value for a member", `{"a":0,1}`, 7},
	{"object, closing one alone", `}`, 0},
	{"object, nothing before the end", `{`, 1},
	{"object, emoji for a name", `{🦀}`, 1},
	{"number, plus", `[+1]`, 1},
	{"number, two pluses", `[++1]`, 1},
	{"number, two minuses", `[--1]`, 2},
	{"number, minus alone", `[-]`, 2},
	{"number, minus and letter", `[-a]`, 2},
	{"number, minus and point", `[-.1]`, 2},
	{"number, leading zero", `[012]`, 2},
	{"number, minus and leading zero", `[-012]`, 3},
	{"number, zeros", `[000]`, 2},
	{"number, point last", `[1.]`, 3},
	{"number, minus and point last", `[-5.]`, 4},
	{"number, point first", `[.1]`, 1},
	{"number, zero and exponent without digits", `[0e]`, 3},
	{"number, exponent and plus alone", `[0e+]`, 4},
	{"number, large exponent without digits", `[0E]`, 3},
	{"number, exponent, two signs", `[1e+-1]`, 4},
	{"number, exponent with point", `[1e1.0]`, 4},
	{"number, point and exponent", `[3.e2]`, 3},
	{"number, two exponents", `[1e1e1]`, 4},
	{"number, two points", `[1..0]`, 3},
	{"number, space inside", `[1 000]`, 3},
	{"number, comma for a point at the end", `[1,]`, 3},
	{"number, hexadecimal", `[0x1F]`, 2},
	{"number, octal", `[0o7]`, 2},
	{"number, binary", `[0b1]`, 2},
	{"number, underscore", `[1_0]`, 2},
	{"number, apostrophe", `[1'000]`, 2},
	{"number, letter behind", `[1a]`, 2},
	{"number, suffix", `[1n]`, 2},
	{"number, f suffix", `[1.0f]`, 4},
	{"number, percent", `[1%]`, 2},
	{"number, fraction of one half", `[½]`, 1},
	{"number, full-width digit", `[１]`, 1},
	{"number, NaN", `[NaN]`, 1},
	{"number, nan", `[nan]`, 2},
	{"number, minus NaN", `[-NaN]`, 2},
	{"number, Inf", `[Inf]`, 1},
	{"number, minus Infinity", `[-Infinity]`, 2},
	{"number, expression", `[1+2]`, 2},
	{"number in brackets", `[(1)]`, 1},
	{"string left open", `"`, 1},
	{"string, letter then open", `"a`, 2},
	{"string, escape cut", `["\`, 2},
	{"string, escape then open", `["\"`, 4},
	{"string, u cut", `"\u"`, 1},
	{"string, one digit", `"\u0"`, 1},
	{"string, three digits", `"\u00A"`, 1},
	{"string, letter among digits", `"\u00Ag"`, 1},
	{"string, minus among digits", `"\u-001"`, 1},
	{"string, space among digits", `"\u00 1"`, 1},
	{"string, escaped x", `"\x00"`, 1},
	{"string, escaped a", `"\a"`, 1},
	{"string, escaped v", `"\v"`, 1},
	{"string, escaped zero", `"\0"`, 1},
	{"string, escaped emoji", `"\🐌"`, 1},
	{"string, escaped line end", "\"\\\x0a\"", 1},
	{"string, escaped NUL byte", "\"\\\x00\"", 1},
	{"string, large B escape", `"\B"`, 1},
	{"string, braces", `"\u{41}"`, 1},
	{"string, raw line feed", "[\"a\x0ab\"]", 3},
	{"string, raw tab", "[\"\x09\"]", 2},
	{"string, raw NUL", "[\"a\x00a\"]", 3},
	{"string, raw escape character", "[\"\x1b\"]", 2},
	{"string, single quotes", `['a']`, 1},
	{"string, back quotes", "[`a`]", 1},
	{"string, none", `abc`, 0},
	{"string, two", `"a""b"`, 3},
	{"string, backslash outside", `[\"a"]`, 1},
	{"string, escape outside", `[\u0022]`, 1},
	{"string, u escape cut by the end", `"\u004`, 1},
	{"literal cut, true", `[tru]`, 4},
	{"literal cut, null", `[nul]`, 4},
	{"literal cut, false", `[fals]`, 5},
	{"literal, large", `[TRUE]`, 1},
	{"literal, one large letter", `[nulL]`, 4},
	{"literal, doubled", `[nullnull]`, 5},
	{"literal, letter behind", `[falsee]`, 6},
	{"literal, undefined", `[undefined]`, 1},
	{"literal None", `[None]`, 1},
	{"literal yes", `yes`, 0},
	{"two values", `1 2`, 2},
	{"two objects", `{}{}`, 2},
	{"comma behind", `1,`, 1},
	{"NUL behind", "123\x00", 3},
	{"tag", `<true>`, 0},
	{"form feed", "[\x0c]", 1},
	{"word joiner", "[\xe2\x81\xa0]", 1},
	{"no-break space behind", "1\xc2\xa0", 1},
	{"byte order mark alone", "\xef\xbb\xbf", 0},
	{"shebang", "#!/bin/cat\x0a1", 0},
	{"unit separator", "[1\x1f]", 2},
}

// An outcome is a canonical form, or else a kind and an offset.
type outcome struct {
	form   string
	kind   jcs.Kind
	offset int
}

func form(s string) outcome                   { return outcome{form: s} }
func fault(kind jcs.Kind, offset int) outcome { return outcome{kind: kind, offset: offset} }

// same says that the double mode decides as the integer profile does.
var same = outcome{offset: -1}

// grammarDecided are texts that RFC 8259 leaves open, with what the profile decides, why, and
// what DoubleNumbers decides.
var grammarDecided = []struct {
	name, src, why  string
	integer, double outcome
}{
	{"number, fraction", `[1.5]`, "no integer", fault(jcs.KindNumber, 1), form(`[1.5]`)},
	{"number, fraction as document", `-0.1`, "no integer", fault(jcs.KindNumber, 0), form(`-0.1`)},
	{"number, 2^53", `[9007199254740992]`, "beyond 2^53-1", fault(jcs.KindNumber, 1), form(`[9007199254740992]`)},
	{"number, minus 2^53", `[-9007199254740992]`, "beyond 2^53-1", fault(jcs.KindNumber, 1), form(`[-9007199254740992]`)},
	{"number, 20 digits", `[12345678901234567890]`, "beyond 2^53-1", fault(jcs.KindNumber, 1), form(`[12345678901234567000]`)},
	{"number, 1e22", `[1e22]`, "beyond 2^53-1", fault(jcs.KindNumber, 1), form(`[1e+22]`)},
	{"number, overflow", `[5e999]`, "beyond 2^53-1; and beyond binary64, where the double mode refuses it too", fault(jcs.KindNumber, 1), same},
	{"number, minus overflow", `[-5e999]`, "the same below zero", fault(jcs.KindNumber, 1), same},
	{"number, underflow", `[77.7e-777]`, "no integer, though binary64 has zero for it", fault(jcs.KindNumber, 1), form(`[0]`)},
	{"number, exponent of 24 digits", `[1e123456789012345678901234]`, "beyond any range", fault(jcs.KindNumber, 1), same},
	{"number, minus exponent of 24 digits", `[1e-123456789012345678901234]`, "no integer", fault(jcs.KindNumber, 1), form(`[0]`)},
	{"number, zero to any power", `[0e123456789012345678901234]`, "exactly zero", form(`[0]`), same},
	{"number, rounds to one", `[0.99999999999999999999]`, "the exact value decides", fault(jcs.KindNumber, 1), form(`[1]`)},
	{"number, rounds into the range", `[9007199254740991.4]`, "the exact value decides", fault(jcs.KindNumber, 1), form(`[9007199254740991]`)},
	{"string, lone high half", `"\uDA01"`, "no character", fault(jcs.KindSurrogate, 1), same},
	{"string, lone low half", `"\uDe39"`, "no character", fault(jcs.KindSurrogate, 1), same},
	{"string, high half and letter", `"\uD999\u4321"`, "no character", fault(jcs.KindSurrogate, 1), same},
	{"string, two high halves", `"\uD800\uD800"`, "no character", fault(jcs.KindSurrogate, 1), same},
	{"string, half a pair, escape cut", `"\uD800\u"`, "the half stands first", fault(jcs.KindSurrogate, 1), same},
	{"string, half a pair, other escape", `"\uD800\n"`, "no character", fault(jcs.KindSurrogate, 1), same},
	{"string, halves reversed", `"\uDC00\uD800"`, "no character", fault(jcs.KindSurrogate, 1), same},
	{"name, lone half", `{"\uDC0D":0}`, "no character", fault(jcs.KindSurrogate, 2), same},
	{"string, encoded half", "\"\xed\xa0\x80\"", "not UTF-8", fault(jcs.KindUTF8, 1), same},
	{"string, overlong", "\"\xc0\xaf\"", "not UTF-8", fault(jcs.KindUTF8, 1), same},
	{"string, lone continuation", "\"\x81\"", "not UTF-8", fault(jcs.KindUTF8, 1), same},
	{"string, Latin-1", "\"\xe9\"", "not UTF-8", fault(jcs.KindUTF8, 1), same},
	{"string, truncated", "\"\xe0\xff\"", "not UTF-8", fault(jcs.KindUTF8, 1), same},
	{"string, beyond U+10FFFF", "\"\xf4\xbf\xbf\xbf\"", "not UTF-8", fault(jcs.KindUTF8, 1), same},
	{"outside strings, not UTF-8", "[\xe5]", "not UTF-8, rather than a wrong byte", fault(jcs.KindUTF8, 1), same},
	{"behind a document, not UTF-8", "1\xe5", "not UTF-8, rather than a wrong byte", fault(jcs.KindUTF8, 1), same},
	{"UTF-16, little-endian, with mark", "\xff\xfe[\x00]\x00", "only UTF-8", fault(jcs.KindUTF8, 0), same},
	{"UTF-16, big-endian", "\x00[\x00]", "only UTF-8; NUL is valid UTF-8 and no token", fault(jcs.KindSyntax, 0), same},
	{"byte order mark before an object", "\xef\xbb\xbf{}", "refused, never skipped", fault(jcs.KindSyntax, 0), same},
	{"string, noncharacter", "\"\xef\xbf\xbf\"", "accepted: RFC 8785 prints it", form("\"\xef\xbf\xbf\""), same},
	{"string, escaped noncharacter", `"\uFDD0"`, "accepted: RFC 8785 prints it", form("\"\xef\xb7\x90\""), same},
	{"string, astral noncharacter", `"\uDBFF\uDFFE"`, "accepted: RFC 8785 prints it", form("\"\xf4\x8f\xbf\xbe\""), same},
	{"string, U+FEFF", `"\uFEFF"`, "a character like any other inside a string", form("\"\xef\xbb\xbf\""), same},
	{"object, repeated name", `{"a":"b","a":"c"}`, "refused", fault(jcs.KindDuplicate, 9), same},
	{"object, repeated name and value", `{"a":"b","a":"b"}`, "refused", fault(jcs.KindDuplicate, 9), same},
	{"object, name repeated by escape", `{"a":0,"\u0061":0}`, "compared after decoding", fault(jcs.KindDuplicate, 7), same},
	{"object, names in two normal forms", "{\"\xc3\xa9\":0,\"e\xcc\x81\":0}", "two names: nothing is normalised", form("{\"e\xcc\x81\":0,\"\xc3\xa9\":0}"), same},
	{"depth 64", strings.Repeat(`[`, 64) + strings.Repeat(`]`, 64), "the outermost container counts 1", form(strings.Repeat(`[`, 64) + strings.Repeat(`]`, 64)), same},
	{"depth 65", strings.Repeat(`[`, 65) + strings.Repeat(`]`, 65), "one too deep", fault(jcs.KindDepth, 64), same},
	{"depth 500", strings.Repeat(`[`, 500) + strings.Repeat(`]`, 500), "too deep", fault(jcs.KindDepth, 64), same},
	{"scalar as document", `"a"`, "accepted: whoever needs an object asks for one", form(`"a"`), same},
}

// covers GC-215
func TestGrammarYes(t *testing.T) {
	for _, tt := range grammarYes {
		t.Run(tt.name, func(t *testing.T) {
			wantOutcome(t, jcs.Profile{}, tt.src, form(tt.want))
			wantOutcome(t, jcs.Profile{Numbers: jcs.DoubleNumbers}, tt.src, form(tt.want))
			// As a value among others, it is what it is alone.
			wantOutcome(t, jcs.Profile{}, "["+tt.src+","+tt.src+"]", form("["+tt.want+","+tt.want+"]"))
			wantOutcome(t, jcs.Profile{}, `{"b":`+tt.src+`,"a":`+tt.src+"}", form(`{"a":`+tt.want+`,"b":`+tt.want+"}"))
		})
	}
}

// covers GC-215
func TestGrammarNo(t *testing.T) {
	for _, tt := range grammarNo {
		t.Run(tt.name, func(t *testing.T) {
			for _, p := range []jcs.Profile{{}, {Numbers: jcs.DoubleNumbers}} {
				wantOutcome(t, p, tt.src, fault(jcs.KindSyntax, tt.offset))
			}
		})
	}
}

// covers GC-215
func TestGrammarDecided(t *testing.T) {
	for _, tt := range grammarDecided {
		t.Run(tt.name, func(t *testing.T) {
			if tt.double == same {
				tt.double = tt.integer
			}
			wantOutcome(t, jcs.Profile{}, tt.src, tt.integer)
			wantOutcome(t, jcs.Profile{Numbers: jcs.DoubleNumbers}, tt.src, tt.double)
		})
	}
}

func wantOutcome(t *testing.T, p jcs.Profile, src string, want outcome) {
	t.Helper()
	got, err := p.Append(nil, []byte(src))
	if want.form == "" {
		wantFault(t, err, want.kind, want.offset)
		return
	}
	if err != nil || string(got) != want.form {
		t.Errorf("Append(%q) = %q, %v, want %q", src, got, err, want.form)
	}
}
