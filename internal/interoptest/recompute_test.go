package interoptest_test

import (
	"bytes"
	"crypto/ecdsa"
	"database/sql"
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/bindery/bindery/internal/jose"
)

// ofEach are checks that recompute.mjs makes of every crossing. It may make more, but not
// silently fewer.
var ofEach = []string{
	"initiator/view", "initiator/crossing", "initiator/joint_seal", "initiator/agreement_hash", "initiator/clearance_id_hash",
	"initiator/hashes_of_initiator", "initiator/hashes_of_responder", "initiator/artifact_block", "initiator/anchor",
	"initiator/principal", "initiator/open", "initiator/open/cnf_is_the_agent", "initiator/closed", "initiator/receipt",
	"responder/view", "responder/crossing", "responder/joint_seal", "responder/agreement_hash", "responder/clearance_id_hash",
	"responder/hashes_of_initiator", "responder/hashes_of_responder", "responder/artifact_block", "responder/anchor",
	"responder/principal", "responder/open", "responder/open/cnf_is_the_agent", "responder/closed", "responder/receipt",
	"both/terms", "both/record", "both/joint_seal", "both/agreement_hash", "both/artifact_block", "both/mandates_of_initiator", "both/mandates_of_responder",
	"spend_receipt",
	"initiator/va/verify", "initiator/va/verify_with_record", "initiator/va/checks", "initiator/va/other_record",
	"initiator/va/same_by_crossing_id", "initiator/va/same_by_canal", "initiator/va/same_by_portal", "initiator/va/same_by_portal_crossing_id",
	"initiator/va/unknown", "initiator/va/projection", "initiator/va/projection_jws", "initiator/va/publisher_jws", "initiator/va/nothing_private",
	"responder/va/verify", "responder/va/projection", "responder/va/projection_jws", "responder/va/publisher_jws",
}

// verdicts is what recompute.mjs says, by the name of the check: "" for ok, else why not.
type verdicts map[string]string

// recompute runs the recomputation of crossings, and requires its exit code to be that of
// its lines.
func (w *world) recompute(t *testing.T, ids ...string) verdicts {
	t.Helper()
	out, code := node(t, "recompute.mjs", append([]string{w.dir}, ids...)...)
	v, failed := verdicts{}, 0
	for line := range strings.Lines(string(out)) {
		word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		name, why, _ := strings.Cut(rest, " ")
		switch {
		case word == "ok" && why == "":
		case word == "FAIL" && why != "":
			failed++
		default:
			t.Errorf("a line of another form: %q", line)
		}
		if _, twice := v[name]; twice {
			t.Errorf("two lines for %s", name)
		}
		v[name] = why
	}
	if want := min(failed, 1); code != want {
		t.Errorf("exit code %d with %d failures", code, failed)
	}
	return v
}

