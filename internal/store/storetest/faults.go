package storetest

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bindery/bindery/internal/registry"
)

// ErrFault is what a call gets whose commit was made to fail.
var ErrFault = errors.New("storetest: the answer to a commit was lost")

// A Fault is a way in which a commit fails. Whoever called cannot tell them apart.
type Fault int32

// The two faults of a store.
const (
	FailedAndLost Fault = iota + 1 // nothing was kept
	FailedButKept                  // all of it was kept
)

// String names the fault, for subtests.
func (f Fault) String() string {
	if f == FailedButKept {
		return "failed-but-kept"
	}
	return "failed-and-lost"
}

// Faults makes a faulty store of a store of package sqlstore: the Registry, Centre and
// Authority of its database fail with it. All writes that share a commit share its fault.
type Faults struct {
	mu    sync.Mutex // guards all
	fault Fault      // 0 for none
	skip  int        // so many commits before it
	count int
}

// NewFaults stands around the commits of a database. It lets them pass.
func NewFaults(db interface {
	Interpose(func(commit func() error) error)
}) *Faults {
	f := &Faults{}
	db.Interpose(func(commit func() error) error {
		switch f.take() {
		case FailedAndLost:
			return ErrFault
		case FailedButKept:
			return errors.Join(ErrFault, commit())
		}
		return commit()
	})
	return f
}

func (f *Faults) take() (fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fault == 0 {
		return 0
	}
	if f.skip--; f.skip >= 0 {
		return 0
	}
	fault, f.fault = f.fault, 0
	f.count++
	return fault
}

// Next makes the next commit fail.
func (f *Faults) Next(fault Fault) { f.After(0, fault) }

// After lets n commits pass and makes the one after them fail.
func (f *Faults) After(n int, fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault, f.skip = fault, n
}

// Count is how many commits have failed.
func (f *Faults) Count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count
}

// EachFault are both, for a test to range over.
func EachFault() []Fault { return []Fault{FailedAndLost, FailedButKept} }

// RegistryFaults walks every change of [RegistryOperations] with each fault: the call
// fails, the same call again succeeds, and afterwards the store holds what it holds without
// a fault, each audit row once.
func RegistryFaults(t *testing.T, newStore func(t *testing.T) (registry.Store, *Faults)) {
	operations := RegistryOperations(t)
	whole, _ := newStore(t)
	for _, op := range operations {
		if err := op.Do(whole); err != nil {
			t.Fatalf("%s %s: %v", op.Method, op.Name, err)
		}
	}
	for _, fault := range EachFault() {
		t.Run(fault.String(), func(t *testing.T) {
			t.Parallel()
			s, faults := newStore(t)
			for _, op := range operations {
				faults.Next(fault)
				if err := op.Do(s); !errors.Is(err, ErrFault) {
					t.Errorf("%s %s: %v with a failed commit", op.Method, op.Name, err)
				}
				// A code is made anew for each call, so the one that stands is nobody's; who
				// is entered without one finds its own name.
				once := op.Method == "AddCode" || op.Method == "Enrol" && op.Name != "by code"
				if err := op.Do(s); err != nil && !(once && fault == FailedButKept && errors.Is(err, registry.ErrExists)) {
					t.Errorf("%s %s again: %v", op.Method, op.Name, err)
				}
			}
			if diff := cmp.Diff(audited(t, whole), audited(t, s)); diff != "" {
				t.Errorf("audit rows, without and with faults:\n%s", diff)
			}
		})
	}
}

// audited are the changes in their order, by what they were and to what.
func audited(t *testing.T, s registry.Store) (all []string) {
	t.Helper()
	rows, err := s.AuditRows(t.Context(), 1<<40, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range slices.Backward(rows) {
		all = append(all, row.Operation+" "+row.Subject+" "+row.Outcome)
	}
	return all
}
