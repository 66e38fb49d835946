package crossing_test

import (
	"strings"
	"testing"

	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/jcs"
)

// The documents of series TD are this project's own (§4.2 describes them and gives no
// text). Canonical bytes and digests were computed twice, and are equal: by Python 3 with
// json.dumps(sort_keys=True, separators=(',', ':'), ensure_ascii=False) and hashlib, and
// by Node 20 with a recursive JSON.stringify over Object.keys(v).sort() and node:crypto.
const (
	td1 = `{"terms_version":"1","count":1,"parties":["urn:anax:principal:trust","urn:anax:principal:anax"]}`
	td2 = " {\n\t\"parties\" : [ \"urn:anax:principal:trust\" ,\r\n \"urn:anax:principal:anax\" ],  \"terms_version\" :\"1\",\n\t\"count\" : 1 }\n"
	td3 = `{"terms_version":"1","parties":{"initiator":{"name":"Café Zürich","note":"\u20ac 5 – \ud83d\ude00"},"responder":{"name":"東京"}},"amount_minor":500}`
	td4 = `{"terms_version":"1","count":1,"parties":["urn:anax:principal:anax","urn:anax:principal:trust"]}`
	td5 = `{"terms_version":"1","renewable":false,"exclusive":true,"end":null}`

	td1Hash = "669d40ffebe2be464a0ec680e3148837a5002b94836a2a2db0f3d49e11388876"
)

// wantTerms fails the test unless doc has these canonical bytes and this agreement_hash.
func wantTerms(t *testing.T, doc, canonical string, hash jcs.Hex256) {
	t.Helper()
	terms, refusal := crossing.ParseTerms([]byte(doc))
	if refusal != nil {
		t.Fatalf("refused: %v", refusal)
	}
	if got := string(terms.Canonical()); got != canonical {
		t.Errorf("Canonical()\n got %s\nwant %s", got, canonical)
	}
	if got := terms.Hash(); got != hash {
		t.Errorf("Hash() = %s, want %s", got, hash)
	}
	if terms.Text() != doc {
		t.Errorf("Text() = %q, want the document as it was written", terms.Text())
	}
}

// covers GC-212, GC-215, GC-221, GC-226
func TestTD1(t *testing.T) {
	wantTerms(t, td1, `{"count":1,"parties":["urn:anax:principal:trust","urn:anax:principal:anax"],"terms_version":"1"}`, td1Hash)
}

// covers GC-222, GC-226
func TestTD2(t *testing.T) {
	wantTerms(t, td2, `{"count":1,"parties":["urn:anax:principal:trust","urn:anax:principal:anax"],"terms_version":"1"}`, td1Hash)
}

// covers GC-223, GC-226
func TestTD3(t *testing.T) {
	wantTerms(t, td3,
		`{"amount_minor":500,"parties":{"initiator":{"name":"Café Zürich","note":"€ 5 – 😀"},"responder":{"name":"東京"}},"terms_version":"1"}`,
		"8ad93e34016cfc0953abca69365a3f7fcc835d10e6661624402c7d52b92e7271")
}

// covers GC-219, GC-224, GC-226
func TestTD4(t *testing.T) {
	const hash = "efe9af40803e955ed720d6eae06d833cb452ce4bd2f7f9a4c4ff63e3b6ea2cb2"
	wantTerms(t, td4, `{"count":1,"parties":["urn:anax:principal:anax","urn:anax:principal:trust"],"terms_version":"1"}`, hash)
	if hash == td1Hash {
		t.Error("the order of an array is not part of the hash")
	}
}

// covers GC-225, GC-226
func TestTD5(t *testing.T) {
	wantTerms(t, td5, `{"end":null,"exclusive":true,"renewable":false,"terms_version":"1"}`,
		"3b9bb0e3a2ba7e94b275924044a0acc39a44c896a1a47bd2d549c15453c5500c")
	// The same without end: absent and null are different documents.
	wantTerms(t, `{"terms_version":"1","renewable":false,"exclusive":true}`, `{"exclusive":true,"renewable":false,"terms_version":"1"}`,
		"cb7590de4197c94fc81635880df417bf4deaf66ddc199666da0fc5f1811d222f")
}

// TestTDNegativeControl is TD-1 with one integer changed: a harness that still finds TD-1's
// digest is not looking at the document.
//
// covers GC-214, GC-227
func TestTDNegativeControl(t *testing.T) {
	wantTerms(t, strings.Replace(td1, `"count":1`, `"count":2`, 1),
		`{"count":2,"parties":["urn:anax:principal:trust","urn:anax:principal:anax"],"terms_version":"1"}`,
		"34025472c5f9ed7a49688935bc30d34bdd5110e68302c7ec56c815c82c137391")
}

// TestPackageExample is the worked example of the package comment.
//
// covers GC-212
func TestPackageExample(t *testing.T) {
	wantTerms(t, `{"terms_version":"1","unit":"code","count":1}`, `{"count":1,"terms_version":"1","unit":"code"}`,
		"329b8b3d06c2baefb1a0e0f0b638ad013a25504e0ac1354f2cee0ddfbbe3b4b3")
}

