package authority

import (
	"errors"

	"github.com/bindery/bindery/api"
)

// An Observer is told what an Authority answers, for metrics. Its methods must return at
// once and may be called concurrently.
type Observer interface {
	// Published is called once an answered publication: with "" if it was acknowledged, else
	// with the code of the refusal. One that could not be decided is not told.
	Published(code string)
	// Verified is called once an answered resolution: "verified" if every check holds,
	// "not_verified" if one does not, "unknown" if nothing resolves, "refused" if it could not
	// be asked so (AG-76).
	Verified(verdict string)
	// Limited is called for a resolution that was one too many (§3.7.3).
	Limited()
}

// Verdicts, for an [Observer].
const (
	verdictVerified    = "verified"
	verdictNotVerified = "not_verified"
	verdictUnknown     = "unknown"
	verdictRefused     = "refused"
)

// silent observes nothing.
type silent struct{}

func (silent) Published(string) {}
func (silent) Verified(string)  {}
func (silent) Limited()         {}

// published tells of a publication that was answered.
func (a *Authority) published(err error) {
	if refused, ok := errors.AsType[*api.Error](err); ok {
		a.observer.Published(refused.Code)
	} else if err == nil {
		a.observer.Published("")
	}
}

// verified tells of a resolution whose checks were made.
func (a *Authority) verified(checks api.Checks) {
	verdict := verdictVerified
	for _, c := range []api.Check{
		checks.Resolves, checks.SealMatches, checks.ChainConsistent, checks.BasisPresent, checks.NotSuperseded, checks.ChainPositionValid,
	} {
		if c == api.False {
			verdict = verdictNotVerified
		}
	}
	a.observer.Verified(verdict)
}
