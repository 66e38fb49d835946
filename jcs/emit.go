package jcs

// resume is an object that emit has begun: the members that are still to write, and the text to
// go on with behind it.
type resume struct {
	next, last uint32 // in members
	pos, end   uint32 // in the text
	after      uint32 // the first of objects that may lie there
}

// emit appends text, with the members of every object in order. Each byte is copied once, whatever
// the nesting: what lies between unsorted objects goes out as it is. A member goes out with the
// byte behind it, which in the text is a comma or the closing bracket, and here becomes the one or
// the other. dst and text must not overlap.
func (p *parser) emit(dst, text []byte) []byte {
	stack := p.resumes[:0]
	pos, end, next := uint32(0), uint32(len(text)), uint32(0)
	for {
		for int(next) < len(p.objects) && p.objects[next].start < end && p.objects[next].first == p.objects[next].last {
			next++ // sorted itself, with an unsorted one inside
			p.work++
		}
		if int(next) < len(p.objects) && p.objects[next].start < end {
			o := &p.objects[next]
			dst = append(dst, text[pos:o.start+1]...)
			p.work += int(o.start + 1 - pos)
			stack = append(stack, resume{o.first, o.last, o.end, end, o.after})
		} else {
			dst = append(dst, text[pos:end]...)
			p.work += int(end - pos)
			if len(stack) == 0 {
				p.resumes = stack
				return dst
			}
			dst[len(dst)-1] = ','
		}
		top := &stack[len(stack)-1]
		if top.next == top.last {
			dst[len(dst)-1] = '}'
			pos, end, next = top.pos, top.end, top.after
			stack = stack[:len(stack)-1]
			continue
		}
		m := &p.members[top.next]
		pos, end, next = m.start, m.end+1, m.inner
		top.next++
	}
}
