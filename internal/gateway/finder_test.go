package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/audit"
	"github.com/bindery/bindery/internal/execution"
	"github.com/bindery/bindery/internal/gateway"
	"github.com/bindery/bindery/internal/toolaction"
	"github.com/bindery/bindery/jcs"
)

// asksStatus declares a status query for the tool charge, and gives the gateway a clock.
func asksStatus(t *testing.T, clock *atomic.Int64) func(*gateway.Config) {
	t.Helper()
	v, err := jcs.Parse([]byte(`{"status":{"tool":"find_charge","arguments":{"reference":{"$execution_id":true},"at":{"$action_timestamp":true},
		"to":{"$argument":"/to"}},"succeeded":{"pointer":"/structuredContent/state","equals":"paid"},
		"failed":{"pointer":"/structuredContent/state","equals":"rejected"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	d, err := toolaction.ParseDeclaration(v)
	if err != nil {
		t.Fatal(err)
	}
	return func(c *gateway.Config) {
		c.Upstreams[0].Tools = map[string]toolaction.Declaration{"charge": d}
		c.Now = func() time.Time { return time.Now().Add(time.Duration(clock.Load())) }
	}
}

// breaks takes a message and answers nothing.
func breaks(w http.ResponseWriter, _ *http.Request) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		c.Close()
	}
}

// queries are the status queries that the upstream got.
func (u *recorder) queries() (list []heard) {
	for _, h := range u.got() {
		if strings.Contains(h.body, `find_charge`) {
			list = append(list, h)
		}
	}
	return list
}

func (w *world) findings(id string) []execution.Finding {
	w.t.Helper()
	h, err := w.registry.Show(w.t.Context(), w.row(id).Key)
	if err != nil {
		w.t.Fatal(err)
	}
	return h.Findings
}

// lose has a call end as outcome_unknown.
func (w *world) lose(id string) {
	w.t.Helper()
	w.up.answers(breaks)
	if d := w.post(bound("1", id, `{"to":"acme","cents":1}`)).decode(w.t); d.refused() != "EXECUTION_OUTCOME_UNKNOWN" {
		w.t.Fatalf("%+v", d)
	}
}

// TestFinder: the upstream is asked, with what its declaration says, and its answer becomes a finding
// with that answer as evidence. The execution stays what it is, and is not run again.
//
// covers EXA-024, EXA-027, EXA-072
func TestFinder(t *testing.T) {
	var clock atomic.Int64
	w := newWorld(t, breaks, asksStatus(t, &clock))
	w.lose("pay-1")
	f := gateway.NewFinder(w.gw, w.registry)
	look := func() {
		t.Helper()
		if err := f.Look(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	w.up.answers(says(`{"content":[],"structuredContent":{"state":"paid","n":1.0}}`))
	look()
	if n := len(w.up.queries()); n != 0 {
		t.Fatalf("asked %d times before it is due", n)
	}
	clock.Store(int64(time.Minute))
	look()
	asked := w.up.queries()
	if len(asked) != 1 {
		t.Fatalf("asked %d times", len(asked))
	}
	var q struct {
		Method string
		Params struct {
			Name      string
			Arguments map[string]string
		}
	}
	if err := json.Unmarshal([]byte(asked[0].body), &q); err != nil {
		t.Fatal(err)
	}
	if q.Method != "tools/call" || q.Params.Name != "find_charge" || len(q.Params.Arguments) != 3 || q.Params.Arguments["reference"] != "pay-1" ||
		q.Params.Arguments["at"] != clientTime || q.Params.Arguments["to"] != "acme" {
		t.Errorf("asked with %s", asked[0].body)
	}
	if asked[0].header.Get("Mcp-Name") != "find_charge" || asked[0].header.Get("Mcp-Method") != "tools/call" {
		t.Errorf("headers %v", asked[0].header)
	}
	found := w.findings("pay-1")
	// hashlib.sha256 of Python, over the result as the upstream wrote it
	const evidence = "df4656cc4b31e1030bef66680406422bdee5dec5ed327e9e409ca79280f7bf1b"
	if len(found) != 1 || found[0].Outcome != execution.Succeeded || found[0].Source != "status_query bank/find_charge" || found[0].Evidence != evidence {
		t.Fatalf("findings %+v", found)
	}
	if row := w.row("pay-1"); row.State != execution.OutcomeUnknown {
		t.Errorf("a finding has made it %s", row.State)
	}
	log := w.log()
	if last := log[len(log)-1]; last.Event != audit.EventReconciled || last.Digest != "sha256:"+evidence || last.ExecutionID != "pay-1" {
		t.Errorf("logged as %+v", last)
	}
	calls := len(w.up.bodies())
	if d := w.post(bound("2", "pay-1", `{"to":"acme","cents":1}`)).decode(t); d.refused() != "EXECUTION_REPLAY" || d.of("state") != "outcome_unknown" {
		t.Errorf("repeated: %+v", d)
	}
	clock.Store(int64(24 * time.Hour))
	look()
	if len(w.up.bodies()) != calls {
		t.Error("the upstream was called again")
	}
}

// TestFinderTries: what says nothing is asked again, later each time, and not for ever; what the
// upstream rejects is no finding before it cannot happen any more.
//
// covers EXA-027, EXA-072
func TestFinderTries(t *testing.T) {
	for name, result := range map[string]string{
		"says nothing":   `{"content":[]}`,
		"is an error":    `{"isError":true,"structuredContent":{"state":"paid"}}`,
		"says otherwise": `{"structuredContent":{"state":"pending"}}`,
		"too soon":       `{"structuredContent":{"state":"rejected"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var clock atomic.Int64
			w := newWorld(t, breaks, asksStatus(t, &clock))
			w.lose("pay-1")
			w.up.answers(says(result))
			f := gateway.NewFinder(w.gw, w.registry)
			last, gaps := 0, []time.Duration{}
			var since time.Duration
			for at := time.Duration(0); at < 48*time.Hour; at += 15 * time.Second {
				clock.Store(int64(at))
				if err := f.Look(t.Context()); err != nil {
					t.Fatal(err)
				}
				if n := len(w.up.queries()); n != last {
					gaps = append(gaps, at-since)
					last, since = n, at
				}
				if at > 10*time.Minute {
					at += 10 * time.Minute
				}
			}
			if last != 10 {
				t.Errorf("asked %d times", last)
			}
			for i := 2; i < len(gaps); i++ {
				if gaps[i] < gaps[i-1] {
					t.Errorf("gaps %v", gaps)
				}
			}
			if found := w.findings("pay-1"); len(found) != 0 {
				t.Errorf("found %+v", found)
			}
		})
	}
}

// TestFinderSession: an upstream with sessions alone is asked in one, which ends.
func TestFinderSession(t *testing.T) {
	var clock atomic.Int64
	w := newWorld(t, breaks, asksStatus(t, &clock))
	w.lose("pay-1")
	w.up.answers(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		switch {
		case strings.Contains(string(body), `"initialize"`):
			rw.Header().Set("Mcp-Session-Id", "s-1")
			says(`{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"x","version":"1"}}`)(rw, r)
		case r.Header.Get("Mcp-Session-Id") != "s-1":
			http.Error(rw, "no session", http.StatusBadRequest)
		case strings.Contains(string(body), "tools/call"):
			says(`{"structuredContent":{"state":"paid"}}`)(rw, r)
		default:
			rw.WriteHeader(http.StatusAccepted)
		}
	})
	clock.Store(int64(time.Minute))
	if err := gateway.NewFinder(w.gw, w.registry).Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	if found := w.findings("pay-1"); len(found) != 1 {
		t.Errorf("findings %+v", found)
	}
	all := w.up.got()
	if last := all[len(all)-1]; last.method != http.MethodDelete || last.header.Get("Mcp-Session-Id") != "s-1" {
		t.Errorf("it ends with %s", last.method)
	}
}

