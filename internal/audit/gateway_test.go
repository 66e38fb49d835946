package audit_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bindery/bindery/internal/audit"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
)

const binding = "sha256:305b05b249b159fa9dea8cbbfaa0c19b71aa867a6da718693c1c7d4b83f52fe4"

// session is "sha256:" and hashlib.sha256(b"session-1").hexdigest() of Python.
const session = "sha256:84097828fc31a8c8d29210df48901a85de7fd013f686b17be77d1be29cb7a98b"

// story is what happens to one transfer, and two entries that are of no execution.
func story() []audit.Entry {
	at := func(ms int64) time.Time { return time.UnixMilli(1786000000000 + ms) }
	bank := func(e audit.Entry) audit.Entry {
		e.AgentID, e.ExecutionID, e.Upstream, e.Tool, e.Binding = "key:ops", "pay-0042", "bank", "transfer", binding
		return e
	}
	return chained(
		audit.Entry{At: at(0), AgentID: "key:ops", CallID: "c-1", Event: audit.EventCall, Upstream: "files", Tool: "read_file"},
		bank(audit.Entry{At: at(123), Event: audit.EventReserved, WorkflowID: "März 🧾", SessionID: session}),
		bank(audit.Entry{At: at(140), Event: audit.EventDispatched, CallID: "c-2", SessionID: session}),
		bank(audit.Entry{At: at(940), Event: audit.EventSucceeded, CallID: "c-2",
			Digest: "sha256:4062edaf750fb8074e7e83e0c9028c94e32468a8b6f1614774328ef045150f93"}),
		bank(audit.Entry{At: at(1000), Event: audit.EventReplay, Reason: "EXECUTION_REPLAY"}),
		audit.Entry{At: at(1001), Event: audit.EventRefused, Reason: "EXECUTION_ID_INVALID", ExecutionID: "bad id",
			AgentID: "a\"\\\b\f\n\r\t\x00\x1f\x7f/", Tool: "\u2028\U0001F600\uE000é", Upstream: "e\u0301"},
	)
}

func chained(entries ...audit.Entry) []audit.Entry {
	tip := audit.Genesis()
	for i, e := range entries {
		entries[i] = e.After(tip)
		tip = entries[i].Tip()
	}
	return entries
}

func signed(t testing.TB, s *jose.Signer, entries []audit.Entry) [][]byte {
	t.Helper()
	h := audit.Head{Of: audit.LogGateway, From: 1, Tip: audit.Genesis(), At: time.UnixMilli(1786000002000)}
	var lines [][]byte
	for i, e := range entries {
		if i == 0 {
			h.From = e.Seq
		}
		h.Tip = e.Tip()
		lines = append(lines, e.Line())
	}
	token, err := h.Sign(s)
	if err != nil {
		t.Fatal(err)
	}
	return append(lines, audit.HeadLine(token, s.Key()))
}

