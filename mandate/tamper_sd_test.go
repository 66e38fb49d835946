package mandate_test

import (
	"strings"
	"testing"

	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// hiding returns a payload for an Open whose limit is withheld: "_sd" lists these raw JSON
// items, and the claims are changed as said.
func (w world) hiding(with claims, items ...string) string {
	return w.open.with(claims{"magnitude_limit": "", "_sd": "[" + strings.Join(items, ",") + "]", "_sd_alg": `"sha-256"`}).with(with).json()
}

func quoted(disclosure string) string { return `"` + digest(disclosure) + `"` }

// TestForgedDisclosure lists every disclosure under its true digest, in a payload signed by
// the right key, unless the digest is what is wrong.
//
// covers GC-141, GC-160
func TestForgedDisclosure(t *testing.T) {
	w := newWorld(t)
	verify := func(payload string, disclosures ...string) error {
		token := w.principal.jws(w.principal.header("dc+sd-jwt"), payload) + "~" + strings.Join(append(disclosures, ""), "~")
		p, err := mandate.ParseOpen(token)
		if err != nil {
			return err
		}
		open, err := p.Verify(w.principal.keys())
		if err != nil {
			return err
		}
		_, _, err = open.Amount()
		return err
	}
	of := func(src string) string { return b64([]byte(src)) }
	limit := of(`["salt","magnitude_limit",5]`)
	for name, c := range map[string]struct {
		payload string
		with    []string
	}{
		"disclosed":           {w.hiding(nil, quoted(limit)), []string{limit}},
		"withheld":            {w.hiding(nil, quoted(limit)), nil},
		"hash by default":     {w.hiding(claims{"_sd_alg": ""}, quoted(limit)), []string{limit}},
		"nothing hidden":      {w.hiding(claims{"magnitude_limit": "5"}), nil},
		"spelled with spaces": {w.hiding(nil, quoted(of(`[ "salt", "magnitude_limit" ,5 ]`))), []string{of(`[ "salt", "magnitude_limit" ,5 ]`)}},
	} {
		if err := verify(c.payload, c.with...); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}

	type row struct {
		payload, claim string
		disclosures    []string
	}
	d := func(encoded string) row { return row{w.hiding(nil, quoted(encoded)), "disclosure", []string{encoded}} }
	sd := func(with claims, claim string) row { return row{w.hiding(with, quoted(limit)), claim, []string{limit}} }
	list := func(items ...string) row { return row{w.hiding(nil, items...), "payload", nil} }
	more, iss := of(`["salt","magnitude_limit",500]`), of(`["salt","iss","urn:anax:principal:bolt"]`)
	rows := map[string]row{
		"value changed":             {w.hiding(nil, quoted(limit)), "disclosure", []string{more}},
		"salt changed":              {w.hiding(nil, quoted(limit)), "disclosure", []string{of(`["tlas","magnitude_limit",5]`)}},
		"a space put in":            {w.hiding(nil, quoted(limit)), "disclosure", []string{of(`["salt","magnitude_limit", 5]`)}},
		"digest of the JSON":        {w.hiding(nil, quoted(`["salt","magnitude_limit",5]`)), "disclosure", []string{limit}},
		"digest in hex":             list(`"` + hexHash(limit) + `"`),
		"unreferenced":              {w.hiding(nil, quoted(limit)), "disclosure", []string{limit, more}},
		"unreferenced, none listed": {w.open.json(), "disclosure", []string{limit}},
		"presented twice":           {w.hiding(nil, quoted(limit)), "disclosure", []string{limit, limit}},
		"listed twice":              {w.hiding(nil, quoted(limit), quoted(limit)), "payload", []string{limit}},
		"listed twice, withheld":    list(quoted(limit), quoted(limit)),
		"two of one name":           {w.hiding(nil, quoted(limit), quoted(more)), "payload", []string{limit, more}},
		"two of one name, one told": {w.hiding(nil, quoted(limit), quoted(more)), "payload", []string{more}},
		"decoy":                     {w.hiding(nil, quoted(limit), quoted("x")), "payload", []string{limit}},
		"claim in plain sight":      sd(claims{"magnitude_limit": "1"}, "payload"),
		"iss over the plain iss":    {w.hiding(nil, quoted(iss)), "disclosure", []string{iss}},
		"iss alone disclosed":       {w.hiding(claims{"iss": ""}, quoted(iss)), "disclosure", []string{iss}},
		"iss beside the plain all":  {w.hiding(claims{"magnitude_limit": "5"}, quoted(iss)), "payload", []string{iss}},

		"name _sd":             d(of(`["salt","_sd",5]`)),
		"name ...":             d(of(`["salt","...",5]`)),
		"name _sd_alg":         d(of(`["salt","_sd_alg","sha-256"]`)),
		"name escaped _sd":     d(of(`["salt","\u005fsd",5]`)),
		"name in other case":   d(of(`["salt","Magnitude_limit",5]`)),
		"name a number":        d(of(`["salt",5,5]`)),
		"name null":            d(of(`["salt",null,5]`)),
		"salt a number":        d(of(`[5,"magnitude_limit",5]`)),
		"salt empty":           d(of(`["","magnitude_limit",5]`)),
		"element of an array":  d(of(`["salt",5]`)),
		"four elements":        d(of(`["salt","magnitude_limit",5,6]`)),
		"object":               d(of(`{"magnitude_limit":5}`)),
		"a member twice":       d(of(`["salt","magnitude_limit",{"x":1,"x":2}]`)),
		"_sd within":           d(of(`["salt","magnitude_limit",{"_sd":[]}]`)),
		"array digest within":  d(of(`["salt","magnitude_limit",[{"...":` + quoted("x") + `}]]`)),
		"list after":           d(of(`["salt","magnitude_limit",5][]`)),
		"letter after":         d(of(`["salt","magnitude_limit",5]x`)),
		"byte order mark":      d(of("\ufeff" + `["salt","magnitude_limit",5]`)),
		"not UTF-8":            d(of("[\"salt\xff\",\"magnitude_limit\",5]")),
		"lone surrogate":       d(of(`["\ud800","magnitude_limit",5]`)),
		"nested 9000 deep":     d(of(`["salt","magnitude_limit",` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `]`)),
		"not JSON":             d(of(`magnitude_limit=5`)),
		"padded":               d(limit + "="),
		"line end within":      d(limit[:8] + "\n" + limit[8:]),
		"space before":         d(" " + limit),
		"unused bits":          d(limit[:len(limit)-1] + string(limit[len(limit)-1]+1)),
		"plain base64":         d(strings.TrimRight(limit, "Q") + "+/"),
		"dots":                 d(limit + ".." + limit),
		"empty":                {w.hiding(nil, quoted("")), "disclosure", []string{""}},
		"empty before another": {w.hiding(nil, quoted(limit)), "disclosure", []string{"", limit}},

		"_sd of a number":    list(`1`),
		"_sd of null":        list(`null`),
		"_sd of a list":      list(`[` + quoted(limit) + `]`),
		"_sd of an object":   list(`{"...":` + quoted(limit) + `}`),
		"_sd short digest":   list(`"AAAA"`),
		"_sd padded":         list(`"` + digest(limit) + `="`),
		"_sd line end":       list(`"` + digest(limit)[:9] + `\n` + digest(limit)[9:] + `"`),
		"_sd unused bits":    list(`"` + digest(limit)[:42] + "B" + `"`),
		"_sd null":           sd(claims{"_sd": `null`}, "payload"),
		"_sd a string":       sd(claims{"_sd": quoted(limit)}, "payload"),
		"_sd an object":      sd(claims{"_sd": `{"0":` + quoted(limit) + `}`}, "payload"),
		"_sd a number":       sd(claims{"_sd": `1`}, "payload"),
		"_sd twice":          sd(claims{"_sd": `[],"_sd":[` + quoted(limit) + `]`}, "payload"),
		"_sd twice, escaped": sd(claims{"_sd": `[],"\u005fsd":[` + quoted(limit) + `]`}, "payload"),
		"_sd within cnf":     sd(claims{"cnf": `{"jwk":` + string(w.agent.key.JWK()) + `,"_sd":[]}`}, "payload"),
		"_sd within a list":  sd(claims{"x": `[[{"_sd":[]}]]`}, "payload"),
		"array digest":       sd(claims{"permitted_counterparties": `[{"...":` + quoted("x") + `}]`}, "payload"),
		"... at the top":     sd(claims{"...": quoted("x")}, "payload"),
		"_sd_alg md5":        sd(claims{"_sd_alg": `"md5"`}, "payload"),
		"_sd_alg SHA-256":    sd(claims{"_sd_alg": `"SHA-256"`}, "payload"),
		"_sd_alg sha256":     sd(claims{"_sd_alg": `"sha256"`}, "payload"),
		"_sd_alg sha-512":    sd(claims{"_sd_alg": `"sha-512"`}, "payload"),
		"_sd_alg null":       sd(claims{"_sd_alg": `null`}, "payload"),
		"_sd_alg a list":     sd(claims{"_sd_alg": `["sha-256"]`}, "payload"),
		"_sd_alg empty":      sd(claims{"_sd_alg": `""`}, "payload"),
		"_sd_alg nested":     sd(claims{"x": `{"_sd_alg":"sha-256"}`}, "payload"),
	}
	// No other claim may hide: neither disclosed, nor withheld in place of the limit.
	for name, raw := range w.open {
		if name == "magnitude_limit" {
			continue
		}
		hidden := of(`["salt","` + name + `",` + raw + `]`)
		rows[name+" disclosed"] = row{w.hiding(claims{name: ""}, quoted(hidden)), "disclosure", []string{hidden}}
		rows[name+" withheld beside a plain limit"] = row{w.hiding(claims{name: "", "magnitude_limit": "5"}, quoted(hidden)), "payload", nil}
		rows[name+" withheld beside a hidden limit"] = row{w.hiding(claims{name: ""}, quoted(hidden), quoted(limit)), "payload", []string{limit}}
	}
	for name, c := range rows {
		t.Run(name, func(t *testing.T) { wantFault(t, verify(c.payload, c.disclosures...), mandate.Invalid, c.claim) })
	}
}

// TestDroppedDisclosure: whoever holds an Open may withhold the disclosure again, since no
// signature covers the set of them. Everything that names the grant stays the same.
//
// covers GC-164
func TestDroppedDisclosure(t *testing.T) {
	w := newWorld(t)
	limit := b64([]byte(`["salt","magnitude_limit",5]`))
	bare := w.principal.jws(w.principal.header("dc+sd-jwt"), w.hiding(nil, quoted(limit))) + "~"
	dropped, full := mustOpen(t, bare, w.principal.keys()), mustOpen(t, bare+limit+"~", w.principal.keys())
	if full.OpenHash() != dropped.OpenHash() || full.SignedHash() != dropped.SignedHash() || full.OpenHash() != jcs.Hex256(hexHash(bare)) {
		t.Error("what names the grant follows the disclosures")
	}
	if full.TokenHash() == dropped.TokenHash() {
		t.Error("two strings have one token hash")
	}
}

// TestForgedConfirmation puts keys into cnf with which no signature should be checked. The
// points were computed with Python 3's integers.
//
// covers GC-153
func TestForgedConfirmation(t *testing.T) {
	w := newWorld(t)
	jwk := string(w.agent.key.JWK())
	for name, c := range map[string]struct{ jwk, claim string }{
		"private":             {strings.Replace(jwk, "{", `{"d":"AQ",`, 1), "cnf"},
		"crv missing":         {strings.Replace(jwk, `"crv":"P-256",`, "", 1), "cnf"},
		"crv and CRV":         {strings.Replace(jwk, "{", `{"CRV":"P-384",`, 1), "cnf"},
		"CRV for crv":         {strings.Replace(jwk, "crv", "CRV", 1), "cnf"},
		"crv twice":           {strings.Replace(jwk, "{", `{"crv":"P-384",`, 1), "payload"},
		"crv twice, escaped":  {strings.Replace(jwk, "{", `{"\u0063rv":"P-384",`, 1), "payload"},
		"crv P-384":           {strings.Replace(jwk, "P-256", "P-384", 1), "cnf"},
		"crv secp256k1":       {strings.Replace(jwk, "P-256", "secp256k1", 1), "cnf"},
		"symmetric":           {`{"kty":"oct","k":"AAAA"}`, "cnf"},
		"zero":                {keyOf(strings.Repeat("A", 43), strings.Repeat("A", 43)), "cnf"},
		"of secp256k1":        {keyOf("eb5mfvncu6xVoGKVzocLBwKb_NstzijZWfKBWxb4F5g", "SDradyajxGVdpPv8DhEIqP0XtEimhVQZnEfQj_sQ1Lg"), "cnf"},
		"x is p, y that of 0": {keyOf("_____wAAAAEAAAAAAAAAAAAAAAD_______________8", "ZkhceA4vg9ckM71dhKBrtlQcKvMdrocXKL-FahdPk_Q"), "cnf"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := mandate.ParseOpen(w.principal.token(w.open.with(claims{"cnf": `{"jwk":` + c.jwk + `}`})))
			wantFault(t, err, mandate.Invalid, c.claim)
		})
	}
}

func keyOf(x, y string) string { return `{"crv":"P-256","kty":"EC","x":"` + x + `","y":"` + y + `"}` }
