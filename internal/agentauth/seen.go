package agentauth

import (
	"crypto/sha256"
	"sync"
)

// maxSeen is how many tokens each half of a seen holds.
const maxSeen = 1024

// seen remembers under which key a token's signature has verified, so that a token that comes
// with every request costs one verification. It says nothing of the claims, which are
// judged each time; and a key that was got anew is another key.
type seen struct {
	mu         sync.Mutex
	young, old map[[32]byte]*issuerKey
}

// has reports whether these very bytes have verified under this very key.
func (s *seen) has(token string, k *issuerKey) bool {
	sum := sha256.Sum256([]byte(token))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.young[sum] == k {
		return true
	}
	if s.old[sum] == k {
		s.put(sum, k)
		return true
	}
	return false
}

// add remembers a token that has verified.
func (s *seen) add(token string, k *issuerKey) {
	sum := sha256.Sum256([]byte(token))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(sum, k)
}

func (s *seen) put(sum [32]byte, k *issuerKey) {
	if s.young == nil || len(s.young) >= maxSeen {
		s.young, s.old = map[[32]byte]*issuerKey{}, s.young
	}
	s.young[sum] = k
}
