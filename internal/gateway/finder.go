package gateway

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/bindery/bindery/internal/execution"
	"github.com/bindery/bindery/internal/toolaction"
	"github.com/bindery/bindery/jcs"
)

// Where a tool has a declared status query, the gateway itself asks the upstream what became of an
// execution whose outcome is not known, and records what it is told: as the upstream's word, with the
// digest of the answer, and without reopening anything (EXA-072).

const (
	findEvery   = 15 * time.Second // between looks
	findPage    = 256
	maxLooked   = 4096             // executions of one look
	maxQueries  = 32               // of one look
	maxTries    = 10               // for one execution, each twice as long after the last one
	firstTry    = 15 * time.Second // after it was found to be unknown
	maxTried    = 4096             // executions whose tries are remembered
	goneAfter   = time.Hour        // is long ago
	queryTime   = 30 * time.Second // for one query; the upstream's own timeout if that is shorter
	maxSourceOf = 256              // bytes
)

// A Findings is what a [Finder] needs of an [execution.Registry].
type Findings interface {
	List(ctx context.Context, f execution.Filter, limit int) ([]execution.Row, error)
	Show(ctx context.Context, key execution.Key) (execution.History, error)
	Reconcile(ctx context.Context, c execution.Reconciliation) (execution.Finding, error)
}

// A Finder asks upstreams what became of executions. Several replicas may each have one; a finding
// that is there already is not asked for again.
type Finder struct {
	g     *Gateway
	known Findings

	// Of one goroutine.
	tries map[execution.Key]try
	from  execution.Key // where the next look begins
}

type try struct {
	count int
	next  time.Time
}

// NewFinder makes a Finder for the gateway's upstreams.
func NewFinder(g *Gateway, known Findings) *Finder {
	return &Finder{g: g, known: known, tries: map[execution.Key]try{}}
}

