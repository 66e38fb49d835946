package envelope

import "strings"

// The limits. They are ours: the grammar has none but two to four options, and every text that is
// read needs one. Characters are Unicode code points.
const (
	MaxText           = 64 << 10 // bytes of the JSON text of an envelope or a resolution, as received
	MaxFindings       = 64
	MaxRecs           = 64
	MinOptions        = 2 // ENV-031
	MaxOptions        = 4 // ENV-031
	MaxSynopsis       = 2048
	MaxFinding        = 4096
	MaxRecommendation = 2048
	MaxOffer          = 1024
	MaxStem           = 2048
	MaxLabel          = 512
	MaxReasoning      = 2048
	MaxClass          = 128
	MaxCalibration    = 2048
	MaxAnswer         = 16 << 10
)

// kind is the JSON type that a shape asks for.
type kind uint8

const (
	textKind kind = iota
	integerKind
	truthKind
	arrayKind
	objectKind
)

func (k kind) rule() string {
	switch k {
	case textKind:
		return "is not a string"
	case integerKind:
		return "is not an integer"
	case truthKind:
		return "is neither true nor false"
	case arrayKind:
		return "is not an array"
	}
	return "is not an object"
}

// A shape is what the grammar says of one value. The parser walks it, and the JSON Schemas are
// printed from it: there is no second place where a member is named.
type shape struct {
	kind    kind
	row     string // cited where the value is of another type
	about   string // for the schema
	members []member
	item    *shape
	low     int    // fewest items
	high    int    // most items, or characters
	count   string // row cited for a wrong number of items
	pattern string // of a text, for the schema; the parser has its own code for it
	enum    []string
	slot    slot // where the parser puts it
}

// A member of a shape. Members are sorted by name, as in a canonical text.
type member struct {
	name     string
	optional bool
	missing  string // row cited where it is absent
	value    shape
}

// slot says which value of the grammar a text, integer or truth is.
type slot uint8

const (
	noSlot slot = iota
	slotSynopsis
	slotFinding
	slotRecommendation
	slotOffer
	slotStem
	slotLabel
	slotReasoning
	slotRecommended
	slotFreeText
	slotDialogue
	slotClass
	slotCalibration
	slotDigest
	slotResolution
	slotOptionIdx
	slotAnswer
)

// visible is nearly what [blank] says, in what every dialect of patterns has: a surface may hand a
// tool's schema on to a model's provider, and some of those refuse all tools for one \p{Cf}.
const visible = `\S`

