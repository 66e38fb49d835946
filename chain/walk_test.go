package chain_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/bindery/bindery/chain"
	"github.com/bindery/bindery/jcs"
)

// fixture is a chain of four, computed with hashlib of Python 3; seal i is SHA-256 of "seal i".
func fixture() []chain.Link {
	rows := [][2]jcs.Hex256{
		{"ca86737c09d6c05db01209d30b116b9da1e1b29d3f93cec5e8781808db3be7ac", "c5b70a757e38f1f784a5a6f946161189301511b68cdf1eb477a48e22706ad895"},
		{"a1964fb8d978a180f83720469ae975975b80a789b026fc35151cff6fe47520f9", "1869cc7ae87b987e537df91cc49e72bf8dc2871433de60f5bba5a13e2dc92c5a"},
		{"387406a22c0fd57c6354ac516660722dca5fca5e963e10aebc84ef219eec2722", "00a0d6e700ad98ef98ece69016cbb4a2f0eb4c8523ffec1aa442e5709d4ec752"},
		{"db38ebafe8e34ffb7d9fd1ae19a4c7445008f0e75bb45da565ba2f5276445f2e", "5b90cc21d13f24ebf8b4c9c56dd0d77d18c7de663d83ea74b6563ae738bc5768"},
	}
	var links []chain.Link
	var prev jcs.Hex256
	for i, row := range rows {
		links = append(links, chain.Link{
			Position:  chain.Position{Prev: prev, Seq: int64(i)},
			JointSeal: row[0], Anchor: row[1], CrossingID: "crossing",
		})
		prev = row[1]
	}
	return links
}

// grow continues a chain by one link.
func grow(links []chain.Link, seal jcs.Hex256) []chain.Link {
	p := chain.Genesis()
	if n := len(links); n > 0 {
		p = links[n-1].Position.Next(links[n-1].JointSeal)
	}
	return append(links, chain.Link{Position: p, JointSeal: seal, Anchor: p.Anchor(seal)})
}

// covers GC-255, GC-257, GC-258, GC-338
func TestVerify(t *testing.T) {
	for n := range 5 {
		if err := chain.Verify(fixture()[:n]); err != nil {
			t.Errorf("%d links: %v", n, err)
		}
	}
	if err := chain.Verify(nil); err != nil {
		t.Errorf("no links: %v", err)
	}
	if err := chain.Verify(grow(fixture(), vectorSeal)); err != nil {
		t.Errorf("grown chain: %v", err)
	}
	foreign := grow(grow(nil, vectorSeal), vectorPrev)
	tests := []struct {
		name  string
		links []chain.Link
		index int
		rule  string
	}{
		{"first removed", fixture()[1:], 0, "sequence"},
		{"second removed", slices.Delete(fixture(), 1, 2), 1, "sequence"},
		{"inner two swapped", swap(fixture(), 1, 2), 1, "sequence"},
		{"first two swapped", swap(fixture(), 0, 1), 0, "sequence"},
		{"last doubled", append(fixture(), fixture()[3]), 4, "sequence"},
		{"first doubled", append(fixture()[:1], fixture()...), 1, "sequence"},
		{"foreign link in place", slices.Replace(fixture(), 1, 2, foreign[1]), 1, "previous"},
		{"foreign genesis", slices.Replace(fixture(), 0, 1, foreign[0]), 1, "previous"},
		{"seal replaced", edit(1, func(l *chain.Link) { l.JointSeal = vectorSeal }), 1, "anchor"},
		{"seals swapped", edit(1, func(l *chain.Link) { l.JointSeal = fixture()[2].JointSeal }), 1, "anchor"},
		{"anchor replaced", edit(3, func(l *chain.Link) { l.Anchor = vectorSeal }), 3, "anchor"},
		{"link forged with its own anchor", edit(1, func(l *chain.Link) { l.JointSeal = vectorSeal; l.Anchor = l.Position.Anchor(vectorSeal) }), 2, "previous"},
		{"prev_hash of a link before", edit(2, func(l *chain.Link) { l.Prev = fixture()[0].Anchor }), 2, "previous"},
		{"prev_hash is the seal", edit(2, func(l *chain.Link) { l.Prev = fixture()[1].JointSeal }), 2, "previous"},
		{"prev_hash null", edit(2, func(l *chain.Link) { l.Prev = "" }), 2, "position"},
		{"prev_hash at genesis", edit(0, func(l *chain.Link) { l.Prev = vectorPrev }), 0, "position"},
		{"number negative", edit(2, func(l *chain.Link) { l.Seq = -2 }), 2, "position"},
		{"number off by one", edit(2, func(l *chain.Link) { l.Seq = 3 }), 2, "sequence"},
		{"seal no hash", edit(2, func(l *chain.Link) { l.JointSeal = "seal"; l.Anchor = l.Position.Anchor("seal") }), 2, "seal"},
		{"seal empty", edit(0, func(l *chain.Link) { l.JointSeal = ""; l.Anchor = l.Position.Anchor("") }), 0, "seal"},
		{"anchor empty", edit(0, func(l *chain.Link) { l.Anchor = "" }), 0, "anchor"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var fault *chain.LinkError
			if err := chain.Verify(tt.links); !errors.As(err, &fault) {
				t.Fatalf("Verify = %v", err)
			}
			if fault.Index != tt.index || fault.Rule != tt.rule {
				t.Errorf("Verify = %v, want %s at %d", fault, tt.rule, tt.index)
			}
		})
	}
	if got, want := (&chain.LinkError{Index: 3, Rule: "previous"}).Error(), "chain: link 3: previous"; got != want {
		t.Errorf("Error() = %q", got)
	}
}

func swap(links []chain.Link, i, j int) []chain.Link {
	links[i], links[j] = links[j], links[i]
	return links
}

func edit(i int, f func(*chain.Link)) []chain.Link {
	links := fixture()
	f(&links[i])
	return links
}

// TestVerifyFlippedBits flips each bit of each hash of a link in turn.
//
// covers GC-255, GC-338
func TestVerifyFlippedBits(t *testing.T) {
	for i := range fixture() {
		for _, field := range []func(*chain.Link) *jcs.Hex256{
			func(l *chain.Link) *jcs.Hex256 { return &l.Prev },
			func(l *chain.Link) *jcs.Hex256 { return &l.JointSeal },
			func(l *chain.Link) *jcs.Hex256 { return &l.Anchor },
		} {
			for at := range len(*field(&fixture()[i])) {
				for bit := range 8 {
					links := fixture()
					h := field(&links[i])
					b := []byte(*h)
					b[at] ^= 1 << bit
					*h = jcs.Hex256(b)
					if chain.Verify(links) == nil {
						t.Fatalf("link %d, byte %d, bit %d: flipped and accepted", i, at, bit)
					}
				}
			}
		}
		for bit := range 64 {
			links := fixture()
			links[i].Seq ^= 1 << bit
			if chain.Verify(links) == nil {
				t.Fatalf("link %d: bit %d of the number flipped and accepted", i, bit)
			}
		}
	}
}
