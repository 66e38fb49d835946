package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bindery/bindery/internal/audit"
	"github.com/bindery/bindery/internal/jose"
)

const someBinding = "sha256:305b05b249b159fa9dea8cbbfaa0c19b71aa867a6da718693c1c7d4b83f52fe4"

// gatewayLog is a gateway whose exports a test writes itself.
type gatewayLog struct {
	t      *testing.T
	signer *jose.Signer
	dir    string
	rows   []audit.Entry
}

func newGatewayLog(t *testing.T) *gatewayLog {
	t.Helper()
	k, err := jose.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	s, err := jose.NewSigner(k)
	if err != nil {
		t.Fatal(err)
	}
	return &gatewayLog{t: t, signer: s, dir: t.TempDir()}
}

// add appends an event of pay-0042, a minute after the one before.
func (g *gatewayLog) add(event, call string, edit ...func(*audit.Entry)) {
	tip := audit.Genesis()
	if len(g.rows) > 0 {
		tip = g.rows[len(g.rows)-1].Tip()
	}
	e := audit.Entry{
		At: time.UnixMilli(1786000000000).Add(time.Duration(tip.Seq) * time.Minute), AgentID: "key:ops", ExecutionID: "pay-0042",
		Event: event, CallID: call, Upstream: "bank", Tool: "transfer", Binding: someBinding,
	}
	for _, f := range edit {
		f(&e)
	}
	g.rows = append(g.rows, e.After(tip))
}

// export writes rows from one to another, counted from 1, as a file.
func (g *gatewayLog) export(name string, from, to int) string {
	g.t.Helper()
	h := audit.Head{Of: audit.LogGateway, From: int64(from), Tip: g.rows[to-1].Tip(), At: time.UnixMilli(1786100000000)}
	token, err := h.Sign(g.signer)
	if err != nil {
		g.t.Fatal(err)
	}
	var b bytes.Buffer
	for _, e := range g.rows[from-1 : to] {
		b.Write(append(e.Line(), '\n'))
	}
	b.Write(append(audit.HeadLine(token, g.signer.Key()), '\n'))
	path := filepath.Join(g.dir, name)
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		g.t.Fatal(err)
	}
	return path
}

func (g *gatewayLog) key() string { return string(g.signer.Key().JWK()) }

