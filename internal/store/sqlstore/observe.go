package sqlstore

// An Observer is told what a DB does, for metrics. Its methods must return at once and may
// be called concurrently.
type Observer interface {
	// Batch is called when the writer takes up a batch of requests; what it returns, once the
	// batch is committed or has failed.
	Batch(size int) (end func(err error))
	// Changed is called after the commit that made the change durable, once.
	Changed(c Change)
}

// A Change is one state change of a role. All but Units are words of this program.
type Change struct {
	Of string // "ra" or "centre"
	// Operation is the RA's as in its audit row, or Burned; "seal", "anchor" or "refuse" of a
	// centre.
	Operation string
	// Outcome is the RA's as in its audit row; of Burned, what had taken the units: BurnedHold
	// or BurnedReport; of "refuse" the name of the refusal.
	Outcome string
	Units   int64 // burned
}

// Burned are units that an attempt has taken which failed downstream (§4.1.3, GC-199).
const (
	Burned       = "burned"
	BurnedHold   = "hold"   // a hold whose confirm is refused for good
	BurnedReport = "report" // a consumption that its effector reports as lost
)

// Observe has o told of whatever comes after.
func (db *DB) Observe(o Observer) { db.observer.Store(&o) }

// batch tells the observer of a batch.
func (db *DB) batch(size int) (end func(error)) {
	if o := db.observer.Load(); o != nil {
		return (*o).Batch(size)
	}
	return func(error) {}
}

// tell tells the observer what a commit has made durable.
func (db *DB) tell(changes []Change) {
	o := db.observer.Load()
	if o == nil {
		return
	}
	for _, c := range changes {
		(*o).Changed(c)
	}
}

// note keeps a change for the commit that makes it durable.
func (t *tx) note(c Change) { t.changes = append(t.changes, c) }

// forget drops what a request has noted that is undone, and what it has remembered of the
// audit logs.
func (t *tx) forget(noted int) { t.changes, t.tip, t.logTip = t.changes[:noted], nil, nil }
