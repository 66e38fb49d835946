// Package limit bounds how often each of many clients is served: a token bucket for each
// remote address, in memory that is bounded too (§3.7.3, GC-094, GC-117).
//
// A bucket holds Burst tokens and gains PerSecond of them a second. One request takes one:
//
//	b := limit.New(limit.Rate{PerSecond: 2, Burst: 3})
//	b.Admit("192.0.2.1", at)                    // true, true, true, false
//	b.Admit("192.0.2.1", at.Add(time.Second))   // true, true, false
//
// Refused is whoever finds no token. At most [MaxRemotes] addresses have a bucket of their
// own; while so many are active, all further ones share a single one: a flood from
// everywhere costs the newcomers their speed, never the host its memory.
//
// Room: values. No clock and no lock: a role that serves many at once brings both.
package limit

import (
	"errors"
	"time"
)

// A Rate bounds requests by one remote address. Zero fields mean the defaults.
type Rate struct {
	PerSecond int // sustained; zero: 50
	Burst     int // at once; zero: 100
}

const (
	defaultPerSecond = 50
	defaultBurst     = 100
	sweepEvery       = time.Second
)

// MaxRemotes is the number of addresses with a bucket of their own.
const MaxRemotes = 16384

// Check refuses a negative rate.
func (r Rate) Check() error {
	if r.PerSecond < 0 || r.Burst < 0 {
		return errors.New("limit: negative rate")
	}
	return nil
}

// Buckets holds the buckets. Its methods must not be called concurrently.
type Buckets struct {
	perSecond float64
	burst     float64
	remotes   map[string]*bucket
	shared    bucket
	swept     time.Time
}

type bucket struct {
	tokens float64
	at     time.Time // when tokens was true
}

// New returns full buckets for everyone. r has passed [Rate.Check].
func New(r Rate) *Buckets {
	if r.PerSecond == 0 {
		r.PerSecond = defaultPerSecond
	}
	if r.Burst == 0 {
		r.Burst = defaultBurst
	}
	b := &Buckets{perSecond: float64(r.PerSecond), burst: float64(r.Burst), remotes: make(map[string]*bucket)}
	b.shared.tokens = b.burst
	return b
}

// Admit takes one token from the bucket of remote, any name by which the caller tells
// clients apart, and reports whether there was one.
func (b *Buckets) Admit(remote string, now time.Time) bool {
	own := b.bucket(remote, now)
	b.refill(own, now)
	if own.tokens < 1 {
		return false
	}
	own.tokens--
	return true
}

// Remotes is the number of addresses that have a bucket of their own.
func (b *Buckets) Remotes() int { return len(b.remotes) }

func (b *Buckets) bucket(remote string, now time.Time) *bucket {
	if own, ok := b.remotes[remote]; ok {
		return own
	}
	if len(b.remotes) >= MaxRemotes {
		b.sweep(now)
	}
	if len(b.remotes) >= MaxRemotes {
		return &b.shared
	}
	own := &bucket{tokens: b.burst, at: now}
	b.remotes[remote] = own
	return own
}

// refill adds what has accrued. A clock that steps back adds nothing.
func (b *Buckets) refill(own *bucket, now time.Time) {
	if d := now.Sub(own.at); d > 0 {
		own.tokens = min(b.burst, own.tokens+d.Seconds()*b.perSecond)
	}
	own.at = now
}

// sweep forgets the addresses whose bucket is full: to them it makes no difference.
func (b *Buckets) sweep(now time.Time) {
	if d := now.Sub(b.swept); 0 <= d && d < sweepEvery {
		return
	}
	b.swept = now
	for remote, own := range b.remotes {
		if b.refill(own, now); own.tokens >= b.burst {
			delete(b.remotes, remote)
		}
	}
}
