package envelope

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bindery/bindery/jcs"
)

// The names of what a matter refuses.
const (
	SameQuestion    = "MATTER_SAME_QUESTION"    // a stem or a set of labels that was declined before (ENV-067, E6)
	NotHeard        = "MATTER_NOT_HEARD"        // no message of the principal after the veto (ENV-068, AE-16)
	WrongTransition = "MATTER_WRONG_TRANSITION" // the event does not belong to the state
	Exhausted       = "MATTER_EXHAUSTED"        // so many questions were declined that no other is put
)

// maxDeclined is how many declined questions a matter bears.
const maxDeclined = 64

// A MatterError says why a matter does not move. Its state is as it was.
type MatterError struct {
	Name string // one of the names above
	Row  string
	Rule string // in a few constant words
}

// Error returns name, rule and row.
func (e *MatterError) Error() string { return fmt.Sprintf("%s: %s (%s)", e.Name, e.Rule, e.Row) }

// A Matter is what one agent's questions to one principal are about. A veto counts within it, and
// the same labels in another matter are not the same question (E6).
//
// It begins [Deliberating]. Each state is a type that has the methods of the transitions that leave
// it, so that a wrong one does not compile:
//
//	Deliberating ──Ask──► Awaiting ──Resolve──► Decided   ──Continue──► Deliberating
//	                                        ├─► Answered  ──Continue──► Deliberating
//	                                        └─► Reopened  ──Hear──────► Deliberating
//
// From Reopened no question can be put: the objection comes first (ENV-066, ENV-068). For states
// that come out of a store there is [Step], which returns a named error instead.
//
// States are values: a transition returns the next one and leaves the old one as it was. What may
// be done only once is the [Ledger]'s to know.
type Matter struct {
	Agent     string
	Principal string
	Subject   string // what is decided; for a gateway, the action binding
}

// NewMatter begins to deliberate. Each name is UTF-8 in at most 1024 bytes, so that every state of the
// matter can be kept, and a veto with it; of a longer subject take a digest.
func NewMatter(m Matter) (Deliberating, error) {
	if blank(m.Agent) || blank(m.Principal) || blank(m.Subject) {
		return Deliberating{}, errors.New("envelope: a matter has an agent, one principal and a subject")
	}
	if err := checkNames(m.Agent, m.Principal, m.Subject); err != nil {
		return Deliberating{}, err
	}
	return Deliberating{course{Matter: m}}, nil
}

// course is what every state has: the matter, and what was declined in it.
type course struct {
	Matter
	declined []asking
}

// About returns whose matter it is, and about what.
func (c course) About() Matter { return c.Matter }

// Deliberating is the state in which a question may be put. The agent may also stay in it as long as
// it likes: not to ask is its own veto (section 7.1).
type Deliberating struct{ course }

// Awaiting is the state of a question that is put and not resolved.
type Awaiting struct {
	course
	asked asking
}

// Decided is the state after an option was chosen. One commitment is all that an envelope is good
// for (ENV-003).
type Decided struct {
	course
	envelope Digest
	option   int
}

// Answered is the state after an answer in the principal's own words: the question stands, and the
// agent goes on with the answer (ENV-064).
type Answered struct {
	course
	envelope Digest
}

// Reopened is the state after the question was declined (ENV-065, ENV-066). There is no way to ask
// from here.
type Reopened struct {
	course
	envelope Digest
	at       time.Time
}

// Ask puts the question of e. It refuses one whose stem or labels were declined in this matter
// ([SameQuestion]). e must then be emitted before it leaves ([Ledger]).
func (d Deliberating) Ask(e Envelope) (Awaiting, error) {
	if e.IsZero() {
		return Awaiting{}, errors.New("envelope: there is no envelope to ask with")
	}
	asked := askingOf(e)
	for _, old := range d.declined {
		if old.stem == asked.stem || old.labels == asked.labels {
			return Awaiting{}, &MatterError{SameQuestion, "ENV-067", "the stem, or the labels, are those of a question that was declined"}
		}
	}
	if len(d.declined) >= maxDeclined {
		return Awaiting{}, &MatterError{Exhausted, "ENV-066", "too many questions were declined in this matter"}
	}
	return Awaiting{d.course, asked}, nil
}

// Envelope returns the digest of the envelope that is outstanding.
func (a Awaiting) Envelope() Digest { return a.asked.envelope }

// Outcome is one of [Decided], [Answered] and [Reopened].
type Outcome interface {
	State
	outcome()
}

// Resolve moves on by what the principal chose, received at the given time. r must have been taken
// ([Settle]) before. The error is a *[Refusal] if r does not resolve the envelope that is
// outstanding.
func (a Awaiting) Resolve(r Resolution, at time.Time) (Outcome, error) {
	if refusal := r.against(a.asked.envelope, a.asked.options, a.asked.hatches); refusal != nil {
		return nil, refusal
	}
	switch r.Kind() {
	case KindAnswer:
		return Answered{a.course, a.asked.envelope}, nil
	case KindQuestion:
		c := a.course
		c.declined = append(slices.Clone(c.declined), a.asked)
		return Reopened{c, a.asked.envelope, at}, nil
	}
	idx, _ := r.OptionIdx()
	return Decided{a.course, a.asked.envelope, idx}, nil
}

// Envelope returns the digest of the envelope that was resolved.
func (d Decided) Envelope() Digest { return d.envelope }

// Option returns the index of the option that was chosen.
func (d Decided) Option() int { return d.option }

// Continue goes on after the decision: a further commitment takes a further envelope (ENV-003).
func (d Decided) Continue() Deliberating { return Deliberating{d.course} }

// Envelope returns the digest of the envelope that was resolved.
func (a Answered) Envelope() Digest { return a.envelope }

// Continue goes on with the answer. The question was not declined.
func (a Answered) Continue() Deliberating { return Deliberating{a.course} }

// Envelope returns the digest of the envelope whose question was declined.
func (r Reopened) Envelope() Digest { return r.envelope }

// At returns when it was declined.
func (r Reopened) At() time.Time { return r.at }

// A Message is something that the principal said, by its digest: the objection to a question
// travels beside the resolution, which has no member for it (ENV-117).
type Message struct {
	From string
	Text jcs.Digest // of the text, in its exact bytes
	At   time.Time  // when it was received
}

// NewMessage names a text that came from somebody.
func NewMessage(from, text string, at time.Time) (Message, error) {
	if blank(text) {
		return Message{}, &MatterError{NotHeard, "ENV-068", "a message has at least one visible character"}
	}
	return Message{From: from, Text: textDigest([]byte(text)), At: at}, nil
}

// Hear takes in what the principal says after declining, and only that opens the matter for another
// question ([NotHeard]).
func (r Reopened) Hear(m Message) (Deliberating, error) {
	if m.Text == "" || m.From != r.Principal || !m.At.After(r.at) {
		return Deliberating{}, &MatterError{NotHeard, "ENV-068", "no message of the principal that came after the question was declined"}
	}
	return Deliberating{r.course}, nil
}
