package gateway

import (
	"bytes"
	"errors"
	"strconv"
	"time"
)

var errLongEvent = errors.New("gateway: a server-sent event of more than 16 MiB")

// eventReader takes a stream of server-sent events in pieces, and hands on what each says.
type eventReader struct {
	take  func(data []byte) // the data is its own; may not be nil
	last  string            // id of the last event that had one
	retry time.Duration     // as the server wishes; 0: it has no wish

	line  []byte
	cr    bool // the last byte was a carriage return, which may be half of a line's end
	data  []byte
	has   bool // a data field
	other bool // of another type than message
}

// Write implements [io.Writer].
func (r *eventReader) Write(p []byte) (int, error) {
	for i := 0; i < len(p); {
		if r.cr {
			r.cr = false
			if p[i] == '\n' {
				i++
				continue
			}
		}
		end := bytes.IndexAny(p[i:], "\r\n")
		if end < 0 {
			r.line = append(r.line, p[i:]...)
			break
		}
		r.line = append(r.line, p[i:i+end]...)
		r.cr = p[i+end] == '\r'
		i += end + 1
		r.field()
		r.line = r.line[:0]
	}
	if len(r.line)+len(r.data) > MaxLine+64 {
		return 0, errLongEvent
	}
	return len(p), nil
}

// field is one line. An empty one ends an event.
func (r *eventReader) field() {
	if len(r.line) == 0 {
		r.dispatch()
		return
	}
	name, value, _ := bytes.Cut(r.line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		if r.has {
			r.data = append(r.data, '\n')
		}
		r.data, r.has = append(r.data, value...), true
	case "event":
		r.other = len(value) > 0 && string(value) != "message"
	case "id":
		if bytes.IndexByte(value, 0) < 0 && len(value) <= 4096 {
			r.last = string(value)
		}
	case "retry":
		if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
			r.retry = time.Duration(ms) * time.Millisecond
		}
	}
}

func (r *eventReader) dispatch() {
	data, other := r.data, r.other
	r.data, r.has, r.other = nil, false, false
	if len(data) > 0 && !other {
		r.take(data)
	}
}
