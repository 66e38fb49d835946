//go:build !race

package mandate_test

const underRace = false
