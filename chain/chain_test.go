package chain_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/bindery/bindery/chain"
	"github.com/bindery/bindery/jcs"
)

// Digests in this package were computed with hashlib of Python 3 from the formulas of §4.4 and
// §4.4.2. The seal and prev_hash of the vectors are the SHA-256 of "anax-an-vector:joint_seal" and
// "anax-an-vector:prev_hash".
const (
	vectorSeal = "e2cd3bbdb71cbf699b3b554a7081c7a24e695c923437906b55fbc67aba30f270"
	vectorPrev = "293e3037ba29ad930f1b9357aaff94d41e075a06c50efa99a9c40ee3f4a44012"
)

// covers GC-241, GC-242
func TestAN1(t *testing.T) {
	if got := jcs.HexOf([]byte("anax-an-vector:joint_seal")); got != vectorSeal {
		t.Errorf("joint_seal = %s", got)
	}
	got := chain.Genesis().Anchor(vectorSeal)
	if want := jcs.Hex256("0389b62946981d1155cb6ab1b70ad99f15f3f9b66cccdbdb477976948842d85e"); got != want {
		t.Errorf("anchor = %s, want %s", got, want)
	}
}

// covers GC-241, GC-243
func TestAN2(t *testing.T) {
	if got := jcs.HexOf([]byte("anax-an-vector:prev_hash")); got != vectorPrev {
		t.Errorf("prev_hash = %s", got)
	}
	p := chain.Position{Prev: vectorPrev, Seq: 42}
	got := p.Anchor(vectorSeal)
	if want := jcs.Hex256("3d907220b49faf996328fe47102d8941929e38cf9232026349b54dcdfe53e2cd"); got != want {
		t.Errorf("anchor = %s, want %s", got, want)
	}
	if next, want := p.Next(vectorSeal), (chain.Position{Prev: got, Seq: 43}); next != want {
		t.Errorf("Next = %+v, want %+v", next, want)
	}
}

// covers GC-256
func TestID(t *testing.T) {
	tests := []struct {
		a, b string
		want jcs.Hex256
	}{
		{"urn:anax:agent:a-7f3c", "urn:anax:agent:b-19d0", "cba34882b0bc1370fa0915d7b5c5b473931ca8ea8b5c8e8d01b3e03062fe2dc5"},
		// UTF-8 bytes, not UTF-16 code units: U+FF61 is the lesser.
		{"urn:x:\uff61", "urn:x:😀", "f12f9291b9b09030c5ecd8ecaf0c2fbd8c8591b916309c2acb6c6206b531b252"},
		{"urn:anax:agent:a-7f3c", "urn:anax:agent:a-7f3c", "83d7c936dee0af66f95deef98764472291701fe3d0a062035fbed95c98d7c259"},
	}
	for _, tt := range tests {
		if got := chain.ID(tt.a, tt.b); got != tt.want {
			t.Errorf("ID(%q, %q) = %s, want %s", tt.a, tt.b, got, tt.want)
		}
		if got := chain.ID(tt.b, tt.a); got != tt.want {
			t.Errorf("ID(%q, %q) = %s, want %s", tt.b, tt.a, got, tt.want)
		}
	}
}

// covers GC-257
func TestPositionValidate(t *testing.T) {
	tests := []struct {
		name     string
		position chain.Position
		ok       bool
	}{
		{"genesis", chain.Position{}, true},
		{"second", chain.Position{Prev: vectorPrev, Seq: 1}, true},
		{"last", chain.Position{Prev: vectorPrev, Seq: 9007199254740991}, true},
		{"beyond the last", chain.Position{Prev: vectorPrev, Seq: 9007199254740992}, false},
		{"null beyond genesis", chain.Position{Seq: 1}, false},
		{"prev_hash at genesis", chain.Position{Prev: vectorPrev}, false},
		{"negative", chain.Position{Prev: vectorPrev, Seq: -1}, false},
		{"negative null", chain.Position{Seq: -1}, false},
		{"the word genesis", chain.Position{Prev: "genesis", Seq: 1}, false},
		{"upper-case prev_hash", chain.Position{Prev: jcs.Hex256(strings.ToUpper(vectorPrev)), Seq: 1}, false},
		{"short prev_hash", chain.Position{Prev: jcs.Hex256(vectorPrev)[:63], Seq: 1}, false},
		{"prefixed prev_hash", chain.Position{Prev: "sha256:" + vectorPrev, Seq: 1}, false},
	}
	for _, tt := range tests {
		err := tt.position.Validate()
		if (err == nil) != tt.ok || err != nil && !errors.Is(err, chain.ErrImpossible) {
			t.Errorf("%s: Validate() = %v", tt.name, err)
		}
		if got, want := tt.position.IsGenesis(), tt.name == "genesis"; got != want {
			t.Errorf("%s: IsGenesis() = %t", tt.name, got)
		}
	}
}
