package jcs_test

import (
	"errors"
	"fmt"

	"github.com/bindery/bindery/jcs"
)

func ExampleAppend() {
	got, err := jcs.Append(nil, []byte(`{ "b": 1.0, "a": "\u20AC\/" }`))
	fmt.Printf("%s %v\n", got, err)

	_, err = jcs.Append(nil, []byte(`{"amount":1,"\u0061mount":999}`))
	var fault *jcs.Error
	if errors.As(err, &fault) {
		fmt.Println(fault.Kind, fault.Offset)
	}
	fmt.Println(err)
	// Output:
	// {"a":"€/","b":1} <nil>
	// duplicate 12
	// jcs: duplicate: member name repeated at byte 12
}

// A caller with one buffer canonicalises in place.
func ExampleAppend_inPlace() {
	buf := []byte(`{"b":[1e2],"a":null}`)
	buf, err := jcs.Append(buf[:0], buf)
	fmt.Printf("%s %v\n", buf, err)
	// Output:
	// {"a":null,"b":[100]} <nil>
}

func ExampleCanonical() {
	fmt.Println(jcs.Canonical([]byte(`{"a":1,"b":2}`)))
	fmt.Println(jcs.Canonical([]byte(`{"b":2,"a":1}`)))
	fmt.Println(jcs.Canonical([]byte(`{"a":1,"a":1}`)))
	// Output:
	// true
	// false
	// false
}

// The digests in these examples are those of Python's hashlib over the canonical form.
func ExampleSum256() {
	sum, err := jcs.Sum256([]byte(`{ "b": 1.0, "a": "\u20AC\/" }`))
	fmt.Printf("%x %v\n", sum, err)
	// Output:
	// 733398e374f61182cb31c82f57559206309ae528d2b2d47c819743434edd985a <nil>
}

func ExampleDigest256() {
	digest, err := jcs.Digest256([]byte(`{"currency":"EUR","amount":12.5e2}`))
	fmt.Println(digest, err)
	// Output:
	// sha256:eeee78fb20f8fbb03fb016f376c0389d6be5286bbce3a472be2a2b376b3953d4 <nil>
}

// One number under the three profiles.
func ExampleProfile() {
	for _, token := range []string{"1", "1.0", "1.50", "9007199254740993"} {
		for _, p := range []jcs.Profile{{}, {Numbers: jcs.DoubleNumbers}, {TokenStrict: true}} {
			got, err := p.Append(nil, []byte(token))
			if err != nil {
				got = []byte("refused")
			}
			fmt.Printf("%-17s", got)
		}
		fmt.Println(token)
	}
	// Output:
	// 1                1                1                1
	// 1                1                refused          1.0
	// refused          1.5              refused          1.50
	// refused          9007199254740992 refused          9007199254740993
}

func ExampleObject() {
	var currency []byte // nil leaves a member out, and jcs.Null() does not
	got := jcs.Object(
		jcs.Member{Name: "terms", Value: jcs.Array(jcs.String("net\t30"), jcs.Bool(true))},
		jcs.Member{Name: "amount", Value: jcs.Int(1250)},
		jcs.Member{Name: "currency", Value: currency},
		jcs.Member{Name: "note", Value: jcs.Null()},
	)
	fmt.Printf("%s\n", got)
	// Output:
	// {"amount":1250,"note":null,"terms":["net\t30",true]}
}

// A closed object is read in a row, and asked once.
func ExampleReader() {
	for _, src := range []string{
		`{"amount":1250,"party":{"name":"anax"}}`,
		`{"amount":"1250","party":{"name":"anax"}}`,
		`{"amount":1250,"party":{}}`,
		`{"amount":1250,"AMOUNT":999,"party":{"name":"anax"}}`,
	} {
		v, err := jcs.Parse([]byte(src))
		if err != nil {
			fmt.Println(err)
			continue
		}
		r := jcs.NewReader(v)
		amount, name := r.Int("amount"), r.Object("party").Text("name")
		fmt.Println(amount, name, r.Close())
	}
	// Output:
	// 1250 anax <nil>
	// 0  jcs: member "/amount": type
	// 1250  jcs: member "/party/name": missing
	// 1250 anax jcs: object "": unknown member
}

func ExamplePointerAt() {
	src := []byte(`{"lines":[{"amount":1},{"amount":1.5}]}`)
	_, err := jcs.Append(nil, src)
	var fault *jcs.Error
	if errors.As(err, &fault) {
		fmt.Println(fault.Kind, jcs.PointerAt(src, fault.Offset))
	}
	// Output:
	// number /lines/1/amount
}
