package crossing_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bindery/bindery/crossing"
)

// TestPackageOrder holds the table of the package comment against the faults that the
// order is tested with: one line for each step, with a name that the step gives.
//
// covers GC-115
func TestPackageOrder(t *testing.T) {
	src, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	names := map[int][]crossing.Name{}
	var steps []int
	for _, f := range faults(t) {
		if !slices.Contains(steps, f.step) {
			steps = append(steps, f.step)
		}
		names[f.step] = append(names[f.step], f.name)
	}
	names[45], steps = []crossing.Name{crossing.ClassBelowFloor}, append(steps, 45) // see TestFloor
	slices.Sort(steps)
	steps = slices.Compact(steps)
	lines := regexp.MustCompile(`(?m)^//\t[ 0-9]{2}  ([A-Z_]+) +\S`).FindAllStringSubmatch(string(src), -1)
	if len(lines) != len(steps) {
		t.Fatalf("%d lines for %d steps", len(lines), len(steps))
	}
	for i, line := range lines {
		if !slices.Contains(names[steps[i]], crossing.Name(line[1])) {
			t.Errorf("line %d is of %s, and step %d gives %v", i+1, line[1], steps[i], names[steps[i]])
		}
	}
	for _, worked := range []string{`{"terms_version":"1","unit":"code","count":1}`, "329b8b3d06c2baefb1a0e0f0b638ad013a25504e0ac1354f2cee0ddfbbe3b4b3"} {
		if !strings.Contains(string(src), worked) {
			t.Errorf("the package comment does not show %s, the example of TestPackageExample", worked)
		}
	}
}
