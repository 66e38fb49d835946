package jcs

import "slices"

// insertionLimit is the number of members up to which insertion is the faster sort.
const insertionLimit = 16

// sort moves the members of the object, which ends at offset i of src and whose names do not
// ascend, to the index.
func (p *parser) sort(f frame, i int) *Error {
	first := len(p.members)
	if first == 0 && f.first == 0 {
		p.members, p.open = p.open, p.members // the outermost object, and the only one so far
	} else {
		p.members = append(p.members, p.open[f.first:]...)
	}
	sorted := p.members[first:]
	if f.order == descending {
		slices.Reverse(sorted)
	} else if err := p.repeated(sorted, i); err != nil {
		return err
	}
	o := &p.objects[f.object]
	o.first, o.last = uint32(first), uint32(len(p.members))
	return nil
}

// repeated sorts members whose names lie before offset i of src, and returns the error for the
// first repeated name among them, if any.
func (p *parser) repeated(members []member, i int) *Error {
	if len(members) <= insertionLimit {
		p.insertionSort(members, i)
	} else {
		slices.SortFunc(members, func(a, b member) int { p.work++; return p.inOrder(&a, &b, i) })
	}
	offset := -1
	for j := 1; j < len(members); j++ {
		a, b := &members[j-1], &members[j]
		if a.key == b.key && p.compare(a, b, i) == 0 && (offset < 0 || int(b.src) < offset) {
			offset = int(b.src)
		}
	}
	if offset < 0 {
		return nil
	}
	return &Error{KindDuplicate, offset, "member name repeated"}
}

// inOrder is compare, with equal names in the order of the input.
func (p *parser) inOrder(a, b *member, i int) int {
	if c := p.compare(a, b, i); c != 0 {
		return c
	}
	return int(a.src) - int(b.src)
}

func (p *parser) insertionSort(members []member, i int) {
	for j := 1; j < len(members); j++ {
		m := members[j]
		k := j
		for ; k > 0 && (m.key < members[k-1].key || m.key == members[k-1].key && p.inOrder(&m, &members[k-1], i) < 0); k-- {
			members[k] = members[k-1]
		}
		members[k] = m
		p.work += j - k + 1
	}
}

// first returns the error with the lowest offset, given the one that ended the parse: a name may
// have been repeated before it in an object that is still open.
func (p *parser) first(err *Error) *Error {
	p.flush(len(p.src)) // the parse is over: nothing will be left out or replaced
	for k, f := range p.frames {
		if f.order != mixed {
			continue
		}
		last := len(p.open)
		if k+1 < len(p.frames) {
			last = int(p.frames[k+1].first)
		}
		if e := p.repeated(p.open[f.first:last], len(p.src)); e != nil && e.Offset < err.Offset {
			err = e
		}
	}
	return err
}
