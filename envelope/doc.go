// Package envelope has the briefing-and-binding envelope: how an agent puts one decision to one
// person, and how that person answers.
//
// It implements sections 4 to 7 of the memo (ENV-007 to ENV-080, readings AE-01 to AE-21; design E1
// to E7, J1, J2). An envelope has eight slots and nothing else. The first four are the briefing, the
// last four the binding:
//
//	synopsis                  the position, in one sentence
//	findings                  what it rests on
//	recommendations           moves that would change something
//	offer                     depth on request
//	question.stem             the question, neutrally
//	question.options          two to four, each with a label and a reasoning
//	question.recommended_idx  the one that is recommended
//	question.hatches          free_text: answer in one's own words; dialogue: decline the question
//	meta                      may be absent: decision_class, calibration_note
//
// For example, on several lines and with blanks for the eye,
//
//	{"findings":["Three of the four files name patients."],
//	 "offer":"Ask for any of the files.",
//	 "question":{"hatches":{"dialogue":true,"free_text":true},
//	  "options":[{"label":"Release the fourth file","reasoning":"It names nobody."},
//	             {"label":"Release nothing","reasoning":"The request is withdrawn anyway in May."}],
//	  "recommended_idx":0,"stem":"Which files go to the institute?"},
//	 "recommendations":["Send the fourth file by the secure channel."],
//	 "synopsis":"Release the fourth file alone."}
//
// Its digest is the SHA-256 of its canonical form, all of the above on one line (section 6):
//
//	sha256:cf846d4222d2dd0c4f4b55cc221eea7cdca9053e8fd53966ef8f9d4020685ba3
//
// It is resolved by one object that names it, in one of three forms (section 7.3):
//
//	{"envelope_digest":"sha256:…","option_idx":1,"resolution":"option"}
//	{"answer":"The fourth, without page 2.","envelope_digest":"sha256:…","resolution":"answer"}
//	{"envelope_digest":"sha256:…","resolution":"question"}
//
// [Parse] and [ParseResolution] read; [Draft.Build], [Choose], [Answer] and [Reopen] make; [Settle]
// is the one way in for a resolution; a [Ledger] sees to it that it is taken once; a [Matter] sees
// to it that a declined question does not come back. [Lint] has opinions on wording, each with a
// reason and a fix. [EnvelopeSchema] and [ResolutionSchema] are printed from the table that the
// parser walks.
//
// # What is refused
//
// An envelope or a resolution is read from text, never from what another parser made of it
// (ENV-057), and refused whole, never repaired, with the row, the member and the rule:
//
//   - text that package jcs refuses: a repeated member, half a surrogate pair, a number that is not
//     an integer of at most 2^53−1, more than 64 levels (ENV-056 to ENV-060);
//   - an unknown member at any level, a missing one, one of another type, a null (ENV-007 to ENV-046);
//   - fewer than two or more than four options, and an index that is none of theirs (ENV-031, ENV-036);
//   - more than 64 findings or recommendations, a slot that is longer than its limit, and more than
//     64 KiB of text: limits of ours;
//   - a resolution that mixes the three forms, whose digest is spelled otherwise than above, or whose
//     answer has nothing to see.
//
// A hedging synopsis is not malformed here: two readers would not agree on it (AE-19). It is a lint,
// and blocks [Draft.Build].
//
// # What it does not do
//
// Nothing in an envelope shows that it is true, and nothing in a resolution shows that a person gave
// it. What the findings rest on is beside it ([Evidence]), as is what an option does ([Actions]) and
// how surely it was the principal ([Assurance]).
//
// Room: values. No I/O, no clock, no randomness. Of what has an effect it knows [context.Context],
// to say what a [Ledger] is, and one lock, in [Memory].
package envelope
