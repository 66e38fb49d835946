package authority

import "time"

// MaxRemotes bounds the limiter.
const MaxRemotes = maxRemotes

// A Limiter is the limiter itself.
type Limiter struct{ l *limiter }

// NewLimiter returns a limiter.
func NewLimiter(r Rate) Limiter { return Limiter{newLimiter(r)} }

// Admit takes one from remote's budget.
func (l Limiter) Admit(remote string, now time.Time) bool { return l.l.admit(remote, now) }

// Remotes is the number of addresses kept.
func (l Limiter) Remotes() int { return len(l.l.buckets) }
