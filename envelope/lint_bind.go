package envelope

import (
	"regexp"
	"strings"
	"unicode"
)

// bindPatterns are those of the binding slots. They are matched with plain text.
type bindPatterns struct {
	leads, embeds, easiest, choose, hatchLabel, property, adjectives, verbFirst, noReasons, againsts, concedes *regexp.Regexp
}

func newBindPatterns() bindPatterns {
	return bindPatterns{
		leads: regexp.MustCompile(`\b(?:surely|obviously|clearly|of course|naturally|certainly|undoubtedly|no doubt|needless to say|really|honestly|seriously|finally|at long last|at last|rightly|wisely|sensibly|frankly)\b` +
			`|\b(?:is|are|do|does|did|was|were|wo|would|should|could|ca|has|have)n't (?:it|you|we|they|this|that|the|i|he|she|anyone|everyone)\b|\b(?:is|are|do|does|would|should) (?:it|you|we|they|this|that) not\b|, (?:are|is|do|does|did|will|would|should|can|could|have|has|isn't|aren't|don't|doesn't|wouldn't|shouldn't|right|correct|yes|no|agreed|surely|won't|can't)(?: (?:we|it|they|you|he|she|i|there))?(?: not)?\?$` +
			`|\bagree (?:that|with)\b|^(?:why|who|how|what) (?:on earth|in the world|else would|possible|possibly|reason|more|sane|kind of|earthly|justif\w+|excuse|(?:would|could|wouldn't) (?:anyone|anybody|want|still|ever|possibly|we|you))\b|\bwhy (?:would|should|not|keep|bother|risk|wait|pay)\b|\b(?:anyone|anybody|we|you|one) (?:\w+ )?still\b|\bcan we (?:really )?afford\b|\b(?:care|brave|willing|prepared|ready|happy|content|want|dare|like) (?:\w+ )?(?:enough|to (?:risk|lose|gamble|expose|endanger|sacrifice|throw|waste|ignore|abandon|accept responsibility|be (?:responsible|blamed|the one)))\b` +
			`|\b(?:fiasco|disaster\w*|reckless\w*|irresponsib\w*|ridiculous\w*|absurd\w*|foolish\w*|terribl\w*|awful\w*|wasteful\w*|shameful\w*|disgrace\w*|outrageous\w*|negligent\w*|catastroph\w*|scandal\w*|shambles|hopeless\w*|pathetic|nonsens\w*|bloated|greedy|incompetent|unreliable|shoddy|excellent|brilliant|superb|generous|wonderful|outstanding|unbeatable|fantastic|perfect|sensible|prudent|smart|wise|overpriced|overdue|outdated|clumsy|botched|flimsy|dubious|much-needed|long-suffering|tired old|unnecessary|needless\w*|pointless|costly mistake|embarrass\w*|dangerous\w*|loyal|deserving|hard-working|hardworking|impressive|proven|trusted|notorious\w*|splendid|great|amazing|ill-advised|superior|inferior|obvious|rightful\w*)\b` +
			`|\b(?:risk (?:losing|another|the)|at the mercy|let down|put up with|throw away|waste (?:more|another|any)|throwing|gamble with|turn (?:our|your) back)\b|\bdo (?:you|we) (?:really )?(?:want|care|believe|think) .*\b(?:blame|suffer|lose|fail|risk|regret|to be the)\b|\bhow (?:much longer|long (?:must|will|can) we|soon can we finally)\b|\bwhen will (?:we|you) (?:finally|stop|at last)\b|\bpresumably\b|\bi (?:take it|assume|trust|presume)\b|\bwe all\b|\beveryone (?:knows|agrees)\b|\bno reasonable\b|\bthe (?:decent|right|responsible|honou?rable|fair|proper|kind|humane|only) (?:thing|choice|way)\b|\bdo (?:we|you) (?:really )?want to (?:be|go|see|get|lose|end)\b|\b(?:safe|risky|sound|sane) (?:option|choice|one|route|course)\b|\b(?:again|yet again)\?$`),
		embeds: regexp.MustCompile(`\b(?:we|i|they|analysis|analyses|data|evidence|experts?|figures|report|review|study|findings|numbers|agent|advisers?|advisors?|team|counsel|model|audit|auditors?|assessment|results?|consultants?|ranking|score|scores|research|tests?|pilot|trial)(?: \w+)?(?: (?:strongly|clearly|already|all|also|now|would|have|has|had|itself|themselves))? (?:recommend|advis|suggest|propos|favou?r|prefer|endors|indicat|point|support|show|conclud|back|urg|counsel|rank)\w*` +
			`|\b(?:recommended|advisable|advised|preferred|favou?red|suggested|endorsed|top-ranked|highest-ranked|best-scoring|top-scoring|frontrunner|front-runner)\b|\b(?:recommendations?|advice|preference)\b|\b(?:came|comes|come|coming) out (?:on top|ahead|best|first|ahead of|the winner)\b|\b(?:the|our|by far the) (?:best|better|safest|safer|strongest|stronger|soundest|right|smartest|wisest|clear(?:est)?|cheapest and best|winning|most (?:sensible|suitable|attractive|convincing|promising)) (?:option|choice|bid|offer|candidate|solution|answer|course|one|way|venue|supplier|fit|of the)\b` +
			`|\b(?:given|seeing|considering|knowing|now) that\b.*\b(?:is|are|was|were|has|have|won|wins|scored?|scores|beats?|offers?|came|saves?|better|best|cheaper|safer|faster|fits?|makes?)\b|\bbearing in mind\b|\b(?:since|because|as) .{0,60}\b(?:better|best|cheaper|cheapest|safer|safest|faster|fastest|stronger|strongest|superior|ahead|wins?|won|beats?|outperform\w*|on top|leads|right|sensible|fits)\b|\bwhich (?:is|was|we|i) (?:the (?:best|better|safest)|what we|think|believe|consider|would|clearly)\b|\b(?:is|was|being) (?:what|the one|the option) (?:we|i)\b|\b(?:my|our) (?:favou?rite|pick|choice|lean|advice|view|first choice)\b|\b(?:follow|accept|take|adopt|go with|act on|heed) (?:our|my|the|this) (?:advice|recommendation|proposal|suggestion|lead|conclusion)\b|\b(?:we|i) (?:\w+ )?(?:think|believe|consider|find|would choose|would take|would pick|lean|hope|like)\b`),
		easiest: regexp.MustCompile(`\bunless (?:you|we|i|anyone|somebody|someone|told|there)\b|\bif (?:we|i|you|nobody|no one|nothing) (?:do not|don't|does not|doesn't|hears?|says?|is said|object\w*|stay|remain|never)\b|\bif (?:there is|there's|i hear|we hear|you say|you do) (?:no|nothing)\b|\bwithout (?:an?|any|your|hearing|further|waiting|asking|having to|you|needing)\b|\b(?:can|shall|may|should|could|would|will|do|ok if|fine if) (?:i|we) (?:not )?(?:just|simply|already|quickly|go ahead|go on|proceed|carry on|press on|assume|take it|treat|take your)\b|\b(?:go|going|goes|press|carry|push) ahead\b|\b(?:by default|automatically|simply|as usual|the default|just (?:let|leave|say|nod|tap|click|press|sign|reply|wave|keep|go|do|send|get|carry|have))\b` +
			`|\bis it (?:ok|okay|all right|alright|fine|acceptable|safe)\b|\b(?:are|is|would) (?:you|everyone|that|this|it|everybody) (?:be )?(?:ok|okay|all right|alright|fine|happy|good|cool|content)\b|\b(?:save|saves|saving|spare|spares|sparing) (?:you|yourself|us|everyone|everybody|ourselves)\b|\b(?:need|needs|have|has) (?:not|nothing|never) (?:\w+ )?(?:bother|do|lift|worry|think|act|deal|trouble|be done|sign|decide)\b|\b(?:no|any|further) (?:action|reply|answer|response|objections?|effort|fuss|bother|paperwork|trouble|extra work|hassle|need)\b|\bsilence\b|\bdo nothing\b|\b(?:one|a single|single|a quick|one quick|two) (?:click|tap|word|keystroke|touch|nod|yes)\b|\b(?:tap|click|press|swipe|tick|nod) (?:here|yes|ok|once|now|below|the button|accept|the green)\b|\bwith (?:one|a|a single|just) (?:click|tap|nod|word|signature)\b` +
			`|\bor (?:\w+ )?(?:\w+ )?(?:fill|print|file|submit|write|complete|go through|explain|justify|draft|queue|start (?:again|over|from scratch)|begin again|spend (?:hours|days|weeks|another)|call the|phone|post|apply|redo|restart|attend|wade|wait (?:another|weeks|months)|travel|sit through|reopen everything|defend|deal with|face|put up with)\b|\bdo you mind\b|\bobjections?\b|\bif (?:that|this|it) (?:suits|works|is fine|is ok)\b|\b(?:good|okay|ok|all set|fine) to (?:go|proceed|send|continue|leave)\b|\b(?:easiest|easier|simplest|quickest|least (?:effort|trouble|work)|hassle-free|painless|the easy|convenient\w*|effortless\w*|off your (?:plate|desk|hands|mind)|out of (?:the|your) way|be done with|get this over)\b|\b(?:leave|keep) (?:everything|things|it|all|that) (?:\w+ )?(?:as (?:it|they)|unchanged|the same|running|to me|to us|with me)\b|\b(?:assume|take it|presume|treat|count|read|regard|consider) .{0,30}\b(?:as (?:a )?(?:yes|consent|approval|agreement|agreed|approved)|(?:you|your) (?:agree|approve|consent|approval))\b|\b(?:runs?|rolls?|goes|renews?|continues?|proceeds?|lapses?|stays?) (?:on|over|through|itself|of its own|anyway|unless)\b|\b(?:already|pre-?)(?: been)? (?:filled|ticked|selected|prepared|drafted|checked|signed|booked|queued)\b`),
		choose: regexp.MustCompile(`^(?:please )?(?:decide|choose|pick|select|say|state|tell|name|indicate|determine|settle|specify|confirm|rank|set|fix|give|answer|judge|rule|vote|mark)\b`),
		hatchLabel: regexp.MustCompile(`^(?:(?:an?|the|some|any)? ?(?:other|others|otherwise|something (?:else|different)|anything else|(?:an)?other (?:option|answer|way|idea|choice|solution|approach|suggestion|plan)s?|different (?:answer|option|idea|solution|approach)|none|neither|not (?:sure|certain|listed|on this list|here)|my own|custom|elsewhere)\b(?: (?:of|\(|–|-|:|please|answer|option|here|entirely|altogether|idea|instead|these|it|the above).*)?$)` +
			`|^(?:none|neither|something else|anything else|other)(?: ?[(:,;–—-].*| of .*)?$|^i(?:'m| am)? (?:not sure|unsure|undecided|don't know|do not know|need|want|would|have|disagree|can't|cannot|prefer|'d)\b|^i'd\b|^i (?:have|need|want) (?:a |an |another |more |some |to )|^(?:don't know|do not know|no opinion|no idea|ask (?:me|again)|can't say|cannot say|it depends|depends|undecided|skip|pass|abstain|not now|maybe|unsure|decline to answer|no answer|back)\b` +
			`|^(?:let's|let us|let me|can we|could we|shall we|we should|we need to)\b.*\b(?:talk|discuss|think|explain|chat|go over|step back|start over|rethink|revisit|clarify|speak|ask|reconsider|look at)\b|^(?:talk|discuss|chat|speak|think|go over|reconsider|rethink|rephrase|reframe|reword|clarify|revisit|reopen|restart|step back|start over|debate|deliberate|keep talking|back to)\b(?: (?:it|this|that|about it|about this|things|with me|with the agent|with you|more|further|first|again|over|through|the question|the decision|the matter|discussion|everything|it all|all this|all of this|the options|the framing|deliberation|to discussion|and come back|the drawing board))+(?: first| again| together| before.*| some more| instead)?$|^(?:talk|discuss|rephrase|clarify|reopen|reframe|discussion)$` +
			`|\b(?:your|my|our|their) own (?:answer|words?|text|suggestion|reply|option|response|idea|wording|terms)\b|\b(?:free[- ]?(?:text|form)|open answer|write[- ]in|fill in (?:the )?blank|text box|text field|comment box)\b|^(?:type|write|enter|specify|fill in|suggest|propose|provide|give|add|tell me|dictate) (?:\w+ ){0,3}(?:answer|own|else|different|alternative|below|here|comment|response|option|reply|another|what you|preference|instructions?)\b` +
			`|\b(?:wrong|different|better|bad) question\b|^(?:another|ask another|this is not the|not the right) question\b|\bquestion (?:itself|the question|the premise|is wrong|makes)\b|^(?:reject|decline|challenge|dispute|change|dismiss|drop|contest|withdraw|refuse|object to) (?:the|this) (?:question|premise|framing|frame|choice)(?: itself| as (?:posed|put|asked))?$|^(?:tell me more|more (?:information|info|details?|context|time|options)|(?:i )?need more|show me|give me|ask (?:me|something|for more (?:detail|info|context)\w*|the agent|you|a (?:different )?question|another question)|not this)\b|^(?:explain(?: (?:more|further|first|this|why|yourself|the options))?|wait|hold on)$|\bof the above\b|\ball of (?:the above|these|them)$|\b(?:see|show|get) (?:more|other|different) options\b|\bwant something\b|\bneither (?:of|one)\b`),
		property:   regexp.MustCompile(`(?:ity|ness|tion|sion|cy|ment|ance|ence|ship|speed|risks?|costs?|value|quality|safety|savings?|price|choice|option|control|trust|comfort|growth|time|delay|effort|price|margin|benefits?|advantage|peace of mind|goodwill|privacy|ease|fairness|wins?|impact|exposure|reputation|morale|loyalty|budget|simplicity|focus|care|service|satisfaction|way|route|path|plan [a-z]|one|approach|strategy|status quo|synergy|synergies|overhead|downtime|reach|coverage|support|image|potential|outlook|success|strength|discount|fees?|terms?)$`),
		adjectives: regexp.MustCompile(`^(?:very |more |most |less |least |quite |fairly |the )?(?:cheap|cheaper|cheapest|safe|safer|safest|fast|faster|fastest|quick|quicker|quickest|good|better|best|bad|worse|worst|easy|easier|easiest|simple|simpler|low|lower|lowest|high|higher|highest|strong|stronger|flexible|reliable|risky|expensive|convenient|sensible|popular|modern|green|greener|sustainable|affordable|secure|reversible|compliant|conservative|ambitious|aggressive|cautious|urgent|optimal|robust|early|late|local|long-term|short-term)(?:,? (?:and|but|or|yet) \w+|er)?$`),
		verbFirst:  regexp.MustCompile(`^(?:accept|add|allow|appoint|approve|ask|assign|award|ban|bill|block|book|bring|build|buy|call|cancel|cap|carry|change|charge|close|collect|combine|commission|continue|contract|cut|decline|defer|delay|delete|deliver|deny|deploy|disable|disclose|dismiss|donate|drop|email|enable|end|engage|escalate|extend|file|finish|fly|forward|freeze|fund|get|give|grant|halt|hand|have|hire|hold|honou?r|insure|interview|invite|invoice|issue|join|keep|launch|lease|leave|lend|let|license|limit|list|lower|mail|make|merge|migrate|move|negotiate|notify|offer|open|order|outsource|own|park|patch|pause|pay|permit|pick|place|post|postpone|print|promote|publish|pull|purchase|put|raise|rebook|recall|redact|reduce|refer|refund|refuse|reject|release|remove|renew|rent|repair|replace|reply|report|request|reschedule|reserve|restore|retain|return|revoke|roll|rotate|run|scrap|sell|send|settle|share|ship|shut|sign|split|start|stay|stop|store|submit|suspend|switch|take|tell|terminate|transfer|treat|try|turn|update|upgrade|use|wait|waive|withdraw|withhold|work|write|do|go|set|cover|show)\b`),
		noReasons:  regexp.MustCompile(`^(?:(?:this|it|that|here) (?:is|would be) (?:simply |just )?(?:the |an |one |our )?(?:first|second|third|fourth|last|other|another|next|final|alternative|remaining|default|possible|available)? ?(?:of the )?(?:\w+ )?(?:option|choice|answer|alternative|possibility|one|entry)s?(?: (?:on the list|here|available|offered|listed|above|below|you have|to choose|of the \w+|number \w+))?[.!]?|(?:the |an |one )?(?:first|second|third|fourth|last|other|next|final|alternative|remaining|another|possible)? ?(?:option|choice|alternative|answer|possibility)(?: (?:number )?(?:\w+|\d))?\.?|option \w+\.?|n/?a\.?|none\.?|no reason.*|-+|\.+|because\.?|self-explanatory\.?|see above\.?|see (?:the )?(?:label|title|below).*|same as (?:above|the label|before).*|as (?:the label says|above|stated|labelled|it says).*|just because.*|why not\??|obvious\.?|to be (?:filled|added|completed).*|tbd\.?|you (?:can|may|could|might) (?:also )?(?:choose|select|pick|take) (?:this|it)\b.*|(?:please )?(?:select|choose|pick|click|tap|take|use|tick|press) (?:this|it|here|that|on this)(?: (?:one|option|button|box|answer|choice|entry))?(?: (?:to|if you (?:want|wish|like|would like|prefer|choose|select|pick|decide|agree))\b.*)?\.?|(?:this|it) (?:does|means|says|will do) (?:exactly |just )?(?:what|as|that).*|(?:there is|it is) (?:also )?(?:an|one|another)? ?(?:option|possibility|alternative|choice)\b.*|(?:also|another) (?:an? )?(?:option|possibility|possible|available)\.?|possible\.?|available\.?)$`),
		againsts:   regexp.MustCompile(`\bonly (?:someone|somebody|a|an|the|people|those|fools?|idiots?) .*\bwould\b|^only (?:someone|somebody|a fool|an idiot|people|those|fools)\b|\b(?:no one|nobody|no sane|no sensible|no reasonable|no serious)\b.*\b(?:would|should|wants?|does|chooses?|picks?)\b|\bnot (?:recommended|advised|advisable|a good|worth|sensible|wise)\b|\b(?:do not|don't|never|please do not) (?:choose|pick|select|take|do) (?:this|it|that)\b|\b(?:bad|poor|terrible|awful|worst|worse|wrong|foolish|dreadful|reckless|stupid) (?:idea|choice|option|move|answer|of|decision|thing|plan)\b|\b(?:would|will|could) be (?:a )?(?:foolish|reckless|mistake|irresponsible|regret\w*|disaster\w*|folly|madness|unwise)\b|\b(?:hard|difficult|impossible) to (?:see|justify|defend|recommend|explain|imagine)\b|\b(?:pointless|makes no sense|there is no (?:good |real |earthly )?(?:reason|point|case)|nothing (?:speaks|to be said|to recommend|in its favou?r|good)|has nothing|no (?:advantage|benefit|merit|upside|redeeming)s?\b|invites? (?:disaster|trouble|ruin)|asking for trouble|you (?:would|will) regret|only here (?:for|because)|listed only|included (?:only )?for completeness|(?:a )?waste of|least attractive|avoid this|steer clear|ensures (?:failure|chaos|trouble))\b|\b(?:if you (?:enjoy|like|want|love|do not care|don't care|do not mind|don't mind)) .*\b(?:chaos|trouble|outages?|losing|complaints?|delays?|lawsuits?|failure|pain|risk|fines?|court|being|wast\w*|angry)\b|\bwho enjoys?\b|\b(?:mad|insane|crazy|lunatic|out of (?:your|one's) mind)\b`),
		concedes:   regexp.MustCompile(`\b(?:but|though|although|yet|however|even so|still|nonetheless)\b`),
	}
}

