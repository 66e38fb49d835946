package envelope

import (
	"cmp"
	"errors"
	"time"

	"github.com/bindery/bindery/jcs"
)

// A State is one of [Deliberating], [Awaiting], [Decided], [Answered] and [Reopened].
type State interface {
	About() Matter
	JSON() []byte // for a store; [ParseState] reads it
	name() stateName
}

// An Event is one of [Asked], [Resolved], [Heard] and [Continued].
type Event interface{ event() }

// Asked: an envelope is put.
type Asked struct{ Envelope Envelope }

// Resolved: a resolution was taken.
type Resolved struct {
	Resolution Resolution
	At         time.Time
}

// Heard: the principal said something.
type Heard struct{ Message Message }

// Continued: the agent goes on after a decision or an answer.
type Continued struct{}

func (Asked) event()     {}
func (Resolved) event()  {}
func (Heard) event()     {}
func (Continued) event() {}

// Step moves a state whose type is not known until it is read. The error is that of the method it
// stands for, or [WrongTransition].
func Step(s State, e Event) (State, error) {
	switch e := e.(type) {
	case Asked:
		switch s := s.(type) {
		case Deliberating:
			return moved(s.Ask(e.Envelope))
		case Reopened:
			return nil, &MatterError{WrongTransition, "ENV-068", "a declined question is followed by the principal's objection, not by another question"}
		}
	case Resolved:
		if s, ok := s.(Awaiting); ok {
			return moved(s.Resolve(e.Resolution, e.At))
		}
	case Heard:
		if s, ok := s.(Reopened); ok {
			return moved(s.Hear(e.Message))
		}
	case Continued:
		switch s := s.(type) {
		case Decided:
			return s.Continue(), nil
		case Answered:
			return s.Continue(), nil
		}
	}
	return nil, &MatterError{WrongTransition, "ENV-003", "the event does not belong to the state of the matter"}
}

// moved drops the empty state that comes with an error.
func moved[S State](s S, err error) (State, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

type stateName string

const (
	deliberating stateName = "deliberating"
	awaiting     stateName = "awaiting"
	decided      stateName = "decided"
	answered     stateName = "answered"
	reopened     stateName = "reopened"
)

func (Deliberating) name() stateName { return deliberating }
func (Awaiting) name() stateName     { return awaiting }
func (Decided) name() stateName      { return decided }
func (Answered) name() stateName     { return answered }
func (Reopened) name() stateName     { return reopened }

func (Decided) outcome()  {}
func (Answered) outcome() {}
func (Reopened) outcome() {}

// JSON returns the state as one canonical object.
func (d Deliberating) JSON() []byte { return d.course.json(deliberating) }

// JSON returns the state as one canonical object.
func (a Awaiting) JSON() []byte {
	return a.course.json(awaiting, jcs.Member{Name: "asked", Value: a.asked.object()})
}

// JSON returns the state as one canonical object.
func (d Decided) JSON() []byte {
	return d.course.json(decided, jcs.Member{Name: "envelope_digest", Value: jcs.String(d.envelope.String())}, jcs.Member{Name: "option_idx", Value: jcs.Int(int64(d.option))})
}

// JSON returns the state as one canonical object. It does not hold the answer (ENV-113).
func (a Answered) JSON() []byte {
	return a.course.json(answered, jcs.Member{Name: "envelope_digest", Value: jcs.String(a.envelope.String())})
}

// JSON returns the state as one canonical object.
func (r Reopened) JSON() []byte {
	return r.course.json(reopened, jcs.Member{Name: "at", Value: jcs.Int(r.at.UnixMilli())}, jcs.Member{Name: "envelope_digest", Value: jcs.String(r.envelope.String())})
}

func (c course) json(name stateName, more ...jcs.Member) []byte {
	var items [][]byte
	for _, d := range c.declined {
		items = append(items, d.object())
	}
	return jcs.Object(append(more,
		jcs.Member{Name: "agent", Value: jcs.String(c.Agent)},
		jcs.Member{Name: "declined", Value: jcs.Array(items...)},
		jcs.Member{Name: "principal", Value: jcs.String(c.Principal)},
		jcs.Member{Name: "state", Value: jcs.String(string(name))},
		jcs.Member{Name: "subject", Value: jcs.String(c.Subject)},
	)...)
}

func (a asking) object() []byte {
	return jcs.Object(
		jcs.Member{Name: "dialogue", Value: jcs.Bool(a.hatches.Dialogue)},
		jcs.Member{Name: "envelope_digest", Value: jcs.String(a.envelope.String())},
		jcs.Member{Name: "free_text", Value: jcs.Bool(a.hatches.FreeText)},
		jcs.Member{Name: "labels", Value: jcs.String(string(a.labels))},
		jcs.Member{Name: "options", Value: jcs.Int(int64(a.options))},
		jcs.Member{Name: "stem", Value: jcs.String(string(a.stem))},
	)
}

// ParseState reads what JSON of a state wrote.
func ParseState(text []byte) (State, error) {
	v, err := profile().Parse(text)
	if err != nil {
		return nil, err
	}
	r := jcs.NewReader(v)
	d, err := NewMatter(Matter{Agent: r.Text("agent"), Principal: r.Text("principal"), Subject: r.Text("subject")})
	if err != nil {
		return nil, err
	}
	for _, item := range r.Items("declined") {
		asked, err := parseAsking(jcs.NewReader(item))
		if err != nil {
			return nil, err
		}
		d.declined = append(d.declined, asked)
	}
	s, err := parseState(r, d.course)
	if err := cmp.Or(err, r.Close()); err != nil {
		return nil, err
	}
	return s, nil
}

func parseState(r *jcs.Reader, c course) (State, error) {
	name := stateName(r.Text("state"))
	switch name {
	case deliberating:
		return Deliberating{c}, nil
	case awaiting:
		asked, err := parseAsking(r.Object("asked"))
		return Awaiting{c, asked}, err
	}
	d, err := ParseDigest(r.Text("envelope_digest"))
	if err != nil {
		return nil, err
	}
	switch name {
	case decided:
		return Decided{c, d, int(r.Int("option_idx"))}, nil
	case answered:
		return Answered{c, d}, nil
	case reopened:
		return Reopened{c, d, time.UnixMilli(r.Int("at")).UTC()}, nil
	}
	return nil, errors.New("envelope: a matter is in none of the five states")
}

func parseAsking(r *jcs.Reader) (a asking, err error) {
	a.hatches = Hatches{FreeText: r.Bool("free_text"), Dialogue: r.Bool("dialogue")}
	a.options = int(r.Int("options"))
	a.stem, a.labels = jcs.Hex256(r.Text("stem")), jcs.Hex256(r.Text("labels"))
	digest := r.Text("envelope_digest")
	if err := r.Close(); err != nil {
		return asking{}, err
	}
	a.envelope, err = ParseDigest(digest)
	return a, err
}
