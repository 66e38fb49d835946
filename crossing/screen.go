package crossing

import (
	"time"

	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// A Screening is what a party checks at P1 (§5.2).
type Screening struct {
	At      time.Time
	P1      *P1
	Issuer  *mandate.Principal // the RA's record of P1.Party.PrincipalID; nil: unresolved
	Own     string             // this party's principal_id
	Class   commitment.Class   // what the crossing will be about
	Act     string
	OwnActs string // digest of this party's act vocabulary
}

// Screen runs the seven checks of §5.2 and confirms what the party says of itself
// against the RA's record. An Open is never refused for its aud (GC-280). Success is
// the verified Open.
func Screen(s Screening) (*mandate.Open, *Refusal) {
	presented, err := mandate.ParseOpen(s.P1.OpenMandate)
	if err != nil {
		return nil, refuseFault(err, "§5.2 open")
	}
	open, refusal := verifyIssuer(presented, s.Issuer, s.P1.Party.PrincipalID, s.At)
	if refusal != nil {
		return nil, refusal
	}
	grant, _, err := open.Amount()
	if err != nil {
		return nil, refuseFault(err, "§5.2-6 open")
	}
	_, autonomous := open.ConfirmationKey()
	switch {
	case s.P1.ActProfile != "" && s.P1.ActProfile != s.OwnActs:
		return nil, RefuseAt(MalformedMandate, "§5.4-9 act vocabulary")
	case open.Subject() != s.P1.Party.AgentID || s.P1.Party.PrincipalID == s.Own:
		return nil, RefuseAt(MandatePartyMismatch, "§4.4-7")
	case !confirmed(s.P1.Party, s.Issuer):
		return nil, RefuseAt(MandateInvalid, "§3.4 party")
	case open.Expired(s.At):
		return nil, Refuse(MandateExpired)
	case !open.Counterparties().Permits(s.Own):
		return nil, Refuse(CounterpartyNotPermitted)
	case !open.PermitsAct(s.Act):
		return nil, RefuseAt(NarrowingViolation, "§4.1.3 commitment_act")
	case !grant.Class.Permits(s.Class):
		return nil, RefuseAt(ClassExceeded, "§5.2-6")
	case s.P1.Closing == "agent" && !autonomous:
		return nil, RefuseAt(MandateInvalid, "§5.2-7 cnf")
	}
	return open, nil
}

// confirmed compares a party's own words with the RA's record of its Principal.
func confirmed(p Profile, record *mandate.Principal) bool {
	return p.ClearanceIDHash == record.ClearanceIDHash && p.TrustBasis == record.TrustBasis && p.AGCLevel == record.AGCLevel
}

// A Closing is what a party checks of its counterparty's Closed at P3 (§5.4).
type Closing struct {
	At            time.Time
	Peer          Side
	Own           string // this party's principal_id
	CrossingID    string
	AgreementHash jcs.Hex256
	Class         commitment.Class // as intended at P1
	Act           string
	Amount        *commitment.Amount // what this party asserts; nil while it asserts what the peer does
	Used          map[Nonce]jcs.Hex256
}

// CheckClosed runs the binding checks of §5.4 on one Closed, in the order of a seal's.
// Success is the verified Closed and the amount that it asserts.
func CheckClosed(c Closing) (*mandate.Closed, commitment.Amount, *Refusal) {
	s := &side{Side: c.Peer, slot: Party{Profile: c.Peer.Profile}, other: c.Own}
	e := &exam{
		at: c.At, amount: c.Amount, class: c.Class, crossingID: c.CrossingID,
		act: c.Act, agreement: c.AgreementHash, used: c.Used, sides: []*side{s},
	}
	if refusal := e.run(); refusal != nil {
		return nil, commitment.Amount{}, refusal
	}
	return s.closed, s.asserted, nil
}
