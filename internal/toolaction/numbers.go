package toolaction

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/bindery/bindery/jcs"
)

// A Number is a number in the arguments whose spelling is not canonical, and who settled it.
type Number struct {
	Pointer string // into the arguments
	Token   string // as it was sent
	Form    string // as it is forwarded; "" if it has no form of the same value
	By      string // "declaration", "inputSchema sha256:…", or "" if nobody did
	Refusal string // "", or the name under which the call is refused for it
}

// settle returns the canonical arguments and who settled the spelling of their numbers, or the
// refusal of the first number that nobody settled.
func (t Tool) settle(arguments []byte, report func(Number)) (jcs.Value, string, *Error) {
	if arguments == nil {
		arguments = []byte("{}")
	}
	v, odd, err := read(arguments)
	if err != nil {
		return jcs.Value{}, "", err
	}
	if !odd {
		return v, CanonicalSpelling, nil
	}
	s := &settler{tool: t, report: report, verdicts: map[string]verdict{}}
	w := walker{src: arguments, visit: s.number}
	w.value()
	if s.refusal != nil {
		return jcs.Value{}, "", s.refusal
	}
	return v, strings.Join(s.by(), ", "), nil
}

// A settler asks declaration and schema for each number of one call.
type settler struct {
	tool     Tool
	report   func(Number)
	refusal  *Error // of the first number that is refused
	declared bool   // the declaration settled one
	schema   *schema
	schemaBy string // "inputSchema sha256:…" once it settled one
	verdicts map[string]verdict
}

func (s *settler) by() (list []string) {
	if s.declared {
		list = append(list, "declaration")
	}
	if s.schemaBy != "" {
		list = append(list, s.schemaBy)
	}
	return list
}

// number looks at one number token. It returns false when nothing more has to be looked at.
func (s *settler) number(path []step, token []byte) bool {
	form, err := jcs.Profile{Numbers: jcs.DoubleNumbers}.Append(nil, token)
	if err == nil && bytes.Equal(form, token) {
		return true
	}
	n := Number{Pointer: pointer(path), Token: string(token)}
	var refusal *Error
	if err != nil || !sameValue(string(token), string(form)) {
		refusal = inexact(n.Pointer)
	} else {
		n.Form = string(form)
		n.By, refusal = s.adjudicate(path, n.Pointer)
	}
	if refusal != nil {
		n.Refusal = refusal.Name
		if s.refusal == nil {
			s.refusal = refusal
		}
	}
	if s.report != nil {
		s.report(n)
		return true
	}
	return s.refusal == nil
}

func (s *settler) adjudicate(path []step, pointer string) (by string, refusal *Error) {
	if distinct, ok := s.tool.Declaration.said(pointer); ok {
		if distinct {
			return "declaration", refuse(Invalid, pointer, "a number in another than its canonical spelling, where the declaration keeps spellings distinct", "spell it canonically, as 1 and not 1.0")
		}
		s.declared = true
		return "declaration", nil
	}
	if s.schema == nil {
		s.schema = compile(s.tool.InputSchema)
	}
	key := s.schema.class(path)
	settled, known := s.verdicts[key]
	if !known {
		settled = s.schema.of(path)
		s.verdicts[key] = settled
	}
	if settled == settles {
		if s.schemaBy == "" {
			s.schemaBy = "inputSchema sha256:" + string(jcs.HexOf(s.tool.InputSchema.Bytes()))
		}
		return s.schemaBy, nil
	}
	return "", refuse(SemanticsUndeclared, pointer, "a number in another than its canonical spelling, and neither the tool's input schema nor its declaration says that it is one", "spell it canonically, as 1 and not 1.0, or let the operator declare numbers for the tool")
}

// A walker goes over the text of a JSON document that jcs has accepted, and visits its numbers.
type walker struct {
	src   []byte
	pos   int
	path  []step
	visit func(path []step, token []byte) bool
	done  bool
}

// value goes over one value and the white space around it.
func (w *walker) value() {
	w.space()
	switch w.src[w.pos] {
	case '{':
		w.container('}', func(int) step {
			w.space()
			begin := w.pos
			w.text()
			name := nameOf(w.src[begin:w.pos])
			w.space()
			w.pos++ // the colon
			return step{name, -1}
		})
	case '[':
		w.container(']', func(i int) step { return step{"", i} })
	case '"':
		w.text()
	default:
		begin := w.pos
		for w.pos < len(w.src) && bytes.IndexByte([]byte(" \t\r\n,]}"), w.src[w.pos]) < 0 {
			w.pos++
		}
		if c := w.src[begin]; c == '-' || '0' <= c && c <= '9' {
			w.done = !w.visit(w.path, w.src[begin:w.pos])
		}
	}
	w.space()
}

func (w *walker) container(end byte, into func(i int) step) {
	w.pos++
	w.space()
	for i := 0; !w.done && w.src[w.pos] != end; i++ {
		w.path = append(w.path, into(i))
		w.value()
		w.path = w.path[:len(w.path)-1]
		if !w.done && w.src[w.pos] == ',' {
			w.pos++
		}
	}
	w.pos++
}

func (w *walker) space() {
	for w.pos < len(w.src) && bytes.IndexByte([]byte(" \t\r\n"), w.src[w.pos]) >= 0 {
		w.pos++
	}
}

func (w *walker) text() {
	for w.pos++; w.src[w.pos] != '"'; w.pos++ {
		if w.src[w.pos] == '\\' {
			w.pos++
		}
	}
	w.pos++
}

// nameOf decodes a name as jcs does.
func nameOf(quoted []byte) string {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	v, err := jcs.Parse(quoted)
	if err != nil {
		return "" // jcs has accepted it as part of the document
	}
	name, _ := v.Text()
	return name
}

// sameValue compares the exact decimal values of two JSON numbers.
func sameValue(a, b string) bool {
	x, y := decimalOf(a), decimalOf(b)
	return x == y
}

// A decimal is a value as (−)0.digits × 10^exponent, with neither a leading nor a trailing zero.
type decimal struct {
	negative bool
	digits   string // "" for zero, which has no sign
	exponent int64
}

func decimalOf(token string) decimal {
	var d decimal
	token, d.negative = strings.CutPrefix(token, "-")
	mantissa := token
	if i := strings.IndexAny(token, "eE"); i >= 0 {
		mantissa, d.exponent = token[:i], saturated(token[i+1:])
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	d.exponent += int64(len(whole))
	digits := strings.TrimLeft(whole+fraction, "0")
	d.exponent -= int64(len(whole) + len(fraction) - len(digits))
	d.digits = strings.TrimRight(digits, "0")
	if d.digits == "" {
		return decimal{}
	}
	return d
}

// saturated reads an exponent. One that is beyond any token's length belongs to no value that
// binary64 has, and only has to stay so.
func saturated(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	const most = 1 << 40
	switch {
	case err != nil && strings.HasPrefix(s, "-"), n < -most:
		return -most
	case err != nil, n > most:
		return most
	}
	return n
}
