package chain

import (
	"errors"
	"strconv"

	"github.com/bindery/bindery/jcs"
)

// maxSeq is 2^53−1: a sequence number travels as a number of canonical JSON.
const maxSeq = 1<<53 - 1

// ErrImpossible refuses a position that no chain can have.
var ErrImpossible = errors.New("chain: impossible position")

// ID returns the chain_id of two agents: the SHA-256 of the lesser agent_id, "|" and the greater,
// in the byte order of their UTF-8 (§4.4.2-1, GC-256). The order of the arguments does not matter.
// Agent identifiers are taken as they are; that they hold no "|" is for the record's own checks.
func ID(agentA, agentB string) jcs.Hex256 {
	return jcs.HexOf([]byte(min(agentA, agentB) + "|" + max(agentA, agentB)))
}

// Position is a place in one party's chain with one counterparty: the anchor before it, and its
// number (§4.4.2-2, GC-257).
type Position struct {
	Prev jcs.Hex256 // prev_hash: the anchor at Seq−1 of the same chain; "" is null, at the genesis
	Seq  int64      // chain_seq: 0 at the genesis, then one more per sealed crossing of the pair
}

// Genesis returns the first position of every chain: null, 0.
func Genesis() Position { return Position{} }

// IsGenesis reports whether p is the first position of a chain.
func (p Position) IsGenesis() bool { return p == Position{} }

// Validate returns [ErrImpossible] for a null prev_hash beyond 0, a prev_hash at 0, a prev_hash
// that is not 64 lower-case hexadecimal digits, and a sequence number outside 0 … 2^53−1. That the
// prev_hash is the anchor it claims to be, only the chain itself can show: see [Verify].
func (p Position) Validate() error {
	if p.Seq < 0 || p.Seq > maxSeq || (p.Prev == "") != (p.Seq == 0) {
		return ErrImpossible
	}
	if p.Prev != "" && !isHash(p.Prev) {
		return ErrImpossible
	}
	return nil
}

// Anchor returns the anchor that commits a joint seal to position p: the SHA-256 of the joint
// seal, "|", prev_hash or the word genesis, "|" and chain_seq in decimal (§4.4-4b, GC-241). It
// hashes what it is given; call it on a position that Validate accepts and a well-formed seal.
func (p Position) Anchor(jointSeal jcs.Hex256) jcs.Hex256 {
	prev := string(p.Prev)
	if prev == "" {
		prev = "genesis"
	}
	return jcs.HexOf([]byte(string(jointSeal) + "|" + prev + "|" + strconv.FormatInt(p.Seq, 10)))
}

// Next returns the position after the one at which jointSeal was anchored.
func (p Position) Next(jointSeal jcs.Hex256) Position {
	return Position{Prev: p.Anchor(jointSeal), Seq: p.Seq + 1}
}

func isHash(h jcs.Hex256) bool {
	_, err := jcs.ParseHex256(string(h))
	return err == nil
}
