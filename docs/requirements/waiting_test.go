package requirements_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bindery/bindery/docs/requirements"
)

// TestWaiting: every row of sections 1 and 3.5 to 6 of the crossing, and every one of the execution
// register, that nobody names stands in waiting.md, and no other.
func TestWaiting(t *testing.T) {
	coverage, err := os.ReadFile("coverage.md")
	if err != nil {
		t.Fatal(err)
	}
	waiting, err := os.ReadFile("waiting.md")
	if err != nil {
		t.Fatal(err)
	}
	lists := regexp.MustCompile(`(?m)^Named by nobody: .*$`).FindAllString(string(coverage), -1)
	if len(lists) == 0 {
		t.Fatal("coverage.md names no rows that nobody names")
	}
	var unnamed []string
	for _, id := range regexp.MustCompile(`\b(GC|EXA)-\d+`).FindAllString(strings.Join(lists, "\n"), -1) {
		row, ok := requirements.Find(id)
		if !ok {
			t.Fatalf("%s is no row", id)
		}
		if strings.HasPrefix(id, "EXA-") || ofThese(row.Clause) {
			unnamed = append(unnamed, id)
		}
	}
	var listed []string
	for _, m := range regexp.MustCompile(`(?m)^\| ((?:GC|EXA)-\d+) \| \S`).FindAllStringSubmatch(string(waiting), -1) {
		listed = append(listed, m[1])
	}
	if !slices.Equal(unnamed, listed) {
		t.Errorf("nobody names %v, waiting.md lists %v", unnamed, listed)
	}
}

// ofThese reports whether a clause is of sections 1, 3.5 to 3.7, 4, 5 or 6.
func ofThese(clause string) bool {
	for _, s := range []string{"§1", "§3.5", "§3.6", "§3.7", "§4", "§5", "§6"} {
		if rest, ok := strings.CutPrefix(clause, s); ok && (rest == "" || strings.ContainsAny(rest[:1], ". /")) {
			return true
		}
	}
	return false
}
