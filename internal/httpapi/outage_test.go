package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/httpapi"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/internal/store/pgtest"
	"github.com/bindery/bindery/internal/store/postgres"
)

// TestDatabaseGone: while the database is away every answer is 503, soon; when it is back
// the same server answers as before.
func TestDatabaseGone(t *testing.T) {
	t.Parallel()
	database := pgtest.New(t)
	db, err := postgres.Open(t.Context(), database.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	ra, err := registry.New(registry.Config{Store: db.Registry(), Signer: newSigner(t), Now: time.Now, VAURL: "https://va.example/"})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(nil)
	server.Config.Handler, err = httpapi.NewPublic(httpapi.PublicConfig{Hosts: []string{server.Listener.Addr().String()}, Registry: ra})
	if err != nil {
		t.Fatal(err)
	}
	server.Start()
	t.Cleanup(server.Close)
	want := func(what string, status int) {
		t.Helper()
		began := time.Now()
		for _, path := range []string{"/v1/ra/opens", "/v1/ra/closeds", "/v1/ra/holds", "/v1/ra/revocations"} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+path, strings.NewReader(`{}`))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Authorization", "Bearer unknown-credential")
			resp, err := server.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != status {
				t.Errorf("%s: %s: %s, want %d", what, path, resp.Status, status)
			}
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("%s: answered after %v", what, took)
		}
	}
	want("before", http.StatusUnauthorized)
	database.Stop(t)
	want("away", http.StatusServiceUnavailable)
	database.Start(t)
	want("back", http.StatusUnauthorized)
}
