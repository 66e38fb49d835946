package cli

import (
	"github.com/bindery/bindery/envelope"
	"github.com/bindery/bindery/jcs"
)

// An envelopeName is a name that envelopes, resolutions and matters are refused by.
type envelopeName struct{ name, row, message, fix string }

// envelopeNames are all of them.
func envelopeNames() []envelopeName {
	return []envelopeName{
		{envelopeMalformed, "ENV-010", "it is not an envelope, and is discarded whole",
			"look at the member that is named beside it: bindery envelope check FILE; nothing is repaired on the way."},
		{envelopeBlocked, "ENV-014", "the wording breaks the discipline of the slots, so that a builder does not emit it",
			"do what bindery envelope lint says beside each line, or go on deliberating."},
		{evidenceMalformed, "ENV-118", "it is not a record of this envelope's evidence",
			"give the record that the emitter kept for exactly this envelope."},
		{evidenceMissing, "ENV-118", "a finding rests on a document that none of the files is, byte for byte",
			"find the document as the agent saw it; a later version of it has another digest."},
		{envelope.Malformed, "ENV-069", "the resolution is none of the three forms, and is discarded",
			"send envelope_digest and resolution, with option_idx for option, answer for answer, and nothing for question."},
		{envelope.Blank, "ENV-076", "the answer has no visible character",
			"write an answer, choose an option, or decline the question."},
		{envelope.Unknown, "ENV-078", "it names no envelope that this agent emitted in this session",
			"resolve the envelope that was shown, with its digest as it stands; a ledger that was lost knows none."},
		{envelope.Taken, "ENV-079", "the envelope is resolved already, and is good for one resolution",
			"ask what became of the first resolution; a further decision takes a further envelope."},
		{envelope.OutOfRange, "ENV-075", "option_idx is not the index of an option",
			"count the options from 0."},
		{envelope.HatchClosed, "ENV-042", "it uses a hatch that the envelope closed",
			"choose an option; if none fits, do not resolve it, and tell the agent outside of the envelope."},
		{envelope.Unproven, "ENV-109", "the decision needs more assurance than the resolution came with",
			"resolve it on a surface of the principal's own; what an agent or a client carries proves no human."},
		{envelope.SameQuestion, "ENV-067", "the stem or the set of labels was declined before in this matter",
			"take in the objection and put another question."},
		{envelope.NotHeard, "ENV-068", "the question was declined, and no message of the principal after it is recorded",
			"wait for what the principal says, and record it; until then nothing is put."},
		{envelope.WrongTransition, "ENV-066", "the event does not belong to the state of the matter",
			"read the state anew: it was moved meanwhile, or the event came twice."},
		{envelope.Exhausted, "ENV-066", "so many questions were declined in this matter that no other is put",
			"leave the decision to the principal, outside of envelopes."},
	}
}

// explainEnvelope says what such a name means, if it is one.
func (a *app) explainEnvelope(name string) (known bool) {
	for _, n := range envelopeNames() {
		if n.name != name {
			continue
		}
		if a.json {
			a.print(jcs.Object(said("name", n.name), said("row", n.row), said("message", n.message), said("fix", n.fix)))
			return true
		}
		a.line("%s: %s.", n.name, n.message)
		a.line("")
		a.line("row      %s", n.row)
		a.line("")
		a.line("Usual fix: %s", n.fix)
		return true
	}
	return false
}
