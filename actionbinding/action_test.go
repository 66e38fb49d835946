package actionbinding_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/actionbinding"
	"github.com/bindery/bindery/jcs"
)

// covers EXA-011, EXA-002
func TestNewRefuses(t *testing.T) {
	good := [4]string{"agent", "verb", "scope", "2026-09-10T16:30:00Z"}
	members := [3]string{"agent_id", "action_type", "action_scope"}
	limits := [3]int{actionbinding.MaxAgentID, actionbinding.MaxType, actionbinding.MaxScope}
	build := func(i int, text string) error {
		m := good
		m[i] = text
		_, err := actionbinding.New(m[0], m[1], m[2], m[3])
		return err
	}
	for i, name := range members {
		for what, text := range map[string]string{
			"empty": "", "truncated UTF-8": "\xe2\x82", "half a pair": "\xed\xa0\x80", "overlong": "\xc0\xaf",
			"too long": strings.Repeat("x", limits[i]+1),
		} {
			wantFault(t, what, build(i, text), name)
		}
		for what, text := range map[string]string{"at the limit": strings.Repeat("x", limits[i]), "a control": "\x00", "white space": " ", "U+FFFD": "\ufffd"} {
			if err := build(i, text); err != nil {
				t.Errorf("%s: %s: %v", name, what, err)
			}
		}
	}
	var fault *actionbinding.Error
	if !errors.As(build(2, "secret\xff"), &fault) || strings.Contains(fault.Error(), "secret") {
		t.Error("a fault repeats the input")
	}
	a, err := actionbinding.New(good[0], good[1], good[2], good[3])
	if err != nil || a.AgentID() != good[0] || a.Type() != good[1] || a.Scope() != good[2] || a.Timestamp() != good[3] {
		t.Errorf("%v, %v", a, err)
	}
	if want := time.Date(2026, 9, 10, 16, 30, 0, 0, time.UTC); !a.Time().Equal(want) {
		t.Errorf("time %s", a.Time())
	}
}

