package gateway

import (
	"context"
	"time"
)

// For tests of bridges.
var (
	WithAgent   = withAgent
	WithStart   = withStart
	MakeOneLine = oneLine
	HeaderValue = headerValue
	ReadLines   = readLines
	WellFormed  = wellFormed
)

// Events reads server-sent events that come in pieces: what each says, the last id, and a fault.
func Events(pieces ...string) (said []string, last string, err error) {
	r := &eventReader{take: func(data []byte) { said = append(said, string(data)) }}
	for _, p := range pieces {
		if _, err = r.Write([]byte(p)); err != nil {
			break
		}
	}
	return said, r.last, err
}

// Sight says what a bridge sees: the tokens of id and method, and whether it is an answer.
func Sight(text string) (id, method string, answer, ok bool) {
	s, ok := sight([]byte(text))
	return string(s.id.in([]byte(text))), string(s.method.in([]byte(text))), s.answer(), ok
}

// SetFarewell changes how long the end of its session may take.
func (f *Front) SetFarewell(d time.Duration) { f.farewell = d }

// Process is a program that runs.
type Process struct{ p *process }

// StartProcess starts one.
func StartProcess(cfg ProcessConfig, take func(line []byte)) (Process, error) {
	p, err := startProcess(cfg, take)
	return Process{p}, err
}

// End ends it, Pid is its number, and Send sends it a line.
func (p Process) End()     { p.p.end() }
func (p Process) Pid() int { return p.p.cmd.Process.Pid }
func (p Process) Send(ctx context.Context, line string) error {
	return p.p.send(ctx, []byte(line), nil)
}
