package cli_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// demoJSON runs a whole demo and decodes its result.
func demoJSON(t *testing.T, args ...string) (raw []byte, result map[string]any) {
	t.Helper()
	cmd := exec.Command("bindery", append([]string{"demo", "--once", "--json"}, args...)...)
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	raw, err := cmd.Output()
	if err != nil {
		t.Fatalf("demo: %v\n%s", err, stderr.String())
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&result); err != nil {
		t.Fatal(err)
	}
	if d.More() {
		t.Error("there is more than one object on stdout")
	}
	return raw, result
}

// TestDemoJSON holds the whole result against what is promised of it: every member, the
// relations between them, and no other member.
//
// covers GC-024, GC-233, GC-244, GC-256, GC-257
func TestDemoJSON(t *testing.T) {
	t.Parallel()
	_, got := demoJSON(t)
	party := []string{"agent_id", "anchor", "chain_id", "chain_seq", "closed_mandate", "open_mandate", "prev_hash", "principal_id"}
	for pointer, want := range map[string][]string{
		"": {"artifact_block", "crossing_id", "deviations", "initiator", "joint_seal", "jwks", "phases", "record", "responder",
			"seal_id", "sealed_at", "terms", "verify", "verify_url"},
		"/initiator": party,
		"/responder": party,
		"/artifact_block": {"chain_seq", "crossing_state", "is_genesis", "outcome", "pack_id", "pack_version", "prev_hash", "seal",
			"seal_id", "seal_version", "sealed_at", "verify_url"},
		"/verify/checks": {"basis_present", "chain_consistent", "chain_position_valid", "not_superseded", "resolves", "seal_matches"},
		"/phases/0":      {"ms", "name", "phase"},
	} {
		if diff := cmp.Diff(want, names(t, got, pointer)); diff != "" {
			t.Errorf("members of %q (-want +got):\n%s", pointer, diff)
		}
	}
	for _, same := range [][]string{
		{"/joint_seal", "/artifact_block/seal", "/verify/seal"},
		{"/seal_id", "/artifact_block/seal_id", "/verify/seal_id"},
		{"/sealed_at", "/artifact_block/sealed_at", "/verify/sealed_at", "/record/timestamps/sealed_at"},
		{"/verify_url", "/artifact_block/verify_url", "/verify/verify_url"},
		{"/crossing_id", "/record/crossing_id", "/verify/crossing_id"},
		{"/initiator/chain_id", "/responder/chain_id", "/verify/chain_id"},
		{"/initiator/agent_id", "/record/parties/0/agent_id"},
		{"/responder/agent_id", "/record/parties/1/agent_id"},
		{"/initiator/principal_id", "/record/parties/0/principal_id"},
		{"/responder/principal_id", "/record/parties/1/principal_id"},
		{"/responder/chain_seq", "/artifact_block/chain_seq", "/verify/chain_seq"},
	} {
		for _, other := range same[1:] {
			if a, b := text(t, got, same[0]), text(t, got, other); a != b {
				t.Errorf("%s is %s, %s is %s", same[0], a, other, b)
			}
		}
	}
	for pointer, want := range map[string]string{
		"/deviations":                         `["GC-024","GC-233"]`,
		"/artifact_block/crossing_state":      "committed",
		"/artifact_block/outcome":             "CLEARED",
		"/artifact_block/seal_version":        "3",
		"/artifact_block/is_genesis":          "true",
		"/initiator/prev_hash":                "null",
		"/responder/prev_hash":                "null",
		"/initiator/chain_seq":                "0",
		"/verify/checks/resolves":             "true",
		"/verify/checks/seal_matches":         "true",
		"/verify/checks/chain_consistent":     "true",
		"/verify/checks/basis_present":        "true",
		"/verify/checks/not_superseded":       "true",
		"/verify/verified_by":                 "VA-001",
		"/record/commitment_act":              "engagement_code_issuance",
		"/record/commitment_class":            "irreversible",
		"/record/magnitude_asserted":          "1",
		"/record/parties/0/role":              "initiator",
		"/record/parties/1/role":              "responder",
		"/record/a2a_context/artifact_id":     text(t, got, "/crossing_id"),
		"/record/parties/0/trust_basis":       "self_declared",
		"/terms/terms_version":                "1",
		"/verify/checks/chain_position_valid": "true",
	} {
		if s := text(t, got, pointer); s != want {
			t.Errorf("%s is %s, want %s", pointer, s, want)
		}
	}
	var phases []string
	for i := range 6 {
		phases = append(phases, text(t, got, fmt.Sprintf("/phases/%d/phase", i)))
	}
	if want := []string{"P0", "P1", "P2", "P3", "P4", "P5"}; !slices.Equal(phases, want) {
		t.Errorf("phases %v", phases)
	}
	checkKeys(t, got)
}

