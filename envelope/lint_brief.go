package envelope

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// briefPatterns are those of the briefing slots. They are matched with plain text.
type briefPatterns struct {
	hedges, hedgedMain, committed, defers, statement, topicOnly, anyMove, ties, verdicts, oughts, recaps, privateLife, considers, thenActs, noVerb, moves, stating, identity *regexp.Regexp
}

func newBriefPatterns() briefPatterns {
	return briefPatterns{
		hedges: regexp.MustCompile(`\bit depends\b|\bdepend(?:s|ing)? (?:\w+ )?(?:on|upon)\b|\bto be said for\b|\b(?:on the one hand|on the other hand|on balance it is hard|pros and cons|both sides|either way|swings and roundabouts|six of one)\b` +
			`|\b(?:has|have|had) (?:its|their|his|her|some) (?:\w+ )?(?:merits?|advantages?|attractions?|points?|pluses|appeal|upsides?|drawbacks)\b|\b(?:merits?|advantages?|arguments?|reasons?|strengths) (?:\w+ )?(?:on|for|in|to) both\b` +
			`|\b(?:hard|difficult|tough|impossible|tricky|too close) to (?:say|tell|judge|call|know|decide)\b|\b(?:not (?:entirely |quite |yet )?(?:sure|certain|clear)|unsure|unclear|uncertain|undecided|debatable|inconclusive|of two minds|in two minds|torn)\b` +
			`|\bremains to be seen\b|\bthen again\b|\bor (?:possibly |perhaps |maybe |else )?(?:do |does |should )?(?:not|don't)\b(?:$|[.,])|\bsome would\b.*\bothers?\b|\b(?:may|might|could) or (?:may|might|could) not\b|\bgo either way\b|\b(?:i|we) (?:\w+ )?(?:lean|incline|tend|guess|suppose|suspect|wonder|feel)\b|\bleaning\b|\binclined\b` +
			`|\b(?:seems?|appears?|looks?|sounds?|feels?) (?:\w+ )?(?:to be |like )?(?:fine|ok|okay|good|reasonable|acceptable|attractive|plausible|sensible|worthwhile|possible|viable|preferable|safe|right|promising|better|best|defensible|doable|a)\b` +
			`|\b(?:a|some|one|another|strong|good|fair) (?:case|argument) (?:can|could|may|might) be made\b|\bthere (?:are|is) (?:\w+ ){0,3}(?:arguments?|cases?|reasons?|points?|merit|sense) (?:\w+ )?(?:for|in|on|to)\b|\b(?:no|not a) clear (?:winner|answer|choice|favou?rite)\b|\bmixed (?:picture|evidence|signals)\b` +
			`|\b(?:might|may|could|would) (?:well |also |still |just |equally |arguably |possibly |perhaps )?(?:be|prove|make|seem|turn out) (?:\w+ )?(?:worth|wise|wiser|better|best|prudent|sensible|sense|good|reasonable|advisable|appropriate|ok|okay|fine|acceptable|justified|preferable|possible|smart|useful|worthwhile|an option|the right|the better|a good|premature|right|enough|warranted)\b` +
			`|\b(?:if|should) (?:you|one|we) (?:value|prefer|care|prize|like|mind|want)s? .* (?:but|and|while|whereas) .*\bif\b|\b(?:attractive|good|right|better|sensible|best) if\b.*\b(?:unattractive|bad|wrong|worse|not|less) if\b` +
			`|\bworth (?:considering|a thought|thinking|exploring|discussing)\b|\bmore or less\b.*\bor\b|\bcould be (?:seen|argued|viewed)\b|\barguabl[ey]\b|\bsome would say\b|\bone (?:could|might|may) (?:argue|say|think)\b`),
		hedgedMain: regexp.MustCompile(`\b(?:probably|possibly|perhaps|maybe|presumably|conceivably|potentially|likely|more likely than not|in theory|sort of|kind of|somewhat)\b|\b(?:it|we|you|one|there|i|this|that) (?:might|may|could)\b|^\w+ing\b.{0,60}?\b(?:might|may|could)\b|\bmight\b`),
		committed:  regexp.MustCompile(`\bso (?:please )?(?:approve|reject|refuse|pay|take|let|grant|deny|accept|decline|keep|cancel|sign|release|send|book|hire|renew|withdraw|allow|choose)\b|\b(?:i|we) (?:choose|recommend|pick|take|advise|propose|am taking|have chosen|chose|went with)\b`),
		defers: regexp.MustCompile(`\b(?:is|are|be|am|remains?|best|better|rests?|lies?|stays?) (?:\w+ )?(?:left |up )?(?:to|with|for) (?:you|the reader|your|others|somebody|someone|management|the principal|the board|whoever)\b(?: (?:to (?:decide|judge|say|choose|settle)|judgement|judgment|discretion|alone))?$` +
			`|\b(?:up|left) to (?:you|your|the|whoever|others|someone|somebody|each)\b|\b(?:your|their|his|her|somebody else's|someone else's) (?:own )?(?:call|choice|decision|judg(?:e)?ment|pick|discretion)\b|\bleave (?:it|this|that|the \w+)(?: \w+)? (?:to|with|for)\b` +
			`|\b(?:you|the \w+|they|someone|somebody|others|management) (?:should|must|can|may|will|need to|have to|has to|ought to|would) (?:\w+ )?(?:decide|choose|determine|make up|make the (?:call|decision|choice)|judge|pick)\b|\bown mind\b|\blet (?:\w+ ){1,4}(?:decide|choose|judge|determine)\b` +
			`|\b(?:more|further|additional|fresh|better) (?:\w+ )?(?:information|analysis|study|discussion|data|time|thought|investigation|research|evidence|facts|figures|input|review|work|details?|clarity|consultation|deliberation)\b.{0,40}\b(?:needed|required|necessary|before|wanted|called for|due)\b|\b(?:needs?|requires?|wants?|calls? for|awaits?|deserves?) (?:more|further|additional|fresh|a closer|another|careful) (?:\w+ )?(?:information|analysis|study|discussion|data|time|thought|investigation|research|evidence|look|facts|input|review|debate|consideration|work|consultation)\b` +
			`|\bbefore (?:anyone|anybody|we|i|you|one|a decision|any decision|it|this|that) (?:can|could|is|may) (?:\w+ )?(?:say|decide|decided|made|judge|tell|taken|be|commit|recommend)\b|\b(?:will|shall|should|can|could|may|must|has to|have to|needs to|ought to) be (?:taken up|revisited|decided|discussed|considered|reviewed|settled|looked at|addressed|determined|examined|debated|picked up|returned to|reconsidered|resolved|thought)\b` +
			`|\btoo (?:early|soon)\b|\b(?:cannot|can't|can not|could not|couldn't|unable to|not able to|not (?:yet )?ready to|not in a position to) (?:yet )?(?:decide|say|commit|recommend|advise|judge|tell|take a position|choose|take sides)\b|\bnot (?:yet )?(?:ripe|ready to be decided)\b` +
			`|\b(?:defer|postpone|delay|put off|park|hold off on|suspend|adjourn) (?:the |a |any |this |our |judg)?(?:\w+ )?(?:decision|choice|question|judg(?:e)?ment|ment|matter|verdict|answer|issue)?\b.{0,10}(?:decision|choice|question|judg(?:e)?ment|matter|verdict|issue)\b` +
			`|\bdecisions? (?:\w+ )?(?:should|can|must|will|has to|needs to|may|could) (?:wait|be (?:deferred|left|made|taken|postponed))\b|\b(?:decide|settle|answer|determine) (?:it |this |that |the matter )?(?:later|another (?:day|time)|next (?:week|month|quarter|year)|at a later|in due course)\b|\b(?:in due course|for now open|stays? open|remains? open|open question|to be decided|to be determined|tbd|wait and see|time will tell|when the time comes)\b` +
			`|\b(?:is|are) (?:\w+ )?(?:yours|theirs|anyone's|anybody's)\b|\b(?:look|looking|go|going|dig|digging) (?:into|over|through) (?:this|it|that|the \w+) (?:more|further|again|first|before)\b|^(?:which|whether|who|when|how|what)\b.*\b(?:you|depends?|open|unclear|later|question|matter|decide|seen|taste)\b|\?\s*$`),
		statement:   regexp.MustCompile(`^(?:(?:the|a|an|this|these|those|our|their|its|both|all|several|many|some|most|two|three|four|five|six|seven|eight|nine|ten|\d[\d,.]*) )?(?:[\w'-]+ ){1,4}?(?:was|were|has|have|had|answered|arrived|asked|received|came|sent|submitted|applied|expired|expires|replied|offered|requested|reported|closed|opened|began|ended|rose|fell|lists?|contains?|covers?|concerns?|describes?|compares?|shows?|includes?|consists?|is about|are about|is (?:being |currently |now )?(?:under|due|in|on|at|available|pending)|are (?:being |currently |now )?(?:under|due|in|on|at|available|pending)|[a-z]{3,}ed)\b`),
		topicOnly:   regexp.MustCompile(`^(?:about|regarding|concerning|re:|on the (?:subject|matter|question) of|an? (?:overview|summary|update|comparison|review|look)|here (?:is|are)|there (?:is|are|was|were)|this (?:is|envelope|note|concerns|briefing)|the (?:question|matter|issue|topic|subject) (?:of|is|concerns))\b`),
		anyMove:     regexp.MustCompile(`\b(?:should|must|shall|will|recommend|recommended|advise|propose|choose|suggest|prefer|wins?|deserves?|let|approve|reject|refuse|no,|yes,|go ahead|going|stays?|goes|needs? to|ought to|has to|have to|is to|are to|we are \w+ing|i am \w+ing|not be)\b|^(?:no|yes)\b`),
		ties:        regexp.MustCompile(`\b(?:ties?|tied|tying|dead heat|equally (?:good|strong|well|matched|balanced|attractive)|evenly (?:matched|balanced)|on (?:a )?par|level(?: on)?|neck and neck|no difference between|nothing (?:between|to choose)|toss-up|a draw|as good as each other|equal(?:s)?|come out (?:the same|even))\b`),
		verdicts:    regexp.MustCompile(`\b(?:is|are|was|were|would be|seems?) (?:\w+ )?(?:the |a |an )?(?:right|best|better|sensible|wise|wisest|obvious|correct|proper|preferable|soundest|safest|sensible|smart(?:er)?|advisable|superior|prudent) (?:\w+ )?(?:answer|way|choice|option|thing|move|course|decision|idea|path|response|step|call|place|solution|one|to|than|for)\b|\bit (?:is|would be) (?:best|better|wise|sensible|right|advisable|time) to\b|\b(?:we|i) (?:should|recommend|advise|propose|ought to|favou?r|prefer)\b|\bmakes (?:the most |more |good )?sense\b|\b(?:deserves?|is worth) (?:to be )?\w+ing\b|\b(?:preferable|advisable)\b`),
		oughts:      regexp.MustCompile(`\b(?:should|ought to|must|needs? to|has to|have to|is to be|are to be)\b`),
		recaps:      regexp.MustCompile(`^(?:as )?(?:you|your (?:message|note|email|mail|request|instruction|brief|letter|wish))\b.{0,25}\b(?:told|said|asked|mentioned|wrote|noted|want|wants|wanted|requested|instructed|explained|stated|say|says|ask|asks|reminded|pointed|informed|gave|set|wish|wished|stressed|remarked|made|specified|indicated|expect|expected|need|needed)\b|\b(?:as|like|what) you (?:\w+ )?(?:told|said|asked|mentioned|wrote|noted|requested|explained|stated|instructed|know|pointed|put it|specified|described|reported)\b|\b(?:per|according to|following|in|from) your (?:\w+ )?(?:instructions?|request|message|email|note|brief|letter|words|wish(?:es)?)\b|^(?:the )?(?:request|question|task|brief) (?:you (?:gave|sent|asked|put)|was to)\b`),
		privateLife: regexp.MustCompile(`'s? (?:\w+ )?(?:brother|sister|mother|father|wife|husband|ex-?wife|ex-?husband|son|daughter|cousin|nephew|niece|uncle|aunt|girlfriend|boyfriend|neighbou?r|fianc[eé]e?|stepson|in-laws?)\b|\b(?:his|her|their) (?:\w+ )?(?:brother|sister|mother|father|wife|husband|ex-?wife|ex-?husband|son|daughter|cousin|girlfriend|boyfriend|in-laws?|divorce|marriage|religion|pregnancy|diagnosis)\b|\b(?:debt counselling|divorc\w*|custody battle|rehab|therapist|psychiatr\w*|antidepress\w*|religio\w*|church-?goer|mosque|synagogue|political party|party member|love affair|having an affair|sexual(?:ity)?|hiv|pregnan\w*|alcoholi\w*|gambl\w*|arrested|convicted|overdraft|bankrupt\w*|drinks? (?:heavily|too much)|votes? for|dating (?:app|profile)|fertility|miscarriage|affair with)\b`),
		considers:   regexp.MustCompile(`^(?:(?:please|carefully|also|first|always|simply|just|seriously|be sure to|make sure to|try to|remember to|continue to|you (?:should|may want to|might want to|could)|we (?:should|could)|it is worth) )*(?:consider\w*|think\w*|ponder\w*|reflect\w*|contemplat\w*|mull\w*|muse\w*|deliberat\w*|meditate|brood|monitor\w*|watch(?:ing)? (?:for|how|out|the|whether|over|closely|developments)|observ(?:e|ing) (?:how|whether|what|the (?:market|situation|reaction\w*|trend\w*|development\w*))\b|mind (?:the|that|your|how)\b|(?:being|minding|knowing)\b|remember (?:that|the|how|to|what|your|our|who)|recall\b|recogni[sz]e\b|appreciate\b|understand\b|acknowledge (?:that|the)|realise|realize|imagine|keep (?:\w+ ){0,2}(?:eye|mind|watch|track|watching|monitoring|abreast|sight|view|close)|keep in (?:mind|view)|bear (?:\w+ ){0,3}in mind|bear in|take (?:\w+ ){0,4}(?:account|consideration|stock|note|seriously|notice|heed|view|time to|care to|a (?:moment|look|step back))|be (?:aware|mindful|careful|conscious|prepared|alert|wary|sensitive|cautious|clear about|open to|attentive|vigilant|ready|sure that|realistic)|stay (?:alert|aware|vigilant|mindful|informed|tuned|attentive|open|abreast|on top)|remain (?:alert|aware|vigilant|mindful|open|attentive|cautious)|pay (?:\w+ )?(?:attention|heed)|give (?:\w+ ){0,4}(?:thought|consideration|attention|weight)|have (?:a|another) (?:think|look|thought)|see (?:whether|if|how|what)|look (?:at|into|out|again|closely|carefully|hard)|note (?:that|how|the (?:fact|possibility|risk|likelihood|importance|potential|similar\w*|differen\w*))|do ?n(?:o|')t (?:forget|lose sight|overlook|ignore|underestimate)|do not (?:forget|lose sight|overlook|ignore|underestimate)|factor in|weigh (?:up|(?:the|its|both|all|every|each|carefully|this|that|these|how|whether|what) ?(?:\w+ )?(?:pros|cons|options?|risks?|trade|trade-offs?|costs?|benefits?|merits?|advantages?|arguments?|alternatives?|consequences?|implications?|sides?|factors?|savings?|interests?|impact|reputation\w*|against|up|chance\w*|downside\w*|upside\w*|evidence|importance|value|effects?|public|possib\w*|likel\w*|need|matter)\b)|weigh\b.*\bagainst\b|evaluat\w*|assess\w*|explor(?:e|ing)\b|examin(?:e|ing)\b|analy[sz](?:e|ing)\b|study(?:ing)? (?:the|how|whether|what)\b|gauge\b|compare\b|reconsider\w*|rethink|revisit|re-?examine|re-?evaluate|determine (?:whether|if|how|what)|decide (?:whether|if|how|what)|discuss (?:whether|if|how|the (?:pros|merits|options))|ask yourself\w*|ask ourselves|wonder|anticipate|hope|expect|worry|beware|respect the|be\b \w+ (?:about|of|to|that)|familiari[sz]e|get a (?:feel|sense)|form an? (?:view|opinion)|picture|follow (?:how|the (?:development|news|progress|debate|discussion))|learn (?:from|more about)|treat (?:\w+ ){1,4}(?:seriously|with caution))`),
		thenActs:    regexp.MustCompile(`\b(?:and|then) (?:then )?(?:sign|send|approve|file|pay|bill|book|cancel|correct|delete|update|publish|return|remove|refund|release|reject|replace|report|move|submit|issue|close|block|hire|charge|register|order|fix|ship|transfer|revoke|amend|withdraw|write|call|stop|start|renew|invoice|record|enter|credit|forward)\w*\b`),
		noVerb:      regexp.MustCompile(`^(?:the|a|an|this|that|these|those|there|it|our|your|their|his|her|its|most|all|some|many|few|several|both|no one|nobody|everyone|it's|that's|\d[\d,.%]*|one|two|three|four|five|six|seven|eight|nine|ten) `),
		moves:       regexp.MustCompile(`\b(?:should|must|shall|will|let|ought to|is to|are to|needs? to|has to|have to|gets?|sends?|pays?|moves?)\b`),
		stating:     regexp.MustCompile(`^(?:[\w'.&-]+ ){1,5}?(?:is|are|was|were|has been|have been|had|contains?|costs?|remains?|seems?|expires?|expired|lasts?|means?)\b`),
		identity:    regexp.MustCompile(`[\w.+-]+@[\w-]+(?:\.[\w-]+)+|\+?\d[\d ()/-]{7,}\d|\b[A-Z]{2}\d{2}[A-Z0-9]{8,}\b`),
	}
}

