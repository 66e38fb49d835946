package centre

import (
	"context"
	"errors"

	"github.com/bindery/bindery/mandate"
)

// errResolved is what a resolver is not believed for.
var errResolved = errors.New("centre: the resolver answered with no record of this principal")

// resolved asks a resolver and takes nothing but a record of the principal that was asked
// for: what does not resolve is refused, in whatever way it does not (GC-304). Nothing is
// kept: each check asks again, so that a record is never used for longer than it lives.
func resolved(ctx context.Context, r Resolver, principalID string) (*mandate.Principal, error) {
	p, err := r.Principal(ctx, principalID)
	if err != nil {
		return nil, err
	}
	if p == nil || p.ID != principalID {
		return nil, errResolved
	}
	return p, nil
}
