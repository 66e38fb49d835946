// Package commitment says how far a commitment goes: its class, its amount, and the acts that may
// be committed at all.
//
// It implements §4.1.3 of the Governed Crossing (rules L-1 to L-5 and M-1 to M-5, rows GC-174 to
// GC-189 and GC-197; vectors CM-2 to CM-6) and decision C8.
//
// # Classes and amounts
//
// A [Class] is one of five, on a ladder: observe < reversible < irreversible < financial < binding.
// A mandate of one class permits actions of that class and of those below it. The class fixes what
// a [Magnitude] counts: reads, actions, actions, minor units of a currency, instruments. So 250000
// with EUR is 2 500.00 euro, and 1 in class binding is one signature or filing. A [Currency] stands
// beside class financial and nowhere else.
//
// A mandate drawn from another must be narrower; [Amount.Narrows] compares class, currency and
// magnitude in that order, and names the first that is wider.
//
// # Acts
//
// An act says what is committed, independently of the class (GC-180). The acts that may be sealed
// form a vocabulary, a [Profile]: each act has a floor, the lowest class under which it may be
// declared. The built-in vocabulary is the file acts.txt in this directory, one line for each act
//
//	engagement_code_issuance irreversible crossing:seal
//	proposal_within_tariff   reversible   crossing:seal
//
// with the code path that performs it. Two parties compare vocabularies by a digest over sorted
// lines of act and floor, each "act floor" and a newline with one space; for the two lines above it
// is
//
//	51d8006bdef5ecb393b87139a2a25bfce312a6d45430f2de54196cdd05be5338
//
// # What is refused
//
// Any other spelling of a class; a magnitude below 0 or beyond 2^53−1; a currency that is not an
// active ISO 4217 code, that has no minor unit, or that stands beside another class than financial;
// a vocabulary with an act of class observe, since no record of class observe seals at all. An
// amount that could not have been made by [NewAmount] narrows nothing. Error texts name the rule,
// and neither the input nor a number (GC-323).
//
// How much of a limit is used up is the business of the registry, which holds the count (M-4).
// The package imports the standard library alone.
//
// Room: values. No I/O, no clock, no state between calls.
package commitment
