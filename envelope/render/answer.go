package render

import (
	"errors"
	"strings"

	"github.com/bindery/bindery/envelope"
)

const (
	keyWrite   = "W"
	keyDecline = "R"
)

// ErrUnclear says that what came back is none of the ways that were shown. Nothing is decided by it,
// and nothing is guessed: ask again.
var ErrUnclear = errors.New("render: this is none of the answers that were offered")

// Resolve returns the resolution that a way stands for; text is the answer of the way of the kind
// answer, and is ignored for others. Line ends in it become LF, since a browser sends CR LF for what
// a terminal sends as LF. It is where all surfaces end (ENV-097). The error is [ErrUnclear] for a
// way that the view does not have, and an *[envelope.Refusal] otherwise.
func (v View) Resolve(w Way, text string) (envelope.Resolution, error) {
	for _, own := range v.ways {
		if own.Kind != w.Kind || own.Index != w.Index {
			continue
		}
		switch own.Kind {
		case envelope.KindOption:
			return envelope.Choose(v.envelope, own.Index)
		case envelope.KindAnswer:
			return envelope.Answer(v.envelope, lineEnds(text))
		default:
			return envelope.Reopen(v.envelope)
		}
	}
	return envelope.Resolution{}, ErrUnclear
}

func lineEnds(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}

// replyTo is the reply by which a way is taken, as it is shown.
func replyTo(w Way) string {
	if w.Kind == envelope.KindAnswer {
		return "Reply: " + w.Key + ": and your answer"
	}
	return "Reply: " + w.Key
}

// Reply reads a reply to the text: the letter of a way, alone or with ) or . after it, in either
// case; or "W:" and an answer, of which one space after the colon is taken off. A letter with more
// words after it is [ErrUnclear]: "A good question" is no choice of A.
func (v View) Reply(reply string) (envelope.Resolution, error) {
	if head, answer, ok := strings.Cut(reply, ":"); ok && strings.EqualFold(strings.TrimSpace(head), keyWrite) {
		return v.Resolve(Way{Kind: envelope.KindAnswer}, strings.TrimPrefix(answer, " "))
	}
	letter := strings.TrimSpace(reply)
	if len(letter) == 2 && strings.ContainsAny(letter[1:], ").") {
		letter = letter[:1]
	}
	for _, w := range v.ways {
		if w.Kind != envelope.KindAnswer && strings.EqualFold(letter, w.Key) {
			return v.Resolve(w, "")
		}
	}
	return envelope.Resolution{}, ErrUnclear
}

// The names of the fields that the page's forms send: those of a resolution.
const (
	fieldDigest     = "envelope_digest"
	fieldResolution = "resolution"
	fieldOption     = "option_idx"
	fieldAnswer     = "answer"
)

// Submit reads a form of the page, as net/http parses it: values by the name of their field. Fields
// of other names are the surface's own and are not looked at. A field twice, or one that belongs to
// another form, makes it [ErrUnclear]; the digest of another envelope is an *[envelope.Refusal] of
// the name [envelope.Unknown].
func (v View) Submit(form map[string][]string) (envelope.Resolution, error) {
	for _, name := range []string{fieldDigest, fieldResolution, fieldOption, fieldAnswer} {
		if len(form[name]) > 1 {
			return envelope.Resolution{}, ErrUnclear
		}
	}
	field := func(name string) string { return strings.Join(form[name], "") }
	_, idx := form[fieldOption]
	_, answer := form[fieldAnswer]
	kind := envelope.Kind(field(fieldResolution))
	if idx != (kind == envelope.KindOption) || answer != (kind == envelope.KindAnswer) {
		return envelope.Resolution{}, ErrUnclear
	}
	if d, err := envelope.ParseDigest(field(fieldDigest)); err != nil || d != v.envelope.Digest() {
		return envelope.Resolution{}, &envelope.Refusal{
			Name: envelope.Unknown, Row: "ENV-072", Path: "/envelope_digest", Rule: "is not the digest of this envelope",
		}
	}
	way := Way{Kind: kind}
	if kind == envelope.KindOption {
		way.Index = strings.Index("0123", field(fieldOption))
		if len(field(fieldOption)) != 1 {
			way.Index = -1
		}
	}
	return v.Resolve(way, field(fieldAnswer))
}
