package envelope

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"github.com/bindery/bindery/jcs"
)

// A Kind is how an envelope was resolved; exactly one of three (ENV-069, ENV-073).
type Kind string

// The kinds, as they stand on the wire.
const (
	KindOption   Kind = "option"   // one of the options was chosen
	KindAnswer   Kind = "answer"   // the principal answered in their own words: the question stands
	KindQuestion Kind = "question" // the question itself was declined: deliberation is open again
)

// A Resolution is the principal's response to one envelope (section 7.3). Only [ParseResolution],
// [Choose], [Answer] and [Reopen] make one; the zero Resolution is none.
//
// It proves no human: who gave it, and how surely, is said beside it ([Taking]).
type Resolution struct {
	c *verdict
}

type verdict struct {
	json      []byte // never changed
	digest    Digest
	envelope  Digest
	kind      Kind
	idx       int64
	answer    string
	hasIdx    bool
	hasAnswer bool
	named     string // what stands in envelope_digest
}

// ParseResolution reads a resolution from JSON text as received, at most [MaxText] bytes. It looks
// at the form alone: a closed object, exactly one of the three forms, a digest in its one spelling,
// an answer that is not blank. Whether it fits an envelope is [Resolution.Against]; whether that
// envelope is outstanding, the [Ledger] knows. The error is a *[Refusal].
func ParseResolution(text []byte) (Resolution, error) {
	v, err := profile().Parse(text)
	if err != nil {
		return Resolution{}, malformed(textFault(text, err))
	}
	c := &verdict{json: v.Bytes(), digest: digestOf(v)}
	if fault := walk(c.json, resolutionShape(), c); fault != nil {
		return Resolution{}, malformed(fault)
	}
	if refusal := c.check(); refusal != nil {
		return Resolution{}, refusal
	}
	return Resolution{c}, nil
}

func malformed(e *Error) *Refusal {
	if e.Rule == ruleUnknown {
		e.Row = "ENV-071"
	}
	return &Refusal{Name: Malformed, Row: e.Row, Path: e.Path, Rule: e.Rule}
}

func (v *verdict) item(slot) {}

func (v *verdict) truth(slot, bool) {}

func (v *verdict) integer(_ slot, n int64) { v.idx, v.hasIdx = n, true }

func (v *verdict) text(s slot, p piece) {
	text := p.of(v.json)
	switch s {
	case slotDigest:
		v.named = text
	case slotResolution:
		v.kind = Kind(text)
	case slotAnswer:
		v.answer, v.hasAnswer = text, true
	}
}

// check holds the members against each other.
func (v *verdict) check() *Refusal {
	refuse := func(name, row, path, rule string) *Refusal { return &Refusal{name, row, path, rule} }
	var err error
	if v.envelope, err = ParseDigest(v.named); err != nil {
		return refuse(Malformed, "ENV-072", "/envelope_digest", "is not sha256: and 64 lower-case hexadecimal digits")
	}
	switch v.kind {
	case KindOption, KindAnswer, KindQuestion:
	default:
		return refuse(Malformed, "ENV-073", "/resolution", "is none of option, answer and question")
	}
	row := "ENV-074"
	if v.kind == KindQuestion {
		row = "ENV-077"
	}
	switch {
	case v.hasIdx && v.kind != KindOption:
		return refuse(Malformed, row, "/option_idx", "belongs to the resolution option alone")
	case !v.hasIdx && v.kind == KindOption:
		return refuse(Malformed, "ENV-074", "/option_idx", ruleMissing)
	case v.hasAnswer && v.kind == KindQuestion:
		return refuse(Malformed, "ENV-077", "/answer", "belongs to the resolution answer alone")
	case v.hasAnswer && v.kind != KindAnswer:
		return refuse(Malformed, "ENV-076", "/answer", "belongs to the resolution answer alone")
	case !v.hasAnswer && v.kind == KindAnswer:
		return refuse(Malformed, "ENV-076", "/answer", ruleMissing)
	case v.hasIdx && v.idx < 0:
		return refuse(OutOfRange, "ENV-075", "/option_idx", "is not the index of an option")
	case v.hasAnswer && blank(v.answer):
		return refuse(Blank, "ENV-076", "/answer", "has no visible character")
	}
	return nil
}

// blank reports whether a text has nothing to see: separators, controls and format characters
// alone. A zero-width space is no answer either.
func blank(s string) bool {
	for _, r := range s {
		if !unicode.In(r, unicode.Z, unicode.Cc, unicode.Cf) {
			return false
		}
	}
	return true
}

// Against reports whether r resolves e: the digest is e's, the index that of one of its options,
// the hatch one that e left open (AE-12). The error is a *[Refusal].
func (r Resolution) Against(e Envelope) error {
	if refusal := r.against(e.Digest(), e.get().count, e.Hatches()); refusal != nil {
		return refusal
	}
	return nil
}

