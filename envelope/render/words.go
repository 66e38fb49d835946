package render

import "github.com/bindery/bindery/envelope"

// Our own words, once for all surfaces. They are not the envelope's, and never stand for a slot.
const (
	wordTitle       = "A decision is asked of you"
	wordCalibration = "Before you read on"
	wordSynopsis    = "Synopsis"
	wordFindings    = "Findings"
	wordMoves       = "Recommendations"
	wordOffer       = "Offer"
	wordRemarks     = "Remarks on the wording, by this surface"
	wordQuestion    = "Question"
	wordRecommended = "Recommended by the agent"
	wordNone        = "(none)"  // an array without items (AE-18)
	wordEmpty       = "(empty)" // a text without characters
	wordMarks       = "Some characters of this text do not show by themselves. They are marked, as in ⟨U+202E⟩."
	wordResult      = "Result of a tool"
	wordNothing     = "(no content)"
	wordEnvelope    = "Envelope "

	wordWrite       = "Answer in your own words"
	wordWriteMore   = "The question stands. Your answer takes the place of the options."
	wordDecline     = "Decline the question"
	wordDeclineMore = "Nothing is decided, and the matter is open again. The agent has to hear your objection before it asks anew."

	wordWriteClosed   = "The agent has closed the way to an answer in your own words."
	wordDeclineClosed = "The agent has closed the way to decline the question."
)

// assured says what a resolution that is taken here will show about who gave it (E7).
func assured(a envelope.Assurance) string {
	switch a {
	case envelope.PasskeyUV:
		return "Your passkey will sign your decision."
	case envelope.TTYPassphrase:
		return "The key behind your passphrase will sign your decision."
	}
	return "What is decided here carries no proof of who decided. Whoever reaches this place can decide."
}

// A Style is a way to dress the page. It says nothing, and no other surface has one (ENV-047).
type Style string

// The styles.
const (
	Plain      Style = "plain"
	Consent    Style = "consent"
	Permission Style = "permission"
	Recompute  Style = "recompute"
)

// styleOf maps a decision class to a style: the three classes of section 5.9, and plain for others.
func styleOf(class string) Style {
	switch class {
	case "consent":
		return Consent
	case "permission", "permission-delta", "permission_delta":
		return Permission
	case "recompute":
		return Recompute
	}
	return Plain
}
