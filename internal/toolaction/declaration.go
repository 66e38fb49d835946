package toolaction

import (
	"slices"
	"strings"

	"github.com/bindery/bindery/actionbinding"
	"github.com/bindery/bindery/jcs"
)

// DefaultType is the action type of a tool for which none is declared.
const DefaultType = "mcp.tools/call"

const (
	maxPointers = 64   // of one list in a declaration
	maxTemplate = 1024 // bytes
)

// A Declaration is what the operator says of one tool. The zero value says nothing: the default
// verb, all arguments govern, numbers as the input schema has them. It is not the upstream's word,
// and overrules it.
type Declaration struct {
	actionType string
	governed   []string  // pointers in byte order; nil: all arguments
	template   []segment // of the scope; nil: none
	numbers    []numbers // the longest pointer first
	requireID  answer
	status     *Status
}

// numbers says how the spellings of the numbers at and below a pointer are taken.
type numbers struct {
	pointer  string
	distinct bool // else equal
}

type answer uint8

const (
	unsaid answer = iota
	yes
	no
)

// ParseDeclaration reads one tool's entry in the configuration, a closed object in which everything
// may be left out:
//
//	action_type           the verb, such as payments.transfer
//	governed              JSON Pointers into the arguments: those that tell operations apart
//	scope                 what comes before the default scope: a text with {/pointer} for a governed
//	                      text, number or truth value, {upstream} and {tool}
//	numbers               "equal" or "distinct", for all numbers or by pointer: {"/amount":"equal"}
//	require_execution_id  true or false
//	status                how to ask what became of a call; see [Status]
//
// The error is a *[jcs.MemberError].
func ParseDeclaration(v jcs.Value) (Declaration, error) {
	r := jcs.NewReader(v)
	var d Declaration
	if text, ok := r.OptText("action_type"); ok {
		if d.actionType = text; text == "" || len(text) > actionbinding.MaxType {
			r.Fail("action_type", "empty, or longer than its limit")
		}
	}
	if list := r.OptValue("governed"); list.Type() != jcs.Absent {
		d.governed = readPointers(r, list)
	}
	if text, ok := r.OptText("scope"); ok {
		var rule string
		if d.template, rule = parseTemplate(text, d.governed); rule != "" {
			r.Fail("scope", rule)
		}
	}
	if words := r.OptValue("numbers"); words.Type() != jcs.Absent {
		var rule string
		if d.numbers, rule = readNumbers(words); rule != "" {
			r.Fail("numbers", rule)
		}
	}
	if v := r.OptValue("require_execution_id"); v.Type() != jcs.Absent {
		d.requireID = no
		if r.Bool("require_execution_id") {
			d.requireID = yes
		}
	}
	if v := r.OptValue("status"); v.Type() != jcs.Absent {
		d.status = readStatus(r.Object("status"))
	}
	if err := r.Close(); err != nil {
		return Declaration{}, err
	}
	return d, nil
}

func readPointers(r *jcs.Reader, list jcs.Value) []string {
	if list.Type() != jcs.ArrayType || list.Len() == 0 || list.Len() > maxPointers {
		r.Fail("governed", "not a list of 1 to 64 JSON Pointers; leave it out for all arguments")
		return nil
	}
	var out []string
	for item := range list.Items() {
		text, ok := item.Text()
		if !ok || text == "" || len(text) > maxPointer || !isPointer(text) {
			r.Fail("governed", "holds what is no JSON Pointer to an argument")
			return nil
		}
		out = append(out, text)
	}
	slices.Sort(out)
	if len(slices.Compact(slices.Clone(out))) != len(out) {
		r.Fail("governed", "names a pointer twice")
	}
	return out
}

func readNumbers(v jcs.Value) (list []numbers, rule string) {
	add := func(pointer string, word jcs.Value) bool {
		text, _ := word.Text()
		list = append(list, numbers{pointer, text == "distinct"})
		return (text == "equal" || text == "distinct") && isPointer(pointer) && len(pointer) <= maxPointer
	}
	if v.Type() != jcs.ObjectType {
		if !add("", v) {
			return nil, "not equal or distinct"
		}
		return list, ""
	}
	for pointer, word := range v.Members() {
		if !add(pointer, word) || len(list) > maxPointers {
			return nil, "not up to 64 JSON Pointers with equal or distinct"
		}
	}
	slices.SortStableFunc(list, func(a, b numbers) int { return len(b.pointer) - len(a.pointer) })
	return list, ""
}

// said is what the declaration says of the number at pointer: of several that cover it, the
// longest.
func (d Declaration) said(pointer string) (distinct, ok bool) {
	for _, n := range d.numbers {
		if covers(n.pointer, pointer) {
			return n.distinct, true
		}
	}
	return false, false
}

// Type returns the action type of the tool's calls.
func (d Declaration) Type() string {
	if d.actionType == "" {
		return DefaultType
	}
	return d.actionType
}

// Governed returns the pointers of the arguments that tell operations apart, in byte order; none
// means all arguments.
func (d Declaration) Governed() []string { return slices.Clone(d.governed) }

// Status returns the declared status query, nil if there is none.
func (d Declaration) Status() *Status { return d.status }

// A segment is a part of a scope template.
type segment struct {
	literal string
	hole    string // "upstream", "tool", or a pointer; "" for a literal
}

// parseTemplate accepts printable ASCII but the bar, which ends the template in a scope, with holes
// in braces. A hole that is not governed would give one operation two scopes.
func parseTemplate(text string, governed []string) (list []segment, rule string) {
	if text == "" || len(text) > maxTemplate {
		return nil, "empty, or longer than 1024 bytes"
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' || r == '|' }) {
		return nil, "holds what is not printable ASCII, or a bar"
	}
	for text != "" {
		literal, rest, open := strings.Cut(text, "{")
		if strings.Contains(literal, "}") {
			return nil, "has a brace without the other"
		}
		if literal != "" {
			list = append(list, segment{literal: literal})
		}
		if !open {
			return list, ""
		}
		hole, after, closed := strings.Cut(rest, "}")
		if !closed {
			return nil, "has a brace without the other"
		}
		if !isHole(hole, governed) {
			return nil, "has a hole that is not upstream, tool or the pointer of a governed argument"
		}
		list = append(list, segment{hole: hole})
		text = after
	}
	return list, ""
}

func isHole(hole string, governed []string) bool {
	if hole == "upstream" || hole == "tool" {
		return true
	}
	if hole == "" || !isPointer(hole) {
		return false
	}
	return governed == nil || slices.ContainsFunc(governed, func(g string) bool { return covers(g, hole) })
}
