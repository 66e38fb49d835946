package execution

import "time"

// A Status is how a Registry stands at a moment, for whoever watches it.
type Status struct {
	Active    bool          // calls are admitted
	Heartbeat time.Duration // since the last heartbeat that arrived; 0 before the first epoch
	UnderWay  int64         // attempts that are not settled
	Waiting   int           // entries of the log that are not written yet
	Unstored  int           // outcomes that the store has not taken yet
}

// Status returns how the Registry stands now. It asks no store.
func (r *Registry) Status() Status {
	s := Status{UnderWay: r.out.Load(), Unstored: r.debts.count()}
	s.Active, _ = r.Active()
	if l := r.life.Load(); l != nil {
		s.Heartbeat = r.now().Sub(l.beat)
	}
	r.notes.mu.Lock()
	defer r.notes.mu.Unlock()
	s.Waiting = len(r.notes.list)
	return s
}
