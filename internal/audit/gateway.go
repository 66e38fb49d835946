package audit

import (
	"bytes"
	"strings"
	"time"

	"github.com/bindery/bindery/jcs"
)

// The events of an [Entry].
const (
	EventCall           = "call"            // a call without an execution_id, forwarded
	EventReserved       = "reserved"        // an execution_id is taken, with its binding; nothing was sent
	EventDispatched     = "dispatched"      // an attempt is about to be sent
	EventSuspended      = "suspended"       // the upstream asks for more input before it goes on
	EventFollowing      = "following"       // the upstream answered with a task, which is followed
	EventSucceeded      = "succeeded"       // terminal: the upstream answered, and says it is done
	EventFailed         = "failed"          // terminal: the upstream answered that it is not, or nothing was sent
	EventRefused        = "refused"         // refused before anything was sent; of a reserved id terminal
	EventOutcomeUnknown = "outcome_unknown" // terminal: sent, and nobody knows what came of it
	EventCollision      = "collision"       // refused: the id is taken by another binding
	EventReplay         = "replay"          // refused: the execution is over
	EventJoined         = "joined"          // a repeat, answered by what the first call brings
	EventReconciled     = "reconciled"      // a finding on an outcome_unknown; Digest is of its evidence
	EventSelfTest       = "self_test"       // the registry tried itself; Reason says how it went
	EventEpoch          = "epoch"           // a replica began or was declared dead
	EventLost           = "lost"            // entries that could not be written; Reason says how many
)

// MaxText is the longest text of an [Entry], in bytes.
const MaxText = 1 << 10

// An Entry is one event of a gateway. Every member is there on every line; "" is null.
//
// [Entry.After] takes what it is given to this form: a text longer than [MaxText], an
// execution_id that no caller can have got past validation, a session_id that is no digest,
// a Digest and a Binding of another spelling never reach a log.
type Entry struct {
	Seq int64     // from 1, without gaps
	At  time.Time // milliseconds, on the gateway's clock

	AgentID     string // as it was authenticated
	SessionID   string // "sha256:…" of the Mcp-Session-Id, which is a credential
	WorkflowID  string // as the caller gave it
	CallID      string // of one attempt
	ExecutionID string // as the caller gave it, 1 to 200 bytes of 0x21 to 0x7E
	Event       string // an Event constant

	Upstream, Tool string
	Binding        string // of the action; the caller's assertion of an id alone has none
	Reason         string // a name, or why
	Digest         string // "sha256:…" of what the event is about: an answer, a rejected id, evidence

	Prev  jcs.Hex256 // entry of the row before
	Entry jcs.Hex256 // entry_sha256
}

// After is e as the row after a tip: with Seq, Prev and Entry of that place.
func (e Entry) After(t Tip) Entry {
	e = e.placed(t)
	e.Entry = e.Sum()
	return e
}

// placed is e at its place, in the form of a log, before it is hashed.
func (e Entry) placed(t Tip) Entry {
	e.Seq, e.Prev = t.Seq+1, t.Entry
	e.At = time.UnixMilli(e.At.UnixMilli()).UTC()
	if e.ExecutionID != "" && !isExecutionID(e.ExecutionID) {
		if e.Digest == "" {
			e.Digest = digestOf(e.ExecutionID)
		}
		e.ExecutionID = ""
	}
	if e.SessionID != "" && !isSHA256(e.SessionID) {
		e.SessionID = digestOf(e.SessionID)
	}
	if e.Digest != "" && !isSHA256(e.Digest) {
		e.Digest = digestOf(e.Digest)
	}
	if !isBinding(e.Binding) {
		e.Binding = ""
	}
	if e.Event == "" {
		e.Event = "unnamed"
	}
	for _, s := range []*string{&e.AgentID, &e.WorkflowID, &e.CallID, &e.Event, &e.Upstream, &e.Tool, &e.Reason} {
		if *s = strings.ToValidUTF8(*s, "\uFFFD"); len(*s) > MaxText {
			*s = digestOf(*s)
		}
	}
	return e
}

// LineAfter is [Entry.After] and the [Entry.Line] of that, for half of what the two cost.
func (e Entry) LineAfter(t Tip) (Entry, []byte) {
	e = e.placed(t)
	sealed := jcs.Object(e.members()...)
	e.Entry = jcs.HexOf(sealed)
	// No text holds a quotation mark that is not escaped, so this stands once: before the
	// member that follows in canonical order.
	at := bytes.Index(sealed, []byte(`,"event":`))
	line := make([]byte, 0, len(sealed)+len(`,"entry_sha256":""`)+len(e.Entry))
	line = append(line, sealed[:at]...)
	line = append(line, `,"entry_sha256":"`...)
	line = append(line, e.Entry...)
	return e, append(append(line, '"'), sealed[at:]...)
}

