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
func HoldTimeout() time.Duration {
	millis, err := strconv.Atoi(os.Getenv("BINDERY_HOLD_TIMEOUT"))
	if err != nil || millis <= 0 {
		return 0
	}
	return time.Duration(millis) * time.Millisecond
}

func kill() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // the signal is on its way
}
