package gatewaytest

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// Config is how an [Upstream] is made.
type Config struct {
	Ledger   *Ledger                      // required
	SSE      bool                         // answers are event streams, not JSON
	Sessions bool                         // 2025-11-25 has sessions, and requests without one are refused
	Record   func(tool, arguments string) // nil: nobody wants to know of the calls, as they came
}

// An Upstream is the counting server.
type Upstream struct {
	cfg Config

	mu       sync.Mutex // guards what follows
	sessions map[string]bool
	tasks    map[string]*task
	minted   int
}

// task is a call that was answered by a task.
type task struct {
	polls  int // how many more find it at work
	lost   bool
	answer string // the members of the result
}

// New makes a server. Its tasks and sessions are gone with it; its effects are the ledger's.
func New(cfg Config) *Upstream {
	return &Upstream{cfg: cfg, sessions: map[string]bool{}, tasks: map[string]*task{}}
}

// A reply is what one request gets, before a transport carries it or fails to.
type reply struct {
	body []byte // nil: the message is a notification
	plan Plan
	key  string
}

// answer does what m asks.
func (u *Upstream) answer(m *message) reply {
	switch m.Method {
	case "initialize":
		return reply{body: m.result(`"protocolVersion":` + quote(m.Params.ProtocolVersion) + `,"capabilities":{"tools":{}},"serverInfo":` + serverInfo)}
	case "server/discover":
		return reply{body: m.result(`"resultType":"complete","supportedVersions":["2026-07-28","2025-11-25"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":` + serverInfo + `}`)}
	case "ping":
		return reply{body: m.result(strings.TrimPrefix(m.typed("complete"), ","))}
	case "tools/list":
		cache := ""
		if m.isModern() {
			cache = `,"ttlMs":0,"cacheScope":"public"`
		}
		return reply{body: m.result(`"tools":` + tools + cache + m.typed("complete"))}
	case "tools/call":
		return u.call(m)
	case "tasks/get":
		return reply{body: u.poll(m)}
	case "tasks/result":
		return reply{body: u.taken(m)}
	}
	if len(m.ID) == 0 {
		return reply{}
	}
	return reply{body: m.fault(-32601, "no method "+m.Method)}
}

const serverInfo = `{"name":"counting","version":"1"}`

// tools is what tools/list says. Numbers of echo are numbers by schema; of any nothing is said.
const tools = `[` +
	`{"name":"pay","description":"One effect for each call","annotations":{"destructiveHint":true,"idempotentHint":false},"inputSchema":{"type":"object","properties":{"key":{"type":"string"},"plan":{"type":"string"},"amount":{"type":"integer"}},"required":["key"]}},` +
	`{"name":"status","description":"How many effects a key has","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":{"key":{"type":"string"}},"required":["key"]}},` +
	`{"name":"echo","description":"Its arguments, byte for byte","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":{"x":{"type":"number"},"n":{"type":"integer"},"s":{"type":"string"},"any":{}}}}` +
	`]`

func (u *Upstream) call(m *message) reply {
	if u.cfg.Record != nil {
		u.cfg.Record(m.Params.Name, string(m.Params.Arguments))
	}
	var args struct{ Key, Plan string }
	switch m.Params.Name {
	case "echo":
		return reply{body: m.result(text(string(m.Params.Arguments)) + m.typed("complete"))}
	case "pay", "status":
		if err := decode(m.Params.Arguments, &args); err != nil || args.Key == "" {
			return reply{body: m.fault(-32602, "no key")}
		}
	default:
		return reply{body: m.fault(-32602, "no tool "+m.Params.Name)}
	}
	if m.Params.Name == "status" {
		n := strconv.Itoa(u.cfg.Ledger.Count(args.Key))
		return reply{body: m.result(text(n) + `,"structuredContent":{"effects":` + n + `}` + m.typed("complete"))}
	}
	p, err := ParsePlan(args.Plan)
	if err != nil {
		return reply{body: m.fault(-32602, err.Error())}
	}
	if round := m.round(); round < p.Ask {
		return reply{body: m.ask(args.Key, round+1)}
	}
	return u.pay(m, p, args.Key)
}

