package jcs

import (
	"bytes"
	"sync"
	"unicode/utf8"
)

// A parser reads a text once, in document order, and finds of every object whose names do not
// ascend where its members lie, so that emit can write them in order. There is no tree, no map
// and no recursion: what is open lies in frames, the rest in flat lists of offsets.
//
// Offsets of the canonical tokens, in document order, count in a text that exists only in part:
// what the input already spells canonically is not copied until something before it is left out
// or replaced. So the text is done, then src from kept on, and shift turns an offset of src
// into one of the text.
type parser struct {
	profile Profile
	src     []byte
	text    []byte // the part of the text that has been copied
	kept    int    // the first byte of src that has not been copied to text
	shift   int    // len(text) - kept
	frames  []frame
	open    []member // members of the open objects, the innermost object's last
	objects []object // in order of their start: those unsorted, or with one unsorted inside
	members []member // members of the unsorted objects, each object's together and sorted
	resumes []resume // for emit
	out     []byte   // for the digests
	work    int      // bytes copied, bytes of names compared, members moved: TestWork bounds it
}

// frame is one open container.
type frame struct {
	array  bool
	order  order
	object uint32 // an object's place in objects
	first  uint32 // its first member in open
}

// order says how the names of an object have come so far.
type order uint8

const (
	ascending  order = iota // each behind the one before it; also none and one
	descending              // each before the one before it; at least two
	mixed                   // otherwise, and whenever a name has been repeated at once
)

// member is one member as it stands in the text.
type member struct {
	key        uint64 // see nameKey
	start, end uint32 // from the opening quote of the name to behind the value
	src        uint32 // the opening quote of the name in the input
	inner      uint32 // the first of objects that may lie in the value
}

// object is one object as it stands in the text.
type object struct {
	start, end  uint32
	first, last uint32 // its span in members, empty unless it is unsorted
	after       uint32 // the first of objects behind it
}

// parsers holds parsers that have done their work, for their lists. What stands in those is never
// read again: the next text overwrites it.
var parsers = sync.Pool{New: func() any { return new(parser) }}

// keepAtMost bounds the memory of a parser that waits for the next text, in bytes.
const keepAtMost = 16 << 20

func newParser(profile Profile, src []byte) *parser {
	p := parsers.Get().(*parser)
	p.profile, p.src, p.kept, p.shift, p.work = profile, src, 0, 0, 0
	p.text, p.frames, p.open, p.objects, p.members = p.text[:0], p.frames[:0], p.open[:0], p.objects[:0], p.members[:0]
	return p
}

func (p *parser) release() {
	p.src = nil
	if cap(p.text)+cap(p.out)+24*(cap(p.open)+cap(p.members)+cap(p.objects)) <= keepAtMost {
		parsers.Put(p)
	}
}

// canonical returns the canonical form. It lies in memory of src or of the parser.
func (p *parser) canonical() []byte {
	text := p.src
	if p.kept > 0 {
		p.flush(len(p.src))
		text = p.text
	}
	if len(p.objects) == 0 {
		return text
	}
	p.out = p.emit(p.out[:0], text)
	return p.out
}

// runInvalid reads a text that is not valid UTF-8. Of its faults, that one counts unless another
// lies before it, and so does not need the rest: where the valid part merely breaks off, the fault
// is the invalid sequence.
func (p *parser) runInvalid() *Error {
	p.src = p.src[:validPrefix(p.src)]
	err := p.run()
	if err == nil || err.Offset == len(p.src) {
		err = &Error{KindUTF8, len(p.src), "invalid UTF-8"}
	}
	return err
}

