package cli_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bindery/bindery/internal/cli"
)

// Two exports of one party, with different counterparties. Ids, seals and anchors were
// computed with hashlib of Python 3 from the formulas of §4.4 and §4.4.2; the seals are
// the SHA-256 of "ours:0" … "ours:3" and of "foreign:0" … "foreign:2".
const (
	oursID    = "cba34882b0bc1370fa0915d7b5c5b473931ca8ea8b5c8e8d01b3e03062fe2dc5"
	foreignID = "519dd52c31d67c2629d9bbea88f576951346c1314196b0db764f3f50c588522e"
	oursHead  = "e81290ec4d2c75f57f0a5938831bd66337397be7d67533af62ddea37f06f78bc"
)

// exported makes an export of joint seals and anchors, in turns.
func exported(id string, hashes ...string) map[string]any {
	links := []any{}
	var prev any
	for pair := range slices.Chunk(hashes, 2) {
		links = append(links, map[string]any{
			"chain_seq": len(links), "prev_hash": prev, "joint_seal": pair[0], "anchor": pair[1],
			"crossing_id": "0b9f5bd2-7a3e-4c55-9d0e-3f1f0a3a6c1" + strconv.Itoa(len(links)),
		})
		prev = pair[1]
	}
	return map[string]any{"type": "bindery-chain-v1", "party": "urn:anax:agent:a-7f3c", "chain_id": id, "links": links}
}

func ours() map[string]any {
	return exported(oursID,
		"4ef8f76850ae3d4e87b51383efb2d718d9b6b79dd455c65998cda000f475e624", "88b0f2ce13db2f34fa44f7a4a32ffb26a2866788970c3820f43354f82160bcee",
		"5a7642dc60ebbe4569a29f560fec9da2155926e797533049b9cea48de75a2b2d", "5ab0ab7438ebe62f949eb426abbef9ce133ea1286b8cc3a3f2ad68477583de7b",
		"ef9052da833ae01cc3f0acd37527ced653eb6658610ffcc3f831e2c1003d51a3", "ddf553243323d108b99627296738275dd72c33f2032b152ae9e2fc03d740cc53",
		"47ae790caa7d82a4765db2996d85f33ef0118b79c5b1f63ecf5f73f06b0395cf", oursHead,
	)
}

func foreign() map[string]any {
	return exported(foreignID,
		"bdd6872da1336693628a5b86c13e05402dc1e7b3e4f8ead81d8f21b2aedacc8f", "4abc8f231677aa65b350749625b885c1796bc8549699cbc12c8edc5b75976714",
		"561c2903cdb13d17930fc2667fae69bf6a12ee04dfc005c81ee2cc3a17a65aaa", "70174987f548647c5b57e0d62283824d45a7a0bc6752a2faa9fabe01aeb9f926",
		"52a8b08113fbdb151edde6f0f4428e3b6928750e2632a47aecf215cd2097d8c1", "0525b3ec7924ec6ecebe7bebc1803be6c0d6bb8fc2a0cea5d8f824f28b0afa4e",
	)
}

// verifyChain runs the command on an export given on standard input.
func verifyChain(t *testing.T, export any, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	b, err := json.Marshal(export)
	if err != nil {
		t.Fatal(err)
	}
	var out, errOut bytes.Buffer
	code = cli.Main(append([]string{"chain", "verify", "-"}, args...), bytes.NewReader(b), &out, &errOut)
	return code, out.String(), errOut.String()
}

