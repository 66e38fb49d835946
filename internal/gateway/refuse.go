package gateway

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/bindery/bindery/internal/agentauth"
	"github.com/bindery/bindery/internal/execution"
	"github.com/bindery/bindery/internal/mcp"
	"github.com/bindery/bindery/jcs"
)

// A refusal is what a call is answered with that goes no further.
type refusal struct {
	name      string          // of the table
	detail    string          // what more there is to say, to the sender alone; "" for nothing
	pointer   string          // where in the sender's message or arguments it shows; "" for nowhere
	next      string          // "" is the table's
	execution []byte          // canonical JSON of the execution that it is about; nil for none
	state     execution.State // of that execution
}

// member is the error member of an answer.
func (f refusal) member() []byte {
	c := code(f.name)
	next, message := f.next, c.Meaning
	if next == "" {
		next = c.Next
	}
	switch { // a model behind a client often sees the message alone
	case f.execution != nil:
		message += " (" + string(f.state) + "): " + next
	case f.detail != "" && f.detail != message:
		message += ": " + f.detail
	default:
		message += ": " + next
	}
	data := []jcs.Member{{Name: "error", Value: jcs.String(c.Name)}, {Name: "safe_next", Value: jcs.String(next)}, {Name: "execution", Value: f.execution}}
	if f.pointer != "" {
		data = append(data, jcs.Member{Name: "pointer", Value: jcs.String(f.pointer)})
	}
	return mcp.ErrorMember(c.Number, message, jcs.Object(data...))
}

// refuse answers with a name of the table. id is the token of the request's id; without one there
// is no request to answer, and the status says what the body does.
func (x *exchanging) refuse(name string, id []byte) { x.refuseAs(refusal{name: name}, id) }

func (x *exchanging) refuseAs(f refusal, id []byte) {
	status := http.StatusOK
	if id == nil {
		status = code(f.name).Status
	}
	x.seen.Refusal = code(f.name).Name
	if status == http.StatusServiceUnavailable {
		x.w.Header().Set("Retry-After", "1")
	}
	x.answer(status, mcp.ErrorAnswer(id, f.member()))
}

// answer sends a whole answer of the gateway's own.
func (x *exchanging) answer(status int, body []byte) {
	h := x.w.Header()
	h.Set("Content-Type", typeJSON)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	x.seen.Status = status
	x.hurry(len(body))
	x.w.WriteHeader(status)
	_, _ = x.w.Write(body) // a client that has gone gets nothing
}

// slowest is how many bytes of an answer a client takes in a second, at least.
const slowest = 64 << 10

// hurry gives a client its time for the next bytes of an answer. One that reads nothing would
// else keep the room that the answer has, and of a call that is bound what became of it.
func (x *exchanging) hurry(n int) {
	patience := x.g.cfg.Limits.Writing + time.Duration(n)*time.Second/slowest
	_ = http.NewResponseController(x.w).SetWriteDeadline(x.g.cfg.Now().Add(patience)) // whoever has no connection has no deadline
}

// authenticated finds out who asks.
func (x *exchanging) authenticated() bool {
	if x.g.cfg.Authenticate == nil {
		return true
	}
	who, err := x.g.cfg.Authenticate(x.r)
	if err == nil {
		x.agent = who
		return true
	}
	var fault *agentauth.Error
	if !errors.As(err, &fault) {
		x.g.cfg.Log.Error("authentication", "error", err)
		x.refuse(codeInternal, nil)
		return false
	}
	if code(fault.Name).Status == http.StatusUnauthorized {
		metadata := ""
		if x.g.cfg.Metadata != nil {
			metadata = x.g.cfg.Metadata(x.r)
		}
		x.w.Header().Set("WWW-Authenticate", fault.Challenge(metadata))
	}
	x.refuseAs(refusal{name: fault.Name, detail: fault.Rule}, nil)
	return false
}

// unreadable answers what is no message.
func (x *exchanging) unreadable(err error) {
	var fault *mcp.Fault
	switch {
	case errors.Is(err, errLarge):
		x.refuse(mcp.Large, nil)
	case errors.Is(err, errRoom):
		x.refuse(codeOverload, nil)
	case errors.As(err, &fault):
		f := refusal{name: fault.Name, detail: fault.Rule}
		if fault.Offset >= 0 {
			f.detail += " at byte " + strconv.Itoa(fault.Offset)
		}
		x.refuseBody(f, fault.ID)
	default:
		x.refuseAs(refusal{name: mcp.Malformed, detail: "it did not come whole"}, nil)
	}
}

// refuseBody answers what is no message of MCP: with its own status, and with the id, so far as
// one could be read.
func (x *exchanging) refuseBody(f refusal, id []byte) {
	x.seen.Refusal = code(f.name).Name
	x.answer(code(f.name).Status, mcp.ErrorAnswer(id, f.member()))
}
