package actionbinding_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/bindery/bindery/actionbinding"
	"github.com/bindery/bindery/jcs"
)

// The public vectors lie beside the repository, not in it. testdata/vectors.json states the same
// facts, and more.
const (
	publicVectors = "../../shared/vectors/execution-action-binding-v1.json"
	ownVectors    = "testdata/vectors.json"
)

// A vector is one case of either file, with the verdict in the words of the own one.
type vector struct {
	Name, Expect, Algorithm string
	Domain                  string
	Version                 int
	AgentID                 string `json:"agent_id"`
	ActionType              string `json:"action_type"`
	ActionScope             string `json:"action_scope"`
	ActionTimestamp         string `json:"action_timestamp"`
	Preimage, Binding       string
}

func readOwn(t *testing.T) []vector {
	t.Helper()
	data, err := os.ReadFile(ownVectors)
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Vectors []vector }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	return file.Vectors
}

func readPublic(t *testing.T) []vector {
	t.Helper()
	data, err := os.ReadFile(publicVectors)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("not run: execution-action-binding-v1 (its file is not beside the repository)")
	}
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Vectors []struct {
			ID                           string
			Preimage                     vector
			Algorithm, Expected, Binding string
			Canonical                    string `json:"jcs_utf8"`
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	verdicts := map[string]string{
		"accept":                                "accept",
		"reject_as_v1_execution_action_binding": "not_v1",
		"reject_unsupported_algorithm":          "algorithm",
	}
	var list []vector
	for _, p := range file.Vectors {
		v := p.Preimage
		v.Name, v.Algorithm, v.Expect = p.ID[:len("EAB-001")], p.Algorithm, verdicts[p.Expected]
		v.Preimage, v.Binding = p.Canonical, p.Binding
		list = append(list, v)
	}
	return list
}

// covers EXA-036, EXA-037, EXA-038, EXA-039, EXA-040, EXA-041, EXA-001, EXA-014, EXA-003, EXA-004, EXA-031, EXA-032
func TestVectors(t *testing.T) {
	seen := checkVectors(t, readOwn(t))
	for n := 1; n <= 6; n++ {
		if name := "EAB-00" + strconv.Itoa(n); !seen[name] {
			t.Errorf("%s is missing", name)
		}
	}
	if !seen["astral"] || !seen["escapes"] || !seen["separators"] {
		t.Error("the vectors that a look-alike serialiser fails are missing")
	}
}

// covers EXA-036, EXA-037, EXA-038, EXA-039, EXA-040, EXA-041, EXA-031
func TestPublicVectors(t *testing.T) {
	if seen := checkVectors(t, readPublic(t)); len(seen) != 6 {
		t.Errorf("%d public vectors, not 6", len(seen))
	}
}

func checkVectors(t *testing.T, list []vector) (seen map[string]bool) {
	t.Helper()
	seen = map[string]bool{}
	for _, v := range list {
		seen[v.Name] = true
		switch v.Expect {
		case "accept":
			accepts(t, v)
		case "not_v1":
			notV1(t, v)
		case "algorithm":
			if _, err := actionbinding.ParseAlgorithm(v.Algorithm); !errors.Is(err, actionbinding.ErrAlgorithm) {
				t.Errorf("%s: algorithm %s: %v", v.Name, v.Algorithm, err)
			}
		default:
			t.Errorf("%s: no verdict that is known", v.Name)
		}
	}
	return seen
}

func accepts(t *testing.T, v vector) {
	t.Helper()
	a, err := actionbinding.New(v.AgentID, v.ActionType, v.ActionScope, v.ActionTimestamp)
	if err != nil {
		t.Errorf("%s: %v", v.Name, err)
		return
	}
	alg, err := actionbinding.ParseAlgorithm(v.Algorithm)
	if err != nil {
		t.Errorf("%s: %v", v.Name, err)
	}
	if got := string(a.Preimage()); got != v.Preimage {
		t.Errorf("%s: preimage\n%s, want\n%s", v.Name, got, v.Preimage)
	}
	if got := a.Bind(alg).String(); got != v.Binding {
		t.Errorf("%s: binding %s, want %s", v.Name, got, v.Binding)
	}
	stored, err := actionbinding.ParseBinding(v.Binding)
	if err != nil || stored != a.Bind(alg) || stored.Algorithm() != alg {
		t.Errorf("%s: the stored binding is another one: %v", v.Name, err)
	}
	if back, err := actionbinding.ParsePreimage([]byte(v.Preimage)); err != nil || back != a {
		t.Errorf("%s: read back: %v", v.Name, err)
	}
}

// notV1 holds both halves of EAB-003 and EAB-004 (AX-13): the digest is reproduced, and the verdict
// is a refusal.
func notV1(t *testing.T, v vector) {
	t.Helper()
	if got, err := jcs.Digest256([]byte(v.Preimage)); err != nil || string(got) != v.Binding {
		t.Errorf("%s: digest %s, %v", v.Name, got, err)
	}
	member := map[bool]string{true: "domain", false: "version"}[v.Domain != actionbinding.Domain]
	_, err := actionbinding.ParsePreimage([]byte(v.Preimage))
	wantFault(t, v.Name, err, member)
	a, err := actionbinding.New(v.AgentID, v.ActionType, v.ActionScope, v.ActionTimestamp)
	if err != nil || a.Bind(actionbinding.SHA256).String() == v.Binding {
		t.Errorf("%s: the same action has this binding in version 1: %v", v.Name, err)
	}
}

