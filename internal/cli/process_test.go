package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience is how long a test waits for what must come: long, since the machine may be busy.
const patience = time.Minute

// served waits until a directory is served and returns its public URL. A party's
// directory publishes an Agent Card, one of an authority alone its keys.
// ended, if it is not nil, tells that the server is no more.
// restricted are serve's words for serving fewer roles; then the keys are what is published.
func served(dir string, ended <-chan struct{}, restricted ...string) (string, error) {
	deadline := time.Now().Add(patience)
	for {
		url, err := probe(dir, restricted != nil)
		if err == nil {
			return url, nil
		}
		select {
		case <-ended:
			return "", fmt.Errorf("the server of %s has ended", dir)
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return "", fmt.Errorf("%s is not served: %w", dir, err)
		}
	}
}

func probe(dir string, restricted bool) (string, error) {
	c, err := readConfig(dir)
	if err != nil {
		return "", err
	}
	if strings.HasSuffix(c.Addr, ":7410") {
		return "", fmt.Errorf("it has its first, unused address")
	}
	path := "/.well-known/jwks.json"
	if slices.Contains(c.Roles, "centre") && !restricted {
		path = "/.well-known/agent-card.json"
	}
	resp, err := http.Get("http://" + c.Addr + path)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", path, resp.Status)
	}
	return "http://" + c.Addr, nil
}

// config is what the tests need of a directory's config.json.
type config struct {
	Addr      string   `json:"addr"`
	AdminAddr string   `json:"admin_addr"`
	Roles     []string `json:"roles"`
	Store     string   `json:"store"` // the URL of a PostgreSQL database, or none
}

func readConfig(dir string) (c config, err error) {
	b, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err != nil {
		return c, err
	}
	return c, json.Unmarshal(b, &c)
}

// addresses are those at which a directory was served last.
func addresses(t *testing.T, dir string) (addr, admin string) {
	t.Helper()
	c, err := readConfig(dir)
	if err != nil {
		t.Fatal(err)
	}
	return c.Addr, c.AdminAddr
}

// naming lists the processes whose command line or working directory names text, once
// they have had time to end; "" if there is none.
func naming(text string) string {
	deadline := time.Now().Add(patience)
	for {
		left := processes(text)
		if len(left) == 0 {
			return ""
		}
		if time.Now().After(deadline) {
			return strings.Join(left, "; ")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// processes reads /proc. A process that has ended but is not yet waited for has no
// command line any more.
func processes(text string) []string {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return []string{err.Error()}
	}
	var found []string
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		b, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		line := strings.ReplaceAll(string(b), "\x00", " ")
		dir, _ := os.Readlink(filepath.Join("/proc", e.Name(), "cwd")) // unreadable: not ours
		if err == nil && line != "" && (strings.Contains(line, text) || strings.Contains(dir, text)) {
			found = append(found, e.Name()+" "+line)
		}
	}
	return found
}

// lockedText collects what another goroutine reads.
type lockedText struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedText) Bytes() []byte { return []byte(l.String()) }

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
