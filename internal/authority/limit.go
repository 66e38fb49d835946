package authority

import (
	"sync"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/crossing"
)

// A Rate bounds resolutions by one remote address. Zero fields mean the defaults.
type Rate struct {
	PerSecond int // sustained; zero: 50
	Burst     int // at once; zero: 100
}

const (
	defaultPerSecond = 50
	defaultBurst     = 100
	// maxRemotes bounds the memory of the limiter. While so many addresses are active,
	// further ones share a single budget: a flood from everywhere costs the newcomers
	// their speed, never the host its memory.
	maxRemotes = 16384
	sweepEvery = time.Second
)

// limiter holds a token bucket for each remote address.
type limiter struct {
	perSecond float64
	burst     float64

	mu      sync.Mutex // guards what follows
	buckets map[string]*bucket
	shared  bucket
	swept   time.Time
}

type bucket struct {
	tokens float64
	at     time.Time // when tokens was true
}

func newLimiter(r Rate) *limiter {
	if r.PerSecond == 0 {
		r.PerSecond = defaultPerSecond
	}
	if r.Burst == 0 {
		r.Burst = defaultBurst
	}
	l := &limiter{perSecond: float64(r.PerSecond), burst: float64(r.Burst), buckets: make(map[string]*bucket)}
	l.shared.tokens = l.burst
	return l
}

func (l *limiter) admit(remote string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.bucket(remote, now)
	l.refill(b, now)
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

func (l *limiter) bucket(remote string, now time.Time) *bucket {
	if b, ok := l.buckets[remote]; ok {
		return b
	}
	if len(l.buckets) >= maxRemotes {
		l.sweep(now)
	}
	if len(l.buckets) >= maxRemotes {
		return &l.shared
	}
	b := &bucket{tokens: l.burst, at: now}
	l.buckets[remote] = b
	return b
}

// refill adds what has accrued. A clock that steps back adds nothing.
func (l *limiter) refill(b *bucket, now time.Time) {
	if d := now.Sub(b.at); d > 0 {
		b.tokens = min(l.burst, b.tokens+d.Seconds()*l.perSecond)
	}
	b.at = now
}

// sweep forgets the addresses whose bucket is full: to them it makes no difference.
func (l *limiter) sweep(now time.Time) {
	if d := now.Sub(l.swept); 0 <= d && d < sweepEvery {
		return
	}
	l.swept = now
	for remote, b := range l.buckets {
		if l.refill(b, now); b.tokens >= l.burst {
			delete(l.buckets, remote)
		}
	}
}

func errRateLimited() error { return &api.Error{Code: string(crossing.RateLimited)} }