// TestEntryBytes compares with testdata/gateway.jsonl, which Python has written: each line is
// json.dumps(entry, sort_keys=True, separators=(",", ":"), ensure_ascii=False), its
// entry_sha256 the hashlib.sha256 of that without this member, and each member that says
// nothing None.
//
// covers EXA-043, EXA-046
func TestEntryBytes(t *testing.T) {
	want, err := os.ReadFile("testdata/gateway.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var got []byte
	for _, e := range story() {
		got = append(append(got, e.Line()...), '\n')
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("(-python +go):\n%s", diff)
	}
	tip := audit.Genesis()
	for i, line := range bytes.Split(bytes.TrimSuffix(want, []byte("\n")), []byte("\n")) {
		e, err := audit.ParseEntry(line)
		if err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		if e != story()[i] || e.Sum() != e.Entry || e.After(tip) != e {
			t.Errorf("line %d reads as %+v", i+1, e)
		}
		tip = e.Tip()
	}
}

// TestEntryAlwaysWhole: whatever is not known of a call, its line has the same members, and
// null where there is nothing.
//
// covers EXA-043, EXA-046, EXA-052
func TestEntryAlwaysWhole(t *testing.T) {
	members := []string{"agent_id", "at", "binding", "call_id", "digest", "entry_sha256", "event", "execution_id", "prev", "reason", "seq", "session_id", "tool", "upstream", "workflow_id"}
	for mask := range 1 << 10 {
		var e audit.Entry
		e.Event = audit.EventCall
		fields := []*string{&e.AgentID, &e.SessionID, &e.WorkflowID, &e.CallID, &e.ExecutionID, &e.Upstream, &e.Tool, &e.Binding, &e.Reason, &e.Digest}
		for i, f := range fields {
			if mask>>i&1 == 1 {
				*f = []string{"key:a", session, "w", "c", "x", "u", "t", binding, "r", session}[i]
			}
		}
		e.At = time.UnixMilli(0)
		line := e.After(audit.Genesis()).Line()
		v, err := jcs.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		nulls := 0
		for _, name := range members {
			switch v.Get(name).Type() {
			case jcs.Absent:
				t.Fatalf("%s is not on the line %s", name, line)
			case jcs.NullType:
				nulls++
			}
		}
		set := 0
		for i := range fields {
			set += mask >> i & 1
		}
		if nulls != len(fields)-set || bytes.Contains(line, []byte(`""`)) {
			t.Fatalf("%d nulls for %d of %d: %s", nulls, set, len(fields), line)
		}
	}
}

// TestEntryKeepsOut: what no entry may hold does not get in by any path.
//
// covers EXA-045, EXA-053
func TestEntryKeepsOut(t *testing.T) {
	digest := map[string]string{ // by hashlib.sha256 of Python
		"two words":                 "sha256:a03f1d611645eb53ad16c1af546ca0792dc884505bab57ede80f4dad6b911d3a",
		strings.Repeat("x", 201):    "sha256:84a0678c90937f5dcf9994d5866668da6b995109c8ad845410559b48a4ecafed",
		"\x7f":                      "sha256:620bfdaa346b088fb49998d92f19a7eaf6bfc2fb0aee015753966da1028cb731",
		"ü":                         "sha256:607474ca475a9724d7360aba71a56d5df77e61350e3f724cfa1f46e857e2d85f",
		"\xff":                      "sha256:a8100ae6aa1940d0b663bb31cd466142ebbdbd5187131b92d93818987832eb89",
		"line\nfeed":                "sha256:f136a2a53b487878112e6431a11e3bac9b490e492596fbd77da4d8ed98071b23",
		"zero\x00":                  "sha256:005dd81f49b622b634572d90a96550a4579beccc67dc98f57a2dcac5f4789859",
		" ":                         "sha256:36a9e7f1c95b82ffb99743e0c5c4ce95d83c9a430aac59f84ef3cbfab6145068",
		strings.Repeat("x", 100000): "sha256:d69e68988157833272305aaf21f453c800346e8a3640db6578e260215542e5d4",
	}
	for id, want := range digest {
		e := audit.Entry{At: time.UnixMilli(0), Event: audit.EventRefused, ExecutionID: id}.After(audit.Genesis())
		if e.ExecutionID != "" || e.Digest != want || len(id) > 1 && strings.Contains(string(e.Line()), id) {
			t.Errorf("%.20q: %s", id, e.Line())
		}
	}
	for _, id := range []string{"!", "~", strings.Repeat("x", 200), "pay-0042", "null"} {
		if e := (audit.Entry{At: time.UnixMilli(0), Event: audit.EventReserved, ExecutionID: id}).After(audit.Genesis()); e.ExecutionID != id || e.Digest != "" {
			t.Errorf("%.20q: %s", id, e.Line())
		}
	}
	secret := "session-1"
	e := audit.Entry{At: time.UnixMilli(0), Event: audit.EventCall, SessionID: secret, Digest: "answer", Binding: strings.ToUpper(binding),
		Reason: strings.Repeat("r", audit.MaxText+1), WorkflowID: strings.Repeat("w", audit.MaxText), Tool: "\xff"}.After(audit.Genesis())
	line := string(e.Line())
	if e.SessionID != session || strings.Contains(line, secret) || strings.Contains(line, "answer") || e.Binding != "" {
		t.Error(line)
	}
	if !strings.HasPrefix(e.Reason, "sha256:") || len(e.WorkflowID) != audit.MaxText || e.Tool != "\uFFFD" {
		t.Error(line)
	}
	longest := audit.Entry{At: time.UnixMilli(1<<53 - 1), ExecutionID: strings.Repeat(`"`, 200), SessionID: session, Binding: binding, Digest: session}
	for _, f := range []*string{&longest.AgentID, &longest.WorkflowID, &longest.CallID, &longest.Event, &longest.Upstream, &longest.Tool, &longest.Reason} {
		*f = strings.Repeat("\x01", audit.MaxText)
	}
	if n := len(longest.After(audit.Tip{Seq: 1<<53 - 2, Entry: audit.Genesis().Entry}).Line()); n > audit.MaxLine {
		t.Errorf("a line of %d bytes, which no verifier takes", n)
	}
}

// TestEntryForm: a line that no writer of ours could have written is none.
func TestEntryForm(t *testing.T) {
	good := string(story()[1].Line())
	if _, err := audit.ParseEntry([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for name, edit := range map[string][2]string{
		"empty for null":      {`"call_id":null`, `"call_id":""`},
		"null for event":      {`"event":"reserved"`, `"event":null`},
		"no event":            {`"event":"reserved"`, `"event":""`},
		"absent for null":     {`"call_id":null,`, ``},
		"number":              {`"tool":"transfer"`, `"tool":1`},
		"object":              {`"tool":"transfer"`, `"tool":{}`},
		"execution_id":        {`"execution_id":"pay-0042"`, `"execution_id":"pay 0042"`},
		"session_id":          {session, "session-1"},
		"binding":             {`"binding":"sha256:`, `"binding":"md5:`},
		"binding upper":       {"305b05b2", "305B05B2"},
		"digest is of sha256": {`"digest":null`, `"digest":"sha384:` + strings.Repeat("0", 96) + `"`},
		"seq 0":               {`"seq":2`, `"seq":0`},
		"row of an RA":        {`"tool":`, `"tooi":`},
		"more":                {`"tool":`, `"to":1,"tool":`},
		"white space":         {`"tool":`, `"tool": `},
		"long text":           {`"tool":"transfer"`, `"tool":"` + strings.Repeat("t", audit.MaxText+1) + `"`},
	} {
		bad := strings.Replace(good, edit[0], edit[1], 1)
		if bad == good {
			t.Fatalf("%s: nothing was edited", name)
		}
		if e, err := audit.ParseEntry([]byte(bad)); err == nil {
			t.Errorf("%s: taken as %+v", name, e)
		}
	}
}

// TestVerifyGateway: of a gateway's log any flipped bit, and any row that is removed,
// doubled, swapped, cut off or written anew, is found, and named.
func TestVerifyGateway(t *testing.T) {
	gw := signer(t)
	lines := signed(t, gw, story())
	if h, err := verify(audit.NewVerifier(audit.LogGateway, gw.Key().ID), lines); err != nil || h.Of != "gateway" || h.Seq != 6 {
		t.Fatalf("%+v, %v", h, err)
	}
	fault := func(name string, lines [][]byte, row int64, rules ...string) {
		t.Helper()
		_, err := verify(audit.NewVerifier(audit.LogGateway, gw.Key().ID), lines)
		var f *audit.Fault
		if !errors.As(err, &f) || row > 0 && f.Line != row || len(rules) > 0 && !slices.Contains(rules, f.Rule) {
			t.Errorf("%s: %v", name, err)
		}
	}
	n := len(lines) - 1
	for i := range n {
		for at := range lines[i] {
			for bit := range 8 {
				if i != 1 && bit != at%8 { // all bits of one line, one of each byte of the others
					continue
				}
				bad := slices.Clone(lines)
				bad[i] = slices.Clone(lines[i])
				bad[i][at] ^= 1 << bit
				fault(fmt.Sprintf("line %d, byte %d, bit %d", i+1, at, bit), bad, int64(i+1))
			}
		}
		fault(fmt.Sprintf("line %d removed", i+1), slices.Delete(slices.Clone(lines), i, i+1), 0, audit.RuleSequence, audit.RuleMissing)
		fault(fmt.Sprintf("line %d twice", i+1), slices.Insert(slices.Clone(lines), i, lines[i]), int64(i+2), audit.RuleSequence)
		for k := range i {
			bad := slices.Clone(lines)
			bad[i], bad[k] = bad[k], bad[i]
			fault(fmt.Sprintf("lines %d and %d swapped", k+1, i+1), bad, 0, audit.RuleSequence)
		}
		fault(fmt.Sprintf("cut after line %d", i), append(slices.Clone(lines[:i]), lines[n]), 0, audit.RuleMissing)
		fault(fmt.Sprintf("cut after line %d, and no head", i), lines[:i], int64(i+1), audit.RuleEnd)
		other := story()[:i+1] // a log that goes another way from row i+1 on
		other[i].Reason = "another"
		other = chained(append(other, story()[i+1:]...)...)
		bad := append(signed(t, gw, other)[:n:n], lines[n])
		fault(fmt.Sprintf("written anew from line %d", i+1), bad, int64(n+1), audit.RuleUncovered)
	}
	ra := signer(t)
	fault("an RA's log", export(t, gw, log(2)), 1, audit.RuleForm)
	fault("foreign", signed(t, ra, story()), int64(n+1), audit.RuleKey)
	if _, err := verify(audit.NewVerifier(audit.LogRA, gw.Key().ID), lines); err == nil {
		t.Error("a gateway's log passes for an RA's")
	}
	if _, err := verify(audit.NewVerifier(audit.LogGateway, ra.Key().ID, gw.Key().ID), lines); err != nil {
		t.Errorf("one of two keys: %v", err)
	}
	if _, err := verify(audit.NewVerifier(audit.LogGateway), lines); err == nil {
		t.Error("any key will do")
	}
}

// TestEntries: a verifier passes on what holds, once, and no more after a fault.
func TestEntries(t *testing.T) {
	gw := signer(t)
	all := story()
	lines := signed(t, gw, all[2:])
	var got []audit.Entry
	v := audit.NewVerifier(audit.LogGateway, gw.Key().ID)
	v.Entries(func(e audit.Entry) error { got = append(got, e); return nil })
	if _, err := verify(v, lines); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(all[2:], got); diff != "" {
		t.Error(diff)
	}
	if v.Before() != all[1].Tip() || v.Key().ID != gw.Key().ID {
		t.Errorf("before %+v, key %s", v.Before(), v.Key().ID)
	}
	stop := errors.New("stop")
	v = audit.NewVerifier(audit.LogGateway, gw.Key().ID)
	v.Entries(func(audit.Entry) error { return stop })
	if err := v.Line(lines[0]); !errors.Is(err, stop) {
		t.Error(err)
	}
	v = audit.NewVerifier(audit.LogGateway, gw.Key().ID)
	for _, e := range []audit.Entry{all[0], all[3]} {
		v.Known(e.Entry)
	}
	_, err := verify(v, lines)
	var f *audit.Fault
	if !errors.As(err, &f) || f.Rule != audit.RuleKnown {
		t.Errorf("one of two known entries is there: %v", err)
	}
}

// TestEntryProperty: drawn logs read back as they were written, and any byte of them that is
// changed is found.
func TestEntryProperty(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	text := func() string {
		b := make([]byte, r.IntN(12))
		for i := range b {
			b[i] = "abc\"\\\n\x00\x7f \xff\xc3\xa9\xed\xa0\x80"[r.IntN(15)]
		}
		return string(b)
	}
	gw := signer(t)
	for range 50 {
		entries := make([]audit.Entry, 1+r.IntN(5))
		for i := range entries {
			entries[i] = audit.Entry{
				At: time.UnixMilli(r.Int64N(1 << 50)), AgentID: text(), SessionID: text(), WorkflowID: text(), CallID: text(), ExecutionID: text(),
				Event: "e" + text(), Upstream: text(), Tool: text(), Binding: text(), Reason: text(), Digest: text(),
			}
		}
		lines := signed(t, gw, chained(entries...))
		if _, err := verify(audit.NewVerifier(audit.LogGateway, gw.Key().ID), lines); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, bytes.Join(lines, []byte("\n")))
		}
		row := r.IntN(len(entries))
		if back, err := audit.ParseEntry(lines[row]); err != nil || back.After(audit.Tip{Seq: back.Seq - 1, Entry: back.Prev}) != entries[row] {
			t.Fatalf("seed %d: %+v, %v", seed, back, err)
		}
		at := r.IntN(len(lines[row]))
		lines[row][at] ^= byte(1 + r.IntN(255))
		if _, err := verify(audit.NewVerifier(audit.LogGateway, gw.Key().ID), lines); err == nil {
			t.Fatalf("seed %d: taken: %s", seed, lines[row])
		}
	}
}

func FuzzEntry(f *testing.F) {
	for _, e := range story() {
		f.Add(e.Line())
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := audit.ParseEntry(line)
		if err == nil && !bytes.Equal(e.Line(), line) {
			t.Errorf("%q reads as %s", line, e.Line())
		}
	})
}

func BenchmarkEntryAfter(b *testing.B) {
	e := story()[2]
	for b.Loop() {
		e.After(audit.Tip{Seq: 2, Entry: e.Prev})
	}
}

// TestHeadNamesNoExecution: what a gateway signs of its log does not list execution_ids; the
// entries alone have them.
//
// covers EXA-048
func TestHeadNamesNoExecution(t *testing.T) {
	gw := signer(t)
	lines := signed(t, gw, story())
	last, err := jcs.Parse(lines[len(lines)-1])
	if err != nil {
		t.Fatal(err)
	}
	token, _ := last.Get("head").Text()
	c, err := jose.ParseCompact(token, 4<<10)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := jcs.Parse(c.Payload)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for name := range payload.Members() {
		names = append(names, name)
	}
	if diff := cmp.Diff([]string{"at", "entry_sha256", "from", "of", "seq"}, names); diff != "" {
		t.Errorf("a head has (-want +got):\n%s", diff)
	}
	if bytes.Contains(c.Payload, []byte("pay-0042")) || !bytes.Contains(lines[1], []byte(`"execution_id":"pay-0042"`)) {
		t.Errorf("payload %s, entry %s", c.Payload, lines[1])
	}
}
