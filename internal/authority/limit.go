package authority

import (
	"sync"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/limit"
)

// A Rate bounds resolutions by one remote address. Zero fields mean the defaults of
// package limit.
type Rate = limit.Rate

// limiter is the buckets with their lock.
type limiter struct {
	mu      sync.Mutex // guards buckets
	buckets *limit.Buckets
}

// Admit takes one resolution from the budget of a remote address, or returns
// RATE_LIMITED as an [*api.Error] (§3.7.3, GC-094). The edge calls it before
// [Authority.Verify]; remote is any name by which it tells clients apart.
func (a *Authority) Admit(remote string) error {
	now := a.now()
	a.limiter.mu.Lock()
	defer a.limiter.mu.Unlock()
	if a.limiter.buckets.Admit(remote, now) {
		return nil
	}
	a.observer.Limited()
	return &api.Error{Code: string(crossing.RateLimited)}
}
