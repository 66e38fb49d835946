package interoptest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

var (
	shared string // made and removed by TestMain
	build  = sync.OnceValues(func() (string, error) {
		bin := filepath.Join(shared, "bindery")
		out, err := exec.Command("go", "build", "-buildvcs=false", "-o", bin, "github.com/bindery/bindery/cmd/bindery").CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("go build: %w\n%s", err, out)
		}
		return bin, nil
	})
)

func TestMain(m *testing.M) {
	var err error
	if shared, err = os.MkdirTemp("", "bindery-interop-"); err != nil {
		panic(err)
	}
	code := m.Run()
	if err := os.RemoveAll(shared); err != nil {
		panic(err)
	}
	os.Exit(code)
}

// roles are the directories of a demo, in the order in which they are served.
var roles = []string{"authority", "responder", "initiator"}

// A world is the directory that a demo has left, its three processes served again, and
// two crossings of its two parties, the second on the chain of the first.
type world struct {
	bin, dir string
	procs    map[string]*process
	ids      []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	bin, err := build()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{bin: bin, dir: filepath.Join(t.TempDir(), "demo"), procs: map[string]*process{}}
	w.ids = append(w.ids, crossingID(t, w.run(t, "demo", "--once", "--json", "--dir", w.dir)))
	for _, role := range roles {
		w.serve(t, role, w.of(role))
	}
	const act = "engagement_code_issuance"
	for _, role := range []string{"initiator", "responder"} {
		w.run(t, "mandate", "open", "--dir", w.of(role), "--class", "irreversible", "--limit", "1", "--act", act, "--counterparty", "*")
	}
	w.ids = append(w.ids, crossingID(t, w.run(t, "cross", "--dir", w.of("initiator"), "--to", "http://"+addresses(t, w.of("responder")).Addr,
		"--terms", filepath.Join(w.dir, "terms.json"), "--act", act, "--class", "irreversible", "--magnitude", "1", "--json")))
	return w
}

// of is the directory of a role.
func (w *world) of(role string) string { return filepath.Join(w.dir, role) }

// run runs a command to its good end and returns its stdout.
func (w *world) run(t *testing.T, args ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, w.bin, args...)
	cmd.Env = append(os.Environ(), "BINDERY_DIR=")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("bindery %s: %v\n%s", args[0], err, &stderr)
	}
	return out
}

func crossingID(t *testing.T, report []byte) string {
	t.Helper()
	var v struct {
		CrossingID string `json:"crossing_id"`
	}
	if err := json.Unmarshal(report, &v); err != nil || v.CrossingID == "" {
		t.Fatalf("the report names no crossing: %v", err)
	}
	return v.CrossingID
}

type listeners struct {
	Addr  string `json:"addr"`
	Admin string `json:"admin_addr"`
}

func addresses(t *testing.T, dir string) listeners {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	var l listeners
	if err := json.Unmarshal(b, &l); err != nil {
		t.Fatal(err)
	}
	return l
}

// A process is one bindery serve.
type process struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer // read once it has ended
	ended  chan struct{}
}

func (p *process) stop() {
	_ = p.cmd.Process.Signal(os.Interrupt) // it may have ended already
	select {
	case <-p.ended:
	case <-time.After(time.Minute):
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

// serve serves dir in the place of a role, at the addresses in its configuration. It ends
// what stood there, and the test ends it. Where a passing connection has taken one of the
// ports, it tries again.
func (w *world) serve(t *testing.T, role, dir string) {
	t.Helper()
	w.stop(role)
	at := addresses(t, dir)
	deadline := time.Now().Add(time.Minute)
	for {
		p := &process{cmd: exec.Command(w.bin, "serve", "--dir", dir), ended: make(chan struct{})}
		p.cmd.Stderr = &p.stderr
		if err := p.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		go func() {
			_ = p.cmd.Wait()
			close(p.ended)
		}()
		err := p.answers(at.Admin, deadline)
		if err == nil {
			w.procs[role] = p
			t.Cleanup(p.stop)
			return
		}
		p.stop()
		if time.Now().After(deadline) {
			t.Fatalf("the %s is not served: %v\n%s", role, err, &p.stderr)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func (w *world) stop(role string) {
	if p := w.procs[role]; p != nil {
		p.stop()
		delete(w.procs, role)
	}
}

// answers waits until the process answers on its private listener, ends, or is late.
func (p *process) answers(admin string, deadline time.Time) error {
	for {
		resp, err := http.Get("http://" + admin + "/healthz")
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
			err = errors.New("somebody else answers: " + resp.Status)
		}
		select {
		case <-p.ended:
			return errors.New("it has ended")
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return err
		}
	}
}
