package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"
)

// writeGrace is how long a write may still take after a signal: what has room is written
// at once, what waits for a reader that has stalled is given up.
const writeGrace = 500 * time.Millisecond

// results is stdout. It remembers the first write that fails, since a result that is not
// written whole must not look like one: a full disk and a pipe without a reader end in
// exit code 3, whichever command it was.
type results struct {
	to   io.Writer
	done <-chan struct{} // closed by a signal
	err  error           // of the first write that failed; there is none after it
}

func newResults(ctx context.Context, to io.Writer) *results {
	// Until SIGPIPE is asked for, it ends the process without a word.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return &results{to: to, done: ctx.Done()}
}

// Write implements [io.Writer]. A signal ends its wait.
func (r *results) Write(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	type outcome struct {
		n   int
		err error
	}
	wrote := make(chan outcome, 1)
	text := bytes.Clone(p) // the caller's own again after a write that was given up
	go func() {
		n, err := r.to.Write(text)
		wrote <- outcome{n, err}
	}()
	var late <-chan time.Time
	for done := r.done; ; {
		select {
		case o := <-wrote:
			r.err = o.err
			return o.n, o.err
		case <-done:
			done, late = nil, time.After(writeGrace)
		case <-late:
			r.err = context.Canceled
			return 0, r.err
		}
	}
}

// failed is how a command ends that has done its work and could not write its result.
func (r *results) failed() error {
	if r.err == nil || r.err == context.Canceled {
		return r.err
	}
	return &unknownError{fmt.Sprintf("the result cannot be written: %v", r.err), "do not use what was written of it"}
}

// line writes one line of a result for people. What a peer, a file or an authority says
// does not get at the terminal by it.
func (a *app) line(format string, args ...any) {
	_, _ = fmt.Fprintln(a.out, visible(fmt.Sprintf(format, args...))) // a.out keeps the error
}

// visible is s with what a terminal would obey or not show written as in a Go string. A
// line feed is among it, so that a line stays one.
func visible(s string) string {
	if !concealed(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, width := utf8.DecodeRuneInString(s)
		if strconv.IsPrint(r) && !(r == utf8.RuneError && width == 1) {
			b.WriteString(s[:width])
		} else {
			quoted := strconv.Quote(s[:width])
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		s = s[width:]
	}
	return b.String()
}

// concealed reports whether a terminal would not show the whole of s.
func concealed(s string) bool {
	hidden := func(r rune) bool { return !strconv.IsPrint(r) }
	return !utf8.ValidString(s) || strings.ContainsFunc(s, hidden)
}

// shownName is the name of a file as it is printed: as it stands, or quoted if it is empty
// or holds what a terminal would not show, since file names are not always one's own.
func shownName(name string) string {
	if name == "" || concealed(name) {
		return strconv.Quote(name)
	}
	return name
}