// TestAuditJoin joins two sessions of one gateway and a second gateway offline. What it says
// of a call is what the logs say of it: correlated, and never more.
//
// covers EXA-025, EXA-027, EXA-035, EXA-051, EXA-054, EXA-061
func TestAuditJoin(t *testing.T) {
	east, west := newGatewayLog(t), newGatewayLog(t)
	one := func(e *audit.Entry) { e.SessionID, e.WorkflowID = "session-1", "invoices" }
	two := func(e *audit.Entry) { e.SessionID = "session-2" }
	east.add("call", "c0", func(e *audit.Entry) { e.ExecutionID, e.Binding = "", "" })
	east.add("reserved", "c1", one)
	east.add("dispatched", "c1", one)
	east.add("outcome_unknown", "c1", one, func(e *audit.Entry) { e.Reason = "gateway_ended" })
	east.add("replay", "c2", two)
	east.add("collision", "c3", two, func(e *audit.Entry) { e.Binding = strings.Replace(someBinding, "305b", "305c", 1) })
	west.add("refused", "c9", func(e *audit.Entry) { e.Binding, e.Reason = "", "ACTION_INVALID" })
	west.add("reserved", "c8", func(e *audit.Entry) { e.AgentID, e.Binding = "key:other", "" })
	monday, tuesday, whole := east.export("monday", 1, 4), east.export("tuesday", 3, 6), west.export("west", 1, 2)
	keys := []string{"--key", east.key(), "--key", west.key()}

	code, out, errOut := binderyOn(nil, append([]string{"audit", "join", tuesday, whole, monday}, keys...)...)
	if code != 0 || errOut != "" {
		t.Fatal(code, out, errOut)
	}
	for _, want := range []string{
		"log 1 holds: " + monday + ", rows 1 to 4, ", "log 1 holds: " + tuesday + ", rows 3 to 6, ", "log 2 holds: ",
		"key:ops  pay-0042  correlated " + someBinding + "\n",
		"key:other  pay-0042  shared id (asserted)\n",
		"  attempt   2026-08-06T07:08:40Z  log 1 row 3  bank/transfer  call c1  session sha256:",
		"  recorded  2026-08-06T07:09:40Z  log 1 row 4  outcome_unknown (gateway_ended)\n",
		"  refused   2026-08-06T07:10:40Z  log 1 row 5  replay  after the end  call c2  session sha256:",
		"collision  after the end  call c3", "refused (ACTION_INVALID)  before the end  call c9",
		"  external outcome: not established\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	if strings.Count(out, "row 3  ") != 1 || strings.Count(out, "external outcome: not established") != 2 {
		t.Errorf("an entry in two exports counts twice:\n%s", out)
	}
	for _, never := range []string{"executed", "took place", "session-1"} {
		if strings.Contains(out, never) {
			t.Errorf("it says %q:\n%s", never, out)
		}
	}

	east.add("reconciled", "c1", func(e *audit.Entry) {
		e.Reason, e.Digest = "succeeded", "sha256:4062edaf750fb8074e7e83e0c9028c94e32468a8b6f1614774328ef045150f93"
	})
	found := east.export("found", 1, 7)
	code, out, errOut = binderyOn(nil, "audit", "join", found, "--key", east.key(), "--json", "--execution", "pay-0042", "--agent", "key:ops")
	var joined struct {
		Logs       []struct{ From, Seq, Log int }
		Executions []struct {
			Relation                              string
			Bindings                              []string
			Outcome                               string `json:"external_outcome"`
			Attempts, Recorded, Refused, Findings []struct {
				Seq      int
				Event    string
				CallID   string `json:"call_id"`
				Digest   string
				AfterEnd bool `json:"after_end"`
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &joined); err != nil || code != 0 || len(joined.Executions) != 1 {
		t.Fatal(code, out, errOut, err)
	}
	x := joined.Executions[0]
	if x.Relation != "correlated" || x.Outcome != "as found, by evidence that is not in the log" || !cmp.Equal(x.Bindings, []string{someBinding}) {
		t.Errorf("%+v", x)
	}
	if len(x.Findings) != 1 || x.Findings[0].Digest != east.rows[6].Digest || len(x.Recorded) != 1 || x.Recorded[0].Event != "outcome_unknown" {
		t.Errorf("a finding changes what is recorded: %+v", x)
	}
	if len(x.Refused) != 2 || !x.Refused[0].AfterEnd || x.Refused[0].Seq != 5 {
		t.Errorf("refusals %+v", x.Refused)
	}
	if code, out, errOut := binderyOn(nil, "audit", "join", whole, "--key", west.key(), "--agent", "nobody"); code != 0 || strings.Count(out, "\n") != 1 {
		t.Error(code, out, errOut)
	}
}

// TestAuditJoinDistrust: a log that does not hold, or that two exports of one key tell
// differently, is joined with nothing.
//
// covers EXA-054
func TestAuditJoinDistrust(t *testing.T) {
	g, other := newGatewayLog(t), newGatewayLog(t)
	for _, call := range []string{"c1", "c2", "c3", "c4"} {
		g.add("reserved", call)
	}
	honest, begin := g.export("honest", 1, 4), g.export("begin", 1, 2)
	forked := newGatewayLog(t)
	forked.signer, forked.dir = g.signer, t.TempDir()
	forked.add("reserved", "c1")
	for _, call := range []string{"x2", "x3", "x4"} {
		forked.add("reserved", call)
	}
	fork, end := forked.export("fork", 1, 4), forked.export("end", 3, 4)
	b, err := os.ReadFile(honest)
	if err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(g.dir, "broken")
	if err := os.WriteFile(broken, bytes.Replace(b, []byte("c3"), []byte("c5"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	other.add("reserved", "c1")
	foreign := other.export("foreign", 1, 1)
	for name, c := range map[string]struct {
		files []string
		says  string
	}{
		"changed":             {[]string{begin, broken}, broken + ": row 3 does not hold (line 3): entry"},
		"foreign":             {[]string{honest, foreign}, foreign + ": line 2 does not hold: key"},
		"forked":              {[]string{honest, fork}, "known: the entry that you know is not in this log"},
		"forked, other order": {[]string{fork, honest}, "known: the entry that you know is not in this log"},
		"forked, and a part":  {[]string{begin, fork}, "known: the entry that you know is not in this log"},
		"does not go on":      {[]string{begin, end}, end + ": row 3 does not hold (line 1): previous"},
	} {
		code, out, errOut := binderyOn(nil, append([]string{"audit", "join", "--json", "--key", g.key()}, c.files...)...)
		if code != 1 || !strings.Contains(errOut, c.says) || strings.Contains(out, "executions") || !strings.Contains(out, "AUDIT_BROKEN") {
			t.Errorf("%s: %d, %q, %q", name, code, out, errOut)
		}
	}
	if code, out, errOut := binderyOn(nil, "audit", "join", begin, honest, honest, "--key", g.key()); code != 0 {
		t.Error(code, out, errOut)
	}
	for _, args := range [][]string{
		{"-", "--key", g.key()}, {filepath.Join(g.dir, "none"), "--key", g.key()}, {honest, "--key", "{"}, {honest, "--thumbprint", "x"},
		{honest, "--dir", g.dir}, {"--key", g.key()}, {honest, "--dir", audited(t, 0)},
	} {
		code, out, errOut := binderyOn(nil, append([]string{"audit", "join"}, args...)...)
		if code != 2 || out != "" || strings.Count(errOut, "\n") != 1 || !strings.Contains(errOut, "; ") {
			t.Errorf("%q: %d, %q, %q", args, code, out, errOut)
		}
	}
}

// TestAuditVerifyGateway: the same command, and the same verdicts, for a gateway's log.
func TestAuditVerifyGateway(t *testing.T) {
	g := newGatewayLog(t)
	for _, call := range []string{"c1", "c2", "c3"} {
		g.add("call", call)
	}
	file := g.export("all", 1, 3)
	code, out, errOut := binderyOn(nil, "audit", "verify", file, "--of", "gateway", "--key", g.key())
	if code != 0 || !strings.HasPrefix(out, "the audit log of the gateway holds: rows 1 to 3, head ") || errOut != "" {
		t.Error(code, out, errOut)
	}
	if strings.Contains(out, "could not be written") {
		t.Error(out)
	}
	g.add("lost", "", func(e *audit.Entry) { e.ExecutionID, e.Reason = "", "3 entries are missing" })
	gaps := g.export("gaps", 1, 4)
	if code, out, _ := binderyOn(nil, "audit", "verify", gaps, "--of", "gateway", "--key", g.key()); code != 0 || !strings.Contains(out, "at 1 rows that entries of unbound calls could not be written") {
		t.Error(code, out)
	}
	if code, out, _ := binderyOn(nil, "audit", "verify", gaps, "--of", "gateway", "--key", g.key(), "--json"); code != 0 || !strings.Contains(out, `"gaps":1`) {
		t.Error(code, out)
	}
	if code, _, errOut := binderyOn(nil, "audit", "verify", file, "--of", "ra", "--key", g.key()); code != 1 || !strings.Contains(errOut, "row 1 does not hold (line 1): form") && !strings.Contains(errOut, "line 1 does not hold: form") {
		t.Error(code, errOut)
	}
	other := newGatewayLog(t)
	if code, _, errOut := binderyOn(nil, "audit", "verify", file, "--of", "gateway", "--key", other.key()); code != 1 || !strings.Contains(errOut, "than the gateway's") {
		t.Error(code, errOut)
	}
}