func validPrefix(src []byte) int {
	i := 0
	for i < len(src) {
		r, n := utf8.DecodeRune(src[i:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		i += n
	}
	return i
}

func (p *parser) run() *Error {
	src, i := p.src, 0
	for {
		i = p.space(i)
		var err *Error
		switch c := at(src, i); c {
		case '"':
			i, _, err = p.str(i)
		case '{', '[':
			i, err = p.openContainer(i)
			if err != nil {
				return err
			}
			if at(src, i) != c+2 { // '{' and '}', '[' and ']' lie two apart
				if c == '{' {
					i, err = p.takeName(i)
				}
				if err != nil {
					return err
				}
				continue
			}
			i, err = p.closeContainer(i)
		case 't':
			i, err = p.literal(i, "true")
		case 'f':
			i, err = p.literal(i, "false")
		case 'n':
			i, err = p.literal(i, "null")
		default:
			if end := integerEnd(src, i); end > i {
				i = end
			} else {
				i, err = p.number(i)
			}
		}
		if err != nil {
			return err
		}

		// After a value: leave what ends here, then go to the next value.
		for {
			i = p.space(i)
			if len(p.frames) == 0 {
				if i < len(src) {
					return p.unexpected(i)
				}
				return nil
			}
			f := &p.frames[len(p.frames)-1]
			closing := byte(']')
			if !f.array {
				closing = '}'
				p.open[len(p.open)-1].end = uint32(i + p.shift)
			}
			c := at(src, i)
			if c == closing {
				if i, err = p.closeContainer(i); err != nil {
					return err
				}
				continue
			}
			if c != ',' {
				return p.unexpected(i)
			}
			i++
			if !f.array {
				if i, err = p.takeName(p.space(i)); err != nil {
					return err
				}
			}
			break
		}
	}
}

// space returns the offset of the next byte from i on that is not white space, and leaves the
// white space out of the text.
func (p *parser) space(i int) int {
	if i < len(p.src) && p.src[i] <= ' ' {
		return p.skipSpace(i)
	}
	return i
}

func (p *parser) skipSpace(i int) int {
	end := i
	for end < len(p.src) && (p.src[end] == ' ' || p.src[end] == '\n' || p.src[end] == '\r' || p.src[end] == '\t') {
		end++
	}
	if end > i {
		p.flush(i)
		p.keepFrom(end)
	}
	return end
}

// flush copies to the text what src holds up to i.
func (p *parser) flush(i int) {
	p.work += i - p.kept
	p.text = append(p.text, p.src[p.kept:i]...)
	p.kept = i
}

// keepFrom lets the text go on with src[i:], after a flush.
func (p *parser) keepFrom(i int) {
	p.kept = i
	p.shift = len(p.text) - i
}

func (p *parser) unexpected(i int) *Error {
	switch {
	case i == len(p.src):
		return &Error{KindSyntax, i, ruleEnd}
	case i == 0 && bytes.HasPrefix(p.src, []byte("\uFEFF")):
		return &Error{KindSyntax, i, "byte order mark"}
	}
	return &Error{KindSyntax, i, ruleUnexpected}
}

// openContainer takes the opening bracket at i and the space behind it.
func (p *parser) openContainer(i int) (int, *Error) {
	if len(p.frames) == p.profile.depth() {
		return i, &Error{KindDepth, i, "nested too deeply"}
	}
	f := frame{array: p.src[i] == '[', object: uint32(len(p.objects)), first: uint32(len(p.open))}
	if !f.array {
		p.objects = append(p.objects, object{start: uint32(i + p.shift)})
	}
	p.frames = append(p.frames, f)
	return p.space(i + 1), nil
}

// closeContainer takes the closing bracket at i of the innermost container.
func (p *parser) closeContainer(i int) (int, *Error) {
	f := p.frames[len(p.frames)-1]
	if !f.array {
		switch {
		case f.order != ascending:
			if err := p.sort(f, i); err != nil {
				return i, err
			}
		case int(f.object) == len(p.objects)-1:
			p.objects = p.objects[:f.object]
		}
		if int(f.object) < len(p.objects) {
			o := &p.objects[f.object]
			o.end = uint32(i + 1 + p.shift)
			o.after = uint32(len(p.objects))
		}
		p.open = p.open[:f.first]
	}
	p.frames = p.frames[:len(p.frames)-1]
	return i + 1, nil
}

// takeName takes the member name at i, its colon, and the space around it.
func (p *parser) takeName(i int) (int, *Error) {
	if at(p.src, i) != '"' {
		return i, p.unexpected(i)
	}
	p.open = append(p.open, member{src: uint32(i), start: uint32(i + p.shift), inner: uint32(len(p.objects))})
	m := &p.open[len(p.open)-1]
	end := plainRun(p.src, i+1)
	if at(p.src, end) == '"' {
		m.key = nameKey(p.src, i+1, end)
		end++
	} else {
		var escaped bool
		var err *Error
		if end, escaped, err = p.str(i); err != nil {
			p.open = p.open[:len(p.open)-1]
			return i, err
		}
		if escaped {
			p.flush(end)
			m.key = slowKey(p.name(m))
		}
	}
	f := &p.frames[len(p.frames)-1]
	if n := len(p.open) - 1; n > int(f.first) && f.order != mixed {
		switch c := p.compare(&p.open[n-1], m, end); {
		case c < 0 && f.order == ascending, c > 0 && f.order == descending:
		case c > 0 && n == int(f.first)+1:
			f.order = descending
		default:
			f.order = mixed
		}
	}
	end = p.space(end)
	if at(p.src, end) != ':' {
		return end, p.unexpected(end)
	}
	return end + 1, nil
}

// compare orders two members whose names lie before offset i of src.
func (p *parser) compare(a, b *member, i int) int {
	if a.key != b.key {
		if a.key < b.key {
			return -1
		}
		return 1
	}
	return p.compareTexts(a, b, i)
}

func (p *parser) compareTexts(a, b *member, i int) int {
	if p.kept < i {
		p.flush(i)
	}
	x, y := p.name(a), p.name(b)
	p.work += min(len(x), len(y))
	return compareNames(x, y)
}

// name returns the name of a member in the text, to where it has been copied, without the quotes.
func (p *parser) name(m *member) []byte {
	return p.text[m.start+1 : stringEnd(p.text, int(m.start))-1]
}

func (p *parser) literal(i int, word string) (int, *Error) {
	for j := range len(word) {
		if at(p.src, i+j) != word[j] {
			return i, p.unexpected(i + j)
		}
	}
	return i + len(word), nil
}

// number takes a number at i that is no canonical integer, or reports that no value begins there.
func (p *parser) number(i int) (int, *Error) {
	if c := at(p.src, i); c != '-' && !isDigit(c) {
		return i, p.unexpected(i)
	}
	end, plain, rule := scanNumber(p.src, i)
	switch rule {
	case "":
	case ruleLeadingZero:
		return i, &Error{KindSyntax, end, rule}
	default:
		return i, p.unexpected(end)
	}
	p.flush(i)
	p.text, rule = p.profile.appendNumber(p.text, p.src[i:end], plain)
	if rule != "" {
		return i, &Error{KindNumber, i, rule}
	}
	p.keepFrom(end)
	return end, nil
}