// TestChainVerify takes an export and has it changed in every way that a walk can see.
//
// covers GC-255, GC-338
func TestChainVerify(t *testing.T) {
	for _, whole := range []map[string]any{ours(), foreign(), exported(oursID)} {
		if code, out, errOut := verifyChain(t, whole); code != 0 || !strings.HasPrefix(out, "internally consistent: ") {
			t.Errorf("a whole chain: %d, %q, %q", code, out, errOut)
		}
	}
	link := func(e map[string]any, i int) map[string]any { return e["links"].([]any)[i].(map[string]any) }
	set := func(i int, name string, v any) func([]any) []any {
		return func(l []any) []any {
			l[i].(map[string]any)[name] = v
			return l
		}
	}
	for _, c := range []struct {
		name  string
		bend  func(links []any) []any
		index string
		rule  string
	}{
		{"the first is removed", func(l []any) []any { return l[1:] }, "/links/0", "sequence"},
		{"one is removed", func(l []any) []any { return slices.Delete(l, 1, 2) }, "/links/1", "sequence"},
		{"one is removed, the rest renumbered", func(l []any) []any {
			l = slices.Delete(l, 1, 2)
			l[1].(map[string]any)["chain_seq"], l[2].(map[string]any)["chain_seq"] = 1, 2
			return l
		}, "/links/1", "previous"},
		{"one is doubled", func(l []any) []any { return slices.Insert(l, 2, l[1]) }, "/links/2", "sequence"},
		{"two are swapped", func(l []any) []any { l[1], l[2] = l[2], l[1]; return l }, "/links/1", "sequence"},
		{"all are turned round", func(l []any) []any { slices.Reverse(l); return l }, "/links/0", "sequence"},
		{"two are swapped, with their numbers", func(l []any) []any {
			l[1], l[2] = l[2], l[1]
			l[1].(map[string]any)["chain_seq"], l[2].(map[string]any)["chain_seq"] = 1, 2
			return l
		}, "/links/1", "previous"},
		{"a foreign link in another's place", func(l []any) []any { l[2] = link(foreign(), 2); return l }, "/links/2", "previous"},
		{"a foreign first link", func(l []any) []any { l[0] = link(foreign(), 0); return l }, "/links/1", "previous"},
		{"a foreign link at the end", func(l []any) []any { return append(l, link(foreign(), 2)) }, "/links/4", "sequence"},
		{"a second genesis", set(2, "prev_hash", nil), "/links/2", "position"},
		{"a genesis with a predecessor", set(0, "prev_hash", oursHead), "/links/0", "position"},
		{"a seal in capitals", set(3, "joint_seal", strings.ToUpper("47ae790caa7d82a4765db2996d85f33ef0118b79c5b1f63ecf5f73f06b0395cf")), "/links/3", "seal"},
		{"a negative number", set(0, "chain_seq", -1), "/links/0", "position"},
	} {
		bent := ours()
		bent["links"] = c.bend(bent["links"].([]any))
		requireBroken(t, c.name, bent, c.index, c.rule)
	}
	for i := range 4 {
		for _, name := range []string{"joint_seal", "anchor", "prev_hash"} {
			if i == 0 && name == "prev_hash" {
				continue
			}
			flipEach(t, i, name)
		}
	}
}

// flipEach flips one bit of every digit of one hash, each in an export of its own.
func flipEach(t *testing.T, i int, name string) {
	t.Helper()
	rule := map[string]string{"joint_seal": "anchor", "anchor": "anchor", "prev_hash": "previous"}[name]
	for at := range 64 {
		bent := ours()
		l := bent["links"].([]any)[i].(map[string]any)
		digits := []byte(l[name].(string))
		digit, err := strconv.ParseUint(string(digits[at]), 16, 4)
		if err != nil {
			t.Fatal(err)
		}
		digits[at] = "0123456789abcdef"[digit^(1<<(at%4))]
		l[name] = string(digits)
		requireBroken(t, name+" "+strconv.Itoa(at), bent, "/links/"+strconv.Itoa(i), rule)
	}
}

func requireBroken(t *testing.T, name string, export any, member, rule string) {
	t.Helper()
	code, out, errOut := verifyChain(t, export, "--json")
	var got map[string]map[string]string
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 1 {
		t.Errorf("%s: exit code %d, %q", name, code, out)
		return
	}
	if e := got["error"]; e["member"] != member || e["failure_path"] != "§4.4.2 "+rule {
		t.Errorf("%s: %v, want %s at %s", name, e, rule, member)
	}
	if words := "link " + strings.TrimPrefix(member, "/links/") + " does not hold: " + rule; !strings.Contains(errOut, words) {
		t.Errorf("%s: stderr says %q", name, errOut)
	}
}

