package mandate

import (
	"strconv"
	"strings"
	"time"

	"github.com/bindery/bindery/commitment"
)

// Claims is what an unverified mandate says, in words for a person. Nothing may be
// decided on it.
type Claims struct {
	Acts           []string // an Open's; nil: any act
	Act            string   // a Closed's
	Class          string
	Limit          string // with its unit; "withheld" where it is not disclosed
	Counterparties string
	Audience       string
	IssuedAt       time.Time
	ExpiresAt      time.Time
}

// Claims reads an Open's claims without trust.
func (p *PresentedOpen) Claims() Claims {
	o := Open{identity: p.identity, validity: p.span, p: *p}
	c := Claims{Acts: o.Acts(), Counterparties: "nobody: the claim is missing", IssuedAt: o.IssuedAt(), ExpiresAt: o.ExpiresAt()}
	switch who := o.Counterparties(); {
	case who.Any():
		c.Counterparties = "anybody"
	case !who.IsSilent():
		c.Counterparties = strings.Join(who.List(), ", ")
	}
	amount, disclosed, err := o.Amount()
	c.Class, c.Limit = words(amount, disclosed, err)
	return c
}

// Claims reads a Closed's claims without trust.
func (p *PresentedClosed) Claims() Claims {
	cl := Closed{identity: p.identity, validity: p.span, p: *p}
	limit, asserted, err := cl.Amounts()
	c := Claims{Act: cl.Act(), Audience: cl.Audience(), IssuedAt: cl.IssuedAt(), ExpiresAt: cl.ExpiresAt()}
	c.Class, c.Limit = words(asserted, true, err)
	if err == nil && limit != asserted {
		c.Limit += ", drawing " + strconv.FormatInt(int64(limit.Magnitude), 10)
	}
	return c
}

func words(a commitment.Amount, disclosed bool, err error) (class, limit string) {
	switch {
	case err != nil:
		return "malformed", "malformed"
	case !disclosed:
		return a.Class.String(), "withheld"
	}
	return a.Class.String(), strconv.FormatInt(int64(a.Magnitude), 10) + " " + a.Unit()
}
