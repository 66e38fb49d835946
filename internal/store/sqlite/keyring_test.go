package sqlite_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/internal/store/sqlite"
	"github.com/bindery/bindery/mandate"
)

// TestMigrateKeys opens a database of before keys had a time: its keys have no bounds, and
// its agents stay whose they are.
func TestMigrateKeys(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "bindery.db")
	raw, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	script, err := os.ReadFile("migrations/0001_initial.sql")
	if err != nil {
		t.Fatal(err)
	}
	key := func() jose.Key {
		private, err := jose.GenerateKey()
		if err != nil {
			t.Fatal(err)
		}
		k, err := jose.NewKey(&private.PublicKey)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	issuer, agent := key(), key()
	exec := func(query string, args ...any) {
		t.Helper()
		if _, err := raw.Exec(query, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec(string(script))
	exec("PRAGMA user_version = 1")
	exec(`INSERT INTO principals VALUES ('a', 'A', 'active', 'c', 'self_declared', 0, 0), ('b', 'B', 'active', 'c', 'self_declared', 0, 0)`)
	exec("INSERT INTO principal_keys VALUES (?, 'a', 'principal', 'a', ?, 0)", issuer.ID, issuer.JWK())
	exec("INSERT INTO principal_keys VALUES (?, 'a', 'agent', 'urn:anax:agent:a', ?, 0)", agent.ID, agent.JWK())

	db, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s, ctx := db.Registry(), t.Context()
	p, err := s.Principal(ctx, "a")
	if err != nil || len(p.Keys) != 1 || !p.Keys[0].NotBefore.IsZero() || !p.Keys[0].NotAfter.IsZero() || p.Domain != "" || !p.DomainProvedAt.IsZero() {
		t.Errorf("record %+v, %v", p, err)
	}
	further := func(principal string) error {
		return s.Add(ctx, registry.Addition{
			PrincipalID: principal, Agents: []mandate.Agent{{ID: "urn:anax:agent:a", Key: key()}}, At: time.UnixMilli(1),
		})
	}
	if err := further("b"); !errors.Is(err, registry.ErrExists) {
		t.Errorf("another's agent: %v", err)
	}
	if err := further("a"); err != nil {
		t.Errorf("a further key of the agent: %v", err)
	}
}
