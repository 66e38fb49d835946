// Package mandate is the one Mandate primitive of the project: Open and Closed
// Agreement Mandates, and what the Registration Authority states about them.
//
// It implements §4.1 of the Governed Crossing specification (rows GC-141 … GC-173,
// GC-209 … GC-211; readings AG-01 … AG-21) with the project's decisions M1 … M6.
//
// An Open is the Principal's standing grant to one agent, a Closed is what that agent
// (T1) or an authorised human (T2) signs for one agreement under it. Both are SD-JWTs
// whose payload is strict JSON in the integer profile of package jcs:
//
//	{"aud":"urn:anax:va:001","cnf":{"jwk":{"crv":"P-256","kty":"EC","x":"…","y":"…"}},
//	 "commitment_act":["engagement_code_issuance"],"commitment_class":"irreversible",
//	 "exp":1786086400,"iat":1786000000,"iss":"urn:anax:principal:acme",
//	 "magnitude_limit":5,"permitted_counterparties":"*",
//	 "sub":"urn:anax:agent:front-01","vct":"mandate.agreement.open.1"}
//
// A mandate is identified by the hex SHA-256 of exact bytes: of the whole string with
// its last tilde (closed_mandate_hash, token_sha256), and of the issuer-signed JWT with
// one tilde (open_mandate_hash), which stays the same whether the limit is disclosed or
// not. The magnitude_limit of an Open is the only claim that may be selectively
// disclosable, and by default it is withheld: the RA's receipt that a Closed is
// registered then stands for it, since a draw above the limit is never registered.
//
// Bytes become a [PresentedOpen] or [PresentedClosed] by parsing, which establishes no
// trust, and an [Open] or [Closed] only by their Verify. There is no other way to make
// one that permits anything.
//
// Refused, as a [Fault] that names claim and rule: what packages sdjwt and jose refuse;
// another vct; a missing or ill-formed iss, sub, exp, iat or, on a Closed, aud, nonce,
// hash, crossing_id, governance_basis or signer_role; a cnf that is not one P-256 key;
// a signature by any key but the issuer's, the cnf key's or a registered human's; an
// agent's Closed under an Open without cnf; and, when amounts are read, an unknown class,
// a magnitude that is no integer from 0 to 2^53−1, a currency out of place. Claims not
// named here are ignored, but for nbf, which may not lie after iat. Expiry, narrowing,
// audience, nonce reuse and revocation are for the caller, who alone has the clock, the
// record and the registry.
//
// Room: values. No I/O and no clock; times come in as arguments. Signing draws from
// crypto/rand, through package jose.
package mandate

// Values of the vct claim (GC-148).
const (
	OpenType   = "mandate.agreement.open.1"
	ClosedType = "mandate.agreement.closed.1"
)

// OpenAudience is the aud of every Open that we issue. A verifier never looks at it
// (GC-151, AG-04).
const OpenAudience = "urn:anax:va:001"

// Names of claims and header members, as faults name them.
const (
	claimVCT            = "vct"
	claimIss            = "iss"
	claimSub            = "sub"
	claimAud            = "aud"
	claimExp            = "exp"
	claimIat            = "iat"
	claimNbf            = "nbf"
	claimCnf            = "cnf"
	claimNonce          = "nonce"
	claimSDHash         = "sd_hash"
	claimClass          = "commitment_class"
	claimAct            = "commitment_act"
	claimLimit          = "magnitude_limit"
	claimAsserted       = "magnitude_asserted"
	claimCurrency       = "currency"
	claimCounterparties = "permitted_counterparties"
	claimAgreementHash  = "agreement_hash"
	claimOpenHash       = "open_mandate_hash"
	claimBasis          = "governance_basis"
	claimCrossingID     = "crossing_id"
	claimSignerRole     = "signer_role"
)

// FaultKind says under which name of §3.7.4 a fault is reported, in the order in which
// AG-58 asks: Invalid at step 5, Malformed at step 6, Expired at step 7.
type FaultKind uint8

// Kinds of fault.
const (
	Invalid   FaultKind = iota + 1 // MANDATE_INVALID: form, signature, missing claim
	Malformed                      // MALFORMED_MANDATE: class, magnitude or currency
	Expired                        // MANDATE_EXPIRED
)

// String returns "invalid", "malformed" or "expired".
func (k FaultKind) String() string {
	switch k {
	case Invalid:
		return "invalid"
	case Malformed:
		return "malformed"
	case Expired:
		return "expired"
	}
	return "unknown"
}

// Fault is the error of every function here that reads or verifies. Claim and Rule are
// from a fixed vocabulary: no value out of a token is ever in them (RM-2).
type Fault struct {
	Kind  FaultKind
	Claim string // claim, header member, JSON Pointer in a statement, or "token", "payload", "signature", …
	Rule  string // what was broken, in a few words
}

// Error returns kind, claim and rule.
func (f *Fault) Error() string {
	return "mandate: " + f.Kind.String() + ": " + f.Claim + ": " + f.Rule
}

func invalid(claim, rule string) error { return &Fault{Kind: Invalid, Claim: claim, Rule: rule} }

func malformed(claim, rule string) error { return &Fault{Kind: Malformed, Claim: claim, Rule: rule} }