// TestChainHead: what is missing at the end shows against an anchor that is known, and
// so does a chain that was computed anew.
//
// covers GC-338
func TestChainHead(t *testing.T) {
	cut := ours()
	cut["links"] = cut["links"].([]any)[:3]
	if code, _, errOut := verifyChain(t, cut); code != 0 {
		t.Errorf("without a known anchor a cut chain cannot be told: %d, %s", code, errOut)
	}
	for name, export := range map[string]any{"cut": cut, "empty": exported(oursID), "another pair's": foreign()} {
		code, out, errOut := verifyChain(t, export, "--head", oursHead)
		if code != 1 || out != "" || !strings.Contains(errOut, "the anchor that you know is not in this chain") {
			t.Errorf("%s: %d, %q, %q", name, code, out, errOut)
		}
	}
	if _, out, _ := verifyChain(t, cut, "--head", oursHead, "--json"); !strings.Contains(out, `"failure_path":"§4.4.2 head"`) {
		t.Errorf("as JSON: %s", out)
	}
	grown := ours()
	for _, known := range []string{oursHead, "88b0f2ce13db2f34fa44f7a4a32ffb26a2866788970c3820f43354f82160bcee"} {
		code, out, errOut := verifyChain(t, grown, "--head", known)
		if code != 0 || !strings.Contains(out, "4 links, head "+oursHead) {
			t.Errorf("a chain that has grown past %s: %d, %q, %q", known, code, out, errOut)
		}
	}
	for _, wrong := range []string{"nonsense", strings.ToUpper(oursHead), oursHead[:63]} {
		if code, _, errOut := verifyChain(t, ours(), "--head", wrong); code != 2 || strings.Count(errOut, "\n") != 1 {
			t.Errorf("--head %s: %d, %q", wrong, code, errOut)
		}
	}
}

// TestChainWording: a walk is never called a verification without saying of what.
//
// covers GC-333, GC-334
func TestChainWording(t *testing.T) {
	_, out, _ := verifyChain(t, ours())
	if !strings.HasSuffix(out, "\nNot checked against the authority: this is integrity, not currency.\n") {
		t.Errorf("the result does not end with what it is worth: %q", out)
	}
	_, structured, _ := verifyChain(t, ours(), "--json")
	var got map[string]any
	if err := json.Unmarshal([]byte(structured), &got); err != nil {
		t.Fatal(err)
	}
	if got["integrity"] != true || got["head"] != oursHead || got["links"] != 4.0 || got["chain_id"] != oursID || len(got) != 4 {
		t.Errorf("as JSON: %s", structured)
	}
	if lower := strings.ToLower(out + structured); strings.Contains(lower, "verif") || strings.Contains(lower, "valid") {
		t.Errorf("it is called more than it is: %q %q", out, structured)
	}
}

// TestChainNoExport: what is no export is a wrong file, told in one line.
func TestChainNoExport(t *testing.T) {
	with := func(name string, v any) map[string]any {
		e := ours()
		e[name] = v
		return e
	}
	inLink := func(name string, v any) map[string]any {
		e := ours()
		e["links"].([]any)[1].(map[string]any)[name] = v
		return e
	}
	for name, export := range map[string]any{
		"a list": []any{}, "nothing in it": map[string]any{}, "another type": with("type", "bindery-chain-v2"),
		"a chain id in capitals": with("chain_id", strings.ToUpper(oursID)), "links that are none": with("links", "all of them"),
		"no party": with("party", nil), "something more": with("note", "see above"), "a number as text": inLink("chain_seq", "1"),
		"a fraction": inLink("chain_seq", 1.5), "a seal that is none": inLink("joint_seal", 7), "a link with more": inLink("amount", 7),
		"a link that is none": with("links", []any{nil}),
	} {
		code, out, errOut := verifyChain(t, export)
		if code != 2 || out != "" || strings.Count(errOut, "\n") != 1 || !strings.Contains(errOut, "bindery chain export") {
			t.Errorf("%s: %d, %q, %q", name, code, out, errOut)
		}
	}
}
