package jcs

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// A parser reads a text once and writes its tokens in canonical spelling, in document order, to
// text. An object whose names turn out not to ascend is remembered with its members, so that emit
// can write it in order. Neither recursion nor a map is involved: nesting lives in frames.
type parser struct {
	profile Profile
	src     []byte
	i       int
	valid   bool   // src is valid UTF-8 as a whole, so that strings need no further look
	text    []byte // canonical tokens, members still in document order
	frames  []frame
	open    []member // members of the open objects, the innermost object's last
	objects []object // unsorted objects, in the order in which they closed
	members []member // their members, sorted
}

// frame is one open container.
type frame struct {
	array    bool
	unsorted bool
	start    uint32 // where it begins in text
	first    int    // its first member in open
}

// member is one member as it stands in text.
type member struct {
	name
	end uint32 // after its value
	src uint32 // the opening quote of its name in the input
}

// object is an object that emit has to reorder.
type object struct {
	start, end  uint32 // its span in text
	first, last int    // its span in members
}

// state says what may come next.
type state uint8

const (
	wantValue state = iota
	wantFirstItem
	wantFirstName
	wantName
	wantComma
	finished
)

func newParser(p Profile, src []byte) *parser {
	return &parser{
		profile: p,
		src:     src,
		valid:   utf8.Valid(src),
		text:    make([]byte, 0, len(src)),
	}
}

