package toolaction

import (
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/bindery/bindery/jcs"
)

// A verdict says what a schema makes of a number at one place.
type verdict uint8

const (
	silent   verdict = iota // it does not say that there is one
	settles                 // there is a number, which is equal by value
	excludes                // there is none
)

// Limits of one schema and one call. What lies beyond is silent.
const (
	maxSchema = 256 << 10 // bytes of the canonical schema
	maxNodes  = 20_000    // schemas within the schema
	maxRefs   = 256       // places that $ref names
	maxHops   = 32        // of $ref, allOf, anyOf and oneOf at one place
	maxWork   = 200_000   // nodes looked at for all numbers of a call
	maxPrefix = 256       // items that are told apart by their index
)

// both joins what two schemas say that hold together.
func both(a, b verdict) verdict {
	switch {
	case a == excludes || b == excludes:
		return excludes
	case a == settles || b == settles:
		return settles
	}
	return silent
}

// A node is what is known of one schema.
type node struct {
	opaque bool    // nothing is
	number verdict // of type, const and enum
	object bool    // type admits an object
	array  bool    // and an array

	ref *node
	all []*node
	any [][]*node // each list of anyOf and oneOf

	members map[string]*node
	rest    *node // of members that are not in members; nil if it is not known
	prefix  []*node
	items   *node // of items after prefix
}

// A schema is a tool's input schema, compiled for the calls that need it.
type schema struct {
	root  *node
	width int // items that are told apart by their index
	work  int

	text    jcs.Value
	refs    map[string]*node // by pointer: so a schema may refer to itself
	nodes   int
	dialect dialect
}

// A dialect is what the revisions of JSON Schema do differently that matters here.
type dialect struct {
	unknown       bool
	refAlone      bool // what stands beside $ref counts for nothing
	arrayItems    bool // an array in items is a list of prefixes, and prefixItems means nothing
	integerTokens bool // 1.0 is no integer, and $id is id
}

func dialectOf(v jcs.Value) dialect {
	declared := v.Get("$schema")
	if declared.Type() == jcs.Absent {
		return dialect{} // MCP: 2020-12
	}
	name, _ := declared.Text()
	name = strings.TrimSuffix(name, "#")
	name = strings.TrimPrefix(strings.TrimPrefix(name, "https://"), "http://")
	switch name {
	case "json-schema.org/draft/2020-12/schema":
		return dialect{}
	case "json-schema.org/draft/2019-09/schema":
		return dialect{arrayItems: true}
	case "json-schema.org/draft-07/schema", "json-schema.org/draft-06/schema":
		return dialect{arrayItems: true, refAlone: true}
	case "json-schema.org/draft-04/schema", "json-schema.org/draft-03/schema":
		return dialect{arrayItems: true, refAlone: true, integerTokens: true}
	}
	return dialect{unknown: true}
}

// compile reads a schema. It cannot fail: what it does not understand is silent.
func compile(v jcs.Value) *schema {
	s := &schema{text: v, refs: map[string]*node{}, dialect: dialectOf(v)}
	if s.dialect.unknown || v.Type() == jcs.Absent || len(v.Bytes()) > maxSchema {
		s.root = &node{opaque: true}
		return s
	}
	s.root = s.resolve("#")
	if s.nodes > maxNodes {
		s.root = &node{opaque: true}
	}
	return s
}

// resolve compiles the schema that a $ref names, once.
func (s *schema) resolve(ref string) *node {
	fragment, ok := strings.CutPrefix(ref, "#")
	if fragment = unescaped(fragment); !ok || !isPointer(fragment) {
		return &node{opaque: true} // another document, or an anchor
	}
	if n, known := s.refs[fragment]; known {
		return n
	}
	if len(s.refs) > maxRefs {
		return &node{opaque: true}
	}
	n := &node{}
	s.refs[fragment] = n
	v, local := s.text, true
	for _, t := range tokens(fragment) {
		v = child(v, t)
		local = local && !s.elsewhere(v)
	}
	if local {
		s.fill(n, v, fragment == "")
	} else {
		n.opaque = true
	}
	return n
}

// elsewhere reports whether a schema has an identity of its own, from which references in it start.
func (s *schema) elsewhere(v jcs.Value) bool {
	name := "$id"
	if s.dialect.integerTokens {
		name = "id"
	}
	return v.Get(name).Type() == jcs.StringType
}