func wantFault(t *testing.T, what string, err error, member string) {
	t.Helper()
	var fault *actionbinding.Error
	if !errors.As(err, &fault) || fault.Member != member {
		t.Errorf("%s: %v, want a fault of %s", what, err, member)
	}
}

// covers EXA-006, EXA-007, EXA-008
func TestParseBinding(t *testing.T) {
	hex := strings.Repeat("0123456789abcdef", 6)
	for s, alg := range map[string]actionbinding.Algorithm{
		"sha256:" + hex[:64]: actionbinding.SHA256,
		"sha384:" + hex:      actionbinding.SHA384,
	} {
		if b, err := actionbinding.ParseBinding(s); err != nil || b.String() != s || b.Algorithm() != alg {
			t.Errorf("%s: %v, %v", s, b, err)
		}
	}
	for _, s := range []string{
		"", ":", "sha256", "sha256:", hex[:64], "sha256:" + hex[:63], "sha256:" + hex[:62] + "0x", "sha256:" + hex[:65],
		"sha384:" + hex[:64], "sha256:" + hex, "sha256:" + strings.ToUpper(hex[:64]), "sha256: " + hex[:63],
		"sha256:" + hex[:63] + "\n", " sha256:" + hex[:64], "sha256:" + hex[:64] + " ", "sha256:" + hex[:63] + "é",
	} {
		if b, err := actionbinding.ParseBinding(s); err == nil || b != (actionbinding.Binding{}) {
			t.Errorf("%q is taken for a binding", s)
		}
	}
	for _, name := range []string{"", "sha512", "md5", "SHA256", "Sha256", "sha-256", "sha256 ", "sha3-256", "sha224"} {
		if _, err := actionbinding.ParseAlgorithm(name); !errors.Is(err, actionbinding.ErrAlgorithm) {
			t.Errorf("algorithm %q: %v", name, err)
		}
		if _, err := actionbinding.ParseBinding(name + ":" + hex[:64]); !errors.Is(err, actionbinding.ErrAlgorithm) {
			t.Errorf("binding under %q: %v", name, err)
		}
	}
}

// covers EXA-009, EXA-010
func TestCompareWhole(t *testing.T) {
	a := action(t)
	short, long := a.Bind(actionbinding.SHA256), a.Bind(actionbinding.SHA384)
	if short == long {
		t.Error("two algorithms have one binding")
	}
	// The same leading digits under another name are another binding.
	other, err := actionbinding.ParseBinding("sha384:" + short.String()[len("sha256:"):] + strings.Repeat("0", 32))
	if err != nil || other == short {
		t.Errorf("the name of the algorithm is not compared: %v", err)
	}
	// What is stored is the whole of it.
	if stored, err := actionbinding.ParseBinding(long.String()); err != nil || stored != long || !strings.HasPrefix(stored.String(), "sha384:") {
		t.Errorf("stored as %s, %v", stored, err)
	}
	if again := action(t).Bind(actionbinding.SHA256); again != short {
		t.Error("one action has two bindings")
	}
	if (actionbinding.Action{}).Bind(actionbinding.SHA256) != (actionbinding.Binding{}) || len((actionbinding.Action{}).Preimage()) != 0 {
		t.Error("the zero action is bound")
	}
}

// Another digest of the same four members is no binding of version 1 (EXA-005): the domain and the
// version are in it. The digest is Python's hashlib of the four members of EAB-001 in canonical form.
//
// covers EXA-005, EXA-014, EXA-015, EXA-017, EXA-018, EXA-019
func TestDomainAndVersionAreInside(t *testing.T) {
	const fourMembers = "sha256:91548547398b392bb9a2d04e0e8064d9cf2449b89513c12f0f935b6bf4ac0a5c"
	a := action(t)
	preimage := string(a.Preimage())
	without := strings.NewReplacer(`,"domain":"cmcp.execution-action-binding"`, "", `,"version":1`, "").Replace(preimage)
	if got, err := jcs.Digest256([]byte(without)); err != nil || string(got) != fourMembers {
		t.Fatalf("the digest of the four members is %s, %v", got, err)
	}
	if a.Bind(actionbinding.SHA256).String() == fourMembers {
		t.Error("domain and version are outside the digest")
	}
	_, err := actionbinding.ParsePreimage([]byte(without))
	wantFault(t, "four members", err, "domain")
	for _, version := range []string{"2", "0", "-1", "10"} {
		later := strings.Replace(preimage, `"version":1`, `"version":`+version, 1)
		_, err := actionbinding.ParsePreimage([]byte(later))
		wantFault(t, "version "+version, err, "version")
		if got, err := jcs.Digest256([]byte(later)); err != nil || string(got) == a.Bind(actionbinding.SHA256).String() {
			t.Errorf("version %s has the binding of version 1: %v", version, err)
		}
	}
}

func action(t testing.TB) actionbinding.Action {
	t.Helper()
	a, err := actionbinding.New("spiffe://agent.example/payments/prod", "transfer", "account:merchant-7", "2026-09-10T16:30:00Z")
	if err != nil {
		t.Fatal(err)
	}
	return a
}
