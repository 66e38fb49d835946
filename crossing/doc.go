// Package crossing is the Governed Crossing as values: the Terms Document, the
// Bilateral Record and its joint seal, the commitment states, the phase messages, the
// error table, and the one ordered function that decides whether a seal may be written.
//
// # Terms (§4.2)
//
// A Terms Document is a JSON object with a string member terms_version, unique names
// and integers only. Its agreement_hash is the hex SHA-256 of its RFC 8785 form:
//
//	{"terms_version":"1","unit":"code","count":1}
//	→ {"count":1,"terms_version":"1","unit":"code"}
//	→ 329b8b3d06c2baefb1a0e0f0b638ad013a25504e0ac1354f2cee0ddfbbe3b4b3
//
// # Record and seal (§4.4)
//
// [Record] is anax-bilateral-crossing-v1 with the initiator first and the responder
// second. Its joint seal is the hex SHA-256 of the RFC 8785 bytes of the record without
// the members prev_hash and chain_seq; both parties compute it from a record of their
// own. The position in a party's chain is sealed in the anchor instead (package chain).
//
// # Messages (§5)
//
// P1, P2 and P3 travel in Message.metadata under [URI], in the shapes of [P1], [P2] and
// [P3], whose members have exact types; other members are ignored and never copied. The
// Terms Document travels as a JSON string, so that a repeated member name stays visible.
// crossing:seal takes [SealParams] and answers with a [SealResult].
//
// # What is refused
//
// Every refusal is a [Refusal]: a name of the table in §3.7.4, the clause that fired,
// and for terms, record and message the JSON Pointer of the member. Its text is constant for a name; no
// number, token or identifier of a mandate is in it. [Clear] walks the checks of a seal
// in one fixed order (AG-58): what is cheap and anonymous first, signatures before
// claims, equality before ceilings, everything pure before anything is spent. Its
// success is a [Cleared], which nothing else can make. A check that cannot be
// evaluated has failed (§5.4).
//
// Before that, by shape: a record with a member too many or too few, with a chain
// position, with a mandate or a clearance id by value, with parties in another order or
// not two of them, with an agent_id that is not urn:anax:agent:… or a foreign URI, or
// that holds the "|" of a chain_id.
//
// Room: values. No I/O, no clock (times come in), no randomness of its own.
package crossing

// URI identifies the extension and is frozen (§3.1, GC-028).
const URI = "https://anaxstandard.ai/ext/governed-crossing/v1"

// Operation names of the two methods and their JSON-RPC spelling (§3.6, GC-049, GC-050).
const (
	OpSeal    = "crossing:seal"
	OpVerify  = "crossing:verify"
	RPCSeal   = "anaxstandard.crossing/seal"
	RPCVerify = "anaxstandard.crossing/verify"
)

// Header is the activation header of A2A 1.0 (§3.5, AG-64).
const Header = "A2A-Extensions"
