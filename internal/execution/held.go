package execution

import "context"

// ReleaseHeld lets the next repeat of a held call be dispatched (design X6): the row becomes
// reserved, and nobody's. It reports whether the execution was held.
func (r *Registry) ReleaseHeld(ctx context.Context, key Key) (was bool, err error) {
	return r.decide(ctx, key, Deciding{Release: true, At: r.now()})
}

// RefuseHeld ends a held execution as refused, for a reason. It reports whether the execution
// was held.
func (r *Registry) RefuseHeld(ctx context.Context, key Key, reason string) (was bool, err error) {
	return r.decide(ctx, key, Deciding{Reason: reason, At: r.now()})
}

func (r *Registry) decide(ctx context.Context, key Key, e Deciding) (bool, error) {
	d, err := r.ask(ctx, Turn{Key: key, Event: e, At: e.At})
	return d.Verdict == Decided, err
}
