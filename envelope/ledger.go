package envelope

import (
	"context"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/bindery/bindery/jcs"
)

// What a [Ledger] answers besides nil. Everything else is a fault of the storage, after which
// nothing is known and nothing may be acted on.
var (
	ErrEmitted = errors.New("envelope: this digest was emitted before; a repeated decision must differ in its words (ENV-115)")
	ErrUnknown = errors.New("envelope: no envelope of this digest was emitted (ENV-078)")
	ErrTaken   = errors.New("envelope: this envelope is resolved already (ENV-079)")
)

// A Ledger remembers which envelopes an agent emitted and which of them are resolved. The envelope
// itself holds no state (section 3); this is the agent's (AE-17).
//
// All methods may be called concurrently, also from several processes over one store. What returned
// nil is durable, as far as the implementation is at all: a ledger that loses an emission makes
// every resolution of it unknown, and one that loses a taking would let it be taken twice. Nothing
// is ever forgotten: a digest once emitted is refused for ever.
type Ledger interface {
	// Emit records e before it leaves. It returns the error of [Emission.Check], or [ErrEmitted] if
	// its digest was ever emitted, by whichever agent and in whichever session: envelopes have no
	// nonce, so equal ones could not be told apart (ENV-115, E3). Of concurrent calls with one
	// digest one alone returns nil.
	Emit(ctx context.Context, e Emission) error

	// Envelope returns the emission of that digest, resolved or not, or [ErrUnknown]. A ledger that
	// no longer has the words of a resolved envelope returns [ErrTaken] for it, and an emission of
	// Agent and Session alone.
	Envelope(ctx context.Context, d Digest) (Emission, error)

	// Take marks the envelope t.Envelope as resolved and records t, in one step, before anything is
	// done because of it. Of all calls for one digest, ever, one alone returns nil: the others get
	// [ErrTaken], or [ErrUnknown] if it was never emitted. It does not look at whether the
	// resolution fits; [Settle] does, and is the way in.
	Take(ctx context.Context, t Taking) (Emission, error)

	// Discard records that a resolution was refused. It never changes an envelope's state.
	Discard(ctx context.Context, d Discarded) error
}

// A Hatch is the name of a way out, as on the wire.
type Hatch string

// The two hatches (section 5.8).
const (
	FreeText Hatch = "free_text"
	Dialogue Hatch = "dialogue"
)

// A Closure says why a hatch is closed. It stands in the agent's record, not in the envelope
// (ENV-045, ENV-108).
type Closure struct {
	Hatch  Hatch
	Reason string
}

// An Emission is one envelope on its way to one principal, with what the agent keeps about it. None
// of this is in the envelope, whose members are closed (ENV-103).
type Emission struct {
	Envelope  Envelope
	Agent     string    // who emits it
	Principal string    // the one person who is asked: an envelope is no broadcast (ENV-089)
	Session   string    // if given, only this session may resolve it (ENV-104)
	Matter    string    // what the decision is about, under which a veto counts (E6); may be ""
	At        time.Time // kept in milliseconds
	Closed    []Closure // one for each hatch that the envelope closes (ENV-045)
	Earlier   string    // the framing that the calibration note corrects; set if there is a note (ENV-048)
	Needs     Assurance // the least with which it may be resolved (ENV-109); zero is Client
	Actions   Actions   // what each option does (ENV-120); may be zero
	Evidence  Evidence  // what the findings rest on (ENV-118); may be zero
}

// maxNote bounds the texts that are kept beside an envelope, in bytes.
const maxNote = 1024

