package chain

import (
	"strconv"

	"github.com/bindery/bindery/jcs"
)

// Link is one sealed crossing in an exported chain.
type Link struct {
	Position
	JointSeal  jcs.Hex256
	Anchor     jcs.Hex256
	CrossingID string // for the reader; no anchor commits to it
}

// LinkError says at which link a chain breaks.
type LinkError struct {
	Index int    // into the links
	Rule  string // "position", "sequence", "previous", "seal" or "anchor"
}

// Error returns, for example, "chain: link 3: previous".
func (e *LinkError) Error() string {
	return "chain: link " + strconv.Itoa(e.Index) + ": " + e.Rule
}

// Verify walks a whole chain, from its genesis on, and returns a *[LinkError] for the first link
// that does not hold (GC-255, GC-338). In this order it asks of each link
//
//   - "position": that its position is possible ([Position.Validate])
//   - "sequence": that its number is its index, so that none is missing, doubled or out of place
//   - "previous": that its prev_hash is the anchor of the link before it
//   - "seal": that its joint seal is 64 lower-case hexadecimal digits
//   - "anchor": that its anchor is the one computed from seal and position
//
// No links are a chain with nothing in it, and pass. Links cut off at the end leave no trace in
// those that remain: whoever needs to know the length compares the last anchor with one received
// elsewhere. Verify says nothing about what a seal means.
func Verify(links []Link) error {
	next := Genesis()
	for i, l := range links {
		if rule := l.fault(next); rule != "" {
			return &LinkError{i, rule}
		}
		next = Position{Prev: l.Anchor, Seq: l.Seq + 1}
	}
	return nil
}

// fault names the rule that l breaks as the link at position want.
func (l Link) fault(want Position) string {
	switch {
	case l.Position.Validate() != nil:
		return "position"
	case l.Seq != want.Seq:
		return "sequence"
	case l.Prev != want.Prev:
		return "previous"
	case !isHash(l.JointSeal):
		return "seal"
	case l.Anchor != l.Position.Anchor(l.JointSeal):
		return "anchor"
	}
	return ""
}
