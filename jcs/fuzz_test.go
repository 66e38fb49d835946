package jcs_test

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"github.com/bindery/bindery/jcs"
)

// FuzzCanonical holds for any input: a canonical form is its own canonical form; the scan and the
// parser agree; Parse agrees with Append; a text rebuilt from its values is the same text; and an
// error points into the input.
func FuzzCanonical(f *testing.F) {
	for _, tt := range good {
		f.Add([]byte(tt.src))
	}
	for _, tt := range hostile {
		f.Add([]byte(tt.src))
	}
	doubles := jcs.Profile{Numbers: jcs.DoubleNumbers}
	strict := jcs.Profile{TokenStrict: true}
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
			if _, err := doubles.Append(nil, src); err != nil {
				wantBounds(t, err, src)
			}
			return
		}
		if perr != nil || !bytes.Equal(v.Bytes(), got) {
			t.Fatalf("Parse(%q) = %q, %v; Append = %q", src, v.Bytes(), perr, got)
		}
		again, err := jcs.Append(nil, got)
		if err != nil || !bytes.Equal(again, got) || !jcs.Canonical(got) || !jcs.Verify(got) {
			t.Fatalf("%q is not its own canonical form: %q, %v", got, again, err)
		}
		if jcs.Verify(src) != bytes.Equal(src, got) {
			t.Fatalf("Verify(%q) = %t", src, jcs.Verify(src))
		}
		if !utf8.Valid(got) {
			t.Fatalf("%q is not UTF-8", got)
		}
		if rebuilt := rebuild(v); !bytes.Equal(rebuilt, got) {
			t.Fatalf("rebuilt %q from %q", rebuilt, got)
		}
		if d, err := doubles.Append(nil, src); err != nil || !bytes.Equal(d, got) {
			t.Fatalf("as doubles %q, %v; as integers %q", d, err, got)
		}
		if s, err := strict.Append(nil, got); err != nil || !bytes.Equal(s, got) {
			t.Fatalf("token-strict %q, %v; %q", s, err, got)
		}
	})
}

func wantBounds(t *testing.T, err error, src []byte) {
	t.Helper()
	fault, ok := err.(*jcs.Error)
	if !ok || fault.Offset < 0 || fault.Offset > len(src) || fault.Rule == "" {
		t.Fatalf("error %#v for %q", err, src)
	}
	jcs.PointerAt(src, fault.Offset)
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
