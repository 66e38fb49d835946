package wiretest

import "github.com/bindery/bindery/internal/store/storetest"

// Faults makes the store of the World's RA a faulty one; where the World has one RA of its
// own, that is the store of all its roles.
func (w *World) Faults() *storetest.Faults { return storetest.NewFaults(w.RA.store) }