// Tip is the end of a log whose last row is e.
func (e Entry) Tip() Tip { return Tip{Seq: e.Seq, Entry: e.Entry} }

// Previous is the entry of the row before e.
func (e Entry) Previous() jcs.Hex256 { return e.Prev }

// Sum is the entry_sha256 that the rest of e has: the SHA-256 of its canonical JSON. It and
// [Entry.Line] are for entries that [Entry.After] made or [ParseEntry] read: they panic on a
// text that is not UTF-8.
func (e Entry) Sum() jcs.Hex256 { return jcs.HexOf(jcs.Object(e.members()...)) }

// Line is e as a line of an export, without the line feed.
func (e Entry) Line() []byte {
	return jcs.Object(append(e.members(), jcs.Member{Name: "entry_sha256", Value: jcs.String(string(e.Entry))})...)
}

// members are all but entry_sha256.
func (e Entry) members() []jcs.Member {
	return append(make([]jcs.Member, 0, 15), // in canonical order, which costs the least to sort
		jcs.Member{Name: "agent_id", Value: textOrNull(e.AgentID)},
		jcs.Member{Name: "at", Value: jcs.Int(e.At.UnixMilli())},
		jcs.Member{Name: "binding", Value: textOrNull(e.Binding)},
		jcs.Member{Name: "call_id", Value: textOrNull(e.CallID)},
		jcs.Member{Name: "digest", Value: textOrNull(e.Digest)},
		jcs.Member{Name: "event", Value: jcs.String(e.Event)},
		jcs.Member{Name: "execution_id", Value: textOrNull(e.ExecutionID)},
		jcs.Member{Name: "prev", Value: jcs.String(string(e.Prev))},
		jcs.Member{Name: "reason", Value: textOrNull(e.Reason)},
		jcs.Member{Name: "seq", Value: jcs.Int(e.Seq)},
		jcs.Member{Name: "session_id", Value: textOrNull(e.SessionID)},
		jcs.Member{Name: "tool", Value: textOrNull(e.Tool)},
		jcs.Member{Name: "upstream", Value: textOrNull(e.Upstream)},
		jcs.Member{Name: "workflow_id", Value: textOrNull(e.WorkflowID)},
	)
}

// textOrNull writes null for what is not there, and never an empty text (EXA-043, EXA-052).
func textOrNull(s string) []byte {
	if s == "" {
		return jcs.Null()
	}
	return jcs.String(s)
}

// ParseEntry reads a line as [Entry.Line] writes it, without the line feed. It does not
// judge its hashes: a [Verifier] does. The error is one of package jcs or [ErrForm].
func ParseEntry(line []byte) (Entry, error) {
	v, err := parseLine(line)
	if err != nil {
		return Entry{}, err
	}
	return readEntry(v)
}

func readEntry(v jcs.Value) (Entry, error) {
	r := jcs.NewReader(v)
	e := Entry{
		Seq: r.Int("seq"), At: time.UnixMilli(r.Int("at")).UTC(),
		AgentID: readText(r, "agent_id", isText), SessionID: readText(r, "session_id", isSHA256),
		WorkflowID: readText(r, "workflow_id", isText), CallID: readText(r, "call_id", isText),
		ExecutionID: readText(r, "execution_id", isExecutionID), Event: r.Text("event"),
		Upstream: readText(r, "upstream", isText), Tool: readText(r, "tool", isText),
		Binding: readText(r, "binding", isBinding), Reason: readText(r, "reason", isText),
		Digest: readText(r, "digest", isSHA256),
		Prev:   readHex(r, "prev"), Entry: readHex(r, "entry_sha256"),
	}
	if e.Seq < 1 {
		r.Fail("seq", "value")
	}
	if e.Event == "" || !isText(e.Event) {
		r.Fail("event", "value")
	}
	return e, r.Close()
}

// readText is a text of a form, or "" for null, which must be there.
func readText(r *jcs.Reader, name string, form func(string) bool) string {
	if r.Value(name).Type() == jcs.NullType {
		return ""
	}
	s := r.Text(name)
	if s == "" || !form(s) {
		r.Fail(name, "value")
	}
	return s
}

func isText(s string) bool { return len(s) <= MaxText }

// isExecutionID is the form of design X2.
func isExecutionID(s string) bool {
	return len(s) >= 1 && len(s) <= 200 && !strings.ContainsFunc(s, func(r rune) bool { return r < 0x21 || r > 0x7E })
}

func isSHA256(s string) bool {
	_, err := jcs.ParseDigest(s)
	return err == nil && strings.HasPrefix(s, "sha256:")
}

func isBinding(s string) bool {
	_, err := jcs.ParseDigest(s)
	return err == nil
}

func digestOf(s string) string { return "sha256:" + string(jcs.HexOf([]byte(s))) }