const (
	tersest     = 240 // characters of a finding that a reader takes in at a glance
	manyWords   = 40
	repeats     = 0.72 // of a finding's words that the synopsis has
	repeatsWith = 0.3  // of them, where the finding says what ought to be
)

func (l *linter) hedged(t text) bool {
	main := mainClause(t.plain)
	if patterns().committed.MatchString(t.plain) && !strings.Contains(t.plain, "own mind") {
		return false
	}
	return patterns().hedges.MatchString(t.plain) || patterns().hedgedMain.MatchString(main)
}

func (l *linter) deferred(t text) bool { return patterns().defers.MatchString(t.plain) }

// positionless suspects a synopsis that only says what there is.
func (l *linter) positionless(t text) bool {
	main := mainClause(t.plain)
	return patterns().topicOnly.MatchString(main) && !patterns().anyMove.MatchString(main) || patterns().statement.MatchString(main) && !patterns().anyMove.MatchString(t.plain) && !patterns().committed.MatchString(t.plain)
}

func namesTie(s string) bool { return patterns().ties.MatchString(plainText(s)) }

// restates suspects a finding that has little but the words of the synopsis, or that judges where it
// should observe.
func (l *linter) restates(t text) bool {
	words := stems(t.raw)
	same := share(words, l.synopsis)
	if patterns().verdicts.MatchString(t.plain) {
		return true
	}
	if patterns().oughts.MatchString(t.plain) && same >= repeatsWith {
		return true
	}
	return same >= repeats && !newNumber(t.raw, l.env.Synopsis())
}

