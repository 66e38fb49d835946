package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// asker asks the operator for a passphrase at the terminal. It is nil where there is none.
type asker func(prompt string) (string, error)

// maxPassphrase is far above what anybody types.
const maxPassphrase = 1024

// asker asks at standard input, or, where that is no terminal and orElse allows it, at the
// terminal that standard error is. It never looks for a terminal that neither of them is: a
// command whose input and output lead elsewhere runs unattended.
func (a *app) asker(ctx context.Context, orElse ...io.Writer) asker {
	from := terminalOf(a.in)
	for _, w := range orElse {
		if from == nil {
			from = terminalOf(w)
		}
	}
	if from == nil {
		return nil
	}
	return func(prompt string) (string, error) {
		fmt.Fprint(a.err, visible(prompt))
		defer fmt.Fprintln(a.err)
		return readHidden(ctx, from)
	}
}

func terminalOf(stream any) *os.File {
	f, ok := stream.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return f
}

// readHidden reads one line without showing it. When ctx ends, the terminal is as it was.
func readHidden(ctx context.Context, from *os.File) (string, error) {
	before, err := term.GetState(int(from.Fd()))
	if err != nil {
		return "", err
	}
	type answer struct {
		line []byte
		err  error
	}
	typed := make(chan answer, 1)
	go func() { // it waits for a key, if need be until the process ends
		line, err := term.ReadPassword(int(from.Fd()))
		typed <- answer{line, err}
	}()
	select {
	case a := <-typed:
		if a.err != nil && !errors.Is(a.err, io.EOF) {
			return "", a.err
		}
		if len(a.line) > maxPassphrase {
			return "", usage("the passphrase is longer than 1024 bytes", "choose a shorter one")
		}
		return string(a.line), nil
	case <-ctx.Done():
		return "", errors.Join(ctx.Err(), term.Restore(int(from.Fd()), before))
	}
}
