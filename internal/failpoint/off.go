//go:build !failpoint

// Package failpoint lets a crash test end the process at a named point, as kill -9 would,
// and shorten the two timers that such a test waits for.
//
// In an ordinary build [Hit] does nothing. Built with the tag failpoint it reads
// BINDERY_KILL_AT ("POINT" or "POINT+MICROSECONDS"): when that point is reached, the
// process kills itself with SIGKILL, at once or so much later, while the program goes on.
//
//	BINDERY_KILL_AT=after-hold+1500 bindery serve --dir B
//
// BINDERY_HOLD_TIMEOUT, in milliseconds, then replaces the time after which a registry in
// release mode on gives back a hold that nobody has confirmed, and the time between its sweeps.
//
// BINDERY_STALE_AFTER, in milliseconds, replaces the time after which an epoch of a gateway
// without a heartbeat is declared dead; its other times shrink with it.
//
// Room: the command line. Tests build it with the tag; it has the effect of a signal and no
// other.
package failpoint

import "time"

// HoldTimeout is zero in this build: the registry's own time stands.
func HoldTimeout() time.Duration { return 0 }

// StaleAfter is zero in this build: the gateway's own times stand.
func StaleAfter() time.Duration { return 0 }

// Hit marks a point. It does nothing in this build.
func Hit(string) {}
