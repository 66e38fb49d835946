package jcs_test

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"github.com/bindery/bindery/jcs"
)

// FuzzCanonical holds for any input: a canonical form is its own canonical form; the scan and the
// parser agree; Parse agrees with Append; a text rebuilt from its values is the same text; the
// profiles differ in numbers alone; and an error points into the input.
func FuzzCanonical(f *testing.F) {
	for _, tt := range good {
		f.Add([]byte(tt.src))
	}
	for _, tt := range hostile {
		f.Add([]byte(tt.src))
	}
	for _, src := range peerSeeds(f) {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		kept := bytes.Clone(src)
		got, err := jcs.Append(nil, src)
		v, perr := jcs.Parse(src)
		if !bytes.Equal(src, kept) {
			t.Fatal("the input was written to")
		}
		if err != nil {
			wantBounds(t, err, src)
			if perr == nil || jcs.Canonical(src) || jcs.Verify(src) {
				t.Fatalf("Append refuses %q, Parse %v, Canonical %t", src, perr, jcs.Canonical(src))
			}
			wantDoubles(t, err, src)
			return
		}
		if perr != nil || !bytes.Equal(v.Bytes(), got) {
			t.Fatalf("Parse(%q) = %q, %v; Append = %q", src, v.Bytes(), perr, got)
		}
		again, err := jcs.Append(nil, got)
		if err != nil || !bytes.Equal(again, got) || !jcs.Canonical(got) {
			t.Fatalf("%q is not its own canonical form: %q, %v", got, again, err)
		}
		equal := bytes.Equal(src, got)
		if jcs.Canonical(src) != equal || jcs.Verify(src) != (equal && levels(v) <= 16) {
			t.Fatalf("Canonical(%q) = %t, the scan says %t", src, jcs.Canonical(src), jcs.Verify(src))
		}
		if !utf8.Valid(got) {
			t.Fatalf("%q is not UTF-8", got)
		}
		if rebuilt := rebuild(v); !bytes.Equal(rebuilt, got) {
			t.Fatalf("rebuilt %q from %q", rebuilt, got)
		}
		if d, err := fuzzDoubles.Append(nil, src); err != nil || !bytes.Equal(d, got) {
			t.Fatalf("as doubles %q, %v; as integers %q", d, err, got)
		}
		wantStrict(t, src, got)
		if in, err := jcs.Append(kept[:0], kept); err != nil || !bytes.Equal(in, got) {
			t.Fatalf("in place %q, %v; %q", in, err, got)
		}
	})
}

var (
	fuzzDoubles = jcs.Profile{Numbers: jcs.DoubleNumbers}
	fuzzStrict  = jcs.Profile{TokenStrict: true}
)

// wantDoubles asks what doubles make of what integers refuse: nothing, or a form of its own, and
// then the fault was a number.
func wantDoubles(t *testing.T, fault error, src []byte) {
	t.Helper()
	got, err := fuzzDoubles.Append(nil, src)
	if err != nil {
		wantBounds(t, err, src)
		return
	}
	if kind := fault.(*jcs.Error).Kind; kind != jcs.KindNumber {
		t.Fatalf("%q is accepted as doubles, and is a fault %v as integers", src, kind)
	}
	if again, err := fuzzDoubles.Append(nil, got); err != nil || !bytes.Equal(again, got) {
		t.Fatalf("%q is not its own canonical form: %q, %v", got, again, err)
	}
}

// wantStrict holds TokenStrict against the form that integers have.
func wantStrict(t *testing.T, src, form []byte) {
	t.Helper()
	switch got, err := fuzzStrict.Append(nil, src); {
	case err == nil && !bytes.Equal(got, form):
		t.Fatalf("token-strict %q of %q, which is %q", got, src, form)
	case err != nil && err.(*jcs.Error).Kind != jcs.KindNumber:
		t.Fatalf("token-strict %v of %q", err, src)
	}
	if got, err := fuzzStrict.Append(nil, form); err != nil || !bytes.Equal(got, form) {
		t.Fatalf("token-strict %q, %v of %q", got, err, form)
	}
}

func wantBounds(t *testing.T, err error, src []byte) {
	t.Helper()
	fault, ok := err.(*jcs.Error)
	if !ok || fault.Offset < 0 || fault.Offset > len(src) || fault.Rule == "" {
		t.Fatalf("error %#v for %q", err, src)
	}
	jcs.PointerAt(src, fault.Offset)
}

// levels is the depth of a value, 0 for a scalar.
func levels(v jcs.Value) int {
	deepest := 0
	for item := range v.Items() {
		deepest = max(deepest, levels(item))
	}
	for _, value := range v.Members() {
		deepest = max(deepest, levels(value))
	}
	if v.Type() == jcs.ArrayType || v.Type() == jcs.ObjectType {
		deepest++
	}
	return deepest
}

// rebuild walks a Value and builds it anew, members in reverse.
func rebuild(v jcs.Value) []byte {
	switch v.Type() {
	case jcs.ObjectType:
		var members []jcs.Member
		for name, value := range v.Members() {
			if !bytes.Equal(v.Get(name).Bytes(), value.Bytes()) {
				return nil
			}
			members = append([]jcs.Member{{Name: name, Value: rebuild(value)}}, members...)
		}
		return jcs.Object(members...)
	case jcs.ArrayType:
		var items [][]byte
		for item := range v.Items() {
			items = append(items, rebuild(item))
		}
		return jcs.Array(items...)
	case jcs.StringType:
		s, _ := v.Text()
		return jcs.String(s)
	case jcs.NumberType:
		n, _ := v.Int()
		return jcs.Int(n)
	case jcs.BoolType:
		b, _ := v.Bool()
		return jcs.Bool(b)
	}
	return jcs.Null()
}
