package cli_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// served waits until a directory is served and returns its public URL. A party's
// directory publishes an Agent Card, one of an authority alone its keys.
func served(dir string, patience time.Duration) (string, error) {
	deadline := time.Now().Add(patience)
	for {
		url, err := probe(dir)
		if err == nil {
			return url, nil
		}
		if time.Now().After(deadline) {
			return "", fmt.Errorf("%s is not served: %w", dir, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func probe(dir string) (string, error) {
	b, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err != nil {
		return "", err
	}
	var c struct {
		Addr  string   `json:"addr"`
		Roles []string `json:"roles"`
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return "", err
	}
	if strings.HasSuffix(c.Addr, ":7410") {
		return "", fmt.Errorf("it has its first, unused address")
	}
	path := "/.well-known/jwks.json"
	if slices.Contains(c.Roles, "centre") {
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

// naming lists the processes whose command line names text, once they have had time to
// end; "" if there is none.
func naming(text string, patience time.Duration) string {
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
		if err == nil && strings.Contains(line, text) {
			found = append(found, e.Name()+" "+line)
		}
	}
	return found
}
