package cli

import (
	"context"
	"fmt"
	"io"
	"os"
)

// read reads the whole of a file, or of standard input for -. What is longer than most
// bytes is refused and not cut: what it holds would be another document.
func (a *app) read(ctx context.Context, arg string, most int64, try string) ([]byte, error) {
	b, err := a.readArg(ctx, arg, most+1)
	switch {
	case err != nil:
		return nil, usagef(try, "%s cannot be read", inputName(arg))
	case int64(len(b)) > most:
		return nil, usagef(try, "%s is too large: more than %s", inputName(arg), sizeText(most))
	}
	return b, nil
}

// readArg reads a file, or standard input for -, and nothing after the first most bytes. A
// signal ends it.
func (a *app) readArg(ctx context.Context, arg string, most int64) ([]byte, error) {
	return await(ctx, func() ([]byte, error) {
		if arg == "-" {
			return io.ReadAll(io.LimitReader(a.in, most))
		}
		return readLimited(arg, most)
	})
}

func readLimited(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

// await lets a signal end a wait for a terminal, a pipe or a named pipe that says nothing.
// What f does then goes on until the process ends, which is at once.
func await[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		v, err := f()
		done <- outcome{v, err}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// inputName is how a person calls an argument that [app.readArg] reads.
func inputName(arg string) string {
	if arg == "-" {
		return "standard input"
	}
	return shownName(arg)
}

func sizeText(bytes int64) string {
	if bytes >= 1<<20 {
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d KiB", bytes>>10)
}
