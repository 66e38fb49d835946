// Package jcs reads strict JSON and writes the one canonical form of it, with its digests.
//
// It implements the Bindery profile of RFC 8785 (decisions J1 to J6; GC-215, GC-324), and this text
// is the profile's specification. What the profile accepts, it prints as RFC 8785 prints it; but it
// accepts less. A digest under it is one of "the Bindery profile of RFC 8785", not of RFC 8785. All
// JSON that is hashed, signed or sealed in this module passes through here, and is hashed in
// canonical form, never as received.
//
// # Canonical form
//
// A canonical text is UTF-8 without white space. Members are sorted by the UTF-16 code units of
// their names, so that U+10000 comes before U+E000. Strings escape the quote, the backslash and the
// controls below U+0020, the latter as \b \t \n \f \r or else as \u00 and two lower-case digits, and
// nothing more. Nothing is normalised. Integers are decimal without a leading zero, and there is no
// negative zero. For example
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
// # Three profiles of numbers
//
//   - The integer profile, Profile{}, is the one that functions without a [Profile] use, and the one
//     for all that is ours: envelope, resolution, terms, record, mandate payloads. A number is
//     accepted if its exact decimal value is an integer n with |n| ≤ 2^53−1. So 1.0, 1e0 and -0
//     are accepted and print as 1, 1 and 0.
//   - The double profile, [DoubleNumbers], is for what is not ours: gateway arguments and foreign
//     payloads. A number is accepted if it rounds to a finite binary64 value, and is printed as
//     RFC 8785 §3.2.2.3 prints that value: the fewest digits that round to it again.
//   - TokenStrict narrows either of them to numbers that are spelled as they will be printed, for
//     peers that hash the token. It refuses 1.0, 1e0 and -0, and among doubles 1.50 and 1E30.
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
//   - number: a well-formed number that the profile does not admit: its first byte.
//   - depth: nesting beyond 64, where the outermost container counts 1: the opening bracket.
//   - size: more than 16 MiB: the first byte too many. It is found before anything is read.
//
// Of several faults the one with the lowest offset is reported, so that two implementations of the
// profile give one answer. Error texts hold nothing of the input.
//
// # Against RFC 8785
//
// Refused, though RFC 8785 admits it; the double profile refuses only the last two:
//
//   - fractions, such as 1.5, and integers beyond ±(2^53−1), such as 9007199254740992;
//   - numbers that only rounding makes integers or brings into range: 1.00000000000000000001 and
//     0.99999999999999999999 (both 1 in binary64), 9007199254740991.4 (2^53−1), 1e-400 (0);
//   - nesting beyond 64 levels;
//   - more than 16 MiB.
//
// Fixed, where RFC 8785 leaves it open: the kinds of faults, their offsets and which of several is
// reported; that a scalar is a whole text, so that whoever needs an object asks for one; and that
// noncharacters such as U+FFFF are accepted. RFC 7493 §2.1 forbids them and RFC 8785 prints them;
// to refuse them would part us from nearly every peer.
//
// # Against known peers
//
// Each was run at the version given; of cMCP the source was read. Where it does not say otherwise
// they admit the four points above. Besides, they part from RFC 8785, or agree with it, so:
//
//   - github.com/gowebpki/jcs v1.0.2: agrees but for the numbers below, up to 10,000 levels. v1.0.1
//     copies bad UTF-8, makes U+FFFD of a reversed pair, and takes 01 and [1 2].
//   - github.com/cyberphone/json-canonicalization, 13 December 2024: takes 01, +1, .5, 1_000 and
//     0x1p-2, copies bad UTF-8, replaces broken pairs, refuses scalars; 5 MB of [ kill the process,
//     and sorted names take quadratic time.
//   - jsontext of encoding/json, Go 1.26.8 to 1.27.3, and go-json-experiment v1.27.2: print 1e400
//     as 1.7976931348623157e+308.
//   - lattice-substrate/json-canon v0.3.4: refuses -0, -0.0, 1e-400, noncharacters, and more than
//     1,000 levels.
//   - What stands on encoding/json (ucarion/jcs v0.1.2, Kbgjtn/jcs v0.0.1, a sorted map): of equal
//     names the last wins, bad UTF-8 and half pairs become U+FFFD; Kbgjtn prints 1e21 for 1e+21, and
//     a sorted map orders by code points and prints -0.
//   - npm canonicalize 5.1.0: sees what JSON.parse leaves, of equal names the last.
//   - Python rfc8785 0.1.4: sees what json.loads leaves, of equal names the last; refuses integer
//     tokens beyond ±(2^53−1), and 1,000 levels.
//   - cMCP's canonical_json: refuses every token with a point or an exponent, so 1.0 and 1e0; with
//     TokenStrict we do too, and -0 besides.
//
// The first two leave numbers to strconv.ParseFloat, which takes five digits of an exponent
// (golang/go#42436) and counts 800 digits before the point: with 9,999 zeros after its point
// 0.00…01e100000 becomes 1, and 1 with 800 zeros and e-800 becomes 0.1. Here the whole token counts.
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
// Room: values. No I/O, no clock, no randomness, no state between calls but emptied lists that are
// used again.
package jcs
