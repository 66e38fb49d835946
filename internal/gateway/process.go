package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

// DefaultGrace is how long a process has to end by itself when its input is closed, and again
// when it has been asked to.
const DefaultGrace = 2 * time.Second

// A ProcessConfig says how to start a server that speaks MCP on its standard input and output.
type ProcessConfig struct {
	// Command is the program and its arguments. A bare name is looked up on the PATH.
	Command []string
	// Hide are names of environment variables that are the gateway's and not the program's. Those
	// that begin with BINDERY_ never are the program's.
	Hide []string
	// Complaints gets what the program writes to its standard error, in pieces; nil: nobody does.
	Complaints io.Writer
	// Grace is how long each step of ending it may take; 0 is [DefaultGrace].
	Grace time.Duration
}

// ErrEnded is a process that has ended, or one that cannot be started.
var ErrEnded = errors.New("gateway: the upstream's process has ended")

// process is one running program.
type process struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	turn  chan struct{} // held by who writes to in
	grace time.Duration
	begun sync.Once // the ending
	ended chan struct{}
	why   error // set before ended is closed
}

// startProcess starts a program. What it says comes to take, line by line, from one goroutine.
func startProcess(cfg ProcessConfig, take func(line []byte)) (*process, error) {
	if len(cfg.Command) == 0 {
		return nil, errors.New("gateway: no command")
	}
	cmd := exec.Command(cfg.Command[0], cfg.Command[1:]...)
	cmd.Env = ownEnviron(cmd.Environ(), cfg.Hide)
	out := &lines{take: take}
	cmd.Stdout, cmd.Stderr = out, cfg.Complaints
	alone(cmd)
	p := &process{cmd: cmd, turn: make(chan struct{}, 1), grace: cfg.Grace, ended: make(chan struct{})}
	if p.grace <= 0 {
		p.grace = DefaultGrace
	}
	cmd.WaitDelay = p.grace // for what it leaves behind on its pipes
	var err error
	if p.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%w: %q cannot be started: %s", ErrEnded, cfg.Command[0], reasonOf(err))
	}
	go func() {
		err := cmd.Wait()
		kill(cmd) // what is left of its group
		if !out.over {
			out.end()
		}
		switch {
		case out.over:
			p.why = fmt.Errorf("%w: %w", ErrEnded, ErrLine)
		case err != nil:
			p.why = fmt.Errorf("%w: %s", ErrEnded, err)
		default:
			p.why = ErrEnded
		}
		close(p.ended)
	}()
	return p, nil
}

// reasonOf is what the system says, without the name of what it was asked to do.
func reasonOf(err error) string {
	if e, ok := errors.AsType[*exec.Error](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}

// ownEnviron is the environment of a program: the gateway's without the gateway's own.
func ownEnviron(environ, hide []string) []string {
	return slices.DeleteFunc(environ, func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return strings.HasPrefix(strings.ToUpper(name), "BINDERY_") || slices.Contains(hide, name)
	})
}

// send writes one line. before is called when the next thing is to write it: an error of it, or of
// a wait that ctx has ended, means that nothing was written. Any other error leaves that open.
func (p *process) send(ctx context.Context, line []byte, before func() error) error {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return ctx.Err()
	case <-p.ended:
		return p.why
	}
	select {
	case <-p.ended:
		return p.why
	default:
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if before != nil {
		if err := before(); err != nil {
			return err
		}
	}
	// A program that does not read holds up its writer. A line that has begun cannot be taken
	// back, so that the program ends when nobody waits for it any more.
	written := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-written:
		case <-time.After(p.grace):
			kill(p.cmd)
		}
	})
	_, err := p.in.Write(append(slices.Clip(line), '\n'))
	close(written)
	stop()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrEnded, err)
	}
	return nil
}

// end lets the program end: its input ends, then it is asked to, then it is killed. It returns
// when the program is no more.
func (p *process) end() {
	p.begun.Do(func() {
		go func() {
			_ = p.in.Close() // it may have ended already
			for _, next := range []func(*exec.Cmd){terminate, kill} {
				select {
				case <-p.ended:
					return
				case <-time.After(p.grace):
					next(p.cmd)
				}
			}
		}()
	})
	<-p.ended
}
