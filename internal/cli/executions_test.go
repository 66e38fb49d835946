package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bindery/bindery/actionbinding"
	"github.com/bindery/bindery/internal/execution"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/keyring"
	"github.com/bindery/bindery/internal/store/pgtest"
	"github.com/bindery/bindery/internal/store/postgres"
	"github.com/bindery/bindery/internal/store/sqlite"
	"github.com/bindery/bindery/internal/store/sqlstore"
)

// aGateway is a running gateway's registry in this process, over the store of a directory
// on which the commands work meanwhile.
type aGateway struct {
	t     *testing.T
	dir   string
	store execution.Store
	reg   *execution.Registry
	ahead atomic.Int64 // of the gateway's clock
}

func newAGateway(t *testing.T) *aGateway {
	t.Helper()
	dir := audited(t, 0)
	s := giveGatewayKey(t, dir)
	db, err := sqlite.Open(t.Context(), filepath.Join(dir, "bindery.db"))
	return registryOf(t, dir, s, db, err)
}

// registryOf runs the registry of a directory's gateway on its store, which was just opened.
func registryOf(t *testing.T, dir string, s *jose.Signer, db *sqlstore.DB, err error) *aGateway {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	g := &aGateway{t: t, dir: dir, store: db.Executions()}
	g.reg, err = execution.New(execution.Config{
		Store: g.store, Signer: s, Wait: time.Millisecond,
		Now: func() time.Time { return time.Now().Add(time.Duration(g.ahead.Load())) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.reg.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return g
}

// giveGatewayKey adds the key of a gateway to a directory.
func giveGatewayKey(t *testing.T, dir string) *jose.Signer {
	t.Helper()
	k, err := jose.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	s, err := jose.NewSigner(k)
	if err != nil {
		t.Fatal(err)
	}
	id, err := keyring.ReadKeyFile(filepath.Join(dir, "age.key"))
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := id.Seal("gateway", k)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "keys", "gateway.age"), sealed, 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "config.json")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var config map[string]any
	if err := json.Unmarshal(b, &config); err != nil {
		t.Fatal(err)
	}
	config["keys"].(map[string]any)["gateway"] = map[string]any{"public": json.RawMessage(s.Key().JWK())}
	if b, err = json.Marshal(config); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// call admits a call, and ends it as state; "" leaves it dispatched.
func (g *aGateway) call(agent, id string, state execution.State, answer string) {
	g.t.Helper()
	p := g.admit(agent, id, "2026-11-30T12:00:00Z")
	if err := p.Start(); err != nil {
		g.t.Fatal(err)
	}
	if state == "" {
		return
	}
	o := execution.Outcome{State: state}
	if answer != "" {
		o.Answer = []byte(answer)
	}
	if _, err := p.Finish(g.t.Context(), o); err != nil {
		g.t.Fatal(err)
	}
}

func (g *aGateway) admit(agent, id, at string) *execution.Permit {
	g.t.Helper()
	p, _, err := g.reg.Admit(g.t.Context(), g.callOf(agent, id, at))
	if err != nil {
		g.t.Fatal(err)
	}
	return p
}

func (g *aGateway) callOf(agent, id, at string) execution.Call {
	g.t.Helper()
	action, err := actionbinding.New(agent, "payments.transfer", "mcp:bank/transfer#sha256:"+strings.Repeat("0", 64), at)
	if err != nil {
		g.t.Fatal(err)
	}
	parsed, err := execution.ParseID(id)
	if err != nil {
		g.t.Fatal(err)
	}
	return execution.Call{
		Agent: agent, ID: parsed, Action: action, Binding: action.Bind(actionbinding.SHA256), Upstream: "bank", Tool: "transfer",
		SessionID: "sha256:" + strings.Repeat("1", 64), WorkflowID: "invoices", Timeout: time.Minute,
	}
}

// callKey is the key of a call.
func (g *aGateway) callKey(agent, id string) execution.Key {
	c := g.callOf(agent, id, "2026-11-30T12:00:00Z")
	return execution.Key{Agent: c.Agent, ID: c.ID}
}

// run runs a command on the gateway's directory.
func (g *aGateway) run(args ...string) (code int, out, errOut string) {
	return binderyOn(nil, append(args, "--dir", g.dir)...)
}

// TestExecutionByLanguage: an id is found whatever the order of texts in the database, which in
// most is that of a language.
func TestExecutionByLanguage(t *testing.T) {
	shared := pgtest.URL(t)
	pool, err := postgres.Pool(shared)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close() })
	if _, err := pool.ExecContext(t.Context(), "CREATE DATABASE english TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en'"); err != nil {
		t.Skip("not run: PostgreSQL (this one sorts by no language: " + err.Error() + ")")
	}
	t.Cleanup(func() {
		if _, err := pool.ExecContext(context.Background(), "DROP DATABASE english WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	u, err := url.Parse(shared)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/english"
	u.RawQuery = "host=" + url.QueryEscape(u.Query().Get("host"))
	dir := filepath.Join(t.TempDir(), "G")
	if code, _, errOut := binderyOn(nil, "gateway", "agent", "add", "buyer", "--dir", dir, "--store", u.String()); code != 0 {
		t.Fatal(errOut)
	}
	k, err := jose.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	s, err := jose.NewSigner(k)
	if err != nil {
		t.Fatal(err)
	}
	db, err := postgres.Open(t.Context(), u.String())
	g := registryOf(t, dir, s, db, err)
	for _, agent := range []string{"key:a", "key:b"} {
		g.call(agent, "both", execution.Succeeded, "{}")
		g.call(agent, "of-"+agent, execution.Succeeded, "{}")
	}
	for id, want := range map[string]string{"of-key:a": "agent        key:a\n", "of-key:b": "agent        key:b\n", "both": "give --agent, one of key:a, key:b"} {
		if _, out, errOut := g.run("executions", "show", id); !strings.Contains(out+errOut, want) {
			t.Errorf("%s: %s%s", id, out, errOut)
		}
	}
}

// TestExecutionsList: pages and filters, beside a running gateway.
func TestExecutionsList(t *testing.T) {
	g := newAGateway(t)
	if code, out, errOut := g.run("executions", "list"); code != 0 || out != "" || !strings.Contains(errOut, "there are none") {
		t.Error(code, out, errOut)
	}
	for i := range 5 {
		g.call("key:a", fmt.Sprintf("x%d", i), execution.Succeeded, `{"ok":true}`)
	}
	g.call("key:b", "x1", execution.OutcomeUnknown, "")
	g.call("key:b", "x2", "", "")
	list := func(args ...string) string {
		t.Helper()
		code, out, errOut := g.run(append([]string{"executions", "list", "--json"}, args...)...)
		var rows []struct {
			Agent string `json:"agent_id"`
			ID    string `json:"execution_id"`
			State string
		}
		if err := json.Unmarshal([]byte(out), &rows); err != nil || code != 0 {
			t.Fatal(code, out, errOut, err)
		}
		var short []string
		for _, r := range rows {
			short = append(short, strings.TrimPrefix(r.Agent, "key:")+r.ID+"="+r.State[:1])
		}
		if strings.Contains(errOut, "more") {
			short = append(short, "…"+strings.TrimSpace(errOut[strings.Index(errOut, "--after"):]))
		}
		return strings.Join(short, " ")
	}
	for args, want := range map[string]string{
		"":                           "ax0=s ax1=s ax2=s ax3=s ax4=s bx1=o bx2=d",
		"--agent|key:b":              "bx1=o bx2=d",
		"--state|outcome_unknown":    "bx1=o",
		"--state|refused":            "",
		"--limit|2":                  "ax0=s ax1=s …--after 'key:a x1'",
		"--limit|2|--after|key:a x1": "ax2=s ax3=s …--after 'key:a x3'",
		"--after|key:b x1":           "bx2=d",
		"--limit|7":                  "ax0=s ax1=s ax2=s ax3=s ax4=s bx1=o bx2=d",
	} {
		var split []string
		if args != "" {
			split = strings.Split(args, "|")
		}
		if got := list(split...); got != want {
			t.Errorf("list %s: %q, want %q", args, got, want)
		}
	}
	if code, out, _ := g.run("executions", "list", "--agent", "bindery:self-test", "--limit", "1"); code != 0 || strings.Count(out, "\n") != 1 {
		t.Errorf("the self-test's own: %d, %q", code, out)
	}
	for _, args := range [][]string{
		{"list", "--state", "over"}, {"list", "--open", "--state", "failed"}, {"list", "--limit", "0"}, {"list", "--after", "x"}, {"list", "x"},
		{"show"}, {"show", "no such"}, {"show", "x1"}, {"show", "x9"}, {"show", "x0", "--agent", "key:b"},
		{"reconcile", "x1", "--outcome", "succeeded"}, {"reconcile", "x1", "--outcome", "refused", "--evidence", g.dir + "/config.json"},
		{"reconcile", "x1", "--outcome", "failed", "--evidence", g.dir + "/none"},
		{"reconcile", "x9", "--outcome", "failed", "--evidence", g.dir + "/config.json"},
		{"reconcile", "x0", "--agent", "key:c", "--outcome", "failed", "--evidence", g.dir + "/config.json"},
		{"reconcile", "x0", "--outcome", "failed", "--evidence", g.dir + "/config.json", "--by", "a\nb"},
	} {
		code, out, errOut := g.run(append([]string{"executions"}, args...)...)
		if code != 2 || out != "" || strings.Count(errOut, "\n") != 1 || !strings.Contains(errOut, "; ") {
			t.Errorf("%q: %d, %q, %q", args, code, out, errOut)
		}
	}
	if code, _, errOut := binderyOn(nil, "executions", "list", "--dir", audited(t, 0)); code != 2 || !strings.Contains(errOut, "has no gateway") {
		t.Errorf("without a gateway: %d, %q", code, errOut)
	}
}

// TestExecutionsReconcile: a finding is its finder's word. It needs evidence, may say that it
// did not happen only when it cannot happen any more, is signed and audited, and reopens
// nothing.
//
// covers EXA-024, EXA-027, EXA-035, EXA-060, EXA-072
func TestExecutionsReconcile(t *testing.T) {
	g := newAGateway(t)
	g.call("key:a", "done", execution.Succeeded, `{"secret":"answer"}`)
	g.call("key:a", "lost", execution.OutcomeUnknown, "")
	evidence := filepath.Join(t.TempDir(), "statement")
	if err := os.WriteFile(evidence, []byte("the bank says: paid"), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errOut := g.run("executions", "show", "done")
	for _, want := range []string{"execution    done\n", "agent        key:a\n", "state        succeeded\n", "action       payments.transfer\n",
		"at           2026-11-30T12:00:00Z\n", "binding      sha256:", "workflow     invoices\n", "first call   ", "answer       sha256:", ", kept for its agent\n",
		"  reserved  ", "  dispatched  ", "  succeeded  ", "safe next    use the recorded answer"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("show does not say %q: %d\n%s%s", want, code, out, errOut)
		}
	}
	if strings.Contains(out, "secret") || strings.Contains(out, "not established") {
		t.Error(out)
	}
	if _, out, _ := g.run("executions", "show", "lost"); !strings.Contains(out, "outcome      not established") {
		t.Error(out)
	}

	refused := func(id, outcome, name string) {
		t.Helper()
		code, out, errOut := g.run("executions", "reconcile", id, "--outcome", outcome, "--evidence", evidence, "--json")
		if code != 1 || !strings.Contains(out, `"error":"`+name+`"`) || strings.Count(errOut, "\n") != 1 {
			t.Errorf("%s %s: %d, %q, %q, want %s", id, outcome, code, out, errOut, name)
		}
		if code, _, errOut := binderyOn(nil, "explain", name); code != 0 {
			t.Errorf("explain %s: %q", name, errOut)
		}
	}
	refused("done", "succeeded", "FINDING_NOT_UNKNOWN")
	refused("done", "failed", "FINDING_NOT_UNKNOWN")
	refused("lost", "failed", "FINDING_TOO_SOON") // a minute of the upstream, and one beyond
	g.call("key:a", "flying", "", "")
	refused("flying", "succeeded", "FINDING_NOT_UNKNOWN")
	if code, _, errOut := g.run("executions", "reconcile", "lost", "--outcome", "succeeded", "--evidence", empty); code != 2 || !strings.Contains(errOut, "is empty") {
		t.Errorf("no evidence: %d, %q", code, errOut)
	}

	if _, out, errOut := g.run("executions", "list", "--open"); strings.Count(out, "\n") != 1 || !strings.Contains(out, "key:a  lost") {
		t.Errorf("open: %s%s", out, errOut)
	}
	code, out, errOut = g.run("executions", "reconcile", "lost", "--outcome", "succeeded", "--evidence", evidence, "--by", "alice", "--json")
	var found struct {
		Finding, Source, Signed string
		Evidence                string `json:"evidence_sha256"`
	}
	if err := json.Unmarshal([]byte(out), &found); err != nil || code != 0 {
		t.Fatal(code, out, errOut, err)
	}
	// hashlib.sha256(b"the bank says: paid").hexdigest() of Python
	const digest = "a555b56fc71759a5140aefbefc1708ef02a4026c4b19f4e2633c68a44015b857"
	if found.Finding != "succeeded" || found.Source != "operator alice" || found.Evidence != digest {
		t.Errorf("%+v", found)
	}
	if _, out, _ := g.run("executions", "list", "--open"); out != "" {
		t.Errorf("with a finding it is still open: %s", out)
	}
	h, err := g.reg.Show(t.Context(), g.callKey("key:a", "lost"))
	if err != nil || h.Row.State != execution.OutcomeUnknown || len(h.Findings) != 1 {
		t.Fatalf("%+v, %v", h, err)
	}
	if code, again, _ := g.run("executions", "reconcile", "lost", "--outcome", "succeeded", "--evidence", evidence, "--by", "alice", "--json"); code != 0 || again != out {
		t.Errorf("the same finding again: %d, %q, want %q", code, again, out)
	}
	_, out, _ = g.run("executions", "show", "lost")
	if !strings.Contains(out, "finding      succeeded (it happened), found by operator alice at ") || !strings.Contains(out, "state        outcome_unknown\n") ||
		!strings.Contains(out, "  reconciled") || strings.Contains(out, "not established") || !strings.Contains(out, "safe next    do not call again; tell the agent's side") {
		t.Error(out)
	}
	_, _, err = g.reg.Admit(t.Context(), g.callOf("key:a", "lost", "2026-11-30T12:00:00Z"))
	if r := (*execution.Refusal)(nil); !errors.As(err, &r) || r.Name != execution.NameReplay || r.Record.State != execution.OutcomeUnknown {
		t.Errorf("a reconciled execution: %v", err)
	}

	// What the log says of it, joined offline, is no more than that either.
	exported := filepath.Join(t.TempDir(), "gateway.jsonl")
	code, out, errOut = g.run("audit", "export", "--of", "gateway")
	if code != 0 {
		t.Fatal(errOut)
	}
	if err := os.WriteFile(exported, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, errOut := g.run("audit", "verify", "--of", "gateway", exported); code != 0 || !strings.HasPrefix(out, "the audit log of the gateway holds: rows 1 to ") {
		t.Error(code, out, errOut)
	}
	code, out, errOut = g.run("audit", "join", exported, "--execution", "lost")
	for _, want := range []string{"key:a  lost  correlated sha256:", "  recorded  ", "outcome_unknown", "  finding   ", "not the gateway's own knowledge", digest, "replay (outcome_unknown)  after the end"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("join does not say %q: %d, %s%s", want, code, out, errOut)
		}
	}
	if code, _, errOut := g.run("audit", "export", "--of", "gateway", "--from", "9999"); code != 2 || !strings.Contains(errOut, "no row 9999") {
		t.Error(code, errOut)
	}
}

// TestExecutionsNotHappened: that it did not happen is taken once nothing can be sent and the
// upstream's time is over.
//
// covers EXA-027, EXA-072
func TestExecutionsNotHappened(t *testing.T) {
	g := newAGateway(t)
	g.ahead.Store(-int64(10 * time.Minute)) // what is done now was done ten minutes ago
	if err := g.reg.Sweep(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	g.call("key:a", "lost", execution.OutcomeUnknown, "")
	evidence := filepath.Join(t.TempDir(), "statement")
	if err := os.WriteFile(evidence, []byte("never came"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errOut := g.run("executions", "reconcile", "lost", "--outcome", "failed", "--evidence", evidence)
	if code != 0 || !strings.Contains(out, "failed (it did not happen), found by operator ") {
		t.Error(code, out, errOut)
	}
	// Another word on it stands beside the first.
	code, out, errOut = g.run("executions", "reconcile", "lost", "--outcome", "succeeded", "--evidence", evidence)
	if code != 0 {
		t.Error(code, out, errOut)
	}
	if _, out, _ := g.run("executions", "show", "lost"); strings.Count(out, "finding  ") != 2 || !strings.Contains(out, "the findings contradict each other") {
		t.Error(out)
	}
	// What the gateway's key has not signed is no finding, whoever has put it there.
	db, err := sqlite.Open(t.Context(), filepath.Join(g.dir, "bindery.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	h, err := g.reg.Show(t.Context(), g.callKey("key:a", "lost"))
	if err != nil {
		t.Fatal(err)
	}
	forged := h.Findings[0]
	forged.Source = "operator eve"
	if _, _, err := db.Executions().AddFinding(t.Context(), h.Row.Key, forged); err != nil {
		t.Fatal(err)
	}
	if _, out, _ := g.run("executions", "show", "lost"); strings.Contains(out, "found by operator eve") || !strings.Contains(out, "doubtful     1 more in the store") {
		t.Error(out)
	}
}
