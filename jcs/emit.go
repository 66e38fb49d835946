package jcs

import (
	"cmp"
	"slices"
	"sort"
)

// resume is an object that emit has begun: the members that are still to write, and the span of
// the surrounding text to go on with after it.
type resume struct {
	next, last int    // in members
	pos, end   uint32 // in text
}

// emit writes the parsed text with every object in order. Each byte is copied once, whatever the
// nesting: spans between unsorted objects go out as they are.
func (p *parser) emit() []byte {
	if len(p.objects) == 0 {
		return p.text
	}
	slices.SortFunc(p.objects, func(a, b object) int { return cmp.Compare(a.start, b.start) })
	dst := make([]byte, 0, len(p.text))
	var stack []resume
	pos, end := uint32(0), uint32(len(p.text))
	for {
		if o, ok := p.unsortedIn(pos, end); ok {
			dst = append(dst, p.text[pos:o.start]...)
			dst = append(dst, '{')
			stack = append(stack, resume{o.first, o.last, o.end, end})
		} else {
			dst = append(dst, p.text[pos:end]...)
			if len(stack) == 0 {
				return dst
			}
		}
		top := &stack[len(stack)-1]
		if top.next == top.last {
			dst = append(dst, '}')
			pos, end = top.pos, top.end
			stack = stack[:len(stack)-1]
			continue
		}
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		m := p.members[top.next]
		pos, end = m.start, m.end
		top.next++
	}
}

// unsortedIn returns the first unsorted object that begins in the span of text.
func (p *parser) unsortedIn(pos, end uint32) (object, bool) {
	i := sort.Search(len(p.objects), func(i int) bool { return p.objects[i].start >= pos })
	if i < len(p.objects) && p.objects[i].start < end {
		return p.objects[i], true
	}
	return object{}, false
}