// Check reports whether e may be emitted: one agent, one principal, a time, a reason for each closed
// hatch and for no other, a reference for a calibration note, and actions and evidence that are of
// this envelope.
func (e Emission) Check() error {
	year := e.At.UTC().Year() // as it is stored
	switch {
	case e.Envelope.IsZero():
		return errors.New("envelope: an emission without an envelope")
	case blank(e.Agent) || blank(e.Principal):
		return errors.New("envelope: an emission names one agent and one principal (ENV-089)")
	case year <= 1 || year > 9999:
		return errors.New("envelope: an emission has a time, of the years 2 to 9999")
	case e.Needs.orClient().rank() == 0:
		return errors.New("envelope: an emission needs an assurance that is not known (ENV-109)")
	case blank(e.Earlier) == e.Envelope.Meta().HasCalibrationNote:
		return errors.New("envelope: a calibration note goes with a reference to the earlier framing, and only with one (ENV-048)")
	case !e.Actions.IsZero() && e.Actions.Envelope() != e.Envelope.Digest():
		return errors.New("envelope: the actions are those of another envelope (ENV-120)")
	case !e.Evidence.IsZero() && e.Evidence.Envelope() != e.Envelope.Digest():
		return errors.New("envelope: the evidence is that of another envelope (ENV-118)")
	}
	if err := checkNames(e.Agent, e.Principal, e.Session, e.Matter, e.Earlier); err != nil {
		return err
	}
	return checkClosures(e.Envelope.Hatches(), e.Closed)
}

// checkNames keeps out what cannot be stored, or not be read again.
func checkNames(names ...string) error {
	for _, s := range names {
		if len(s) > maxNote || !utf8.ValidString(s) {
			return errors.New("envelope: a name is not UTF-8, or longer than 1024 bytes")
		}
	}
	return nil
}

// checkClosures holds the reasons against the hatches.
func checkClosures(h Hatches, closed []Closure) error {
	open := map[Hatch]bool{FreeText: h.FreeText, Dialogue: h.Dialogue}
	for _, c := range closed {
		isOpen, known := open[c.Hatch]
		switch {
		case !known || isOpen:
			return errors.New("envelope: a reason to close a hatch that is open, unknown, or closed twice (ENV-045)")
		case blank(c.Reason) || len(c.Reason) > maxNote || !utf8.ValidString(c.Reason):
			return errors.New("envelope: closing a hatch takes a reason, in at most 1024 bytes (ENV-045)")
		}
		delete(open, c.Hatch)
	}
	for _, isOpen := range open {
		if !isOpen {
			return errors.New("envelope: closing a hatch takes a reason (ENV-045)")
		}
	}
	return nil
}

// A Taking is the record of one resolution: who, how surely, when, and which of the three. Of an
// answer it has the SHA-256 and never the text (ENV-113).
type Taking struct {
	Envelope   Digest
	Resolution Digest // of the resolution itself
	Kind       Kind
	OptionIdx  int        // of [KindOption], else -1
	Answer     jcs.Digest // of the text of [KindAnswer], else ""
	By         string     // who resolved it
	Assurance  Assurance
	At         time.Time // kept in milliseconds
}

// NewTaking is the record of r.
func NewTaking(r Resolution, by string, a Assurance, at time.Time) Taking {
	t := Taking{Envelope: r.EnvelopeDigest(), Resolution: r.Digest(), Kind: r.Kind(), OptionIdx: -1, By: by, Assurance: a.orClient(), At: at}
	if idx, ok := r.OptionIdx(); ok {
		t.OptionIdx = idx
	}
	if text, ok := r.AnswerText(); ok {
		t.Answer = textDigest([]byte(text))
	}
	return t
}

// A Discarded is the record of a resolution that was refused. It has digests, and no text.
type Discarded struct {
	Name     string     // of the refusal, such as RESOLUTION_TAKEN
	Envelope Digest     // that it names; zero if it could not be read
	Text     jcs.Digest // of the resolution as it was received
	Agent    string     // to whom it was sent
	By       string
	At       time.Time
}

// textDigest names bytes that are not ours to read: an answer, a refused text, evidence.
func textDigest(b []byte) jcs.Digest { return jcs.Digest(digestPrefix + string(jcs.HexOf(b))) }
