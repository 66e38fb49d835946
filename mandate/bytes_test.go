package mandate_test

import (
	"fmt"
	"iter"
	"os"
	"testing"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/mandate"
)

const (
	// At every position this is 72 substitutes, and the character that is there already.
	substitutes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~=+/ \n\r\t"
	insertions  = " \n\r\t=A"

	shares = 8 // parallel subtests for each token
)

// TestEveryCharacter puts every other character at every position of an Open and of a
// Closed, one more character before every position and at the end, and takes each
// character out. No result verifies: but for the twin with n−s, which is many characters
// away, one signed mandate has one accepted spelling, so its hash names it.
//
// Under the race detector every seventh variant is tried, which still comes to each
// position, unless BINDERY_SOAK is set.
//
// covers GC-141, GC-142
func TestEveryCharacter(t *testing.T) {
	step := 1
	if underRace && os.Getenv("BINDERY_SOAK") == "" {
		step = 7
		t.Log("sampled: every 7th variant, because of the race detector; BINDERY_SOAK=1 or a run without -race tries all")
	}
	keys := nodeKeys(t)
	open := mustOpen(t, nodeOpen, keys)
	for _, c := range []struct {
		name, token string
		verify      func(string) error
	}{
		{"open", nodeOpen + nodeDisclosure + "~", func(token string) error {
			p, err := mandate.ParseOpen(token)
			if err == nil {
				_, err = p.Verify(keys)
			}
			return err
		}},
		{"closed", nodeClosed, func(token string) error {
			p, err := mandate.ParseClosed(token)
			if err == nil {
				_, err = p.Verify(jose.KeySet{}, open)
			}
			return err
		}},
	} {
		if err := c.verify(c.token); err != nil {
			t.Fatalf("the %s itself: %v", c.name, err)
		}
		for share := range shares {
			t.Run(fmt.Sprintf("%s/%d", c.name, share), func(t *testing.T) {
				t.Parallel()
				all, tried := 0, 0
				for i := share; i <= len(c.token); i += shares {
					for k, variant := range variantsAt(c.token, i) {
						all++
						if (i+k)%step != 0 {
							continue
						}
						tried++
						if c.verify(variant) == nil {
							t.Errorf("accepted: %q", variant)
						}
					}
				}
				positions := (len(c.token)-share-1)/shares + 1
				if least := positions * (len(substitutes) - 1 + len(insertions) + 1); all < least || tried < least/step {
					t.Errorf("%d of %d variants, want at least %d", tried, all, least)
				}
				t.Logf("%d of %d variants at %d positions", tried, all, positions)
			})
		}
	}
}

// variantsAt yields the token with byte i replaced, with a byte put in before it, and with
// byte i taken out.
func variantsAt(token string, i int) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		k := 0
		for _, c := range []byte(substitutes) {
			if i == len(token) || c == token[i] {
				continue
			}
			if !yield(k, token[:i]+string(c)+token[i+1:]) {
				return
			}
			k++
		}
		for _, c := range []byte(insertions) {
			if !yield(k, token[:i]+string(c)+token[i:]) {
				return
			}
			k++
		}
		if i < len(token) {
			yield(k, token[:i]+token[i+1:])
		}
	}
}
