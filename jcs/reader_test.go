package jcs_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bindery/bindery/jcs"
)

// order is read as a caller would: all members in a row, then one question.
type order struct {
	ID      string
	Note    string
	Amount  int64
	Retries int64
	Final   bool
	Party   string
	Lines   int
	Extra   string
}

func readOrder(r *jcs.Reader) order {
	var o order
	o.ID = r.Text("id")
	o.Note, _ = r.OptText("note")
	o.Amount = r.Int("amount")
	o.Retries, _ = r.OptInt("retries")
	o.Final = r.Bool("final")
	o.Party = r.Object("party").Text("name")
	o.Lines = len(r.Items("lines"))
	o.Extra = string(r.OptValue("extra").Bytes())
	return o
}

const fullOrder = `{"id":"x","note":"n","amount":5,"retries":2,"final":true,"party":{"name":"p"},"lines":[1,[2]],"extra":{"any":[null]}}`

func TestReader(t *testing.T) {
	r := jcs.NewReader(parse(t, fullOrder))
	got := readOrder(r)
	if err := r.Close(); err != nil {
		t.Fatalf("Close() = %v", err)
	}
	want := order{"x", "n", 5, 2, true, "p", 2, `{"any":[null]}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	r = jcs.NewReader(parse(t, `{"id":"","amount":0,"final":false,"party":{"name":""},"lines":[]}`))
	if diff := cmp.Diff(order{}, readOrder(r)); diff != "" || r.Close() != nil {
		t.Errorf("order of zero values: %v (-want +got):\n%s", r.Close(), diff)
	}
}

func TestReaderFaults(t *testing.T) {
	tests := []struct {
		name     string
		src      string
		pointer  string
		rule     string
		openToo  bool // Err reports it as well as Close
		errorStr string
	}{
		{"no object", `[]`, "", "type", true, `jcs: document: type`},
		{"string", `"id"`, "", "type", true, `jcs: document: type`},
		{"missing text", `{}`, "/id", "missing", true, `jcs: member "/id": missing`},
		{"AMOUNT is not amount", strings.Replace(fullOrder, `"amount"`, `"AMOUNT"`, 1), "/amount", "missing", true, `jcs: member "/amount": missing`},
		{"AMOUNT beside amount", strings.Replace(fullOrder, `"amount":5`, `"amount":5,"AMOUNT":999`, 1), "/AMOUNT", "unknown", false, `jcs: object "": unknown member`},
		{"null is not text", strings.Replace(fullOrder, `"x"`, `null`, 1), "/id", "type", true, `jcs: member "/id": type`},
		{"number is not text", strings.Replace(fullOrder, `"x"`, `7`, 1), "/id", "type", true, `jcs: member "/id": type`},
		{"null is not absent text", strings.Replace(fullOrder, `"n"`, `null`, 1), "/note", "type", true, `jcs: member "/note": type`},
		{"text is not integer", strings.Replace(fullOrder, `5`, `"5"`, 1), "/amount", "type", true, `jcs: member "/amount": type`},
		{"true is not integer", strings.Replace(fullOrder, `5`, `true`, 1), "/amount", "type", true, `jcs: member "/amount": type`},
		{"null is not absent integer", strings.Replace(fullOrder, `"retries":2`, `"retries":null`, 1), "/retries", "type", true, `jcs: member "/retries": type`},
		{"text is not bool", strings.Replace(fullOrder, `true`, `"true"`, 1), "/final", "type", true, `jcs: member "/final": type`},
		{"missing bool", strings.Replace(fullOrder, `"final":true,`, ``, 1), "/final", "missing", true, `jcs: member "/final": missing`},
		{"array is not object", strings.Replace(fullOrder, `{"name":"p"}`, `["p"]`, 1), "/party", "type", true, `jcs: member "/party": type`},
		{"missing object", strings.Replace(fullOrder, `"party":{"name":"p"},`, ``, 1), "/party", "missing", true, `jcs: member "/party": missing`},
		{"missing below", strings.Replace(fullOrder, `{"name":"p"}`, `{}`, 1), "/party/name", "missing", true, `jcs: member "/party/name": missing`},
		{"type below", strings.Replace(fullOrder, `"p"`, `[]`, 1), "/party/name", "type", true, `jcs: member "/party/name": type`},
		{"object is not array", strings.Replace(fullOrder, `[1,[2]]`, `{}`, 1), "/lines", "type", true, `jcs: member "/lines": type`},
		{"missing array", strings.Replace(fullOrder, `"lines":[1,[2]],`, ``, 1), "/lines", "missing", true, `jcs: member "/lines": missing`},
		{"unknown", strings.Replace(fullOrder, `{"id"`, `{"a/~b":0,"id"`, 1), "/a~1~0b", "unknown", false, `jcs: object "": unknown member`},
		{"unknown below", strings.Replace(fullOrder, `{"name"`, `{"secret":0,"name"`, 1), "/party/secret", "unknown", false, `jcs: object "/party": unknown member`},
		{"first unknown in canonical order", strings.Replace(fullOrder, `{"id"`, `{"zz":0,"aa":0,"id"`, 1), "/aa", "unknown", false, `jcs: object "": unknown member`},
		{"first fault sticks", `{"amount":"x","zz":0}`, "/id", "missing", true, `jcs: member "/id": missing`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := jcs.NewReader(parse(t, tt.src))
			readOrder(r)
			if err := r.Err(); (err != nil) != tt.openToo {
				t.Errorf("Err() = %v", err)
			}
			var fault *jcs.MemberError
			err := r.Close()
			if !errors.As(err, &fault) {
				t.Fatalf("Close() = %v", err)
			}
			if diff := cmp.Diff(jcs.MemberError{Pointer: tt.pointer, Rule: tt.rule}, *fault); diff != "" {
				t.Errorf("fault (-want +got):\n%s", diff)
			}
			if err.Error() != tt.errorStr {
				t.Errorf("Error() = %q, want %q", err.Error(), tt.errorStr)
			}
		})
	}
}

func TestReaderOfAbsentValue(t *testing.T) {
	r := jcs.NewReader(jcs.Value{})
	if diff := cmp.Diff(order{}, readOrder(r)); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	if r.Err() == nil || r.Close() == nil {
		t.Error("the absent Value reads as an object")
	}
}

// TestReaderZeroAfterFault holds that nothing is handed out once a fault has stuck.
func TestReaderZeroAfterFault(t *testing.T) {
	r := jcs.NewReader(parse(t, fullOrder))
	r.Fail("id", "value")
	r.Fail("amount", "value")
	if diff := cmp.Diff(order{}, readOrder(r)); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	if got := r.Value("extra"); got.Type() != jcs.Absent {
		t.Errorf("Value after a fault = %s", got.Bytes())
	}
	if got, want := r.Close().Error(), `jcs: member "/id": value`; got != want {
		t.Errorf("Close() = %q, want %q", got, want)
	}
}

func TestReaderChildren(t *testing.T) {
	src := `{"a":{"b":{"x":1,"y":2}},"c":1}`
	r := jcs.NewReader(parse(t, src))
	if r.Object("a").Object("b").Int("x") != 1 || r.Object("a").Object("b").Int("y") != 2 || r.Int("c") != 1 {
		t.Error("wrong values")
	}
	if err := r.Close(); err != nil {
		t.Errorf("Close() = %v: a second Object for one name must be the same Reader", err)
	}

	r = jcs.NewReader(parse(t, src))
	b := r.Object("a").Object("b")
	b.Int("x")
	b.Fail("y/z", "value")
	if got, want := r.Err().Error(), `jcs: member "/a/b/y~1z": value`; got != want {
		t.Errorf("Err() = %q, want %q", got, want)
	}

	r = jcs.NewReader(parse(t, src))
	r.Object("a").Object("b").Int("x")
	var fault *jcs.MemberError
	if !errors.As(r.Object("a").Close(), &fault) || fault.Pointer != "/a/b/y" || fault.Rule != "unknown" {
		t.Errorf("Close of a child = %v", fault)
	}
	if !errors.As(r.Err(), &fault) || fault.Pointer != "/a/b/y" {
		t.Errorf("fault of a closed child does not stick: %v", fault)
	}

	r = jcs.NewReader(parse(t, src))
	r.Value("a")
	r.Int("c")
	if err := r.Close(); err != nil {
		t.Errorf("Close() = %v: what a Value holds counts as read", err)
	}
}