func text(s string) string { return `"content":[{"type":"text","text":` + quote(s) + `}]` }

// round is how many rounds of input this request has behind it.
func (m *message) round() int {
	_, n, _ := strings.Cut(m.Params.RequestState, "#")
	round, err := strconv.Atoi(n)
	if err != nil {
		return 0
	}
	return round
}

func (m *message) ask(key string, round int) []byte {
	return m.result(fmt.Sprintf(`"content":null,"requestState":%s,"resultType":"input_required","inputRequests":{"confirm":{"method":"elicitation/create","params":{"mode":"form","message":"Pay?","requestedSchema":{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}}}}`,
		quote(key+"#"+strconv.Itoa(round))))
}

// pay has the effect, and says which one it was: no two answers are the same.
func (u *Upstream) pay(m *message, p Plan, key string) reply {
	n := 0
	if !p.None {
		var err error
		if n, err = u.cfg.Ledger.Effect(key); err != nil {
			return reply{body: m.fault(-32603, err.Error())}
		}
	}
	done := text("effect "+strconv.Itoa(n)) + `,"structuredContent":{"key":` + quote(key) + `,"effect":` + strconv.Itoa(n) + `}`
	body := m.result(done + m.typed("complete"))
	switch {
	case p.asTask:
		body = m.result(u.begin(m, p, done))
	case p.Error:
		body = m.fault(-32000, "it does not go")
	case p.Fails:
		body = m.result(text("it does not go") + `,"isError":true` + m.typed("complete"))
	case p.Garbage:
		body = append(body[:len(body)/2:len(body)/2], "\xff}"...)
	case p.Deep:
		body = m.result(`"content":[],"structuredContent":{"deep":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + `}` + m.typed("complete"))
	case p.WrongID:
		other := *m
		other.ID = raw(`"another"`)
		body = other.result(done + m.typed("complete"))
	}
	return reply{body: body, plan: p, key: key}
}

// begin mints a task, and returns its first state in the words of the request's revision.
func (u *Upstream) begin(m *message, p Plan, done string) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.minted++
	id := "task-" + strconv.Itoa(u.minted)
	u.tasks[id] = &task{polls: p.Task, lost: p.Lost, answer: done}
	if m.isModern() {
		return `"resultType":"task",` + state(id, "working", true)
	}
	return `"task":{` + state(id, "working", false) + `}`
}

func state(id, status string, isModern bool) string {
	ttl, poll := "ttl", "pollInterval"
	if isModern {
		ttl, poll = "ttlMs", "pollIntervalMs"
	}
	return fmt.Sprintf(`"taskId":%s,"status":%q,"createdAt":"2026-11-30T12:00:00Z","lastUpdatedAt":"2026-11-30T12:00:00Z",%q:60000,%q:5`, quote(id), status, ttl, poll)
}

// poll is tasks/get. In 2026-07-28 what has come of the task stands in it.
func (u *Upstream) poll(m *message) []byte {
	u.mu.Lock()
	defer u.mu.Unlock()
	t := u.tasks[m.Params.TaskID]
	if t == nil {
		return m.fault(-32602, "no such task")
	}
	status, more := "working", ""
	switch {
	case t.polls > 0:
		t.polls--
	case t.lost:
		status, more = "failed", `,"error":{"code":-32603,"message":"it does not go"}`
	default:
		status, more = "completed", `,"result":{`+t.answer+m.typed("complete")+`}`
	}
	if !m.isModern() {
		more = ""
	}
	return m.result(state(m.Params.TaskID, status, m.isModern()) + more + m.typed("complete"))
}

// taken is tasks/result of 2025-11-25.
func (u *Upstream) taken(m *message) []byte {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch t := u.tasks[m.Params.TaskID]; {
	case t == nil:
		return m.fault(-32602, "no such task")
	case t.lost:
		return m.fault(-32603, "it does not go")
	default:
		return m.result(t.answer + `,"_meta":{"io.modelcontextprotocol/related-task":{"taskId":` + quote(m.Params.TaskID) + `}}`)
	}
}
