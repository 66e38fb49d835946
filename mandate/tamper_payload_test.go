package mandate_test

import (
	"strings"
	"testing"

	"github.com/bindery/bindery/mandate"
)

// TestForgedPayload signs payloads that two readers could read in two ways, or that no
// reader should have to read.
//
// covers GC-141, GC-154, GC-168
func TestForgedPayload(t *testing.T) {
	var rows []forgery
	row := func(name, claim string, f func(payload string) string) {
		rows = append(rows, forgery{name, claim, func(v victim) string { return v.signed(v.own(), f(v.payload)) }})
	}
	first := func(name, member string) { // before all others
		row(name, "payload", func(p string) string { return strings.Replace(p, "{", "{"+member+",", 1) })
	}
	last := func(name, member string) {
		row(name, "payload", func(p string) string { return strings.TrimSuffix(p, "}") + "," + member + "}" })
	}
	for _, claim := range []string{"iss", "sub", "aud", "exp", "iat", "vct", "commitment_class", "magnitude_limit"} {
		first(claim+" twice, the other first", `"`+claim+`":"x"`)
		last(claim+" twice, the other last", `"`+claim+`":"x"`)
	}
	last("exp twice, escaped", `"\u0065xp":9999999999`)
	last("a member twice that nobody reads", `"x":1,"x":1`)
	last("twice, three deep", `"x":{"y":[{"z":1,"z":2}]}`)
	row("twice in cnf or basis", "payload", func(p string) string {
		p = strings.Replace(p, `{"crv":`, `{"crv":"P-384","crv":`, 1)
		return strings.Replace(p, `{"pack_id":`, `{"pack_id":"other","pack_id":`, 1)
	})
	row("two keys in cnf, two bases", "payload", func(p string) string {
		p = strings.Replace(p, `{"jwk":`, `{"jwk":{},"jwk":`, 1)
		return strings.Replace(p, `"governance_basis":`, `"governance_basis":{},"governance_basis":`, 1)
	})

	row("an object after", "payload", func(p string) string { return p + "{}" })
	row("an object after a space", "payload", func(p string) string { return p + " {}" })
	row("itself again", "payload", func(p string) string { return p + p })
	row("a letter after", "payload", func(p string) string { return p + "x" })
	row("NUL after", "payload", func(p string) string { return p + "\x00" })
	row("byte order mark", "payload", func(p string) string { return "\ufeff" + p })
	row("form feed", "payload", func(p string) string { return "\f" + p })
	row("comma after", "payload", func(p string) string { return strings.TrimSuffix(p, "}") + ",}" })
	row("comment", "payload", func(p string) string { return strings.Replace(p, "{", "{/**/", 1) })
	row("in a list", "payload", func(p string) string { return "[" + p + "]" })
	row("as a string", "payload", func(p string) string { return `"` + strings.ReplaceAll(p, `"`, `\"`) + `"` })
	row("null", "payload", func(string) string { return "null" })
	row("empty", "payload", func(string) string { return "" })

	last("not UTF-8", "\"x\":\"\xff\"")
	last("UTF-8 cut short", "\"x\":\"\xe2\x82\"")
	last("overlong", "\"x\":\"\xc0\xaf\"")
	last("surrogate in UTF-8", "\"x\":\"\xed\xa0\x80\"")
	last("beyond Unicode", "\"x\":\"\xf4\x90\x80\x80\"")
	last("not UTF-8 in a name", "\"\xff\":1")
	last("high surrogate alone", `"x":"\ud800"`)
	last("low surrogate alone", `"x":"\udc00"`)
	last("surrogates swapped", `"x":"\udc00\ud800"`)
	last("surrogate in a name", `"\ud83d":1`)
	last("control character", "\"x\":\"\n\"")

	last("fraction", `"x":0.5`)
	last("fraction beyond float64", `"x":1.00000000000000000001`)
	last("above 2^53-1", `"x":9007199254740992`)
	last("infinite as float64", `"x":1e999`)
	last("leading zero", `"x":01`)
	last("NaN", `"x":NaN`)
	last("lists 17 deep", `"x":`+strings.Repeat("[", 16)+strings.Repeat("]", 16))
	last("objects 17 deep", `"x":`+strings.Repeat(`{"x":`, 15)+"{}"+strings.Repeat("}", 15))
	last("lists 9000 deep", `"x":`+strings.Repeat("[", 9000)+strings.Repeat("]", 9000))
	row("objects 9000 deep", "payload", func(string) string { return strings.Repeat(`{"":`, 9000) + "1" + strings.Repeat("}", 9000) })
	row("lists 9000 deep and open", "payload", func(string) string { return strings.Repeat("[", 9000) })

	exp := func(p, to string) string { // the claim comes before iat and after others
		before, rest, _ := strings.Cut(p, `"exp":`)
		_, after, _ := strings.Cut(rest, ",")
		return before + to + after
	}
	row("exp missing", "exp", func(p string) string { return exp(p, "") })
	row("exp null", "exp", func(p string) string { return exp(p, `"exp":null,`) })
	row("exp as text", "exp", func(p string) string { return exp(p, `"exp":"1786086400",`) })
	row("exp in a list", "exp", func(p string) string { return exp(p, `"exp":[1786086400],`) })
	row("EXP for exp", "exp", func(p string) string { return exp(p, `"EXP":1786086400,`) })
	row("exp of half a second", "payload", func(p string) string { return exp(p, `"exp":1786086400.5,`) })
	row("exp below zero", "exp", func(p string) string { return exp(p, `"exp":-1,`) })
	forge(t, rows)
}

