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
