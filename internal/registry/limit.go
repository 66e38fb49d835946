package registry

import (
	"sync"
	"time"

	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/limit"
)

// A Rate bounds requests by one remote address. Zero fields mean the defaults of package
// limit.
type Rate = limit.Rate

// limiter is the buckets with their lock.
type limiter struct {
	mu      sync.Mutex // guards buckets
	buckets *limit.Buckets
}

// Admit takes one request from the budget of a remote address, or returns RATE_LIMITED as
// an [*api.Error]. The edge calls it before what needs no credential: Enrol, Status,
// Principal. remote is any name by which it tells clients apart.
func (r *Registry) Admit(remote string) (refused error) {
	defer r.observe(callAdmit, &refused)
	return r.limiter.admit(remote, r.now())
}

func (l *limiter) admit(name string, now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.buckets.Admit(name, now) {
		return nil
	}
	return refusal(crossing.RateLimited)
}