// TestForgedTail is about what follows the signature: on an Open, and on a Closed, which
// has no disclosures at all.
//
// covers GC-141
func TestForgedTail(t *testing.T) {
	stranger := newParty(t)
	for _, v := range victims(t) {
		jwt := v.signed(v.own(), v.payload)
		keyBinding := func(p party) string {
			return p.jws(`{"alg":"ES256","kid":"`+p.key.ID+`","typ":"kb+jwt"}`,
				`{"aud":"`+bolt+`","iat":1786000430,"nonce":"n","sd_hash":"`+digest(jwt+"~")+`"}`)
		}
		d := b64([]byte(`["salt","magnitude_limit",500]`))
		for name, c := range map[string]struct{ token, claim string }{
			"no tilde":               {jwt, "token"},
			"a letter":               {jwt + "~x", "token"},
			"a space":                {jwt + "~ ", "token"},
			"a line end":             {jwt + "~\n", "token"},
			"NUL":                    {jwt + "~\x00", "token"},
			"dots":                   {jwt + "~a.b.c", "token"},
			"key binding":            {jwt + "~" + keyBinding(v.party), "token"},
			"a stranger's binding":   {jwt + "~" + keyBinding(stranger), "token"},
			"key binding, unsigned":  {jwt + "~" + b64([]byte(`{"alg":"none","typ":"kb+jwt"}`)) + "." + b64([]byte("{}")) + ".", "token"},
			"itself":                 {jwt + "~" + jwt, "token"},
			"itself and a tilde":     {jwt + "~" + jwt + "~", "disclosure"},
			"delegation":             {jwt + "~~" + jwt + "~", "disclosure"},
			"another tilde":          {jwt + "~~", "disclosure"},
			"64 tildes":              {jwt + strings.Repeat("~", 65), "disclosure"},
			"65 disclosures":         {jwt + "~" + strings.Repeat(d+"~", 65), "token"},
			"unreferenced":           {jwt + "~" + d + "~", "disclosure"},
			"unreferenced, no tilde": {jwt + "~" + d, "token"},
			"a tilde before":         {"~" + jwt + "~", "token"},
			"a space before":         {" " + jwt + "~", "header"},
			"a disclosure before":    {d + "~" + jwt + "~", "token"},
			"tilde alone":            {"~", "token"},
			"nothing":                {"", "token"},
			"far too long":           {jwt + strings.Repeat("~", 64<<10), "token"},
		} {
			t.Run(v.name+"/"+name, func(t *testing.T) { wantFault(t, v.verify(c.token), mandate.Invalid, c.claim) })
		}
	}
}
