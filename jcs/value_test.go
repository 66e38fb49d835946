package jcs_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bindery/bindery/jcs"
)

func parse(t *testing.T, src string) jcs.Value {
	t.Helper()
	v, err := jcs.Parse([]byte(src))
	if err != nil {
		t.Fatalf("Parse(%s): %v", src, err)
	}
	return v
}

func TestValueScalars(t *testing.T) {
	type scalar struct {
		Type   string
		Text   string
		IsText bool
		Int    int64
		IsInt  bool
		Bool   bool
		IsBool bool
		Len    int
	}
	tests := []struct {
		src  string
		want scalar
	}{
		{`null`, scalar{Type: "null"}},
		{`true`, scalar{Type: "bool", Bool: true, IsBool: true}},
		{`false`, scalar{Type: "bool", IsBool: true}},
		{`0`, scalar{Type: "number", IsInt: true}},
		{`-0`, scalar{Type: "number", IsInt: true}},
		{`-12e2`, scalar{Type: "number", Int: -1200, IsInt: true}},
		{`9007199254740991`, scalar{Type: "number", Int: 9007199254740991, IsInt: true}},
		{`""`, scalar{Type: "string", IsText: true}},
		{`"true"`, scalar{Type: "string", Text: "true", IsText: true}},
		{`"5"`, scalar{Type: "string", Text: "5", IsText: true}},
		{`"\u00e9\"\\\/\b\t\n\f\r\u0000\u001F\ud83d\ude00"`, scalar{Type: "string", Text: "é\"\\/\b\t\n\f\r\x00\x1f😀", IsText: true}},
		{`[]`, scalar{Type: "array"}},
		{`[[],{},"]",[1,2]]`, scalar{Type: "array", Len: 4}},
		{`{}`, scalar{Type: "object"}},
		{`{"a":{"b":1},"b":"}"}`, scalar{Type: "object", Len: 2}},
	}
	for _, tt := range tests {
		v := parse(t, tt.src)
		got := scalar{Type: v.Type().String(), Len: v.Len()}
		got.Text, got.IsText = v.Text()
		got.Int, got.IsInt = v.Int()
		got.Bool, got.IsBool = v.Bool()
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.src, diff)
		}
	}
}

func TestValueAbsent(t *testing.T) {
	var v jcs.Value
	if v.Type() != jcs.Absent || v.Bytes() != nil || v.Len() != 0 {
		t.Errorf("zero Value: %v %q %d", v.Type(), v.Bytes(), v.Len())
	}
	if _, ok := v.Text(); ok {
		t.Error("zero Value has a text")
	}
	if _, ok := v.Int(); ok {
		t.Error("zero Value has an integer")
	}
	if got := v.Get("a"); got.Type() != jcs.Absent {
		t.Errorf("member of the zero Value: %q", got.Bytes())
	}
}

func TestValueIntOfDoubles(t *testing.T) {
	p := jcs.Profile{Numbers: jcs.DoubleNumbers}
	for src, ok := range map[string]bool{
		"1.5": false, "1e21": false, "1e-7": false, "9007199254740992": false, "-9007199254740992": false,
		"100000000000000000000": false, "1.0": true, "-9007199254740991": true,
	} {
		v, err := p.Parse([]byte(src))
		if err != nil {
			t.Fatal(err)
		}
		if n, got := v.Int(); got != ok {
			t.Errorf("Int of %s = %d, %t", src, n, got)
		}
	}
}

func TestValueGet(t *testing.T) {
	v := parse(t, `{"amount":1,"AMOUNT":2,"a\nb":3,"😀":{"x":[{"y":"z"}]},"":4,"\"":5,"n":null}`)
	for name, want := range map[string]string{
		"amount": `1`, "AMOUNT": `2`, "Amount": ``, "a\nb": `3`, `a\nb`: ``, "😀": `{"x":[{"y":"z"}]}`, "": `4`, `"`: `5`,
		"n": `null`, "amoun": ``, "amount2": ``, "\xff": ``, "\ufffd": ``,
	} {
		if got := string(v.Get(name).Bytes()); got != want {
			t.Errorf("Get(%q) = %s, want %s", name, got, want)
		}
	}
	for item := range v.Get("😀").Get("x").Items() {
		if got, _ := item.Get("y").Text(); got != "z" {
			t.Errorf("nested text = %q", got)
		}
	}
	if got := v.Get("amount").Get("x"); got.Type() != jcs.Absent {
		t.Errorf("member of a number: %s", got.Bytes())
	}
}

func TestValueIteration(t *testing.T) {
	v := parse(t, `{"b":[1,"]",[2,[]],{"c":"}"},null,-3],"a\n":"x,y","a":{}}`)
	var got []string
	for name, value := range v.Members() {
		got = append(got, fmt.Sprintf("%q=%s", name, value.Bytes()))
	}
	want := []string{`"a"={}`, `"a\n"="x,y"`, `"b"=[1,"]",[2,[]],{"c":"}"},null,-3]`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	got = nil
	for item := range v.Get("b").Items() {
		got = append(got, string(item.Bytes()))
	}
	want = []string{`1`, `"]"`, `[2,[]]`, `{"c":"}"}`, `null`, `-3`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("items (-want +got):\n%s", diff)
	}
	for name := range v.Members() {
		if name != "a" {
			t.Errorf("first member = %q", name)
		}
		break
	}
	for item := range v.Get("b").Items() {
		if string(item.Bytes()) != "1" {
			t.Errorf("first item = %s", item.Bytes())
		}
		break
	}
	if n := len(maps.Collect(parse(t, `[1]`).Members())) + len(slices.Collect(v.Items())); n != 0 {
		t.Errorf("members of an array and items of an object: %d", n)
	}
}

// TestValueKeepsItsOwnCopy overwrites the source after parsing: canonical input, which could be
// kept as it is, and other input.
func TestValueKeepsItsOwnCopy(t *testing.T) {
	for _, src := range []string{`{"a":"b"}`, ` {"a":"b"}`, `{"a":"\u0062"}`} {
		buf := []byte(src)
		v, err := jcs.Parse(buf)
		if err != nil {
			t.Fatal(err)
		}
		clear(buf)
		if got := string(v.Bytes()); got != `{"a":"b"}` {
			t.Errorf("after overwriting %s: %q", src, got)
		}
	}
}

// TestValueBytesDoNotGrow appends to the bytes of a member, which must not reach its neighbour.
func TestValueBytesDoNotGrow(t *testing.T) {
	v := parse(t, `{"a":1,"b":2}`)
	_ = append(v.Get("a").Bytes(), "999"...)
	if got := string(v.Bytes()); got != `{"a":1,"b":2}` {
		t.Errorf("document after append to a member: %s", got)
	}
}
