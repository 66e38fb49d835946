package gatewaytest_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/gatewaytest"
)

// counting is a counting server on loopback.
func counting(t testing.TB, cfg gatewaytest.Config) (*gatewaytest.Upstream, *httptest.Server) {
	t.Helper()
	if cfg.Ledger == nil {
		cfg.Ledger = ledger(t)
	}
	u := gatewaytest.New(cfg)
	s := httptest.NewServer(u)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return u, s
}

func ledger(t testing.TB) *gatewaytest.Ledger {
	t.Helper()
	l, err := gatewaytest.OpenLedger(filepath.Join(t.TempDir(), "effects"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// TestLedger: what it counted is there when it is opened again.
func TestLedger(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "effects")
	l, err := gatewaytest.OpenLedger(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, key := range []string{"a", "b\n", "a"} {
		if n, err := l.Effect(key); n != i+1 || err != nil {
			t.Errorf("effect %d: %d, %v", i+1, n, err)
		}
	}
	again, err := gatewaytest.OpenLedger(path) // without closing: as after a crash
	if err != nil {
		t.Fatal(err)
	}
	if a, b := again.Count("a"), again.Count("b\n"); a != 2 || b != 1 {
		t.Errorf("%d and %d effects, want 2 and 1", a, b)
	}
	if n, err := again.Effect("c"); n != 4 || err != nil {
		t.Errorf("the next effect is %d, %v", n, err)
	}
}

// TestPlans: the server does what a plan says, in either revision, and has one effect.
func TestPlans(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		plan    string
		effects int
		want    string // in what comes back, or of the error
	}{
		{"", 1, `"effect":1`},
		{"none", 0, `"effect":0`},
		{"stream", 1, "notifications/progress"},
		{"error", 1, `"error":{"code":-32000`},
		{"fails", 1, `"isError":true`},
		{"status:503", 1, "it does not go"},
		{"reset", 1, "connection reset"},
		{"half", 1, "data: "},
		{"twice", 1, `}{"jsonrpc"`},
		{"stream twice", 1, "event: message"},
		{"garbage", 1, "\xff}"},
		{"deep", 1, "[[[["},
		{"huge:100000", 1, "xxxx"},
		{"wrongid", 1, `"id":"another"`},
		{"ask:1", 0, `"requestState":"k#1"`},
		{"task:1", 1, `"taskId":"task-1"`},
		{"silent", 1, "context canceled"},
	} {
		t.Run(c.plan, func(t *testing.T) {
			t.Parallel()
			l := ledger(t)
			_, s := counting(t, gatewaytest.Config{Ledger: l})
			client := gatewaytest.Client{URL: s.URL}
			for i, call := range []gatewaytest.Call{{}, {Modern: true}} {
				call.Tool, call.Arguments = "pay", `{"key":"k","plan":"`+c.plan+`"}`
				effects := c.effects * (i + 1)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				var leaves sync.WaitGroup
				if c.plan == "silent" {
					leaves.Go(func() {
						counted(l, effects)
						cancel()
					})
				}
				a, err := client.Post(ctx, call.Body())
				cancel()
				leaves.Wait()
				got := ""
				if a != nil {
					got = string(a.Body)
				}
				if err != nil {
					got += err.Error()
				}
				want := strings.NewReplacer(`"effect":1`, `"effect":`+string(rune('1'+i)), "task-1", "task-"+string(rune('1'+i))).Replace(c.want)
				if !strings.Contains(got, want) {
					t.Errorf("%.300q does not have %q", got, want)
				}
				counted(l, effects) // a client that did not wait for it may be ahead of it
				if n := l.Count("k"); n != effects {
					t.Errorf("%d effects after %d calls, want %d", n, i+1, effects)
				}
			}
		})
	}
}

// counted waits until a key has so many effects.
func counted(l *gatewaytest.Ledger, effects int) {
	for deadline := time.Now().Add(time.Minute); l.Count("k") < effects && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
}

// TestRounds: input and tasks go on to their effect.
func TestRounds(t *testing.T) {
	t.Parallel()
	l := ledger(t)
	_, s := counting(t, gatewaytest.Config{Ledger: l})
	client := gatewaytest.Client{URL: s.URL}
	post := func(body []byte) string {
		t.Helper()
		a, err := client.Post(t.Context(), body)
		if err != nil {
			t.Fatal(err)
		}
		return string(a.Body)
	}
	call := gatewaytest.Call{Tool: "pay", Arguments: `{"key":"k","plan":"ask:2"}`, Modern: true}
	for _, state := range []string{"", "k#1", "k#2"} {
		if l.Count("k") != 0 {
			t.Error("the effect came before the input")
		}
		call.State = state
		post(call.Body())
	}
	if l.Count("k") != 1 {
		t.Errorf("%d effects", l.Count("k"))
	}
	post(gatewaytest.Call{Tool: "pay", Arguments: `{"key":"k","plan":"task:1"}`, Modern: true}.Body())
	get := `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"task-1","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
	if got := post([]byte(get)); !strings.Contains(got, `"status":"working"`) {
		t.Errorf("first %s", got)
	}
	if got := post([]byte(get)); !strings.Contains(got, `"status":"completed"`) || !strings.Contains(got, `"result":{"content"`) {
		t.Errorf("then %s", got)
	}
}

// TestStdio: the same over stdio, line by line.
func TestStdio(t *testing.T) {
	t.Parallel()
	l := ledger(t)
	in := bytes.Join([][]byte{
		[]byte(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`),
		[]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`),
		gatewaytest.Call{ID: "7", Tool: "pay", Arguments: `{"key":"k","plan":"stream"}`}.Body(),
	}, []byte("\n"))
	var out bytes.Buffer
	if err := gatewaytest.New(gatewaytest.Config{Ledger: l}).ServeStdio(bytes.NewReader(in), &out); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if got := strings.Count(out.String(), "\n"); got != 3 || l.Count("k") != 1 {
		t.Errorf("%d lines and %d effects:\n%s", got, l.Count("k"), &out)
	}
	for _, want := range []string{`"id":0,"result":{"protocolVersion":"2025-11-25"`, "notifications/progress", `"id":7,"result":{"content"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in\n%s", want, &out)
		}
	}
}
