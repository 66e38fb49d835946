// Package jcs reads strict JSON and writes the one canonical form of it, with its digests.
//
// It implements the Bindery profile of RFC 8785 (decisions J1 to J6; GC-215, GC-324): what the
// profile accepts, it prints as RFC 8785 prints it; but it accepts less than RFC 8785 does. All
// JSON that is hashed or signed in this module passes through here, and is hashed in canonical
// form, never as received.
//
// # Canonical form
//
// A canonical text is UTF-8 without white space. Members are sorted by the UTF-16 code units of
// their names. Strings escape the quote, the backslash and the controls below U+0020, the latter as
// \b \t \n \f \r or else as \u00 and two lower-case digits, and nothing more. Integers are decimal
// without a leading zero. For example
//
//	{ "b": 1.0, "a": "\u20AC\/" }
//
// has the canonical form
//
//	{"a":"€/","b":1}
//
// which is these 18 bytes
//
//	7b 22 61 22 3a 22 e2 82 ac 2f 22 2c 22 62 22 3a 31 7d
//
// and this SHA-256, as a [Hex256]; a [Digest] has "sha256:" before it
//
//	733398e374f61182cb31c82f57559206309ae528d2b2d47c819743434edd985a
//
// # What is refused
//
// Every fault is an [*Error] with a kind and the offset of one byte:
//
//   - syntax: any fault against RFC 8259: the first byte at which the text can no longer go on, or
//     the length of the text if it breaks off. A faulty escape counts from its backslash. A byte
//     order mark and a leading zero are such faults.
//   - utf8: overlong, truncated or surrogate-encoding UTF-8: the first byte of the sequence.
//   - surrogate: an escaped half of a pair without the other: its backslash.
//   - duplicate: a name repeated in one object, compared after escape decoding: the opening quote
//     of the repetition.
//   - number: a number that the profile does not admit: its first byte. Under [IntegerNumbers] the
//     exact decimal value must be an integer n with |n| ≤ 2^53−1, so 1.0, 1e0 and -0 are admitted
//     and 1.00000000000000000001 is not, although it rounds to 1 in binary64.
//   - depth: nesting beyond 64, where the outermost container counts 1: the opening bracket.
//   - size: more than 16 MiB: the first byte too many. It is found before anything is read.
//
// Of several faults the one with the lowest offset is reported, so that two implementations of the
// profile give one answer. Error texts hold nothing of the input.
//
// Noncharacters such as U+FFFF are accepted: RFC 7493 warns of them, RFC 8785 prints them, and to
// refuse them would part us from every peer. A scalar is accepted as a whole text; whoever needs
// an object asks for one.
//
// # Reading and building
//
// [Parse] gives a [Value], a cursor over canonical bytes; a [Reader] takes a closed object from it
// member by member. Names match byte for byte, so the member "AMOUNT" never fills "amount".
// [Object], [Array], [String], [Int], [Bool] and [Null] build canonical bytes directly. There is
// no way from here to a map or a struct, which could not tell a repeated name from a single one.
//
// The package imports the standard library alone.
//
// Room: values. No I/O, no clock, no randomness, no state between calls.
package jcs
