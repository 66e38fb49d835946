package cli

import (
	"database/sql"
	"encoding/json"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestTiers walks the tiers of §1.5 with three processes: what commits to nothing leaves
// no trace and waits for nothing, a commitment is held until its seal resolves, and the
// payment that its terms point at is nobody's business here.
//
// covers GC-002, GC-014, GC-019, GC-020
func TestTiers(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.grant("initiator", "100")
	s.grant("responder", "100")

	before := [2]int{s.rows("initiator"), s.rows("responder")}
	answer := s.post("http://"+s.homes["responder"].Addr+"/rpc", "",
		`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m-1","role":"ROLE_USER","parts":[{"text":"What do you do?"}]}}}`)
	if !strings.Contains(answer, "This answer commits to nothing.") || strings.Contains(answer, `"task"`) {
		t.Errorf("a plain message is answered %s", answer)
	}
	if after := [2]int{s.rows("initiator"), s.rows("responder")}; after != before {
		t.Errorf("a plain message has left rows: %v, before %v", after, before)
	}

	interrupted, report := s.outage()
	if interrupted != "" {
		t.Errorf("without a seal that resolves the command prints %q", interrupted)
	}
	if s.rows("responder") == before[1] {
		t.Error("a crossing leaves no rows: nothing was counted")
	}
	var got struct {
		Block struct {
			State string `json:"crossing_state"`
		} `json:"artifact_block"`
		Record struct {
			Parties []struct {
				Role string `json:"signer_role"`
			} `json:"parties"`
		} `json:"record"`
		Terms struct {
			Payment map[string]any `json:"payment"`
		} `json:"terms"`
	}
	if err := json.Unmarshal([]byte(report), &got); err != nil {
		t.Fatal(err)
	}
	if got.Block.State != "committed" || len(got.Record.Parties) != 2 || got.Record.Parties[0].Role != "agent" || got.Record.Parties[1].Role != "agent" {
		t.Errorf("the report is %s", report)
	}
	s.end()
	if len(s.payee.conns) > 0 || got.Terms.Payment["amount_minor_units"] != 125000.0 {
		t.Errorf("the address in the terms was called %d times; they say %v", len(s.payee.conns), got.Terms.Payment)
	}
}

// rows counts what a directory's database holds, over all its tables.
func (s *stage) rows(name string) int {
	s.t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(s.at(name), storeFile)+"?mode=ro&_pragma=busy_timeout(60000)")
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	var query string
	if err := db.QueryRow(`SELECT 'SELECT ' || group_concat('(SELECT count(*) FROM ' || name || ')', ' + ') FROM sqlite_master WHERE type = 'table'`).Scan(&query); err != nil {
		s.t.Fatal(err)
	}
	var n int
	if err := db.QueryRow(query).Scan(&n); err != nil {
		s.t.Fatal(err)
	}
	return n
}

// TestTrustBasisDecidesNothing: whatever evidence a party has behind its own posture, it
// is dealt with alike, and the record says which it was.
//
// covers GC-038, GC-039
func TestTrustBasisDecidesNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.grant("responder", "100")
	for _, basis := range []string{"self_declared", "organisational_controls", "third_party_audited", "vicca_authority_sealed", "nca_verified"} {
		s.initialise(basis, initOptions{
			principal: "urn:anax:principal:" + basis, trustBasis: basis, join: "http://" + s.homes["responder"].Addr, code: s.code("responder"),
		})
		s.grant(basis, "1")
		var got struct {
			Record struct {
				Parties []struct {
					TrustBasis string `json:"trust_basis"`
				} `json:"parties"`
			} `json:"record"`
		}
		if err := json.Unmarshal([]byte(s.crossAs(basis, exitDone, "1")), &got); err != nil {
			t.Fatal(err)
		}
		if p := got.Record.Parties; len(p) != 2 || p[0].TrustBasis != basis || p[1].TrustBasis != "self_declared" {
			t.Errorf("%s: the record says %v", basis, p)
		}
	}
}

// TestNoFastPath enumerates what can be configured: nothing of it sends a commitment
// early, and what is added later has to be looked at here first.
//
// covers GC-022
func TestNoFastPath(t *testing.T) {
	for name, want := range map[string][]string{
		"cross": {"act", "class", "crossing-id", "currency", "disclose-limit", "magnitude", "terms", "to"},
		"serve": {"addr", "admin-addr", "roles", "store"},
		"init":  {"agc-level", "code", "join", "key-file", "name", "own-ra", "pack", "principal", "release", "signer", "store", "trust-basis"},
		"demo":  {"once", "terms"},
		"":      {"dir", "json"},
	} {
		cmd := (&app{}).root()
		if name != "" {
			var err error
			if cmd, _, err = cmd.Find([]string{name}); err != nil {
				t.Fatal(err)
			}
		}
		usages := cmd.LocalNonPersistentFlags().FlagUsages()
		if name == "" {
			usages = cmd.PersistentFlags().FlagUsages()
		}
		var got []string
		for _, m := range regexp.MustCompile(`(?m)^ +--([a-z-]+)`).FindAllStringSubmatch(usages, -1) {
			got = append(got, m[1])
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("bindery %s has the flags %q, want %q", name, got, want)
		}
	}
	for _, c := range []struct {
		file reflect.Type
		want []string
	}{
		{reflect.TypeFor[config](), []string{"principal", "name", "agent_id", "clearance", "ra", "va", "roles", "addr", "admin_addr", "store,omitempty", "key_file,omitempty", "passphrase,omitempty", "throwaway,omitempty", "keys,omitempty", "release,omitempty", "gateway,omitempty"}},
		{reflect.TypeFor[clearance](), []string{"trust_basis", "agc_level", "pack_id", "pack_version"}},
		{reflect.TypeFor[trusted](), []string{"own", "url,omitempty", "key,omitempty"}},
		{reflect.TypeFor[secrets](), []string{
			"clearance_id", "principal_credential", "agent_credential", "effector_credential", "publisher_credential", "operator_credential", "store,omitempty",
			"gateway_session_key,omitempty", "gateway_headers,omitempty",
		}},
	} {
		var got []string
		for f := range c.file.Fields() {
			if tag := f.Tag.Get("json"); tag != "" {
				got = append(got, tag)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s has the members %q, want %q", c.file, got, c.want)
		}
	}
}

// TestTrustBasisOverclaimed: whoever declares another trust_basis than the RA has on
// record is refused by the other side, in either role.
//
// covers GC-036
func TestTrustBasisOverclaimed(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.grant("initiator", "100")
	s.grant("responder", "100")
	claim := func(name, basis string) {
		h := s.homes[name]
		h.Clearance.TrustBasis = basis
		if err := h.save(); err != nil {
			t.Fatal(err)
		}
		s.stops[name]()
		s.serve(name)
	}
	for _, name := range []string{"initiator", "responder"} {
		claim(name, "nca_verified")
		if out := s.cross(exitRefused, "1"); !strings.Contains(out, `{"error":"MANDATE_INVALID","failure_path":"§3.4 party"`) {
			t.Errorf("the %s overclaims, and the answer is %s", name, out)
		}
		claim(name, "self_declared")
		s.cross(exitDone, "1")
	}
}
