package envelope

import (
	"strconv"
)

// Severity says what a lint's finding does.
type Severity string

// The severities. What blocks is what the memo forbids and a pattern can tell; what a pattern can
// only suspect warns.
const (
	Block Severity = "block" // the builder refuses; a surface shows it as a diagnostic and no more (E1, AE-19)
	Warn  Severity = "warn"  // shown, and nothing else
)

// A Finding is one lint's opinion of one slot.
type Finding struct {
	Rule     string // name of the lint, such as "hedge"
	Row      string // of the register
	Path     string // JSON Pointer of the slot
	Severity Severity
	Reason   string // what is wrong, in a few constant words
	Fix      string // what to do about it
}

// Context is what some lints compare with. None of it enters the envelope.
type Context struct {
	Input   []string // what the principal said before: a finding does not repeat it (ENV-022)
	Subject []string // the material of the decision: findings name nobody who is not in it (ENV-111)
}

// Lint is LintIn without a context.
func Lint(e Envelope) []Finding { return LintIn(e, Context{}) }

// LintIn returns what the lints say of the wording of e, slot by slot. They know English, and they
// know patterns, not meaning (ENV-114): `make bench BENCH=Lint` prints how often they agree with a
// reader, over sentences that they were not made on. A surface may show what they say, and never
// refuses an envelope for it.
func LintIn(e Envelope, c Context) []Finding {
	if e.IsZero() {
		return nil
	}
	l := linter{env: e, context: c, synopsis: stems(e.Synopsis())}
	l.slot(slotSynopsis, "/synopsis", e.Synopsis(), 0)
	for i, s := range e.Findings() {
		l.slot(slotFinding, "/findings/"+strconv.Itoa(i), s, i)
	}
	for i, s := range e.Recommendations() {
		l.slot(slotRecommendation, "/recommendations/"+strconv.Itoa(i), s, i)
	}
	l.slot(slotOffer, "/offer", e.Offer(), 0)
	l.slot(slotStem, "/question/stem", e.Stem(), 0)
	for i, o := range e.Options() {
		path := "/question/options/" + strconv.Itoa(i)
		l.slot(slotLabel, path+"/label", o.Label, i)
		l.slot(slotReasoning, path+"/reasoning", o.Reasoning, i)
	}
	l.counts()
	return l.found
}

// Blocks reports whether one of them blocks.
func Blocks(list []Finding) bool {
	for _, f := range list {
		if f.Severity == Block {
			return true
		}
	}
	return false
}

// LintRules returns every lint that looks at one slot, as the finding that it makes; Path is that of
// the first of its kind.
func LintRules() []Finding {
	var list []Finding
	paths := map[slot]string{
		slotSynopsis: "/synopsis", slotFinding: "/findings/0", slotRecommendation: "/recommendations/0", slotOffer: "/offer",
		slotStem: "/question/stem", slotLabel: "/question/options/0/label", slotReasoning: "/question/options/0/reasoning",
	}
	for i := range lints {
		for _, s := range lints[i].slots {
			list = append(list, lints[i].finding(s, paths[s]))
		}
	}
	return list
}

// A lint looks at one text.
type lint struct {
	name     string
	slots    []slot
	rows     []string // one for each slot, or one for all
	severity Severity
	reason   string
	fix      string
	is       func(l *linter, t text) bool
}

func (l *lint) finding(s slot, path string) Finding {
	row := l.rows[0]
	for i := range l.slots {
		if l.slots[i] == s && len(l.rows) > 1 {
			row = l.rows[i]
		}
	}
	return Finding{l.name, row, path, l.severity, l.reason, l.fix}
}

// A text is one slot's, in the forms that lints look at.
type text struct {
	raw   string
	plain string // lower case, one blank between words, and without what stands in quotation marks
	index int    // within its list
}

type linter struct {
	env      Envelope
	context  Context
	synopsis map[string]bool // stems of the synopsis
	found    []Finding
}

func (l *linter) slot(s slot, path, raw string, index int) {
	t := text{raw, plainText(raw), index}
	for i := range lints {
		if rule := &lints[i]; rule.looksAt(s) && rule.is(l, t) {
			l.found = append(l.found, rule.finding(s, path))
		}
	}
}

func (l *lint) looksAt(s slot) bool {
	for _, of := range l.slots {
		if of == s {
			return true
		}
	}
	return false
}

// counts looks at the lists as a whole.
func (l *linter) counts() {
	c := l.env.get()
	if c.findings < 3 || c.findings > 6 {
		l.found = append(l.found, Finding{"findings_count", "ENV-020", "/findings", Warn, "three to six findings are what a reader takes in", "merge what belongs together, or add what the position rests on"})
	}
	if recs := len(c.briefs) - c.findings; recs < 2 || recs > 4 {
		l.found = append(l.found, Finding{"recommendations_count", "ENV-024", "/recommendations", Warn, "two to four recommendations are what a reader takes in", "keep the moves that matter"})
	}
	keys := map[string]bool{}
	for i, o := range l.env.Options() {
		key := sameKey(o.Label)
		if keys[key] {
			l.found = append(l.found, Finding{"same_label", "ENV-062", "/question/options/" + strconv.Itoa(i) + "/label", Block, "two options say the same, so they do not divide the decision", "merge them, or say in what they differ"})
		}
		keys[key] = true
	}
}
