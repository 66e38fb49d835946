package jcs

import (
	"encoding/binary"
	"math/bits"
)

// verifyDepth bounds the array of verify, which is cleared with each call; deeper texts are rare
// and take the general pass.
const verifyDepth = 16

// lastName is the latest name of an open object. The zero value stands before every name but the
// empty one, whose key is zero as well: end tells them apart.
type lastName struct {
	key        uint64
	start, end uint32 // between the quotes; end is 0 before the first name
}

// verify reports whether the valid UTF-8 src is canonical with at most maxDepth levels. It is one
// scan that allocates nothing: names that are strictly ascending are proved sorted and free of
// duplicates at once. It never decides an error: what it does not recognise goes to the parser,
// also text deeper than verifyDepth, and numbers other than integers of the integer profile.
func verify(src []byte, maxDepth int) bool {
	var (
		limit  = min(maxDepth, verifyDepth)
		names  [verifyDepth]lastName
		object uint64 // bit d set: the container at depth d+1 is an object
		depth  int
		i      int
	)
	for {
		wantName := false
		switch c := at(src, i); c {
		case '"':
			i = plainRun(src, i+1)
			if at(src, i) != '"' {
				if i = canonicalRest(src, i); i < 0 {
					return false
				}
			}
			i++
		case '{', '[':
			if depth == limit {
				return false
			}
			i++
			if at(src, i) == c+2 { // '{' and '}', '[' and ']' lie two apart
				i++
				break
			}
			bit := uint64(1) << (depth & (verifyDepth - 1))
			depth++
			if c == '[' {
				object &^= bit
				continue
			}
			object |= bit
			names[depth-1] = lastName{}
			wantName = true
		case 't', 'f', 'n':
			end := literalEnd(src, i)
			if end == i {
				return false
			}
			i = end
		default:
			end := integerEnd(src, i)
			if end == i {
				return false
			}
			i = end
		}

		// After a value: leave what ends here, then go to the next one.
		for !wantName {
			if depth == 0 {
				return i == len(src)
			}
			c := at(src, i)
			i++
			inObject := object>>((depth-1)&(verifyDepth-1))&1 == 1
			if c == ',' {
				wantName = inObject
				break
			}
			if inObject && c != '}' || !inObject && c != ']' {
				return false
			}
			depth--
		}
		if !wantName {
			continue
		}

		// A name, its colon, and its place behind the name before it. The end and the key of a
		// name of up to 16 bytes are found without a branch that depends on its length. All of
		// this stands here and not in functions of its own since calls took a seventh of the time.
		if at(src, i) != '"' {
			return false
		}
		start := i + 1
		end := start
		var key uint64
		if start+16 <= len(src) {
			b := src[start : start+16 : start+16]
			low, high := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
			m, n := special(low), special(high)
			k := bits.TrailingZeros64(m)
			key = bits.ReverseBytes64(low) & (^uint64(0) << (64 - k&^7))
			if m == 0 {
				k = 64 + bits.TrailingZeros64(n)
			}
			end += k >> 3
			if m|n == 0 {
				end = plainRun(src, end)
			}
		} else {
			end = plainRun(src, start)
			key = slowKey(src[start:end])
		}
		if at(src, end) != '"' {
			if end = canonicalRest(src, end); end < 0 {
				return false
			}
			key = slowKey(src[start:end])
		} else if key&highs != 0 {
			key = slowKey(src[start:end])
		}
		if at(src, end+1) != ':' {
			return false
		}
		last := &names[(depth-1)&(verifyDepth-1)]
		if key <= last.key && last.end != 0 {
			if key < last.key || compareNames(src[last.start:last.end], src[start:end]) >= 0 {
				return false
			}
		}
		*last = lastName{key, uint32(start), uint32(end)}
		i = end + 2
	}
}

// canonicalRest returns the closing quote of the string that goes on at i with something else
// than a plain byte, or -1 unless its spelling is canonical.
func canonicalRest(src []byte, i int) int {
	for {
		n := 0
		if at(src, i) == '\\' {
			n = canonicalEscape(src[i:])
		}
		if n == 0 {
			return -1
		}
		i = plainRun(src, i+n)
		if at(src, i) == '"' {
			return i
		}
	}
}

// literalEnd returns the end of the literal name at i, or i if there is none.
func literalEnd(src []byte, i int) int {
	word := "true"
	switch src[i] {
	case 'f':
		word = "false"
	case 'n':
		word = "null"
	}
	if end := i + len(word); end <= len(src) && string(src[i:end]) == word {
		return end
	}
	return i
}