// TestFinderSilence: an upstream that gives no answer is not asked about the rest, and one without a
// declaration about nothing.
func TestFinderSilence(t *testing.T) {
	var clock atomic.Int64
	w := newWorld(t, breaks, asksStatus(t, &clock))
	for _, id := range []string{"a", "b", "c"} {
		w.lose(id)
	}
	clock.Store(int64(time.Minute))
	before := len(w.up.got())
	f := gateway.NewFinder(w.gw, w.registry)
	if err := f.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(w.up.queries()); n != 1 || len(w.up.got()) > before+2 {
		t.Errorf("asked %d times, %d requests", n, len(w.up.got())-before)
	}
	undeclared := newWorld(t, breaks)
	undeclared.lose("a")
	before = len(undeclared.up.got())
	if err := gateway.NewFinder(undeclared.gw, undeclared.registry).Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(undeclared.up.got()); n != before {
		t.Errorf("asked %d times without a declaration", n-before)
	}
}

// TestRecalled: the arguments of the latest calls are remembered, however many have stayed without an
// answer before them; in all not more than there may be, and none that is long.
func TestRecalled(t *testing.T) {
	key := func(i int) execution.Key {
		id, err := execution.ParseID("pay-" + strconv.Itoa(i))
		if err != nil {
			t.Fatal(err)
		}
		return execution.Key{Agent: "key:one", ID: id}
	}
	for name, size := range map[string]struct{ one, all int }{"short": {2, 1024}, "long": {64 << 10, 128}} {
		var r gateway.Recalled
		arguments := make([]byte, size.one)
		r.Keep(key(0), arguments)
		r.Keep(key(1), arguments)
		r.Forget(key(0))
		for i := range size.all {
			r.Keep(key(2+i), arguments)
		}
		if r.Of(key(0)) != nil || r.Of(key(1)) != nil {
			t.Errorf("%s: the oldest is kept", name)
		}
		if r.Of(key(2)) == nil || r.Of(key(1+size.all)) == nil {
			t.Errorf("%s: one of the latest is not kept", name)
		}
		r.Keep(key(9999), make([]byte, 64<<10+1))
		if r.Of(key(9999)) != nil {
			t.Errorf("%s: a long one is kept", name)
		}
	}
}