// TestTermsIntegers shows which spellings of an integer R-2 lets in: those whose exact
// value is one (design J2).
//
// covers GC-217
func TestTermsIntegers(t *testing.T) {
	for written, canonical := range map[string]string{
		"0": "0", "-0": "0", "1.0": "1", "1e2": "100", "9007199254740991": "9007199254740991", "-9007199254740991": "-9007199254740991",
	} {
		terms, refusal := crossing.ParseTerms([]byte(`{"n":` + written + `,"terms_version":"1"}`))
		if refusal != nil {
			t.Errorf("%s: refused: %v", written, refusal)
			continue
		}
		if got, want := string(terms.Canonical()), `{"n":`+canonical+`,"terms_version":"1"}`; got != want {
			t.Errorf("%s: Canonical() = %s, want %s", written, got, want)
		}
	}
}

// covers GC-216, GC-217, GC-218, GC-220, GC-286
func TestTermsRefused(t *testing.T) {
	tests := []struct{ name, doc, path, member string }{
		{"R-1 array", `[{"terms_version":"1"}]`, "§4.2 R-1", ""},
		{"R-1 string", `"terms_version"`, "§4.2 R-1", ""},
		{"R-1 null", `null`, "§4.2 R-1", ""},
		{"R-2 fraction", `{"terms_version":"1","price":1.5}`, "§4.2 R-2", "/price"},
		{"R-2 nested fraction", `{"terms_version":"1","lines":[{"price":1},{"price":0.1}]}`, "§4.2 R-2", "/lines/1/price"},
		{"R-2 above", `{"terms_version":"1","n":9007199254740992}`, "§4.2 R-2", "/n"},
		{"R-2 below", `{"terms_version":"1","n":-9007199254740992}`, "§4.2 R-2", "/n"},
		{"R-2 rounds to an integer", `{"terms_version":"1","n":9007199254740991.4}`, "§4.2 R-2", "/n"},
		{"R-2 tiny fraction", `{"terms_version":"1","n":1.00000000000000000001}`, "§4.2 R-2", "/n"},
		{"R-2 name with a slash", `{"terms_version":"1","a/b~c":1.5}`, "§4.2 R-2", "/a~1b~0c"},
		{"R-3 repeated", `{"terms_version":"1","a":1,"a":1}`, "§4.2 R-3", "/a"},
		{"R-3 terms_version repeated", `{"terms_version":"1","terms_version":"1"}`, "§4.2 R-3", "/terms_version"},
		{"R-3 repeated by escape", `{"terms_version":"1","a":1,"\u0061":2}`, "§4.2 R-3", "/a"},
		{"R-3 nested by escape", `{"terms_version":"1","l":[{"é":1,"\u00e9":1}]}`, "§4.2 R-3", "/l/0/é"},
		{"R-5 missing", `{"version":"1"}`, "§4.2 R-5", "/terms_version"},
		{"R-5 number", `{"terms_version":1}`, "§4.2 R-5", "/terms_version"},
		{"R-5 null", `{"terms_version":null}`, "§4.2 R-5", "/terms_version"},
		{"R-5 only nested", `{"a":{"terms_version":"1"}}`, "§4.2 R-5", "/terms_version"},
		{"R-5 another case", `{"Terms_Version":"1"}`, "§4.2 R-5", "/terms_version"},
		{"empty", ``, "§4.2 RFC 8785: syntax", ""},
		{"trailing comma", `{"terms_version":"1",}`, "§4.2 RFC 8785: syntax", ""},
		{"two documents", `{"terms_version":"1"}{}`, "§4.2 RFC 8785: syntax", ""},
		{"byte order mark", "\ufeff" + `{"terms_version":"1"}`, "§4.2 RFC 8785: syntax", ""},
		{"half a surrogate pair", `{"terms_version":"1","s":"\ud83d"}`, "§4.2 RFC 8785: surrogate", "/s"},
		{"invalid UTF-8", "{\"terms_version\":\"1\",\"s\":\"\xff\"}", "§4.2 RFC 8785: utf8", "/s"},
		{"deep", `{"terms_version":"1","a":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`, "§4.2 RFC 8785: depth", "/a" + strings.Repeat("/0", 63)},
		{"large", `{"terms_version":"1","a":"` + strings.Repeat("a", crossing.MaxTerms) + `"}`, "§4.2 size", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			terms, refusal := crossing.ParseTerms([]byte(tt.doc))
			if terms != nil {
				t.Error("ParseTerms returned terms beside its refusal")
			}
			wantRefusal(t, refusal, crossing.AgreementHashMismatch, tt.path, tt.member)
		})
	}
}

// covers GC-217
func TestTermsLargest(t *testing.T) {
	const head, tail = `{"terms_version":"1","a":"`, `"}`
	doc := head + strings.Repeat("a", crossing.MaxTerms-len(head)-len(tail)) + tail
	if _, refusal := crossing.ParseTerms([]byte(doc)); refusal != nil {
		t.Errorf("a document of exactly MaxTerms is refused: %v", refusal)
	}
}

// wantRefusal fails the test unless r is this refusal.
func wantRefusal(t *testing.T, r *crossing.Refusal, name crossing.Name, path, member string) {
	t.Helper()
	if r == nil {
		t.Fatalf("not refused, want %s (%s, at %q)", name, path, member)
	}
	if r.Name != name || r.Path != path || r.Member != member || r.Peer {
		t.Errorf("refused %s (%s, at %q), want %s (%s, at %q)", r.Name, r.Path, r.Member, name, path, member)
	}
}
