//go:build race

package mandate_test

// underRace says that the race detector is on, which makes each verification several
// times slower.
const underRace = true
