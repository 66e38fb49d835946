// Package storetest holds the suites that every store must pass, one for each role's Store
// interface, so that two stores that pass them cannot be told apart by the role.
//
// A suite takes a function that makes a new, empty store:
//
//	func TestRegistry(t *testing.T) {
//		storetest.Registry(t, func(t *testing.T) registry.Store { return open(t).Registry() })
//	}
//
// It looks at what the interface promises: which error, what is atomic, what a repeat
// returns, and what is left after a race. [ReadRows] reads whatever else a database holds,
// to show that a call has written nothing.
//
// Room: tests.
package storetest
