package commitment_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bindery/bindery/commitment"
)

// covers GC-364
func TestBuiltin(t *testing.T) {
	p := commitment.Builtin()
	if got, want := p.Acts(), []string{"engagement_code_issuance", "proposal_within_tariff"}; !slices.Equal(got, want) {
		t.Errorf("Acts() = %q", got)
	}
	if c, ok := p.Floor("engagement_code_issuance"); !ok || c != commitment.Irreversible {
		t.Errorf("floor of engagement_code_issuance = %v, %t", c, ok)
	}
	if c, ok := p.Floor("proposal_within_tariff"); !ok || c != commitment.Reversible {
		t.Errorf("floor of proposal_within_tariff = %v, %t", c, ok)
	}
	for _, act := range p.Acts() {
		if got := p.Path(act); got != "crossing:seal" {
			t.Errorf("Path(%s) = %q", act, got)
		}
	}
	// hashlib.sha256 over the two lines "act floor\n".
	if got, want := p.Digest(), "51d8006bdef5ecb393b87139a2a25bfce312a6d45430f2de54196cdd05be5338"; got != want {
		t.Errorf("Digest() = %s, want %s", got, want)
	}
}

// covers GC-180
func TestUnknownAct(t *testing.T) {
	for _, p := range []commitment.Profile{commitment.Builtin(), {}} {
		for _, act := range []string{"", "wire_transfer", "Proposal_within_tariff", "proposal_within_tariff "} {
			if c, ok := p.Floor(act); ok || c != 0 {
				t.Errorf("Floor(%q) = %v, %t", act, c, ok)
			}
			if got := p.Path(act); got != "" {
				t.Errorf("Path(%q) = %q", act, got)
			}
		}
	}
}

func TestParseProfile(t *testing.T) {
	src := "# a comment\n\n z financial pay.Ledger:book # more\r\n\tb_2\treversible\na binding"
	p, err := commitment.ParseProfile([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	// hashlib.sha256(b"a binding\nb_2 reversible\nz financial\n")
	if got, want := p.Digest(), "a060f297c371a40aeec02c6e466adfa662531a3001b7d587307a71fed9e006b0"; got != want {
		t.Errorf("Digest() = %s, want %s", got, want)
	}
	if got := p.Path("z"); got != "pay.Ledger:book" {
		t.Errorf("Path(z) = %q", got)
	}
	if got := p.Path("a"); got != "" {
		t.Errorf("Path(a) = %q", got)
	}
	if c, ok := p.Floor("b_2"); !ok || c != commitment.Reversible {
		t.Errorf("Floor(b_2) = %v, %t", c, ok)
	}
	acts := p.Acts()
	if want := []string{"a", "b_2", "z"}; !slices.Equal(acts, want) {
		t.Errorf("Acts() = %q", acts)
	}
	acts[0] = "changed"
	if p.Acts()[0] != "a" {
		t.Error("Acts hands out the profile's own slice")
	}
}

func TestParseProfileRefuses(t *testing.T) {
	many := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "act_%d binding\n", i)
		}
		return b.String()
	}
	if _, err := commitment.ParseProfile([]byte(many(1000))); err != nil {
		t.Errorf("1000 acts: %v", err)
	}
	if _, err := commitment.ParseProfile([]byte(strings.Repeat("a", 64) + " binding " + strings.Repeat("p", 128))); err != nil {
		t.Errorf("longest act and path: %v", err)
	}
	full := "a binding\n#" + strings.Repeat("x", 64<<10-11)
	if _, err := commitment.ParseProfile([]byte(full)); err != nil {
		t.Errorf("64 KiB: %v", err)
	}
	tests := []struct{ name, src, want string }{
		{"empty", "", "without acts"},
		{"comments only", "# a binding\n", "without acts"},
		{"observe", "a observe", "line 1: floor"},
		{"unknown floor", "a finance", "line 1: floor"},
		{"upper-case floor", "a Binding", "line 1: floor"},
		{"no floor", "a binding\nb", "line 2: not act"},
		{"four fields", "a binding p q", "line 1: not act"},
		{"twice", "a binding\nb binding\na financial", "line 3: act listed twice"},
		{"twice alike", "a binding\na binding", "line 2: act listed twice"},
		{"upper-case act", "A binding", "line 1: act is not"},
		{"act with dash", "a-b binding", "line 1: act is not"},
		{"act with colon", "a:b binding", "line 1: act is not"},
		{"non-ASCII act", "ä binding", "line 1: act is not"},
		{"invalid UTF-8", "a\xff binding", "line 1: act is not"},
		{"NUL", "a\x00 binding", "line 1: act is not"},
		{"byte order mark", "\ufeffa binding", "line 1: act is not"},
		{"act of 65", strings.Repeat("a", 65) + " binding", "line 1: act is not"},
		{"path with quote", `a binding "p"`, "line 1: path"},
		{"path of 129", "a binding " + strings.Repeat("p", 129), "line 1: path"},
		{"1001 acts", many(1001), "line 1001: more than 1000"},
		{"64 KiB and one", full + "x", "larger than 64 KiB"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := commitment.ParseProfile([]byte(tt.src))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want %q", err, tt.want)
			}
			if len(p.Acts()) != 0 {
				t.Errorf("acts of a refused profile: %q", p.Acts())
			}
		})
	}
}

func FuzzParseProfile(f *testing.F) {
	f.Add([]byte("a binding\nb reversible p # c\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		p, err := commitment.ParseProfile(src)
		if err != nil {
			return
		}
		var again strings.Builder
		for _, act := range p.Acts() {
			floor, ok := p.Floor(act)
			if !ok || !floor.Permits(commitment.Reversible) {
				t.Fatalf("floor of %q = %v, %t", act, floor, ok)
			}
			fmt.Fprintln(&again, act, floor, p.Path(act))
		}
		q, err := commitment.ParseProfile([]byte(again.String()))
		if err != nil || q.Digest() != p.Digest() {
			t.Fatalf("printed profile: %v", err)
		}
	})
}