// newNumber reports whether a has a digit group that b lacks: a fact more.
func newNumber(a, b string) bool {
	for _, n := range strings.FieldsFunc(a, func(r rune) bool { return !unicode.IsDigit(r) }) {
		if !strings.Contains(b, n) {
			return true
		}
	}
	return false
}

func (l *linter) recapped(t text) bool {
	if patterns().recaps.MatchString(t.plain) {
		return true
	}
	words := stems(t.raw)
	for _, said := range l.context.Input {
		if len(words) > 2 && share(words, stems(said)) >= repeats && !newNumber(t.raw, said) {
			return true
		}
	}
	return false
}

// unrelated suspects private matter, and identifiers that the material of the decision does not have.
func (l *linter) unrelated(t text) bool {
	if at := patterns().privateLife.FindString(t.plain); at != "" && share(stems(at), l.synopsis) < 0.5 {
		return true
	}
	if len(l.context.Subject) == 0 {
		return false
	}
	subject := strings.Join(l.context.Subject, "\n")
	for _, id := range patterns().identity.FindAllString(t.raw, -1) {
		if !strings.Contains(subject, id) {
			return true
		}
	}
	return false
}

func (l *linter) tooLong(t text) bool {
	return utf8.RuneCountInString(t.raw) > tersest || len(strings.Fields(t.raw)) > manyWords
}

func (l *linter) considered(t text) bool {
	plain := firstMark.ReplaceAllString(t.plain, "")
	return patterns().considers.MatchString(plain) && !patterns().thenActs.MatchString(plain)
}

func (l *linter) inert(t text) bool {
	plain := firstMark.ReplaceAllString(t.plain, "")
	return patterns().noVerb.MatchString(plain) && !patterns().moves.MatchString(plain) || patterns().stating.MatchString(plain) && !patterns().moves.MatchString(plain) && !patterns().thenActs.MatchString(plain)
}
