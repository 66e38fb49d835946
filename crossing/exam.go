package crossing

import (
	"errors"
	"time"

	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// An exam is one run of the ordered checks of §5.4, over one side at P3 or both at the
// seal. record is nil at P3; amount is nil where the expected magnitude is not known.
type exam struct {
	at         time.Time
	record     *Record
	amount     *commitment.Amount
	class      commitment.Class // of the record, or as intended at P1
	crossingID string
	act        string
	agreement  jcs.Hex256
	used       map[Nonce]jcs.Hex256
	sides      []*side
}

type side struct {
	Side
	slot  Party  // what the record says of the party; at P3 what P1 said
	other string // the counterparty's principal_id

	open            *mandate.Open
	closed          *mandate.Closed
	grant           commitment.Amount
	disclosed       bool
	limit, asserted commitment.Amount
}

// A step is one name of the precedence; it returns nil when it has nothing to say.
type step func(*exam, *side) *Refusal

// steps are AG-58's 5 to 18, in order.
var steps = [...]step{
	(*exam).signatures,    // 5 MANDATE_INVALID
	(*exam).claims,        // 6 MALFORMED_MANDATE
	(*exam).expiry,        // 7 MANDATE_EXPIRED
	(*exam).audience,      // 8 MANDATE_AUDIENCE
	(*exam).counterparty,  // 9 COUNTERPARTY_NOT_PERMITTED
	(*exam).nonce,         // 10 MANDATE_NONCE_REPLAY
	(*exam).party,         // 11 MANDATE_PARTY_MISMATCH
	(*exam).terms,         // 12 AGREEMENT_HASH_MISMATCH
	(*exam).classNarrowed, // 13 NARROWING_VIOLATION by class
	(*exam).classCovered,  // 14 CLASS_EXCEEDED
	(*exam).currency,      // 15 CURRENCY_MISMATCH
	(*exam).drawNarrowed,  // 16 NARROWING_VIOLATION by magnitude
	(*exam).equality,      // 17 MAGNITUDE_MISMATCH
	(*exam).ceiling,       // 18 MAGNITUDE_EXHAUSTED
}

func (e *exam) run() *Refusal {
	for _, check := range steps {
		for _, s := range e.sides {
			if refusal := check(e, s); refusal != nil {
				return refusal
			}
		}
	}
	return nil
}

func faultName(err error) Name {
	var f *mandate.Fault
	if errors.As(err, &f) && f.Kind == mandate.Malformed {
		return MalformedMandate
	}
	return MandateInvalid
}

func refuseFault(err error, path string) *Refusal {
	var f *mandate.Fault
	if errors.As(err, &f) {
		path += " " + f.Claim
	}
	return RefuseAt(faultName(err), path)
}

// signatures finds the Open by the Closed's own open_mandate_hash, not by the record's:
// a foreign agent's Closed is then a party mismatch (WC-8), not an unknown issuer.
func (e *exam) signatures(s *side) *Refusal {
	if s.Closed == "" {
		return Refuse(MandatePartyMismatch)
	}
	presented, err := mandate.ParseClosed(s.Closed)
	if err != nil {
		return refuseFault(err, "§5.4-1 closed")
	}
	open, refusal := s.verifyOpen(e.at)
	if refusal != nil {
		return refusal
	}
	if presented.OpenMandateHash() != open.OpenHash() {
		if presented.Subject() != s.slot.AgentID {
			return RefuseAt(MandatePartyMismatch, "§5.4-9 sub")
		}
		return RefuseAt(MandateInvalid, "§5.4-2 open_mandate_hash")
	}
	closed, err := presented.Verify(s.Issuer.HumanKeys(presented.Issuer(), e.at), open)
	if err != nil {
		return refuseFault(err, "§5.4-1 closed")
	}
	if cnf, bound := open.ConfirmationKey(); bound && closed.SignerRole() == mandate.RoleAgent &&
		s.Issuer.AgentBarred(closed.Subject(), cnf, closed.IssuedAt()) {
		return RefuseAt(MandateInvalid, "§5.4-1 closed iat")
	}
	s.open, s.closed = open, closed
	return nil
}

func (s *side) verifyOpen(at time.Time) (*mandate.Open, *Refusal) {
	open, err := mandate.ParseOpen(s.Open)
	if err != nil {
		return nil, refuseFault(err, "§5.4 open")
	}
	if len(s.Disclosures) > 0 {
		if open, err = open.Disclose(s.Disclosures...); err != nil {
			return nil, refuseFault(err, "§5.4 open_disclosures")
		}
	}
	return verifyIssuer(open, s.Issuer, s.slot.PrincipalID, at)
}

// verifyIssuer ties an Open to the Principal that its party claims (§4.1.5, GC-210).
func verifyIssuer(open *mandate.PresentedOpen, issuer *mandate.Principal, claimed string, at time.Time) (*mandate.Open, *Refusal) {
	if issuer == nil || issuer.ID != claimed || open.Issuer() != claimed {
		return nil, RefuseAt(MandateInvalid, "§4.1.5 iss")
	}
	verified, err := open.Verify(issuer.IssuerKeys(at))
	if err != nil {
		return nil, refuseFault(err, "§5.2-1 open")
	}
	return verified, nil
}

func (e *exam) claims(s *side) *Refusal {
	var err error
	if s.grant, s.disclosed, err = s.open.Amount(); err != nil {
		return refuseFault(err, "§4.1.3 open")
	}
	if s.limit, s.asserted, err = s.closed.Amounts(); err != nil {
		return refuseFault(err, "§4.1.3 closed")
	}
	return nil
}

func (e *exam) expiry(s *side) *Refusal {
	if s.open.Expired(e.at) || s.closed.Expired(e.at) {
		return Refuse(MandateExpired)
	}
	return nil
}

func (e *exam) audience(s *side) *Refusal {
	if s.closed.Audience() != s.other {
		return Refuse(MandateAudience)
	}
	return nil
}

func (e *exam) counterparty(s *side) *Refusal {
	if !s.open.Counterparties().Permits(s.other) {
		return Refuse(CounterpartyNotPermitted)
	}
	return nil
}

// nonce: the same bytes again are no replay; consumption and idempotency decide those.
func (e *exam) nonce(s *side) *Refusal {
	owner, used := e.used[Nonce{s.closed.Issuer(), s.closed.Nonce()}]
	if used && owner != s.closed.TokenHash() {
		return Refuse(MandateNonceReplay)
	}
	return nil
}

// party is check 9 with the act, and what follows from its purpose (AG-14, AG-15).
func (e *exam) party(s *side) *Refusal {
	c := s.closed
	equal := c.Subject() == s.slot.AgentID && c.Subject() == s.open.Subject() &&
		c.Act() != "" && c.Act() == e.act && c.CrossingID() == e.crossingID
	if equal && e.record != nil {
		equal = c.TokenHash() == s.slot.ClosedMandateHash && c.OpenMandateHash() == s.slot.OpenMandateHash &&
			string(c.SignerRole()) == s.slot.SignerRole && c.Basis() == s.slot.Basis
	}
	if !equal {
		return Refuse(MandatePartyMismatch)
	}
	return nil
}

func (e *exam) terms(s *side) *Refusal {
	if e.record != nil && e.record.AgreementHash != e.agreement || s.closed.AgreementHash() != e.agreement {
		return Refuse(AgreementHashMismatch)
	}
	return nil
}

func (e *exam) classNarrowed(s *side) *Refusal {
	if !s.grant.Class.Permits(s.limit.Class) {
		return RefuseAt(NarrowingViolation, "§4.1.3 L-2")
	}
	if !s.open.PermitsAct(s.closed.Act()) {
		return RefuseAt(NarrowingViolation, "§4.1.3 commitment_act")
	}
	return nil
}

// classCovered: at the seal the record is the action and the Closed the mandate; at P3
// the Closed is the action and what was intended at P1 the bound (AG-71).
func (e *exam) classCovered(s *side) *Refusal {
	mandated, action := s.asserted.Class, e.class
	if e.record == nil {
		mandated, action = action, mandated
	}
	if !mandated.Permits(action) {
		return Refuse(ClassExceeded)
	}
	return nil
}

// currency: amounts of two classes have no unit in common, so they are left to equality,
// which refuses them under the name that AG-12 gives.
func (e *exam) currency(s *side) *Refusal {
	if errors.Is(s.grant.Narrows(s.limit), commitment.ErrCurrencyDiffers) {
		return Refuse(CurrencyMismatch)
	}
	if e.amount != nil && e.amount.Class == s.asserted.Class && e.amount.Currency != s.asserted.Currency {
		return Refuse(CurrencyMismatch)
	}
	return nil
}

// drawNarrowed takes the disclosed limit if there is one and else the RA's word that
// the draw is registered; with neither the check cannot be evaluated and has failed.
func (e *exam) drawNarrowed(s *side) *Refusal {
	narrow := s.Registered
	if s.disclosed {
		narrow = s.grant.Narrows(s.limit) == nil
	}
	if !narrow {
		return RefuseAt(NarrowingViolation, "§4.1.3 M-3")
	}
	return nil
}

// equality: units differ between classes, so another class is another amount (AG-12).
func (e *exam) equality(s *side) *Refusal {
	if e.class != s.asserted.Class {
		return Refuse(MagnitudeMismatch)
	}
	if e.amount != nil && e.amount.Magnitude != s.asserted.Magnitude {
		return Refuse(MagnitudeMismatch)
	}
	return nil
}

// ceiling holds the amount against the Closed's limit, and through it against the Open's,
// which drawNarrowed found to be no lower (GC-292). 0 means none for the classes that
// seal (M-5, AG-20).
func (e *exam) ceiling(s *side) *Refusal {
	if amount := s.asserted.Magnitude; amount == 0 || amount > s.limit.Magnitude {
		return Refuse(MagnitudeExhausted)
	}
	return nil
}

func (e *exam) nonces() map[Nonce]jcs.Hex256 {
	out := make(map[Nonce]jcs.Hex256, len(e.sides))
	for _, s := range e.sides {
		out[Nonce{s.closed.Issuer(), s.closed.Nonce()}] = s.closed.TokenHash()
	}
	return out
}
