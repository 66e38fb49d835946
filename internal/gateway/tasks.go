package gateway

import (
	"bytes"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/bindery/bindery/internal/mcp"
	"github.com/bindery/bindery/jcs"
)

// To an upstream over HTTP without sessions all agents are one client, the gateway: whoever knew the
// id of a task could read, feed or cancel another agent's. So what is asked about a task passes where
// this gateway has answered the same agent with it. Ids are not sealed as those of sessions are, since
// answers to unbound calls pass byte for byte; which ones were handed out is known in memory, by this
// replica alone. A repeat of a bound call hands its task out again.

// The methods that are about tasks begin with taskMethods; those of listenMethod may be.
const (
	taskMethods  = "tasks/"
	listenMethod = "subscriptions/listen"
)

func aboutTasks(method string) bool {
	return len(method) >= len(taskMethods) && strings.EqualFold(method[:len(taskMethods)], taskMethods)
}

// What is kept of tasks.
const (
	maxTasksOfOne = 1024     // of one agent; the oldest are forgotten
	maxTasks      = 64 << 10 // of all; those of who has most
	maxTaskAnswer = 64 << 10 // bytes of an answer, or of an event, that is looked at for a task
	maxTaskLooks  = 64       // at one answer that comes in pieces
)

// handed are the tasks that agents were answered with.
type handed struct {
	mu  sync.Mutex              // guards below
	of  map[string][]jcs.Hex256 // by agent, the oldest first
	all int
}

// taskKey stands for a task of an upstream, at the length of a digest whatever the upstream sends.
func taskKey(upstream, task string) jcs.Hex256 { return jcs.HexOf([]byte(upstream + nul + task)) }

func (h *handed) add(agent, upstream, task string) {
	key := taskKey(upstream, task)
	h.mu.Lock()
	defer h.mu.Unlock()
	if slices.Contains(h.of[agent], key) {
		return
	}
	switch {
	case len(h.of[agent]) >= maxTasksOfOne:
		h.drop(agent)
	case h.all >= maxTasks:
		h.drop(h.richest())
	}
	if h.of == nil {
		h.of = map[string][]jcs.Hex256{}
	}
	h.of[agent] = append(h.of[agent], key)
	h.all++
}

// drop forgets the oldest task of an agent. It is called with h.mu held, as is richest.
func (h *handed) drop(agent string) {
	h.all--
	if h.of[agent] = slices.Delete(h.of[agent], 0, 1); len(h.of[agent]) == 0 {
		delete(h.of, agent)
	}
}

func (h *handed) richest() (agent string) {
	most := 0
	for name, list := range h.of {
		if len(list) > most {
			agent, most = name, len(list)
		}
	}
	return agent
}

func (h *handed) has(agent, upstream, task string) bool {
	key := taskKey(upstream, task)
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Contains(h.of[agent], key)
}

// shares reports whether the upstream may take this agent for another one: where agents are
// configured, and no session and no program is this one's alone. A session that a request of
// 2026-07-28 names is none to the upstream.
func (x *exchanging) shares() bool {
	_, apart := x.up.Transport.(*Processes)
	session := x.session != "" && x.r.Header.Get(headerVersion) < stateless
	return !x.agent.Anonymous() && !apart && !session
}

// handTask notes that this agent is answered with a task.
func (x *exchanging) handTask(task string) {
	if task != "" && x.shares() {
		x.g.handed.add(x.agent.ID, x.up.Name, task)
	}
}

// notItsTask is why a message about tasks does not pass, nil if it does, or is about none.
func (x *exchanging) notItsTask(m *mcp.Message) *refusal {
	about := aboutTasks(m.Method)
	if !about && m.Method != listenMethod || !x.shares() {
		return nil
	}
	ids, err := m.Tasks()
	var fault *mcp.Fault
	if errors.As(err, &fault) {
		return &refusal{name: fault.Name, detail: fault.Rule}
	}
	if about && len(ids) == 0 {
		return &refusal{name: codeTask, detail: "what is asked of no one task is asked of those of all agents"}
	}
	for _, id := range ids {
		if !x.g.handed.has(x.agent.ID, x.up.Name, id) {
			return &refusal{name: codeTask}
		}
	}
	if about {
		if name := mislabelled(x.r.Header, m.Method, ids[0]); name != "" {
			return &refusal{name: codeHeader, detail: name}
		}
	}
	return nil
}

// A taskLook looks at an answer that passes for the task that it may be, before the client gets the
// last of it: its next request may be about that.
type taskLook struct {
	x      *exchanging
	id     []byte // of the request
	events bool
	buf    []byte // of the answer, or of the event, that is not whole
	looks  int
	over   bool
}

// lookFor is the look at the answer to m, nil where none is needed.
func (x *exchanging) lookFor(m *mcp.Message, h http.Header) *taskLook {
	if m == nil || m.Kind != mcp.Request || aboutTasks(m.Method) || m.Method == listMethod || !x.shares() {
		return nil
	}
	return &taskLook{x: x, id: m.ID, events: isEvents(h.Get("Content-Type"))}
}

// at takes a piece.
func (l *taskLook) at(piece []byte) {
	if l == nil || l.over {
		return
	}
	l.buf = append(l.buf, piece...)
	if !l.events {
		if whole := bytes.TrimRight(l.buf, " \t\r\n"); bytes.HasSuffix(whole, []byte{'}'}) {
			l.message(whole)
		}
	} else if end := lastBlank(l.buf); end > 0 {
		for events := newSSE(bytes.NewReader(l.buf[:end]), end); ; {
			e, err := events.next()
			if err != nil {
				break
			}
			l.message(e.data)
		}
		l.buf = append(l.buf[:0], l.buf[end:]...)
	}
	if l.over = l.over || len(l.buf) > maxTaskAnswer; l.over {
		l.buf = nil
	}
}

// lastBlank is where the last event that is whole ends, 0 if there is none.
func lastBlank(b []byte) (end int) {
	for _, blank := range []string{"\n\n", "\r\r", "\n\r\n"} {
		if i := bytes.LastIndex(b, []byte(blank)); i >= 0 {
			end = max(end, i+len(blank))
		}
	}
	return end
}

func (l *taskLook) message(b []byte) {
	if !bytes.Contains(b, []byte("taskId")) {
		return
	}
	if l.looks++; !l.events && l.looks > maxTaskLooks {
		l.over = true
		return
	}
	if a, _, err := mcp.ReadAnswer(b, nil, maxTaskAnswer); err == nil && mcp.SameID(a.ID, l.id) {
		l.x.handTask(a.TaskID)
	}
}
