package envelope

// lints are all that look at one slot, in the order in which they are asked.
var lints = [...]lint{
	{
		name: "blank", severity: Block, reason: "there is nothing to read", fix: "fill the slot",
		slots: []slot{slotSynopsis, slotFinding, slotRecommendation, slotOffer, slotStem, slotLabel, slotReasoning},
		rows:  []string{"ENV-015", "ENV-019", "ENV-023", "ENV-026", "ENV-027", "ENV-032", "ENV-033"},
		is:    func(_ *linter, t text) bool { return blank(t.raw) },
	},
	{
		name: "line_break", severity: Block, reason: "the slot is one line", fix: "say it in one line",
		slots: []slot{slotSynopsis, slotFinding, slotRecommendation, slotOffer, slotStem, slotLabel, slotReasoning},
		rows:  []string{"ENV-015", "ENV-019", "ENV-023", "ENV-026", "ENV-027", "ENV-032", "ENV-033"},
		is:    func(_ *linter, t text) bool { return lineBreak(t.raw) },
	},
	{
		name: "hidden", severity: Block, reason: "there are characters that cannot be seen", fix: "take controls and direction marks out",
		slots: []slot{slotSynopsis, slotFinding, slotRecommendation, slotOffer, slotStem, slotLabel, slotReasoning}, rows: []string{"ENV-014"},
		is: func(_ *linter, t text) bool { return hidden(t.raw) },
	},
	{
		name: "several_sentences", severity: Block, reason: "the slot is one sentence", fix: "keep the sentence that carries the position or the question, and move the rest to the findings",
		slots: []slot{slotSynopsis, slotStem}, rows: []string{"ENV-015", "ENV-027"},
		is: func(_ *linter, t text) bool { return severalSentences(t.raw) },
	},
	{
		name: "several_sentences", severity: Warn, reason: "an item is one observation or one move", fix: "make two items of it",
		slots: []slot{slotFinding, slotRecommendation}, rows: []string{"ENV-019", "ENV-023"},
		is: func(_ *linter, t text) bool { return severalSentences(t.raw) },
	},
	{
		name: "hedge", severity: Block, reason: "the synopsis balances or softens instead of taking a position", fix: "say what you would do, and put the doubt among the findings; if you cannot, return a deliberation instead",
		slots: []slot{slotSynopsis}, rows: []string{"ENV-017"}, is: (*linter).hedged,
	},
	{
		name: "defers", severity: Block, reason: "the synopsis hands the choice on, or puts it off", fix: "say what you would do; if you cannot yet, return a deliberation instead",
		slots: []slot{slotSynopsis}, rows: []string{"ENV-017"}, is: (*linter).deferred,
	},
	{
		name: "no_position", severity: Warn, reason: "the synopsis seems to say what there is, and not what to do", fix: "begin with the answer",
		slots: []slot{slotSynopsis}, rows: []string{"ENV-016"}, is: (*linter).positionless,
	},
	{
		name: "restates", severity: Warn, reason: "the finding seems to say the position again", fix: "say what was observed, or leave it out",
		slots: []slot{slotFinding}, rows: []string{"ENV-021"}, is: (*linter).restates,
	},
	{
		name: "recaps_input", severity: Warn, reason: "the finding repeats what the principal said", fix: "leave it out",
		slots: []slot{slotFinding}, rows: []string{"ENV-022"}, is: (*linter).recapped,
	},
	{
		name: "unrelated", severity: Warn, reason: "the finding seems to disclose private matter that the decision does not need", fix: "leave it out, or say without the person what matters",
		slots: []slot{slotFinding}, rows: []string{"ENV-111"}, is: (*linter).unrelated,
	},
	{
		name: "too_long", severity: Warn, reason: "the finding is not terse", fix: "cut it to the one observation; depth is what the offer is for",
		slots: []slot{slotFinding}, rows: []string{"ENV-110"}, is: (*linter).tooLong,
	},
	{
		name: "consideration_not_action", severity: Block, reason: "it changes what one has in mind, and nothing else", fix: "name the move that would follow",
		slots: []slot{slotRecommendation}, rows: []string{"ENV-025"}, is: (*linter).considered,
	},
	{
		name: "no_action", severity: Warn, reason: "it seems to state a fact", fix: "begin with a verb, or move it to the findings",
		slots: []slot{slotRecommendation}, rows: []string{"ENV-023"}, is: (*linter).inert,
	},
	{
		name: "leading", severity: Block, reason: "the question praises, blames or presumes an answer", fix: "ask it so that each option could be the answer",
		slots: []slot{slotStem}, rows: []string{"ENV-028"}, is: (*linter).leading,
	},
	{
		name: "embeds_recommendation", severity: Block, reason: "the question says which answer is advised", fix: "leave the advice to the mark on the option",
		slots: []slot{slotStem}, rows: []string{"ENV-029"}, is: (*linter).embedded,
	},
	{
		name: "path_of_least_resistance", severity: Block, reason: "silence, a default or less effort picks one answer", fix: "ask for a choice between the options",
		slots: []slot{slotStem}, rows: []string{"ENV-030"}, is: (*linter).easy,
	},
	{
		name: "no_question", severity: Warn, reason: "the stem seems to ask nothing", fix: "put it as a question, or as a request to choose",
		slots: []slot{slotStem}, rows: []string{"ENV-027"}, is: (*linter).asksNothing,
	},
	{
		name: "hatch_as_option", severity: Block, reason: "a way out of the options, or of the question, is no option", fix: "leave it to the hatches",
		slots: []slot{slotLabel}, rows: []string{"ENV-034"}, is: (*linter).isHatch,
	},
	{
		name: "not_action_shaped", severity: Warn, reason: "the label seems to name a property, and no move", fix: "begin with a verb",
		slots: []slot{slotLabel}, rows: []string{"ENV-032"}, is: (*linter).noMove,
	},
	{
		name: "no_reason", severity: Warn, reason: "the reasoning gives no reason", fix: "say what speaks for the option",
		slots: []slot{slotReasoning}, rows: []string{"ENV-033"}, is: (*linter).reasonless,
	},
	{
		name: "against_itself", severity: Warn, reason: "the reasoning speaks only against its own option", fix: "say why one might choose it",
		slots: []slot{slotReasoning}, rows: []string{"ENV-033"}, is: (*linter).againstItself,
	},
}
