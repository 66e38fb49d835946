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
// # The checks of a seal (§5.4)
//
// [Clear] asks in one fixed order (AG-58) and answers with the first name that applies:
// what is cheap and anonymous first, signatures before claims, equality before ceilings,
// everything pure before anything is spent. From step 5 to 18 each is asked of the
// initiator and then of the responder.
//
//	 2  RECORD_MALFORMED            params and record have their shape, as ParseSealParams says
//	 4  MALFORMED_MANDATE           the record's act is in the vocabulary, its class one of five, its currency in place
//	    CLASS_BELOW_FLOOR           its class is not below the act's floor
//	 5  MANDATE_INVALID             Closed and Open have their form, the Open is the Principal's that its party claims,
//	                                the Closed is drawn under it and signed by its agent or a registered human
//	 6  MALFORMED_MANDATE           class, magnitude and currency of both can be read
//	 7  MANDATE_EXPIRED             both expire after the moment of the check, without leeway
//	 8  MANDATE_AUDIENCE            the Closed is for the other Principal, and for nobody else
//	 9  COUNTERPARTY_NOT_PERMITTED  the Open lets its agent deal with the other Principal; silence does not
//	10  MANDATE_NONCE_REPLAY        the nonce is not another Closed's of this crossing and signer
//	11  MANDATE_PARTY_MISMATCH      sub, act and crossing are the record's, and so are both hashes, role and basis
//	12  AGREEMENT_HASH_MISMATCH     record and Closed name the terms that this party hashed itself
//	13  NARROWING_VIOLATION         class and act of the Closed are within the Open's
//	14  CLASS_EXCEEDED              the record's class is within the Closed's
//	15  CURRENCY_MISMATCH           Open, Closed and record have one currency
//	16  NARROWING_VIOLATION         the draw is within the Open's limit; where that is withheld, the RA has registered it
//	17  MAGNITUDE_MISMATCH          record and Closed assert one amount of one class
//	18  MAGNITUDE_EXHAUSTED         it is not nothing, and within the draw
//	    SEAL_MISMATCH               the record of one's own has the same bytes
//
// Step 5 has two more names: MANDATE_PARTY_MISMATCH where the responder has no Closed of its
// own, or a Closed is of another agent and under another Open (WC-8), and MALFORMED_MANDATE
// where a magnitude is a number that is no integer. A check that cannot be evaluated has
// failed (§5.4). Success is a [Cleared], which nothing
// else can make. [CheckClosed] asks steps 5 to 18 of one Closed at P3, where there is no
// record yet and what was intended at P1 bounds the class; [Screen] asks the seven checks
// of §5.2 of an Open at P1, and never its aud.
//
// # Refusals (§3.7.4)
//
// Every refusal is a [Refusal]: a name of the table, the clause that fired, and for terms,
// record and message the JSON Pointer of the member. Its text is constant for a name; no
// number, token or identifier of a mandate is in it.
//
// Refused by shape: a record with a member too many or too few, with a chain
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
