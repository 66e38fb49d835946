package jcs_test

import (
	"strings"
	"testing"

	"github.com/bindery/bindery/jcs"
)

func TestPointerAt(t *testing.T) {
	// The mark ^ stands before the byte asked for; at the end it stands for len(src).
	tests := []struct{ marked, want string }{
		{`^{"a":1}`, ``},
		{`{^"a":1}`, `/a`},
		{`{"a^":1}`, `/a`},
		{`{"a"^:1}`, `/a`},
		{`{"a":^1}`, `/a`},
		{`{"a":1^}`, ``},
		{`{"a":1^,"b":2}`, ``},
		{`{"a":1,^"b":2}`, `/b`},
		{`{"a":1, ^ "b":2}`, ``},
		{`{"a":1,"a"^:2}`, `/a`},
		{`{"a":{"b":[10,^20]}}`, `/a/b/1`},
		{`{"a":{"b":[10^,20]}}`, `/a/b`},
		{`{"a":{"b":^[10,20]}}`, `/a/b`},
		{`{"a":{"b":[10,20^]}}`, `/a/b`},
		{`{"a":{"b":[10,20]^}}`, `/a`},
		{`{"a":{"b":[10,20]}^}`, ``},
		{`{"a":[{"x":1},{"y":^2}]}`, `/a/1/y`},
		{`{"a":[{"x":1},^{"y":2}]}`, `/a/1`},
		{`[[],[[],^"x"]]`, `/1/1`},
		{`["]","[,",^3]`, `/2`},
		{`{"a\"":"}","b":^2}`, `/b`},
		{`{"a/b~c":{"😀":^1}}`, `/a~1b~0c/😀`},
		{`{"\u0061\/":^1}`, `/a~1`},
		{`{"":{"":^1}}`, `//`},
		{`[1,01^]`, ``},
		{`[1,^01]`, `/1`},
		{`[1,0^1]`, `/1`},
		{`{"a":[1,^@`, `/a/1`},
		{`{"a":[1,^`, `/a`},
		{`{"a":^`, `/a`},
		{`{"a":1^`, `/a`},
		{`{"a":1,^`, ``},
		{`{"a":{"b":"\^x"}}`, `/a/b`},
		{`{"a":{"b":"x^`, `/a/b`},
		{`{"a":{"\^x":1}}`, `/a`},
		{`{"a":{"b^`, `/a`},
		{`{"a":{^b:1}}`, `/a`},
		{`{"a":[1,2]^]`, ``},
		{`^`, ``},
		{`]]^]`, ``},
		{`1 ^2`, ``},
		{`{"a":{} ^x}`, `/a`},
		{"{\"\xff\":^1}", ``},
	}
	for _, tt := range tests {
		off := strings.IndexByte(tt.marked, '^')
		src := tt.marked[:off] + tt.marked[off+1:]
		if got := jcs.PointerAt([]byte(src), off); got != tt.want {
			t.Errorf("PointerAt(%s) = %q, want %q", tt.marked, got, tt.want)
		}
	}
	if got := jcs.PointerAt([]byte(`{"a":1}`), -1); got != "" {
		t.Errorf("PointerAt(-1) = %q", got)
	}
	if got := jcs.PointerAt([]byte(`{"a":[1`), 1<<40); got != "/a/0" {
		t.Errorf("PointerAt beyond the end = %q", got)
	}
}

// TestPointerOfError is the use it is made for: where in the document is the fault?
func TestPointerOfError(t *testing.T) {
	for src, want := range map[string]string{
		`{"offer":{"items":[{"n":1},{"n":1.5}]}}`:        "/offer/items/1/n",
		`{"offer":{"a":1,"b":2,"\u0061":3}}`:             "/offer/a",
		`{"offer":{"text":"\ud800"}}`:                    "/offer/text",
		`{"offer":["a",` + strings.Repeat("[", 63) + `]`: "/offer/1" + strings.Repeat("/0", 61) + "/0",
	} {
		_, err := jcs.Append(nil, []byte(src))
		fault, ok := err.(*jcs.Error)
		if !ok {
			t.Fatalf("Append(%s) = %v", src, err)
		}
		if got := jcs.PointerAt([]byte(src), fault.Offset); got != want {
			t.Errorf("%s: %v: pointer %q, want %q", src, err, got, want)
		}
	}
}

func TestPointerAtIsBounded(t *testing.T) {
	src := []byte(strings.Repeat("[", 1_000_000))
	if got, want := jcs.PointerAt(src, len(src)), strings.Repeat("/0", 256); got != want {
		t.Errorf("pointer of %d levels, want 256", strings.Count(got, "/"))
	}
}