// against holds r against what a resolution can be wrong about.
func (r Resolution) against(envelope Digest, options int, open Hatches) *Refusal {
	c := r.get()
	switch {
	case c.envelope.IsZero() || c.envelope != envelope:
		return &Refusal{Unknown, "ENV-072", "/envelope_digest", "is not the digest of this envelope"}
	case c.kind == KindOption && c.idx >= int64(options):
		return &Refusal{OutOfRange, "ENV-075", "/option_idx", "is not the index of an option"}
	case c.kind == KindAnswer && !open.FreeText:
		return &Refusal{HatchClosed, "ENV-042", "/resolution", "is by a hatch that the envelope closed"}
	case c.kind == KindQuestion && !open.Dialogue:
		return &Refusal{HatchClosed, "ENV-043", "/resolution", "is by a hatch that the envelope closed"}
	}
	return nil
}

// Choose resolves e by its option idx, counted from 0. The error is a *[Refusal].
func Choose(e Envelope, idx int) (Resolution, error) {
	if idx < 0 || idx >= MaxOptions { // so that any int can be written as JSON
		return Resolution{}, &Refusal{OutOfRange, "ENV-075", "/option_idx", "is not the index of an option"}
	}
	return resolve(e, KindOption, jcs.Member{Name: "option_idx", Value: jcs.Int(int64(idx))})
}

// Answer resolves e by an answer in the principal's own words, at most [MaxAnswer] characters, and
// with the digest [MaxText] bytes of JSON. The text is taken as it is: nothing is trimmed, and nothing
// in it is obeyed (ENV-112). The error is a *[Refusal].
func Answer(e Envelope, text string) (Resolution, error) {
	if !utf8.ValidString(text) {
		return Resolution{}, &Refusal{Malformed, "ENV-076", "/answer", "is not valid UTF-8"}
	}
	return resolve(e, KindAnswer, jcs.Member{Name: "answer", Value: jcs.String(text)})
}

// Reopen declines the question of e. It carries nothing else (ENV-077); the objection is a message
// of its own ([Reopened.Hear]). The error is a *[Refusal].
func Reopen(e Envelope) (Resolution, error) {
	return resolve(e, KindQuestion, jcs.Member{})
}

// resolve writes a resolution and reads it again, so that there is one door for all of them.
func resolve(e Envelope, kind Kind, with jcs.Member) (Resolution, error) {
	if e.IsZero() {
		return Resolution{}, &Refusal{Unknown, "ENV-072", "/envelope_digest", "is not the digest of this envelope"}
	}
	r, err := ParseResolution(jcs.Object(
		jcs.Member{Name: "envelope_digest", Value: jcs.String(e.Digest().String())},
		jcs.Member{Name: "resolution", Value: jcs.String(string(kind))},
		with,
	))
	if err == nil {
		err = r.Against(e)
	}
	if err != nil {
		return Resolution{}, err
	}
	return r, nil
}

func (r Resolution) get() *verdict {
	if r.c == nil {
		return &verdict{}
	}
	return r.c
}

// IsZero reports whether r is none.
func (r Resolution) IsZero() bool { return r.c == nil }

// Equal reports whether both are the same resolution: whether their digests are.
func (r Resolution) Equal(other Resolution) bool { return r.Digest() == other.Digest() }

// EnvelopeDigest returns the digest of the envelope that r resolves.
func (r Resolution) EnvelopeDigest() Digest { return r.get().envelope }

// Kind returns which of the three r is, "" for none.
func (r Resolution) Kind() Kind { return r.get().kind }

// OptionIdx returns the index of the chosen option; ok is false unless the kind is [KindOption].
func (r Resolution) OptionIdx() (idx int, ok bool) { c := r.get(); return int(c.idx), c.hasIdx }

// AnswerText returns the answer; ok is false unless the kind is [KindAnswer]. It is text from
// outside: escape it where it is shown, and keep it no longer than it is needed (ENV-112, ENV-113).
func (r Resolution) AnswerText() (text string, ok bool) {
	c := r.get()
	return c.answer, c.hasAnswer
}

// JSON returns the canonical form; nil for the zero Resolution. The slice is the caller's.
func (r Resolution) JSON() []byte {
	if r.c == nil {
		return nil
	}
	return bytes.Clone(r.c.json)
}

// Digest returns the digest of r itself, of its canonical form.
func (r Resolution) Digest() Digest { return r.get().digest }

// String names the kind and the envelope and leaves the answer out, so that a resolution in a log
// line does not spill it (ENV-113).
func (r Resolution) String() string {
	if r.c == nil {
		return "no resolution"
	}
	return string(r.c.kind) + " of " + r.c.envelope.String()
}

// GoString returns [Resolution.String].
func (r Resolution) GoString() string { return r.String() }
