package envelope

import (
	"bytes"

	"github.com/bindery/bindery/jcs"
)

// An Envelope is one well-formed briefing-and-binding envelope. Only [Parse] and [Draft.Build] make
// one; the zero Envelope is none, and all its slots are empty. An Envelope does not change, may be
// copied, and may be read from many goroutines.
type Envelope struct {
	c *content
}

// content is what an Envelope holds: the canonical text, and pieces of it.
type content struct {
	json     []byte // never changed
	digest   Digest
	synopsis piece
	briefs   []piece // the findings, then the recommendations
	findings int     // how many of them are findings
	offer    piece
	stem     piece
	options  [MaxOptions]struct{ label, reasoning piece }
	count    int // of options
	mark     int64
	hatches  Hatches
	class    piece // begin is 0 if there is none
	note     piece
}

// An Option is one answer that the principal may choose (slot 6).
type Option struct {
	Label     string // what is done
	Reasoning string // why one might choose it, in a line
}

// Hatches say by which ways out the question may be left (slot 8).
type Hatches struct {
	FreeText bool // an answer in the principal's own words: the question stands
	Dialogue bool // no answer: the question itself is declined
}

// Meta is the optional part of an envelope (section 5.9). An empty text and an absent member are
// told apart by the Has fields.
type Meta struct {
	DecisionClass      string
	CalibrationNote    string
	HasDecisionClass   bool
	HasCalibrationNote bool
}

// profile are the bounds of section 6.3: the integers of J2, and 64 levels.
func profile() jcs.Profile { return jcs.Profile{MaxSize: MaxText} }

// Parse reads the value of binding_moment from JSON text as received, at most [MaxText] bytes of
// it. It accepts exactly the grammar of sections 4 and 5 that a machine can check, and repairs
// nothing: an unknown member at any level, a missing one, a wrong type or number is malformed
// (E1, ENV-007 to ENV-046). What is a matter of wording is not refused here; see [Lint].
//
// It must be given text, and not JSON made from a value that another parser has read: such a parser
// may have dropped a repeated member (ENV-057). The error is an *[Error].
func Parse(text []byte) (Envelope, error) {
	v, err := profile().Parse(text)
	if err != nil {
		return Envelope{}, textFault(text, err)
	}
	c := &content{json: v.Bytes(), digest: digestOf(v), briefs: make([]piece, 0, 12)}
	if fault := walk(c.json, envelopeShape(), c); fault != nil {
		return Envelope{}, fault
	}
	if c.mark < 0 || c.mark >= int64(c.count) {
		return Envelope{}, &Error{Row: "ENV-036", Path: "/question/recommended_idx", Rule: "is not the index of an option"}
	}
	return Envelope{c}, nil
}

// walk holds a canonical text against a shape.
func walk(text []byte, s *shape, to sink) *Error {
	w := walker{text: text, sink: to}
	return w.value(s)
}

func (c *content) item(slot) { c.count++ }

func (c *content) text(s slot, p piece) {
	switch s {
	case slotSynopsis:
		c.synopsis = p
	case slotFinding:
		c.briefs = append(c.briefs, p)
		c.findings++
	case slotRecommendation:
		c.briefs = append(c.briefs, p)
	case slotOffer:
		c.offer = p
	case slotStem:
		c.stem = p
	case slotLabel:
		c.options[c.count-1].label = p
	case slotReasoning:
		c.options[c.count-1].reasoning = p
	case slotClass:
		c.class = p
	case slotCalibration:
		c.note = p
	}
}

func (c *content) integer(_ slot, n int64) { c.mark = n }

func (c *content) truth(s slot, b bool) {
	if s == slotFreeText {
		c.hatches.FreeText = b
	} else {
		c.hatches.Dialogue = b
	}
}

// get returns the content of e, an empty one for the zero Envelope.
func (e Envelope) get() *content {
	if e.c == nil {
		return &content{}
	}
	return e.c
}

// IsZero reports whether e is none.
func (e Envelope) IsZero() bool { return e.c == nil }

// Equal reports whether both are the same envelope: whether their digests are.
func (e Envelope) Equal(other Envelope) bool { return e.Digest() == other.Digest() }

// Synopsis returns slot 1.
func (e Envelope) Synopsis() string { c := e.get(); return c.synopsis.of(c.json) }

// Findings returns slot 2; the slice is the caller's.
func (e Envelope) Findings() []string { c := e.get(); return c.list(c.briefs[:c.findings]) }

// Recommendations returns slot 3; the slice is the caller's.
func (e Envelope) Recommendations() []string { c := e.get(); return c.list(c.briefs[c.findings:]) }

func (c *content) list(pieces []piece) []string {
	list := make([]string, len(pieces))
	for i, p := range pieces {
		list[i] = p.of(c.json)
	}
	return list
}

// Offer returns slot 4.
func (e Envelope) Offer() string { c := e.get(); return c.offer.of(c.json) }

// Stem returns slot 5.
func (e Envelope) Stem() string { c := e.get(); return c.stem.of(c.json) }

// Options returns slot 6, two to four; the slice is the caller's.
func (e Envelope) Options() []Option {
	c := e.get()
	list := make([]Option, c.count)
	for i := range list {
		list[i] = Option{c.options[i].label.of(c.json), c.options[i].reasoning.of(c.json)}
	}
	return list
}

// Recommended returns slot 7, the index of an option.
func (e Envelope) Recommended() int { return int(e.get().mark) }

// Hatches returns slot 8.
func (e Envelope) Hatches() Hatches { return e.get().hatches }

// Meta returns the optional part.
func (e Envelope) Meta() Meta {
	c := e.get()
	return Meta{c.class.of(c.json), c.note.of(c.json), c.class.begin > 0, c.note.begin > 0}
}

// JSON returns the canonical form, the bytes that were hashed; nil for the zero Envelope. The slice
// is the caller's.
func (e Envelope) JSON() []byte {
	if e.c == nil {
		return nil
	}
	return bytes.Clone(e.c.json)
}

// Digest returns the digest of the canonical form, the name of the envelope (section 6.2).
func (e Envelope) Digest() Digest { return e.get().digest }