func (p *parser) run() *Error {
	now := wantValue
	for {
		p.space()
		var err *Error
		switch now {
		case wantFirstItem:
			if now = wantValue; p.peek() == ']' {
				now, err = p.closeContainer()
			}
		case wantFirstName:
			if now = wantName; p.peek() == '}' {
				now, err = p.closeContainer()
			}
		case wantValue:
			now, err = p.value()
		case wantName:
			now, err = p.name()
		case wantComma:
			now, err = p.comma()
		case finished:
			if p.i < len(p.src) {
				return p.unexpected(p.i)
			}
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (p *parser) space() {
	for p.i < len(p.src) {
		switch p.src[p.i] {
		case ' ', '\t', '\n', '\r':
			p.i++
		default:
			return
		}
	}
}

// peek returns the next byte, or NUL at the end: no state admits a NUL.
func (p *parser) peek() byte {
	if p.i < len(p.src) {
		return p.src[p.i]
	}
	return 0
}

func (p *parser) unexpected(i int) *Error {
	rest := p.src[i:]
	switch {
	case len(rest) == 0:
		return &Error{KindSyntax, i, "unexpected end"}
	case invalidRune(rest):
		return &Error{KindUTF8, i, "invalid UTF-8"}
	case i == 0 && bytes.HasPrefix(rest, []byte("\uFEFF")):
		return &Error{KindSyntax, i, "byte order mark"}
	}
	return &Error{KindSyntax, i, ruleUnexpected}
}

func invalidRune(b []byte) bool {
	r, n := utf8.DecodeRune(b)
	return r == utf8.RuneError && n == 1
}

// value takes a scalar, or the opening bracket of a container.
func (p *parser) value() (state, *Error) {
	switch c := p.peek(); {
	case c == '{' || c == '[':
		return p.openContainer(c)
	case c == '"':
		_, err := p.str()
		return p.done(), err
	case c == '-' || isDigit(c):
		return p.done(), p.number()
	case c == 't':
		return p.done(), p.literal("true")
	case c == 'f':
		return p.done(), p.literal("false")
	case c == 'n':
		return p.done(), p.literal("null")
	}
	return 0, p.unexpected(p.i)
}

// done is the state after a complete value.
func (p *parser) done() state {
	if len(p.frames) == 0 {
		return finished
	}
	return wantComma
}

func (p *parser) openContainer(c byte) (state, *Error) {
	if len(p.frames) == p.profile.depth() {
		return 0, &Error{KindDepth, p.i, "nested too deeply"}
	}
	p.frames = append(p.frames, frame{array: c == '[', start: uint32(len(p.text)), first: len(p.open)})
	p.text = append(p.text, c)
	p.i++
	if c == '[' {
		return wantFirstItem, nil
	}
	return wantFirstName, nil
}

// comma takes what follows a value inside a container: a comma or the closing bracket.
func (p *parser) comma() (state, *Error) {
	f := &p.frames[len(p.frames)-1]
	closing := byte('}')
	if f.array {
		closing = ']'
	}
	if c := p.peek(); c != ',' && c != closing {
		return 0, p.unexpected(p.i)
	}
	if !f.array {
		p.open[len(p.open)-1].end = uint32(len(p.text))
	}
	if p.peek() == closing {
		return p.closeContainer()
	}
	p.text = append(p.text, ',')
	p.i++
	if f.array {
		return wantValue, nil
	}
	return wantName, nil
}

// closeContainer takes the closing bracket of the innermost container.
func (p *parser) closeContainer() (state, *Error) {
	f := p.frames[len(p.frames)-1]
	p.text = append(p.text, p.src[p.i])
	if f.unsorted {
		if err := p.sort(f); err != nil {
			return 0, err
		}
	}
	p.i++
	p.open = p.open[:f.first]
	p.frames = p.frames[:len(p.frames)-1]
	return p.done(), nil
}

// sort moves the members of an unsorted object to the index, in order.
func (p *parser) sort(f frame) *Error {
	first := len(p.members)
	p.members = append(p.members, p.open[f.first:]...)
	sorted := p.members[first:]
	if err := p.repeated(sorted); err != nil {
		return err
	}
	p.objects = append(p.objects, object{f.start, uint32(len(p.text)), first, len(p.members)})
	return nil
}

// repeated sorts members and returns the error for the first repeated name among them, if any.
func (p *parser) repeated(members []member) *Error {
	slices.SortFunc(members, func(a, b member) int {
		if c := compareNames(p.text, a.name, b.name); c != 0 {
			return c
		}
		return int(a.src) - int(b.src)
	})
	offset := -1
	for i := 1; i < len(members); i++ {
		a, b := members[i-1], members[i]
		if compareNames(p.text, a.name, b.name) == 0 && (offset < 0 || int(b.src) < offset) {
			offset = int(b.src)
		}
	}
	if offset < 0 {
		return nil
	}
	return &Error{KindDuplicate, offset, "member name repeated"}
}

// first returns the error with the lowest offset, given the one that ended the parse: a name may
// have been repeated before it in an object that is still open.
func (p *parser) first(err *Error) *Error {
	for i, f := range p.frames {
		last := len(p.open)
		if i+1 < len(p.frames) {
			last = p.frames[i+1].first
		}
		if !f.unsorted {
			continue
		}
		if e := p.repeated(p.open[f.first:last]); e != nil && e.Offset < err.Offset {
			err = e
		}
	}
	return err
}

// name takes a member name and its colon.
func (p *parser) name() (state, *Error) {
	if p.peek() != '"' {
		return 0, p.unexpected(p.i)
	}
	m := member{src: uint32(p.i)}
	m.start = uint32(len(p.text))
	var err *Error
	if m.escaped, err = p.str(); err != nil {
		return 0, err
	}
	m.name.end = uint32(len(p.text))
	f := &p.frames[len(p.frames)-1]
	if n := len(p.open); n > f.first && !f.unsorted {
		f.unsorted = compareNames(p.text, p.open[n-1].name, m.name) >= 0
	}
	p.open = append(p.open, m)
	p.space()
	if p.peek() != ':' {
		return 0, p.unexpected(p.i)
	}
	p.text = append(p.text, ':')
	p.i++
	return wantValue, nil
}

func (p *parser) number() *Error {
	end, plain, rule := scanNumber(p.src, p.i)
	switch rule {
	case "":
	case ruleLeadingZero:
		return &Error{KindSyntax, end, rule}
	default:
		return p.unexpected(end)
	}
	p.text, rule = p.profile.appendNumber(p.text, p.src[p.i:end], plain)
	if rule != "" {
		return &Error{KindNumber, p.i, rule}
	}
	p.i = end
	return nil
}

func (p *parser) literal(word string) *Error {
	for i := range len(word) {
		if p.i+i == len(p.src) || p.src[p.i+i] != word[i] {
			return p.unexpected(p.i + i)
		}
	}
	p.text = append(p.text, word...)
	p.i += len(word)
	return nil
}
