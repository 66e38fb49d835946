package gateway

import (
	"bytes"
	"errors"
	"io"
)

// MaxLine is how long one line of a client or of a process may be, its line feed not counted. It
// is what a JSON text may be for package jcs, and what the SDKs take.
const MaxLine = 16 << 20

// ErrLine is a line of more than [MaxLine] bytes. What follows it cannot be told apart.
var ErrLine = errors.New("gateway: a line of more than 16 MiB")

// lines cuts a stream into lines and hands each on, without its end. It is an [io.Writer], so
// that whoever copies a stream to it waits while a line is dealt with. Empty lines are nothing.
type lines struct {
	take func(line []byte) // the line is its own
	rest []byte            // of a line whose end has not come
	over bool
}

func (l *lines) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		if l.over {
			return 0, ErrLine
		}
		end := bytes.IndexByte(p, '\n')
		part := p
		if end >= 0 {
			part, p = p[:end], p[end+1:]
		} else {
			p = nil
		}
		if len(l.rest)+len(part) > MaxLine {
			l.over, l.rest = true, nil
			return 0, ErrLine
		}
		l.rest = append(l.rest, part...)
		if end < 0 {
			break
		}
		l.end()
	}
	return n, nil
}

// end hands on what there is: the end of the stream ends its last line too.
func (l *lines) end() {
	line := bytes.TrimSuffix(l.rest, []byte("\r"))
	l.rest = nil
	if len(bytes.TrimLeft(line, " \t")) > 0 {
		l.take(line)
	}
}

// readLines hands the lines of r on until it ends.
func readLines(r io.Reader, take func(line []byte)) error {
	l := &lines{take: take}
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if _, err := l.Write(buf[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			l.end()
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// oneLine is a JSON text as a line. A line feed or a carriage return can stand in a JSON text
// only between its tokens, where a space is the same; all other bytes stay.
func oneLine(text []byte) []byte {
	if bytes.IndexByte(text, '\n') < 0 && bytes.IndexByte(text, '\r') < 0 {
		return text
	}
	line := bytes.Clone(text)
	for i, c := range line {
		if c == '\n' || c == '\r' {
			line[i] = ' '
		}
	}
	return line
}
