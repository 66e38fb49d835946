package mcp

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/bindery/bindery/jcs"
)

// A Kind says what a message is in JSON-RPC.
type Kind uint8

// The kinds of messages.
const (
	Request      Kind = iota + 1 // has a method and an id
	Notification                 // has a method and no id
	Response                     // has a result or an error, and an id
)

// Longest tokens, in bytes: an id with its quotes, the name of a method or tool.
const (
	MaxID   = 512
	MaxName = 1024
)

// Names of faults in a message.
const (
	Malformed = "MESSAGE_MALFORMED" // not the JSON that this gateway reads
	Invalid   = "MESSAGE_INVALID"   // JSON, but no message of MCP
	Batch     = "BATCH_UNSUPPORTED" // several messages in one
	Large     = "MESSAGE_TOO_LARGE" // longer than the limit
	Ambiguous = "MESSAGE_AMBIGUOUS" // parsers differ on which member it has
)

// A Fault says why bytes are no message. It holds nothing of them but a position.
type Fault struct {
	Name   string // one of the names of faults
	Rule   string // the broken rule in a few constant words
	Offset int    // the byte at which it shows; -1 where it is an absence
	ID     []byte // the token of the id, if one could be read
}

// Error returns, for example, "MESSAGE_INVALID: id is null at byte 20".
func (f *Fault) Error() string {
	if f.Offset < 0 {
		return f.Name + ": " + f.Rule
	}
	return fmt.Sprintf("%s: %s at byte %d", f.Name, f.Rule, f.Offset)
}

// A Message is one message and where its parts stand. It refers to the bytes it was read from,
// which must not be changed while it is in use.
type Message struct {
	Kind   Kind
	Body   []byte
	ID     []byte // token, quotes included; nil for a notification
	Method string // "" for a response
	Params Span   // the value; zero if there is none
	Result Span   // of a response
	Error  Span   // of a response
}

var topNames = [...]string{"jsonrpc", "id", "method", "params", "result", "error"}

// Read reads one message of at most limit bytes. scratch is memory that it may use, of any
// length; what it returns beside the message is that memory, perhaps grown, for the next call.
// The error is a *[Fault].
func Read(body, scratch []byte, limit int) (Message, []byte, error) {
	scratch, err := check(body, scratch, limit)
	if err != nil {
		return Message{}, scratch, err
	}
	m := Message{Body: body}
	if err := m.split(); err != nil {
		var f *Fault
		if errors.As(err, &f) && validID(m.ID) == "" {
			f.ID = m.ID
		}
		return Message{}, scratch, err
	}
	return m, scratch, nil
}

// check holds body to the strict rules, and returns the memory it used.
func check(body, scratch []byte, limit int) ([]byte, error) {
	used, err := strict(limit).Append(scratch[:0], body)
	if err == nil {
		return used, nil
	}
	var e *jcs.Error
	if !errors.As(err, &e) {
		return scratch, &Fault{Name: Malformed, Rule: "not JSON", Offset: -1}
	}
	name := Malformed
	if e.Kind == jcs.KindSize {
		name = Large
	}
	return scratch, &Fault{Name: name, Rule: e.Rule, Offset: e.Offset}
}

// split finds the members of a message.
func (m *Message) split() error {
	start := space(m.Body, 0)
	switch m.Body[start] {
	case '[':
		return &Fault{Name: Batch, Rule: "a batch begins", Offset: start}
	case '{':
	default:
		return &Fault{Name: Invalid, Rule: "not an object", Offset: start}
	}
	var version, id, method Span
	parts := [...]*Span{&version, &id, &method, &m.Params, &m.Result, &m.Error}
	walk := object(m.Body, Span{start, len(m.Body)})
	for {
		name, value, ok := walk.next()
		if !ok {
			break
		}
		i, similar := known(name.Of(m.Body), topNames[:])
		if similar {
			return &Fault{Name: Ambiguous, Rule: "a member is named like one of JSON-RPC but for its case", Offset: name.Start}
		}
		if i >= 0 {
			*parts[i] = value
		}
	}
	m.ID = id.Of(m.Body)
	if v, _ := text(version.Of(m.Body)); v != "2.0" {
		return &Fault{Name: Invalid, Rule: `jsonrpc is not "2.0"`, Offset: place(version)}
	}
	if method.Absent() {
		return m.response(id)
	}
	return m.request(id, method)
}

func (m *Message) request(id, method Span) error {
	switch {
	case !m.Result.Absent() || !m.Error.Absent():
		return &Fault{Name: Invalid, Rule: "both a request and a response", Offset: method.Start}
	case id.Absent():
		m.Kind = Notification
	default:
		m.Kind = Request
		if rule := validID(m.ID); rule != "" {
			return &Fault{Name: Invalid, Rule: rule, Offset: id.Start}
		}
	}
	var ok bool
	m.Method, ok = text(method.Of(m.Body))
	if !ok || m.Method == "" || len(m.Method) > MaxName {
		return &Fault{Name: Invalid, Rule: "method is not a string of 1 to 1024 bytes", Offset: method.Start}
	}
	if m.Method != CallMethod && strings.EqualFold(m.Method, CallMethod) { // else it could run a tool that is not bound
		return &Fault{Name: Ambiguous, Rule: "the method is " + CallMethod + " but for its case", Offset: method.Start}
	}
	if p := m.Params.Of(m.Body); p != nil && p[0] != '{' && p[0] != 'n' {
		return &Fault{Name: Invalid, Rule: "params is not an object", Offset: m.Params.Start}
	}
	return nil
}

func (m *Message) response(id Span) error {
	m.Kind = Response
	switch {
	case m.Result.Absent() == m.Error.Absent():
		return &Fault{Name: Invalid, Rule: "not one of method, result and error", Offset: -1}
	case id.Absent():
		return &Fault{Name: Invalid, Rule: "a response without an id", Offset: -1}
	case !m.Error.Absent() && string(m.ID) == "null":
		return nil // to a message whose id could not be read
	}
	if rule := validID(m.ID); rule != "" {
		return &Fault{Name: Invalid, Rule: rule, Offset: id.Start}
	}
	return nil
}

// validID returns the rule that the token of an id breaks, "" for none.
func validID(token []byte) string {
	switch {
	case len(token) == 0:
		return "id is missing"
	case len(token) > MaxID:
		return "id is longer than 512 bytes"
	case token[0] == '"':
		return ""
	case token[0] == 'n':
		return "id is null"
	case token[0] != '-' && (token[0] < '0' || token[0] > '9'):
		return "id is neither a string nor a number"
	case bytes.ContainsAny(token, ".eE"):
		return "id is not an integer"
	}
	return ""
}

func place(s Span) int {
	if s.Absent() {
		return -1
	}
	return s.Start
}

// SameID reports whether two tokens are one id. A number counts by its value in binary64, since
// most peers keep no more of it; two spellings of one string are one.
func SameID(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, errX := strict(0).Append(nil, a)
	y, errY := strict(0).Append(nil, b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
