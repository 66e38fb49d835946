package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/bindery/bindery/internal/httpapi"
)

// TestMetricsRoute: metrics are for whoever calls the private listener by its name, and for
// no page of another origin.
func TestMetricsRoute(t *testing.T) {
	metrics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("metrics 1\n")) })
	for _, c := range []struct {
		name, method, host, origin string
		handler                    http.Handler
		status                     int
	}{
		{"a scraper", "GET", host, "", metrics, http.StatusOK},
		{"another name", "GET", "evil.example:8080", "", metrics, http.StatusMisdirectedRequest},
		{"another origin", "GET", host, "https://evil.example", metrics, http.StatusForbidden},
		{"a write", "POST", host, "", metrics, http.StatusNotFound},
		{"none", "GET", host, "", nil, http.StatusNotFound},
	} {
		r := request(c.method, "/metrics", nil)
		r.Host = c.host
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		w := httptest.NewRecorder()
		httpapi.NewAdmin(httpapi.AdminConfig{Hosts: []string{host}, Metrics: c.handler}).ServeHTTP(w, r)
		if w.Code != c.status || (w.Code == http.StatusOK) != (w.Body.String() == "metrics 1\n") {
			t.Errorf("%s: %d, %s", c.name, w.Code, w.Body)
		}
		if w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: may be kept", c.name)
		}
	}
}