// shapes is the one table: [envelopeShape] and [resolutionShape].
var shapes = [...]shape{
	// Section 4 of the memo, with the types of section 5 (AE-01, AE-02).
	{kind: objectKind, row: "ENV-007", about: "A briefing-and-binding envelope: the value of binding_moment.", members: []member{
		{name: "findings", missing: "ENV-008", value: shape{
			kind: arrayKind, row: "ENV-019", high: MaxFindings, count: "ENV-019", about: "Slot 2: the observations on which the synopsis rests.",
			item: &shape{kind: textKind, row: "ENV-019", high: MaxFinding, slot: slotFinding},
		}},
		{name: "meta", optional: true, value: shape{kind: objectKind, row: "ENV-009", members: []member{
			{name: "calibration_note", optional: true, value: shape{
				kind: textKind, row: "ENV-046", high: MaxCalibration, slot: slotCalibration, about: "Said where earlier framing understated the present conclusion.",
			}},
			{name: "decision_class", optional: true, value: shape{
				kind: textKind, row: "ENV-046", high: MaxClass, slot: slotClass, about: "The category of the decision.",
			}},
		}}},
		{name: "offer", missing: "ENV-008", value: shape{
			kind: textKind, row: "ENV-026", high: MaxOffer, slot: slotOffer, about: "Slot 4: depth on request.",
		}},
		{name: "question", missing: "ENV-008", value: shape{kind: objectKind, row: "ENV-008", members: []member{
			{name: "hatches", missing: "ENV-041", value: shape{kind: objectKind, row: "ENV-041", about: "Slot 8: the two hatches.", members: []member{
				{name: "dialogue", missing: "ENV-041", value: shape{
					kind: truthKind, row: "ENV-041", slot: slotDialogue, about: "Whether the question may be declined and deliberation reopened.",
				}},
				{name: "free_text", missing: "ENV-041", value: shape{
					kind: truthKind, row: "ENV-041", slot: slotFreeText, about: "Whether an answer in one's own words may be given.",
				}},
			}}},
			{name: "options", missing: "ENV-031", value: shape{
				kind: arrayKind, row: "ENV-031", low: MinOptions, high: MaxOptions, count: "ENV-031", about: "Slot 6: the options.",
				item: &shape{kind: objectKind, row: "ENV-032", members: []member{
					{name: "label", missing: "ENV-032", value: shape{
						kind: textKind, row: "ENV-032", high: MaxLabel, slot: slotLabel, about: "What is done if it is chosen.",
					}},
					{name: "reasoning", missing: "ENV-032", value: shape{
						kind: textKind, row: "ENV-032", high: MaxReasoning, slot: slotReasoning, about: "Why one might choose it, in a line.",
					}},
				}},
			}},
			{name: "recommended_idx", missing: "ENV-035", value: shape{
				kind: integerKind, row: "ENV-035", slot: slotRecommended, about: "Slot 7: the index of the one option that is recommended; less than the number of options.",
			}},
			{name: "stem", missing: "ENV-027", value: shape{
				kind: textKind, row: "ENV-027", high: MaxStem, slot: slotStem, about: "Slot 5: the question, neutrally.",
			}},
		}}},
		{name: "recommendations", missing: "ENV-008", value: shape{
			kind: arrayKind, row: "ENV-023", high: MaxRecs, count: "ENV-023", about: "Slot 3: moves that would change something.",
			item: &shape{kind: textKind, row: "ENV-023", high: MaxRecommendation, slot: slotRecommendation},
		}},
		{name: "synopsis", missing: "ENV-008", value: shape{
			kind: textKind, row: "ENV-015", high: MaxSynopsis, slot: slotSynopsis, about: "Slot 1: the position, in one sentence.",
		}},
	}},
	// Section 7.3.
	{kind: objectKind, row: "ENV-071", about: "The resolution of one envelope.", members: []member{
		{name: "answer", optional: true, value: shape{
			kind: textKind, row: "ENV-076", high: MaxAnswer, pattern: visible, slot: slotAnswer, about: "The answer in the principal's own words, with at least one visible character.",
		}},
		{name: "envelope_digest", missing: "ENV-072", value: shape{
			kind: textKind, row: "ENV-072", pattern: `^sha256:[0-9a-f]{64}$`, slot: slotDigest, about: "The digest of the envelope that is resolved.",
		}},
		{name: "option_idx", optional: true, value: shape{
			kind: integerKind, row: "ENV-074", slot: slotOptionIdx, about: "The index of the chosen option; less than the number of options of that envelope.",
		}},
		{name: "resolution", missing: "ENV-073", value: shape{
			kind: textKind, row: "ENV-073", enum: []string{"option", "answer", "question"}, slot: slotResolution, about: "Which of the three.",
		}},
	}},
}

func envelopeShape() *shape { return &shapes[0] }

func resolutionShape() *shape { return &shapes[1] }

// knows returns how many bytes of a JSON Pointer lead to something that the grammar has: its names, and
// in a list an index of at most two digits. Where the input has an object in a list's place, a name of
// it looks like an index, and more digits would tell something of the input.
func (s *shape) knows(path string) int {
	if path == "" {
		return 0
	}
	token, _, _ := strings.Cut(path[1:], "/")
	n := 1 + len(token)
	if s.item != nil && 0 < len(token) && len(token) <= 2 && strings.Trim(token, "0123456789") == "" {
		return n + s.item.knows(path[n:])
	}
	for i := range s.members {
		if m := &s.members[i]; m.name == token {
			return n + m.value.knows(path[n:])
		}
	}
	return 0
}