func (l *linter) leading(t text) bool { return patterns().leads.MatchString(t.plain) }

// embedded suspects a stem that says which answer is advised: in so many words, or by holding the
// recommended label and no other one, without an alternative (ENV-029).
func (l *linter) embedded(t text) bool {
	if patterns().embeds.MatchString(t.plain) {
		return true
	}
	stem := " " + sameKey(t.raw) + " "
	holds := func(o Option) bool {
		label := sameKey(o.Label)
		return strings.Contains(label, " ") && strings.Contains(stem, " "+label+" ")
	}
	if strings.Contains(stem, " or ") {
		return false
	}
	options := l.env.Options()
	for i, o := range options {
		if i != l.env.Recommended() && holds(o) {
			return false
		}
	}
	return holds(options[l.env.Recommended()])
}

func (l *linter) easy(t text) bool { return patterns().easiest.MatchString(t.plain) }

func (l *linter) asksNothing(t text) bool {
	return !strings.Contains(t.plain, "?") && !patterns().choose.MatchString(firstMark.ReplaceAllString(t.plain, ""))
}

func (l *linter) isHatch(t text) bool {
	return patterns().hatchLabel.MatchString(strings.TrimRight(t.plain, ".!… "))
}

func (l *linter) noMove(t text) bool {
	plain := strings.TrimRight(t.plain, ".!… ")
	if patterns().adjectives.MatchString(plain) {
		return true
	}
	return len(strings.Fields(plain)) <= 4 && patterns().property.MatchString(plain) && !patterns().verbFirst.MatchString(plain) && !strings.ContainsAny(plain, "0123456789")
}

func (l *linter) reasonless(t text) bool {
	return patterns().noReasons.MatchString(t.plain) || sameKey(t.raw) == sameKey(l.env.Options()[t.index].Label)
}

func (l *linter) againstItself(t text) bool {
	return patterns().againsts.MatchString(t.plain) && !patterns().concedes.MatchString(t.plain)
}

// hidden reports characters that are not seen and that change what is: controls, and format
// characters but the joiners that scripts and emoji need.
func hidden(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		return unicode.Is(unicode.Cc, r) && r != '\n' && r != '\r' || unicode.Is(unicode.Cf, r) && r != '\u200c' && r != '\u200d' && r != '\u00ad'
	})
}

func lineBreak(s string) bool { return strings.ContainsAny(s, "\n\r\v\f\u0085\u2028\u2029") }