// checkKeys requires a public key for the kid of each mandate and of each statement, six
// different ones, and no private part.
func checkKeys(t *testing.T, got map[string]any) {
	t.Helper()
	list, _ := at(got, "/jwks/keys")
	kids := map[string]bool{}
	for i := range list.([]any) {
		kids[text(t, got, fmt.Sprintf("/jwks/keys/%d/kid", i))] = true
		if _, ok := at(got, fmt.Sprintf("/jwks/keys/%d/d", i)); ok {
			t.Error("the JWK Set holds a private key")
		}
	}
	if len(kids) != 6 {
		t.Errorf("%d keys, want those of RA, VA, two principals and two agents", len(kids))
	}
	for _, pointer := range []string{"/initiator/open_mandate", "/initiator/closed_mandate", "/responder/open_mandate", "/responder/closed_mandate", "/verify/projection_jws"} {
		if kid := headerOf(t, text(t, got, pointer))["kid"]; !kids[kid] {
			t.Errorf("no key has the kid of %s", pointer)
		}
	}
}

// TestDemoRecomputed has other languages compute joint seal, agreement, chain and
// anchors from the printed result alone.
//
// covers GC-126, GC-130, GC-212, GC-241, GC-244, GC-245
func TestDemoRecomputed(t *testing.T) {
	t.Parallel()
	raw, got := demoJSON(t)
	ran := 0
	for _, second := range [][2]string{{"python3", "recompute.py"}, {"node", "recompute.js"}} {
		program, err := exec.LookPath(second[0])
		if err != nil {
			continue
		}
		ran++
		cmd := exec.Command(program, filepath.Join("testdata", second[1]))
		cmd.Stdin = bytes.NewReader(raw)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", second[1], err)
		}
		var computed map[string]string
		if err := json.Unmarshal(out, &computed); err != nil {
			t.Fatal(err)
		}
		printed := map[string]string{
			"joint_seal":       text(t, got, "/joint_seal"),
			"agreement_hash":   text(t, got, "/record/agreement_hash"),
			"chain_id":         text(t, got, "/initiator/chain_id"),
			"initiator_anchor": text(t, got, "/initiator/anchor"),
			"initiator_closed": text(t, got, "/record/parties/0/closed_mandate_hash"),
			"initiator_open":   text(t, got, "/record/parties/0/open_mandate_hash"),
			"responder_anchor": text(t, got, "/responder/anchor"),
			"responder_closed": text(t, got, "/record/parties/1/closed_mandate_hash"),
			"responder_open":   text(t, got, "/record/parties/1/open_mandate_hash"),
		}
		if diff := cmp.Diff(computed, printed); diff != "" {
			t.Errorf("%s computes (-) and demo prints (+):\n%s", second[0], diff)
		}
	}
	if ran == 0 {
		notRun(t, "neither python3 nor node is here")
	}
}

// notRun says that a test had to be left out; where everything must run, that fails.
func notRun(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("BINDERY_TEST_ALL") == "1" {
		t.Fatal("not run: " + why)
	}
	t.Skip("not run: " + why)
}

// TestDemoInterrupted interrupts a demo at moments from its start to its end. It ends
// soon, and takes its children and its temporary directory with it.
func TestDemoInterrupted(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		notRun(t, "the list of processes is read from /proc")
	}
	moments := []time.Duration{0, 30, 60, 90, 120, 150, 200, 300, 500}
	if testing.Short() {
		moments = []time.Duration{40, 120}
	}
	for i, ms := range moments {
		tmp := t.TempDir()
		cmd := exec.Command("bindery", "demo", "--once")
		cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(ms * time.Millisecond)
		signal := []os.Signal{os.Interrupt, syscall.SIGTERM}[i%2]
		_ = cmd.Process.Signal(signal) // it may have ended already
		began := time.Now()
		err := cmd.Wait()
		if d := time.Since(began); d > 30*time.Second {
			t.Errorf("after %d ms it takes %v to end", ms, d)
		}
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() != 3 && exit.ExitCode() != -1 {
			t.Errorf("after %d ms: %v\n%s", ms, err, said.String())
		}
		if left := naming(tmp); left != "" {
			t.Errorf("after %d ms these stay: %s", ms, left)
		}
		if exit != nil && exit.ExitCode() == -1 {
			continue // before the handler of signals was there
		}
		if entries, err := os.ReadDir(tmp); err != nil || len(entries) > 0 {
			t.Errorf("after %d ms the temporary directory stays: %v %v", ms, entries, err)
		}
	}
}

func names(t *testing.T, v any, pointer string) []string {
	t.Helper()
	in, ok := at(v, pointer)
	object, is := in.(map[string]any)
	if !ok || !is {
		t.Fatalf("%q is no object", pointer)
	}
	var list []string
	for name := range object {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// text is a string member's text, or another's JSON.
func text(t *testing.T, v any, pointer string) string {
	t.Helper()
	got, ok := at(v, pointer)
	if !ok {
		t.Fatalf("%s is not there", pointer)
	}
	if s, is := got.(string); is {
		return s
	}
	b, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func headerOf(t *testing.T, token string) map[string]string {
	t.Helper()
	head, _, _ := strings.Cut(token, ".")
	var h map[string]string
	b, err := base64.RawURLEncoding.DecodeString(head)
	if err == nil {
		err = json.Unmarshal(b, &h)
	}
	if err != nil {
		t.Fatal(err)
	}
	return h
}
