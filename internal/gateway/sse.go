package gateway

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"time"
)

// An sseEvent is one event of a stream (WHATWG HTML §9.2). What a stream says of resuming it, id and
// retry, is for the gateway alone: a client that took it up by itself would get an answer before it
// is stored.
type sseEvent struct {
	name string // of the event field; "" is message
	data []byte // its lines, with line feeds between; nil if it has none
}

// errEventSize is an event beyond its limit.
var errEventSize = errors.New("gateway: an event is longer than its limit")

// sseReader reads events.
type sseReader struct {
	r     *bufio.Reader
	limit int          // bytes of one event
	grow  func() error // is asked before a line, and when an event, has more than freeBytes; nil: nobody is
	begun bool
	skip  bool          // a line feed, which ends the line that a carriage return has ended
	last  string        // the id by which the stream can be taken up again; "" for none
	retry time.Duration // how long to wait before that; 0 if it is not said
}

func newSSE(r io.Reader, limit int) *sseReader {
	return &sseReader{r: bufio.NewReader(r), limit: limit}
}

// maxEventID is the longest id of an event that is kept.
const maxEventID = 1024

// next returns the next event that has data, or a comment as an event without: something to
// show that the upstream lives. io.EOF is the end; an event that it cuts off is none.
func (s *sseReader) next() (sseEvent, error) {
	var e sseEvent
	size := 0
	for {
		line, err := s.line(s.limit - size)
		if err != nil {
			return sseEvent{}, err
		}
		size += len(line) + 1
		if s.grow != nil && size > freeBytes {
			if err := s.grow(); err != nil {
				return sseEvent{}, err
			}
		}
		switch {
		case len(line) == 0 && e.data != nil:
			return e, nil
		case len(line) == 0:
			e, size = sseEvent{}, 0
		case line[0] == ':':
			if e.data == nil && e.name == "" {
				return sseEvent{}, nil
			}
		default:
			s.field(&e, line)
		}
	}
}

func (s *sseReader) field(e *sseEvent, line []byte) {
	name, value, _ := bytes.Cut(line, []byte{':'})
	value = bytes.TrimPrefix(value, []byte{' '})
	switch string(name) {
	case "event":
		e.name = string(value)
	case "data":
		if e.data == nil {
			e.data = append(make([]byte, 0, len(value)), value...)
			return
		}
		e.data = append(append(e.data, '\n'), value...)
	case "id":
		if len(value) <= maxEventID && !bytes.ContainsAny(value, "\x00\r\n") {
			s.last = string(value)
		}
	case "retry":
		if ms, err := strconv.ParseUint(string(value), 10, 20); err == nil {
			s.retry = time.Duration(ms) * time.Millisecond
		}
	}
}

// line returns the next line without its end, which is CR, LF or both.
func (s *sseReader) line(limit int) ([]byte, error) {
	if !s.begun {
		s.begun = true
		if mark, err := s.r.Peek(3); err == nil && string(mark) == "\uFEFF" {
			_, _ = s.r.Discard(3)
		}
	}
	var line []byte
	for {
		if _, err := s.r.Peek(1); err != nil {
			return nil, err
		}
		ahead, _ := s.r.Peek(s.r.Buffered())
		if s.skip {
			s.skip = false
			if ahead[0] == '\n' {
				_, _ = s.r.Discard(1)
				continue
			}
		}
		end := bytes.IndexAny(ahead, "\r\n")
		if end < 0 {
			end = len(ahead)
		}
		if len(line)+end > limit {
			return nil, errEventSize
		}
		if s.grow != nil && len(line)+end > freeBytes {
			if err := s.grow(); err != nil {
				return nil, err
			}
		}
		line = append(line, ahead[:end]...)
		if end < len(ahead) {
			s.skip = ahead[end] == '\r'
			_, _ = s.r.Discard(end + 1)
			return line, nil
		}
		_, _ = s.r.Discard(end)
	}
}

// appendEvent writes an event.
func appendEvent(dst []byte, e sseEvent) []byte {
	if e.data == nil {
		return append(dst, ":\n\n"...)
	}
	if e.name != "" {
		dst = append(append(append(dst, "event: "...), e.name...), '\n')
	}
	for line := range bytes.SplitSeq(e.data, []byte{'\n'}) {
		dst = append(append(append(dst, "data: "...), bytes.TrimSuffix(line, []byte{'\r'})...), '\n')
	}
	return append(dst, '\n')
}