// unescaped decodes the %XX of a fragment; what is none stays, and names no place.
func unescaped(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if c, err := hex.DecodeString(s[i+1 : i+3]); err == nil {
				b.WriteByte(c[0])
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func (s *schema) compile(v jcs.Value) *node {
	n := &node{}
	s.fill(n, v, false)
	return n
}

func (s *schema) list(v jcs.Value) (list []*node) {
	for item := range v.Items() {
		list = append(list, s.compile(item))
	}
	return list
}

func (s *schema) fill(n *node, v jcs.Value, root bool) {
	if s.nodes++; s.nodes > maxNodes {
		n.opaque = true
		return
	}
	if b, ok := v.Bool(); ok {
		n.opaque = b
		if !b {
			n.number = excludes // and object and array stay false
		}
		return
	}
	if v.Type() != jcs.ObjectType || !root && s.elsewhere(v) {
		n.opaque = true
		return
	}
	if ref := v.Get("$ref"); ref.Type() != jcs.Absent {
		text, ok := ref.Text()
		if n.ref = (&node{opaque: true}); ok {
			n.ref = s.resolve(text)
		}
		if s.dialect.refAlone {
			n.object, n.array = true, true
			return
		}
	}
	if !s.types(n, v) {
		*n = node{opaque: true}
		return
	}
	n.all = s.list(v.Get("allOf"))
	for _, name := range []string{"anyOf", "oneOf"} {
		if branches := v.Get(name); branches.Type() != jcs.Absent {
			n.any = append(n.any, s.list(branches))
		}
	}
	s.properties(n, v)
	s.elements(n, v)
}

// types reads type, or where there is none const and enum. It returns false for a type that is none.
func (s *schema) types(n *node, v jcs.Value) bool {
	declared := v.Get("type")
	if declared.Type() == jcs.Absent {
		n.object, n.array = true, true
		if list := v.Get("enum"); list.Type() == jcs.ArrayType {
			n.number = excludes
			for item := range list.Items() {
				if item.Type() == jcs.NumberType {
					n.number = settles
				}
			}
		}
		if c := v.Get("const"); c.Type() == jcs.NumberType {
			n.number = both(n.number, settles)
		} else if c.Type() != jcs.Absent {
			n.number = excludes
		}
		return true
	}
	names := []jcs.Value{declared}
	if declared.Type() == jcs.ArrayType {
		names = names[:0]
		for item := range declared.Items() {
			names = append(names, item)
		}
	}
	n.number = excludes
	for _, name := range names {
		switch text, _ := name.Text(); text {
		case "number":
			n.number = settles
		case "integer":
			if !s.dialect.integerTokens {
				n.number = settles
			} else if n.number == excludes {
				n.number = silent
			}
		case "object":
			n.object = true
		case "array":
			n.array = true
		case "string", "boolean", "null":
		default:
			return false
		}
	}
	return true
}

func (s *schema) properties(n *node, v jcs.Value) {
	n.members = map[string]*node{}
	for name, sub := range v.Get("properties").Members() {
		n.members[name] = s.compile(sub)
	}
	// A member that a pattern matches is not among the rest.
	if rest := v.Get("additionalProperties"); rest.Type() != jcs.Absent && v.Get("patternProperties").Type() == jcs.Absent {
		n.rest = s.compile(rest)
	}
}

func (s *schema) elements(n *node, v jcs.Value) {
	prefix, items := v.Get("prefixItems"), v.Get("items")
	if s.dialect.arrayItems {
		prefix = jcs.Value{}
		if items.Type() == jcs.ArrayType {
			prefix, items = items, v.Get("additionalItems")
		}
	}
	if prefix.Len() > maxPrefix {
		return
	}
	n.prefix = s.list(prefix)
	if items.Type() != jcs.Absent {
		n.items = s.compile(items)
	}
	s.width = max(s.width, len(n.prefix))
}

// class is one text for all places of which the schema says the same: items after every prefix are
// one.
func (s *schema) class(path []step) string {
	same := make([]step, len(path))
	for i, p := range path {
		same[i] = p
		if p.index > s.width {
			same[i].index = s.width
		}
	}
	var b strings.Builder
	for _, p := range same {
		b.WriteString(strconv.Itoa(p.index) + ":" + strconv.Itoa(len(p.name)) + ":" + p.name)
	}
	return b.String()
}

// of returns what the schema says of a number at a place in the arguments.
func (s *schema) of(path []step) verdict {
	v := s.at(s.root, path, 0)
	if s.work > maxWork {
		return silent
	}
	return v
}

func (s *schema) at(n *node, path []step, hops int) verdict {
	if s.work++; n == nil || n.opaque || hops > maxHops || s.work > maxWork {
		return silent
	}
	v := s.own(n, path)
	if n.ref != nil {
		v = both(v, s.at(n.ref, path, hops+1))
	}
	for _, sub := range n.all {
		v = both(v, s.at(sub, path, hops+1))
	}
	for _, branches := range n.any {
		v = both(v, s.one(branches, path, hops+1))
	}
	return v
}

// one is what a list of branches says of which one or more hold: those that exclude the number are
// passed over, and the others have to settle it all.
func (s *schema) one(branches []*node, path []step, hops int) verdict {
	v := excludes
	for _, b := range branches {
		switch s.at(b, path, hops) {
		case silent:
			return silent
		case settles:
			v = settles
		}
	}
	return v
}

// own is what a node says itself, without what it refers to or is made of.
func (s *schema) own(n *node, path []step) verdict {
	if len(path) == 0 {
		return n.number
	}
	next := path[0]
	if next.index < 0 {
		if !n.object {
			return excludes
		}
		if sub, ok := n.members[next.name]; ok {
			return s.at(sub, path[1:], 0)
		}
		return s.at(n.rest, path[1:], 0)
	}
	switch {
	case !n.array:
		return excludes
	case next.index < len(n.prefix):
		return s.at(n.prefix[next.index], path[1:], 0)
	}
	return s.at(n.items, path[1:], 0)
}
