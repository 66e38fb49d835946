package gateway

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	"github.com/bindery/bindery/internal/mcp"
	"github.com/bindery/bindery/internal/toolaction"
	"github.com/bindery/bindery/jcs"
)

// Since 2026-07-28 headers repeat parts of a message, for those who route by them. What a call is
// bound to stands in its body; so a bound call whose headers say anything else, or something that
// nobody can check, is refused (design X1): some upstream might act on the header. Of any other
// message the method and the tool's name are looked at, so that none passes for the call of a tool,
// or for that of another one. What the protocol asks of a server is that the status is 400 then.

// disagreement says which header of a bound call is not what its body says; "" for none.
// arguments are those that are forwarded.
func disagreement(h http.Header, tool toolaction.Tool, arguments []byte) string {
	if name := mislabelled(h, mcp.CallMethod, tool.Name); name != "" {
		return name
	}
	var paths map[string][]string
	var args jcs.Value
	for name, v := range h {
		param, is := strings.CutPrefix(strings.ToLower(name), strings.ToLower(headerParam))
		if !is {
			continue
		}
		if paths == nil {
			paths = paramHeadersOf(tool.InputSchema)
			args, _ = jcs.Profile{Numbers: jcs.DoubleNumbers}.Parse(arguments) // they are canonical
		}
		path, known := paths[param]
		text, ok := wholeHeader(v)
		if !known || !ok || !says(text, at(args, path)) {
			return headerParam + "*"
		}
	}
	return ""
}

// mislabelled says which header gives a message another method, or what it is about another name,
// than its body; "" for none. A header that is not there says nothing.
func mislabelled(h http.Header, method, about string) string {
	if v, there := h[headerMethod]; there && (len(v) != 1 || v[0] != method) {
		return headerMethod
	}
	if v, there := h[headerName]; there {
		if name, ok := wholeHeader(v); !ok || name != about {
			return headerName
		}
	}
	return ""
}

// passesForAnother reports whether a header makes a message the call of a tool, or a request about a
// task, that it is not.
func passesForAnother(h http.Header, method string) bool {
	return slices.ContainsFunc(h[headerMethod], func(v string) bool {
		return v != method && (strings.EqualFold(v, mcp.CallMethod) || aboutTasks(v))
	})
}

func at(v jcs.Value, path []string) jcs.Value {
	for _, name := range path {
		if v.Type() != jcs.ObjectType {
			return jcs.Value{}
		}
		v = v.Get(name)
	}
	return v
}

// says reports whether a header with that text repeats an argument, in its canonical form.
func says(text string, v jcs.Value) bool {
	switch v.Type() {
	case jcs.StringType:
		s, _ := v.Text()
		return s == text
	case jcs.BoolType, jcs.NumberType:
		return string(v.Bytes()) == text
	}
	return false
}

// wholeHeader is the text of a header that is there once, which may be wrapped in =?base64?…?=.
func wholeHeader(v []string) (string, bool) {
	if len(v) != 1 {
		return "", false
	}
	inner, wrapped := strings.CutPrefix(v[0], "=?base64?")
	if !wrapped {
		return v[0], true
	}
	inner, ended := strings.CutSuffix(inner, "?=")
	if !ended {
		return v[0], true
	}
	b, err := base64.StdEncoding.Strict().DecodeString(inner)
	return string(b), err == nil
}
