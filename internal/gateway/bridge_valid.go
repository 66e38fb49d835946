package gateway

import "bytes"

// mostNested is how deep the JSON of others may be nested that only passes through. It is what the
// usual parsers take.
const mostNested = 10000

// wellFormed reports whether a text is one JSON value by the grammar of RFC 8259. That is all that a
// bridge asks of what it passes on: repeated names, numbers of any size and what is no UTF-8 are
// between the two sides.
func wellFormed(text []byte) bool {
	var open []byte // the brackets that are open
	i := space(text, 0)
	for {
		// a value begins at i
		if i >= len(text) {
			return false
		}
		switch c := text[i]; c {
		case '{', '[':
			if len(open) >= mostNested {
				return false
			}
			open = append(open, c)
			i = space(text, i+1)
			if i < len(text) && text[i] == c+2 { // the other bracket: it is empty
				break
			}
			if c == '{' {
				if i = afterName(text, i); i < 0 {
					return false
				}
			}
			continue
		default:
			if i = afterScalar(text, i); i < 0 {
				return false
			}
		}
		// a value has ended before i, and with it what holds it, perhaps
		for {
			i = space(text, i)
			if len(open) == 0 {
				return i == len(text)
			}
			if i >= len(text) {
				return false
			}
			inside := open[len(open)-1]
			if text[i] == inside+2 {
				open = open[:len(open)-1]
				i++
				continue
			}
			if text[i] != ',' {
				return false
			}
			i = space(text, i+1)
			if inside == '{' {
				if i = afterName(text, i); i < 0 {
					return false
				}
			}
			break
		}
	}
}

// afterName is the place of the value behind a member's name and colon, -1 if they are not there.
func afterName(text []byte, i int) int {
	if i = afterString(text, i); i < 0 {
		return -1
	}
	i = space(text, i)
	if i >= len(text) || text[i] != ':' {
		return -1
	}
	return space(text, i+1)
}

func afterScalar(text []byte, i int) int {
	for _, word := range [...]string{"true", "false", "null"} {
		if bytes.HasPrefix(text[i:], []byte(word)) {
			return i + len(word)
		}
	}
	if text[i] == '"' {
		return afterString(text, i)
	}
	return afterNumber(text, i)
}

func afterString(text []byte, i int) int {
	if i >= len(text) || text[i] != '"' {
		return -1
	}
	for i++; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return i + 1
		case c < ' ':
			return -1
		case c == '\\':
			i++
			if i >= len(text) || bytes.IndexByte([]byte(`"\/bfnrtu`), text[i]) < 0 {
				return -1
			}
			if text[i] == 'u' {
				for range 4 {
					i++
					if i >= len(text) || bytes.IndexByte([]byte("0123456789abcdefABCDEF"), text[i]) < 0 {
						return -1
					}
				}
			}
		}
	}
	return -1
}

func afterNumber(text []byte, i int) int {
	if i < len(text) && text[i] == '-' {
		i++
	}
	from := i
	if i = digits(text, i); i == from || text[from] == '0' && i > from+1 {
		return -1
	}
	if i < len(text) && text[i] == '.' {
		from = i + 1
		if i = digits(text, from); i == from {
			return -1
		}
	}
	if i < len(text) && (text[i] == 'e' || text[i] == 'E') {
		i++
		if i < len(text) && (text[i] == '+' || text[i] == '-') {
			i++
		}
		from = i
		if i = digits(text, from); i == from {
			return -1
		}
	}
	return i
}

func digits(text []byte, i int) int {
	for i < len(text) && text[i] >= '0' && text[i] <= '9' {
		i++
	}
	return i
}
