package centre

import "context"

// A Depth is how much of a party's work is where.
type Depth struct {
	Crossings []StateCount // each role and state once, none of 0; a responder's published seal is committed
	Waiting   int64        // publications that the authority has not acknowledged
	Attempts  int64        // open: the RA's word, or the seal transaction, is awaited
}

// A StateCount is how many crossings of a role are in a state.
type StateCount struct {
	Role, State string
	N           int64
}

// Depths counts, for metrics.
type Depths interface {
	// Depth counts over the last commit. It looks at no row's contents.
	Depth(ctx context.Context) (Depth, error)
}