// An instant has one spelling, and what is none is refused (AX-02, AX-03).
//
// covers EXA-011
func TestTimestamps(t *testing.T) {
	for _, good := range []string{"2026-09-10T16:30:00Z", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2028-02-29T00:00:00Z", "2000-02-29T12:00:00Z"} {
		if _, err := actionbinding.New("a", "b", "c", good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{
		"", "2026-09-10", "2026-09-10T16:30Z", "2026-09-10T16:30:00", "2026-09-10 16:30:00Z", "2026-09-10t16:30:00Z", "2026-09-10T16:30:00z",
		"2026-09-10T16:30:00.0Z", "2026-09-10T16:30:00.000Z", "2026-09-10T16:30:00,5Z", "2026-09-10T16:30:00+00:00", "2026-09-10T16:30:00-00:00", "2026-09-10T18:30:00+02:00",
		"2026-09-10T24:00:00Z", "2026-09-10T23:59:60Z", "2026-09-10T16:60:00Z", "2026-02-29T00:00:00Z", "2100-02-29T00:00:00Z", "2026-04-31T00:00:00Z", "2026-00-10T00:00:00Z", "2026-13-10T00:00:00Z", "2026-09-00T00:00:00Z",
		"+2026-09-10T16:30:00Z", "12026-09-10T16:30:00Z", "26-09-10T16:30:00Z", "2026-9-10T16:30:00Z", "2026-09-10T6:30:00Z", " 2026-09-10T16:30:00Z", "2026-09-10T16:30:00Z ", "2026-09-10T16:30:00Z\n",
		"2026-09-10T16:30:00ZZ", "２０２６-09-10T16:30:00Z", "1789057800",
	} {
		_, err := actionbinding.New("a", "b", "c", bad)
		wantFault(t, bad, err, "action_timestamp")
	}
}

// covers EXA-002, EXA-014, EXA-015, EXA-016
func TestParsePreimage(t *testing.T) {
	preimage := string(action(t).Preimage())
	change := func(old, new string) string {
		if !strings.Contains(preimage, old) {
			t.Fatalf("no %s", old)
		}
		return strings.Replace(preimage, old, new, 1)
	}
	for what, same := range map[string]string{
		"white space": change(`,"domain"`, " ,\n\t\"domain\""),
		"an escape":   change(`"transfer"`, `"\u0074ransfer"`),
		"a name":      change(`"version"`, `"\u0076ersion"`),
		"the order":   `{"version":1,` + strings.Replace(preimage[1:], `,"version":1`, "", 1),
	} {
		if a, err := actionbinding.ParsePreimage([]byte(same)); err != nil || a != action(t) {
			t.Errorf("%s in another spelling: %v", what, err)
		}
	}
	for _, c := range []struct{ what, text, member string }{
		{"seven members", change(`,"version"`, `,"ttl":1,"version"`), "preimage"},
		{"a name in other case", change(`"domain"`, `"Domain"`), "domain"},
		{"no timestamp", change(`"action_timestamp":"2026-09-10T16:30:00Z",`, ""), "action_timestamp"},
		{"no agent", change(`"agent_id":"spiffe://agent.example/payments/prod",`, ""), "agent_id"},
		{"a renamed scope", change(`"action_scope"`, `"scope"`), "action_scope"},
		{"no version", change(`,"version":1`, ""), "version"},
		{"no domain", change(`"domain":"cmcp.execution-action-binding",`, ""), "domain"},
		{"another domain", change("cmcp.execution", "cmcp.Execution"), "domain"},
		{"an agent that is no text", change(`"spiffe://agent.example/payments/prod"`, "7"), "agent_id"},
		{"a null scope", change(`"account:merchant-7"`, "null"), "action_scope"},
		{"an empty type", change(`"transfer"`, `""`), "action_type"},
		{"a timestamp with a fraction", change("00Z", "00.0Z"), "action_timestamp"},
		{"version 2", change(`"version":1`, `"version":2`), "version"},
		{"version 1.0", change(`"version":1`, `"version":1.0`), "version"},
		{"version 1e0", change(`"version":1`, `"version":1e0`), "version"},
		{"version 10e-1", change(`"version":1`, `"version":10e-1`), "version"},
		{"version 1.5", change(`"version":1`, `"version":1.5`), "version"},
		{"version true", change(`"version":1`, `"version":true`), "version"},
		{"version text", change(`"version":1`, `"version":"1"`), "version"},
		{"version null", change(`"version":1`, `"version":null`), "version"},
		{"an array", "[]", "preimage"},
		{"a text", `"x"`, "preimage"},
	} {
		_, err := actionbinding.ParsePreimage([]byte(c.text))
		wantFault(t, c.what, err, c.member)
	}
	for what, text := range map[string]string{
		"nothing":         "",
		"trailing bytes":  preimage + "x",
		"a byte order":    "\ufeff" + preimage,
		"a repeated name": change(`,"version":1`, `,"version":1,"version":1`),
		"half a pair":     change(`"transfer"`, `"\ud800"`),
		"bad UTF-8":       change(`"transfer"`, "\"\xff\""),
		"a leading zero":  change(`"version":1`, `"version":01`),
		"size":            change(`"transfer"`, `"transfer`+strings.Repeat(" ", 100_000)+`"`),
	} {
		var fault *jcs.Error
		if _, err := actionbinding.ParsePreimage([]byte(text)); !errors.As(err, &fault) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// The largest action there is, with every byte of it escaped, can be read back.
func TestLargestPreimage(t *testing.T) {
	a, err := actionbinding.New(strings.Repeat("\x01", actionbinding.MaxAgentID), strings.Repeat("\x02", actionbinding.MaxType), strings.Repeat("\x03", actionbinding.MaxScope), "2026-09-10T16:30:00Z")
	if err != nil {
		t.Fatal(err)
	}
	if back, err := actionbinding.ParsePreimage(a.Preimage()); err != nil || back != a {
		t.Error(err)
	}
}

// FuzzInjective: two actions have one preimage if and only if their four members are the same, and
// a preimage reads back as the action that it is of.
//
// covers EXA-001, EXA-003, EXA-004
func FuzzInjective(f *testing.F) {
	f.Add("a", "b", "c", "a", "b", "c")
	f.Add("a", "bc", "d", "ab", "c", "d")
	f.Add(`a","action_type":"b`, "c", "d", "a", "b", "c")
	f.Add("é", "e\u0301", "\U00010000", "e\u0301", "é", "\ue000")
	f.Add("\\", "\\\\", `"`, `\"`, "\\", "\x00")
	f.Add("\\u0000", "x", "y", "\x00", "x", "y")
	f.Fuzz(func(t *testing.T, a1, t1, s1, a2, t2, s2 string) {
		const at = "2026-09-10T16:30:00Z"
		x, errX := actionbinding.New(a1, t1, s1, at)
		y, errY := actionbinding.New(a2, t2, s2, at)
		if errX != nil || errY != nil {
			return
		}
		same := a1 == a2 && t1 == t2 && s1 == s2
		if (string(x.Preimage()) == string(y.Preimage())) != same || (x.Bind(actionbinding.SHA256) == y.Bind(actionbinding.SHA256)) != same || (x == y) != same {
			t.Errorf("%q and %q", [3]string{a1, t1, s1}, [3]string{a2, t2, s2})
		}
		if back, err := actionbinding.ParsePreimage(x.Preimage()); err != nil || back != x {
			t.Errorf("%q does not read back: %v", x.Preimage(), err)
		}
		if text, err := jcs.Append(nil, x.Preimage()); err != nil || string(text) != string(x.Preimage()) {
			t.Errorf("%q is not canonical: %v", x.Preimage(), err)
		}
	})
}
