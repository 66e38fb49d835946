package gatewaytest

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Plan is what the server does with one call of "pay". Of each word the effect comes
// first, unless it says otherwise.
//
//	none        no effect
//	delay:MS    wait before the answer
//	stream      answer as an event stream, a notification of progress first
//	error       a JSON-RPC error
//	fails       a result with isError
//	status:N    HTTP status N with a text; over stdio a JSON-RPC error
//	silent      never answer
//	reset       break the connection; over stdio end the process
//	half        half an event of a stream, then nothing more; over stdio half a line
//	twice       answer twice
//	garbage     an answer that is no JSON
//	deep        an answer nested 10,000 deep
//	huge:N      an answer of N bytes
//	wrongid     an answer to another request
//	redirect    HTTP status 307 to a place that counts a second effect
//	ask:N       N rounds of input_required before the effect
//	task:N      a task that is complete after N calls of tasks/get
//	lost:N      a task that fails instead
type Plan struct {
	Delay            time.Duration
	Status, Huge     int
	Ask, Task        int
	None, Stream     bool
	Error, Fails     bool
	Silent, Reset    bool
	Half, Twice      bool
	Garbage, Deep    bool
	WrongID, Lost    bool
	Redirect, asTask bool
}

// ParsePlan reads the words of a plan; no word at all is a call that goes well.
func ParsePlan(s string) (p Plan, err error) {
	for word := range strings.FieldsSeq(s) {
		name, number, counted := strings.Cut(word, ":")
		n := 0
		if counted {
			if n, err = strconv.Atoi(number); err != nil || n < 0 {
				return p, fmt.Errorf("plan: %q has no number", word)
			}
		}
		if !p.set(name, n) {
			return p, fmt.Errorf("plan: no word %q", word)
		}
	}
	return p, nil
}

func (p *Plan) set(name string, n int) bool {
	switch name {
	case "delay":
		p.Delay = time.Duration(n) * time.Millisecond
	case "status":
		p.Status = n
	case "huge":
		p.Huge = n
	case "ask":
		p.Ask = n
	case "task", "lost":
		p.Task, p.asTask, p.Lost = n, true, name == "lost"
	default:
		flag := map[string]*bool{
			"none": &p.None, "stream": &p.Stream, "error": &p.Error, "fails": &p.Fails, "silent": &p.Silent, "reset": &p.Reset,
			"half": &p.Half, "twice": &p.Twice, "garbage": &p.Garbage, "deep": &p.Deep, "wrongid": &p.WrongID, "redirect": &p.Redirect,
		}[name]
		if flag == nil {
			return false
		}
		*flag = true
	}
	return true
}