// Run looks now and then until ctx ends. Without a declared status query it has nothing to do.
func (f *Finder) Run(ctx context.Context) error {
	if !f.g.asksForStatus() {
		<-ctx.Done()
		return nil
	}
	tick := time.NewTicker(findEvery)
	defer tick.Stop()
	for {
		if err := f.Look(ctx); err != nil && ctx.Err() == nil {
			f.g.cfg.Log.Error("looking for outcomes", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (g *Gateway) asksForStatus() bool {
	for _, u := range g.upstreams {
		for _, d := range u.Tools {
			if d.Status() != nil {
				return true
			}
		}
	}
	return false
}

// Look asks once about each execution that is due, within the limits of one look. The error is of
// the store; what an upstream does not say is only not found.
func (f *Finder) Look(ctx context.Context) error {
	silent := map[string]bool{} // upstreams that gave no answer in this look
	looked, asked := 0, 0
	for looked < maxLooked && asked < maxQueries {
		rows, err := f.known.List(ctx, execution.Filter{State: execution.OutcomeUnknown, Silent: true, After: f.from}, findPage)
		if err != nil {
			return err
		}
		for _, row := range rows {
			f.from = row.Key
			looked++
			if asked == maxQueries || ctx.Err() != nil {
				return ctx.Err()
			}
			if !f.due(row) || silent[row.Upstream] {
				continue
			}
			asked++
			if err := f.find(ctx, row); errors.Is(err, errNoStatus) {
				silent[row.Upstream] = true
			}
		}
		if len(rows) < findPage {
			f.from = execution.Key{}
			return nil
		}
	}
	return nil
}

// statusOf is the query for an execution, nil if there is none.
func (f *Finder) statusOf(row execution.Row) *toolaction.Status {
	u := f.g.upstreams[row.Upstream]
	if u == nil {
		return nil
	}
	return u.Tools[row.Tool].Status()
}

// due reports whether to ask about an execution now, and counts the try.
func (f *Finder) due(row execution.Row) bool {
	if f.statusOf(row) == nil {
		return false
	}
	now := f.g.cfg.Now()
	t, tried := f.tries[row.Key]
	switch {
	case !tried && len(f.tries) >= maxTried:
		f.forget(now)
		return false
	case !tried:
		t.next = row.CompletedAt.Add(firstTry)
		f.tries[row.Key] = t
	}
	if t.count >= maxTries || now.Before(t.next) {
		return false
	}
	t.count++
	t.next = now.Add(firstTry << t.count)
	f.tries[row.Key] = t
	return true
}

// forget makes room: those that are over are tried again, later than all others, and those that
// were due long ago are not looked at any more, since somebody else has found what came of them.
func (f *Finder) forget(now time.Time) {
	for key, t := range f.tries {
		if now.After(t.next.Add(goneAfter)) || t.count >= maxTries && now.After(t.next) {
			delete(f.tries, key)
		}
	}
}

// errNoStatus is an upstream that gave no answer to a status query.
var errNoStatus = errors.New("gateway: no answer to a status query")

// find asks about one execution and records what is found.
func (f *Finder) find(ctx context.Context, row execution.Row) error {
	status := f.statusOf(row)
	arguments, err := status.Arguments(toolaction.Facts{
		ExecutionID: row.ID.String(), ActionTimestamp: row.ActionTimestamp, Arguments: f.g.recalled.of(row.Key),
	})
	if err != nil {
		f.g.cfg.Log.Warn("a status query needs what is not kept", "upstream", row.Upstream, "tool", row.Tool)
		return nil
	}
	u := f.g.upstreams[row.Upstream]
	within, cancel := context.WithTimeout(withAgent(ctx, row.Agent), min(queryTime, u.Timeout))
	defer cancel()
	answer, err := callTool(within, u.Upstream, status.Tool(), arguments)
	if err != nil {
		f.g.cfg.Log.Warn("status query", "upstream", row.Upstream, "tool", status.Tool(), "error", err)
		return errNoStatus
	}
	outcome := execution.Succeeded
	switch status.Read(answer) {
	case toolaction.FoundFailed:
		outcome = execution.Failed
	case toolaction.FoundSucceeded:
	default:
		return nil
	}
	return f.record(ctx, row, outcome, answer, status.Tool())
}

func (f *Finder) record(ctx context.Context, row execution.Row, outcome execution.State, answer []byte, tool string) error {
	if h, err := f.known.Show(ctx, row.Key); err != nil || len(h.Findings) > 0 {
		return err // another replica, or an operator, was faster
	}
	source := "status_query " + row.Upstream + "/" + tool
	if len(source) > maxSourceOf {
		source = "status_query " + row.Upstream
	}
	_, err := f.known.Reconcile(ctx, execution.Reconciliation{Key: row.Key, Outcome: outcome, Evidence: answer, Source: source})
	switch {
	case errors.Is(err, execution.ErrTooSoon), errors.Is(err, execution.ErrUnderWay):
		return nil // asked again later
	case err != nil:
		f.g.cfg.Log.Error("a finding is not recorded", "upstream", row.Upstream, "error", err)
		return err
	}
	f.g.recalled.forget(row.Key)
	delete(f.tries, row.Key)
	return nil
}

// callTool calls a tool for the gateway itself, as [ListTools] asks: without a session if the
// upstream can do without, else in one. The result is its member as it came.
func callTool(ctx context.Context, u Upstream, tool string, arguments []byte) ([]byte, error) {
	l := lister{u: u, version: stateless, name: tool}
	params := []jcs.Member{{Name: "name", Value: jcs.String(tool)}, {Name: "arguments", Value: arguments}}
	if result, err := l.ask(ctx, "tools/call", jcs.Object(append(params, jcs.Member{Name: "_meta", Value: ownMeta()})...)); err == nil {
		return result, nil
	}
	l.version, l.name = "", ""
	if err := l.enter(ctx); err != nil {
		return nil, err
	}
	defer l.leave(ctx)
	return l.ask(ctx, "tools/call", jcs.Object(params...))
}

// recalled are the arguments of calls whose outcome is not known, as they were forwarded. They are
// kept in memory alone, for status queries that ask with them; when there is no more room the oldest
// give way, which may be of executions that were settled elsewhere, or never are.
type recalled struct {
	mu    sync.Mutex // guards below
	known map[execution.Key][]byte
	order []execution.Key // the oldest first
	size  int             // in bytes, of all
}

const (
	maxRecalled      = 1024
	maxRecalledOne   = 64 << 10
	maxRecalledBytes = 8 << 20
)

// keep remembers the arguments of a call, unless they are too long.
func (r *recalled) keep(key execution.Key, arguments []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, there := r.known[key]; there || len(arguments) > maxRecalledOne {
		return
	}
	for len(r.order) > 0 && (len(r.order) >= maxRecalled || r.size+len(arguments) > maxRecalledBytes) {
		r.drop(r.order[0])
	}
	if r.known == nil {
		r.known = map[execution.Key][]byte{}
	}
	r.known[key] = bytes.Clone(arguments)
	r.order = append(r.order, key)
	r.size += len(arguments)
}

func (r *recalled) of(key execution.Key) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known[key]
}

func (r *recalled) forget(key execution.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(key)
}

// drop is forget, with r.mu held.
func (r *recalled) drop(key execution.Key) {
	if i := slices.Index(r.order, key); i >= 0 {
		r.order = slices.Delete(r.order, i, i+1)
		r.size -= len(r.known[key])
		delete(r.known, key)
	}
}
