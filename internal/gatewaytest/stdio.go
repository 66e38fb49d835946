package gatewaytest

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// ServeStdio answers one message a line until in ends, several at a time. A plan that
// breaks a connection ends the process.
func (u *Upstream) ServeStdio(in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	var mu sync.Mutex // guards out: a line is whole
	var open sync.WaitGroup
	defer open.Wait()
	for {
		line, err := lines.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			var m message
			if err := decode(line, &m); err != nil {
				mu.Lock()
				_, _ = out.Write(append(m.fault(-32700, "no JSON"), '\n'))
				mu.Unlock()
				continue
			}
			open.Go(func() { u.line(&mu, out, &m) })
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

func (u *Upstream) line(mu *sync.Mutex, out io.Writer, m *message) {
	a := u.answer(m)
	if a.body == nil || a.plan.Silent {
		return
	}
	time.Sleep(a.plan.Delay)
	if a.plan.Reset {
		os.Exit(1)
	}
	mu.Lock()
	defer mu.Unlock()
	switch p := a.plan; {
	case p.Status != 0 || p.Redirect:
		_, _ = out.Write(m.fault(-32603, "it does not go"))
	case p.Huge > 0:
		huge(out, m, p.Huge)
	case p.Half:
		_, _ = out.Write(a.body[:len(a.body)/2])
		return
	default:
		if p.Stream {
			_, _ = out.Write(append(progress(m), '\n'))
		}
		_, _ = out.Write(a.body)
		if p.Twice {
			_, _ = out.Write(append([]byte{'\n'}, a.body...))
		}
	}
	_, _ = out.Write([]byte{'\n'})
}