// failures are the names of the checks that do not hold, in order.
func (v verdicts) failures() []string {
	var names []string
	for name, why := range v {
		if why != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// TestIndependentRecomputation has another language recompute two crossings from their ids,
// as they are, and then after something stored was altered.
//
// covers GC-011, GC-012, GC-084, GC-088, GC-090, GC-091, GC-092, GC-130, GC-133, GC-134, GC-212, GC-240
// covers GC-241, GC-244, GC-245, GC-246, GC-250, GC-254, GC-256, GC-257, GC-260, GC-372
func TestIndependentRecomputation(t *testing.T) {
	t.Parallel()
	needNode(t, "independent recomputation")
	w := newWorld(t)
	t.Run("as crossed", func(t *testing.T) {
		v := w.recompute(t, w.ids...)
		for name, why := range v {
			if why != "" {
				t.Errorf("%s: %s", name, why)
			}
		}
		want := []string{"initiator/ra_jwks", "initiator/va_jwks", "responder/ra_jwks", "responder/va_jwks"}
		for _, id := range w.ids {
			for _, name := range ofEach {
				want = append(want, id[:8]+"/"+name)
			}
		}
		for _, role := range []string{"initiator", "responder"} {
			want = append(want, w.ids[1][:8]+"/"+role+"/chain")
		}
		for _, name := range want {
			if _, made := v[name]; !made {
				t.Errorf("%s is not checked", name)
			}
		}
	})
	for _, c := range controls {
		t.Run(c.name, func(t *testing.T) {
			for role, alter := range c.alter {
				w.stop(role)
				copied := filepath.Join(t.TempDir(), role)
				if err := os.CopyFS(copied, os.DirFS(w.of(role))); err != nil {
					t.Fatal(err)
				}
				w.run(t, "keys", "encrypt", "--dir", copied) // keys in clear are refused where they have been moved to
				alter(t, w, filepath.Join(copied, "bindery.db"))
				w.serve(t, role, copied)
			}
			got := w.recompute(t, w.ids...).failures()
			var want []string
			for _, name := range c.fails {
				want = append(want, strings.NewReplacer("1:", w.ids[0][:8]+"/", "2:", w.ids[1][:8]+"/").Replace(name))
			}
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("these checks fail:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
			}
		})
		for role := range c.alter {
			w.serve(t, role, w.of(role))
		}
	}
}

// An alteration changes the database of one role, which nobody serves meanwhile.
type alteration func(t *testing.T, w *world, path string)

// controls alter one thing each. In fails, 1: and 2: stand for the two crossings; no other
// check may fail, so that each is seen to look at its own thing.
var controls = []struct {
	name  string
	alter map[string]alteration
	fails []string
}{
	{
		name: "a byte of the initiator's record",
		alter: map[string]alteration{"initiator": func(t *testing.T, w *world, path string) {
			var report []byte
			query(t, path, &report, `SELECT report FROM crossings WHERE crossing_id = ?`, w.ids[0])
			at := bytes.Index(report, []byte(`"context_id":"`))
			if at < 0 {
				t.Fatal("the report has no context_id")
			}
			digit := &report[at+len(`"context_id":"`)] // one of 0 … 9 and a … f
			if *digit ^= 1; *digit == '`' || *digit == 'g' {
				*digit = '0'
			}
			execute(t, path, `UPDATE crossings SET report = ? WHERE crossing_id = ?`, report, w.ids[0])
		}},
		fails: []string{
			"1:initiator/joint_seal", "1:initiator/artifact_block", "1:initiator/anchor", "2:initiator/chain",
			"1:both/record", "1:both/joint_seal", "1:initiator/va/checks", "1:initiator/va/projection",
		},
	},
	{
		name: "the initiator's anchors swapped",
		alter: map[string]alteration{"initiator": func(t *testing.T, w *world, path string) {
			var first, second string
			query(t, path, &first, `SELECT anchor FROM anchors WHERE crossing_id = ?`, w.ids[0])
			query(t, path, &second, `SELECT anchor FROM anchors WHERE crossing_id = ?`, w.ids[1])
			const set = `UPDATE anchors SET anchor = ? WHERE crossing_id = ?`
			execute(t, path, set, "", w.ids[0])
			execute(t, path, set, first, w.ids[1])
			execute(t, path, set, second, w.ids[0])
		}},
		fails: []string{"1:initiator/anchor", "2:initiator/anchor"},
	},
	{
		name: "another key for the initiator's agent at the RA",
		alter: map[string]alteration{"responder": func(t *testing.T, w *world, path string) {
			k, err := jose.GenerateKey()
			if err != nil {
				t.Fatal(err)
			}
			key, err := jose.NewKey(&k.PublicKey)
			if err != nil {
				t.Fatal(err)
			}
			execute(t, path, `UPDATE principal_keys SET jwk = ? WHERE use = 'agent' AND principal_id = 'urn:anax:principal:acme'`, key.JWK())
		}},
		fails: []string{"1:initiator/open/cnf_is_the_agent", "2:initiator/open/cnf_is_the_agent"},
	},
	{
		name: "a Closed signed by another agent, with both parties",
		alter: map[string]alteration{
			"initiator": resign("own_closed"),
			"responder": resign("peer_closed"),
		},
		fails: []string{
			"1:initiator/closed", "1:initiator/hashes_of_initiator", "1:responder/hashes_of_initiator", "1:initiator/receipt",
			"1:both/mandates_of_initiator", // no two signatures are equal
			"1:spend_receipt",
		},
	},
	{
		name: "the answer for the other crossing",
		alter: map[string]alteration{"authority": func(t *testing.T, w *world, path string) {
			var jws string
			query(t, path, &jws, `SELECT projection_jws FROM projections WHERE role = 'responder' AND crossing_id = ?`, w.ids[0])
			execute(t, path, `UPDATE projections SET projection_jws = ? WHERE role = 'responder' AND crossing_id = ?`, jws, w.ids[1])
		}},
		fails: []string{"2:initiator/va/projection_jws", "2:responder/va/projection_jws"},
	},
}

// resign replaces the signature of the first crossing's initiator's Closed, in a column of
// crossings, by one of the responder's agent.
func resign(column string) alteration {
	return func(t *testing.T, w *world, path string) {
		var token string
		query(t, path, &token, `SELECT `+column+` FROM crossings WHERE crossing_id = ?`, w.ids[0])
		signed := strings.Join(strings.Split(token, ".")[:2], ".")
		s, err := jose.NewSigner(agentKey(t, w.of("responder")))
		if err != nil {
			t.Fatal(err)
		}
		sig, err := s.Sign([]byte(signed))
		if err != nil {
			t.Fatal(err)
		}
		token = signed + "." + base64.RawURLEncoding.EncodeToString(sig[:]) + "~"
		execute(t, path, `UPDATE crossings SET `+column+` = ? WHERE crossing_id = ?`, token, w.ids[0])
	}
}

func agentKey(t *testing.T, dir string) *ecdsa.PrivateKey {
	t.Helper()
	pem, err := os.ReadFile(filepath.Join(dir, "keys", "agent.pem"))
	if err != nil {
		t.Fatal(err)
	}
	k, err := jose.ParsePrivateKeyPEM(pem)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// query reads the one value that a statement selects.
func query(t *testing.T, path string, value any, statement string, args ...any) {
	t.Helper()
	db := open(t, path)
	if err := db.QueryRowContext(t.Context(), statement, args...).Scan(value); err != nil {
		t.Fatal(err)
	}
}

// execute changes exactly one row.
func execute(t *testing.T, path, statement string, args ...any) {
	t.Helper()
	result, err := open(t, path).ExecContext(t.Context(), statement, args...)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		t.Fatalf("%d rows changed, %v", n, err)
	}
}

func open(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}
