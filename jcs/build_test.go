package jcs_test

import (
	"testing"

	"github.com/bindery/bindery/jcs"
)

func TestBuild(t *testing.T) {
	tests := []struct {
		name string
		got  []byte
		want string
	}{
		{"no members", jcs.Object(), `{}`},
		{"no items", jcs.Array(), `[]`},
		{"items", jcs.Array(jcs.Int(2), jcs.Int(1), jcs.Null(), jcs.Bool(true), jcs.Bool(false)), `[2,1,null,true,false]`},
		{"sorted", jcs.Object(jcs.Member{"b", jcs.Int(1)}, jcs.Member{"", jcs.Null()}, jcs.Member{"a", jcs.Array()}), `{"":null,"a":[],"b":1}`},
		{"nil is absent", jcs.Object(jcs.Member{"b", nil}, jcs.Member{"a", jcs.Null()}, jcs.Member{"b", jcs.Int(2)}, jcs.Member{"a", nil}), `{"a":null,"b":2}`},
		{"astral first", jcs.Object(jcs.Member{"\uff61", jcs.Int(1)}, jcs.Member{"😀", jcs.Int(2)}), `{"😀":2,"` + "\uff61" + `":1}`},
		{"escaped names", jcs.Object(jcs.Member{"[", jcs.Int(1)}, jcs.Member{"\n", jcs.Int(2)}, jcs.Member{"\x1f", jcs.Int(3)}), `{"\n":2,"\u001f":3,"[":1}`},
		{"prefix", jcs.Object(jcs.Member{"ab", jcs.Int(1)}, jcs.Member{"a", jcs.Int(2)}, jcs.Member{"a\x00", jcs.Int(3)}), `{"a":2,"a\u0000":3,"ab":1}`},
		{"text", jcs.String("é\"\\/\b\t\n\f\r\x00\x1f\x7f<>&\u2028😀"), `"é\"\\/\b\t\n\f\r\u0000\u001f` + "\x7f<>&\u2028😀\""},
		{"largest", jcs.Int(9007199254740991), `9007199254740991`},
		{"smallest", jcs.Int(-9007199254740991), `-9007199254740991`},
		{"zero", jcs.Int(0), `0`},
	}
	for _, tt := range tests {
		if string(tt.got) != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, tt.got, tt.want)
		}
		if !jcs.Canonical(tt.got) {
			t.Errorf("%s: %s is not canonical", tt.name, tt.got)
		}
	}
}

func TestBuildPanics(t *testing.T) {
	tests := map[string]func(){
		"repeated name": func() {
			jcs.Object(jcs.Member{"a", jcs.Int(1)}, jcs.Member{"b", jcs.Int(1)}, jcs.Member{"a", jcs.Int(1)})
		},
		"empty member":      func() { jcs.Object(jcs.Member{"a", []byte{}}) },
		"invalid name":      func() { jcs.Object(jcs.Member{"\xff", jcs.Int(1)}) },
		"nil item":          func() { jcs.Array(nil) },
		"invalid text":      func() { jcs.String("a\xff") },
		"encoded surrogate": func() { jcs.String("\xed\xa0\x80") },
		"2^53":              func() { jcs.Int(1 << 53) },
		"-2^53":             func() { jcs.Int(-1 << 53) },
	}
	for name, f := range tests {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}
