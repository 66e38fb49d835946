//go:build failpoint

package failpoint

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Hit ends the process if this is the point that BINDERY_KILL_AT names.
func Hit(point string) {
	name, offset, _ := strings.Cut(os.Getenv("BINDERY_KILL_AT"), "+")
	if name != point {
		return
	}
	micros, err := strconv.Atoi(offset)
	if err != nil || micros <= 0 {
		kill()
	}
	time.AfterFunc(time.Duration(micros)*time.Microsecond, kill)
}

// HoldTimeout is what BINDERY_HOLD_TIMEOUT says, else zero.
func HoldTimeout() time.Duration { return millis("BINDERY_HOLD_TIMEOUT") }

// StaleAfter is what BINDERY_STALE_AFTER says, else zero.
func StaleAfter() time.Duration { return millis("BINDERY_STALE_AFTER") }

func millis(name string) time.Duration {
	n, err := strconv.Atoi(os.Getenv(name))
	if err != nil || n <= 0 {
		return 0
	}
	return time.Duration(n) * time.Millisecond
}

func kill() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // the signal is on its way
}