// unknowns are executions of which nobody knows what came.
type unknowns struct {
	gateway.Findings
	rows []execution.Row
}

func (u *unknowns) List(_ context.Context, f execution.Filter, limit int) ([]execution.Row, error) {
	from := slices.IndexFunc(u.rows, func(r execution.Row) bool { return r.ID.String() > f.After.ID.String() })
	if from < 0 {
		return nil, nil
	}
	return u.rows[from:min(from+limit, len(u.rows))], nil
}

// TestFinderForgets: those of which somebody else has found what came make room for others.
func TestFinderForgets(t *testing.T) {
	var clock atomic.Int64
	w := newWorld(t, says(`{"content":[]}`), asksStatus(t, &clock))
	row := func(id string) execution.Row {
		parsed, err := execution.ParseID(id)
		if err != nil {
			t.Fatal(err)
		}
		r := execution.Row{Key: execution.Key{Agent: "a", ID: parsed}, State: execution.OutcomeUnknown, CompletedAt: time.Now()}
		r.Upstream, r.Tool = "bank", "charge"
		return r
	}
	known := &unknowns{}
	for i := range 4096 {
		known.rows = append(known.rows, row(fmt.Sprintf("e-%04d", i)))
	}
	f := gateway.NewFinder(w.gw, known)
	for _, at := range []time.Duration{0, time.Minute, 2 * time.Hour, 2*time.Hour + time.Minute} {
		clock.Store(int64(at))
		if err := f.Look(t.Context()); err != nil {
			t.Fatal(err)
		}
		known.rows = []execution.Row{row("f")}
	}
	if n := f.Tried(); n != 1 {
		t.Errorf("%d are remembered", n)
	}
}
