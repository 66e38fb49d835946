package toolaction

import (
	"slices"
	"strings"

	"github.com/bindery/bindery/jcs"
)

// scope is the action_scope of a call with these canonical arguments.
func (t Tool) scope(arguments jcs.Value) (string, *Error) {
	var b strings.Builder
	for _, s := range t.Declaration.template {
		text := s.literal
		if s.hole != "" {
			var err *Error
			if text, err = t.fill(s.hole, arguments); err != nil {
				return "", err
			}
		}
		b.WriteString(text)
	}
	if len(t.Declaration.template) > 0 {
		b.WriteByte('|') // no template has one, and no name, since names are escaped
	}
	if p := t.Declaration.similar(arguments); p != "" {
		return "", refuse(Invalid, p, "a name that is that of a governed argument but for its case", "leave it out, or spell it as the tool does")
	}
	governed := t.Declaration.governing(arguments)
	b.WriteString("mcp:" + escaped(t.Upstream) + "/" + escaped(t.Name) + "#sha256:" + string(jcs.HexOf(governed)))
	return b.String(), nil
}

// governing is what tells operations apart, as canonical JSON: the arguments, or of some of them an
// array. Where a pointer leads nowhere its row has no value, which is not null.
func (d Declaration) governing(arguments jcs.Value) []byte {
	if d.governed == nil {
		return arguments.Bytes()
	}
	rows := make([][]byte, 0, len(d.governed))
	for _, p := range d.governed {
		if v := at(arguments, p); v.Type() != jcs.Absent {
			rows = append(rows, jcs.Array(jcs.String(p), v.Bytes()))
		} else {
			rows = append(rows, jcs.Array(jcs.String(p)))
		}
	}
	return jcs.Array(rows...)
}

// similar is where an argument stands whose name is that of a governed one, or of what holds one,
// but for its case; "" for nowhere. It would not govern, and an upstream that reads names in any
// case could act on it. Where all arguments govern it is bound like any other.
func (d Declaration) similar(arguments jcs.Value) string {
	for _, p := range d.governed {
		v, above := arguments, ""
		for _, t := range tokens(p) {
			for name := range v.Members() {
				if name == t || !strings.EqualFold(name, t) {
					continue
				}
				if at := above + pointer([]step{{name, -1}}); !d.governs(at) {
					return at
				}
			}
			v, above = child(v, t), above+pointer([]step{{t, -1}})
		}
	}
	return ""
}

// governs reports whether what stands at a pointer governs, or holds what does.
func (d Declaration) governs(at string) bool {
	return slices.ContainsFunc(d.governed, func(g string) bool { return covers(g, at) || covers(at, g) })
}

func (t Tool) fill(hole string, arguments jcs.Value) (string, *Error) {
	switch hole {
	case "upstream":
		return escaped(t.Upstream), nil
	case "tool":
		return escaped(t.Name), nil
	}
	v := at(arguments, hole)
	switch v.Type() {
	case jcs.StringType:
		text, _ := v.Text()
		return escaped(text), nil
	case jcs.NumberType, jcs.BoolType:
		return escaped(string(v.Bytes())), nil
	}
	return "", refuse(Invalid, hole, "the scope names this argument, which is no text, number or truth value", "give it")
}

// escaped writes every byte but the unreserved of RFC 3986 as %XX, so that a name holds nothing
// that means something in a scope, and two names are never one.
func escaped(s string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("._~-", c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteString(string([]byte{'%', digits[c>>4], digits[c&15]}))
		}
	}
	return b.String()
}
