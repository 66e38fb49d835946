package cli_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// scrape reads the private listener as a scraper would that calls it host.
func scrape(t *testing.T, admin, host string) (status int, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+admin+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = host
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

// TestMetrics makes a crossing and a refused one, and reads what the serving process has
// counted of them: nothing of it says whose they were.
func TestMetrics(t *testing.T) {
	w := newWorld(t)
	first := w.cross(t, "")
	if code := first.code(t); code != 0 {
		t.Fatal(first.stderr)
	}
	if p := run(t, "", "cross", "--dir", w.a, "--to", "http://"+w.addr, "--terms", w.terms,
		"--act", "engagement_code_issuance", "--class", "irreversible", "--magnitude", wide, "--json"); p.code(t) == 0 {
		t.Fatal("crossed above the limit")
	}
	status, text := scrape(t, w.admin, "")
	if status != 200 {
		t.Fatal(status, text)
	}
	for _, line := range []string{
		`bindery_ra_operations_total{operation="hold"} 1`, `bindery_ra_operations_total{operation="confirm"} 1`,
		`bindery_ra_operations_total{operation="register_closed"} 2`, "bindery_ra_units_burned_total 0",
		"bindery_centre_seals_total 1", `bindery_centre_crossings{role="responder",state="committed"} 1`,
		"bindery_centre_publications_waiting 0", "bindery_centre_attempts_open 0",
		`bindery_va_publications_total{result="acknowledged"} 2`, "bindery_store_retries_total 0", "bindery_store_reachable 1",
	} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("no line %q", line)
		}
	}
	for _, part := range []string{"bindery_ra_refusals_total{", `bindery_va_verifications_total{verdict="verified"}`, "bindery_store_commit_seconds_count", "go_goroutines"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q", part)
		}
	}
	for _, secret := range []string{"urn:", "globex", "acme", first.id(), "eyJ", wide} {
		if strings.Contains(text, secret) {
			t.Errorf("metrics name %q", secret)
		}
	}
	if t.Failed() {
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "bindery_") {
				t.Log(strings.TrimSpace(line))
			}
		}
	}
	if status, _ := scrape(t, w.admin, "evil.example"); status != http.StatusMisdirectedRequest {
		t.Errorf("under another name: %d", status)
	}
	if status, _ := scrape(t, w.addr, ""); status == 200 {
		t.Error("metrics on the public listener")
	}
}
