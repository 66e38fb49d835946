// Package mutants reads mutants.txt, the list of this repository's mutants. A mutant is
// one guard taken out of one file, with the one test that must then fail. It shows that
// a row of the requirement registers is not only named by a test but enforced by code
// which that test watches (docs/requirements/coverage.md: *bites*).
//
// The list is text. Lines outside an entry that are empty or begin with # are ignored. An
// entry begins with its id and ends with "--- end":
//
//	== chain-genesis-prev
//	rows: GC-257, GC-258
//	why: a first anchor may name a predecessor
//	file: chain/chain.go
//	package: ./chain
//	test: TestPosition/genesis
//	--- old
//		if p.Seq == 0 && p.Prev != nil {
//	--- new
//		if false {
//	--- end
//
// Old is whole lines, with their indentation, and stands once in the file; new replaces
// them and may be empty. Rows are "none" for a guard that no register asks for. The test is written as go test prints it, subtests after a slash.
//
// Refused, with the line: an unknown, missing, repeated or empty member, an id that is
// taken or not lower-case letters, digits and hyphens, an entry without end, text between
// entries, and new that equals old. Whether the rows, the file and the test exist is not
// known here; see package internal/tools/coverage.
//
// Room: tests. Reads nothing by itself.
package mutants

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Path is where the list stands, from the root of the repository.
const Path = "internal/mutants/mutants.txt"

// NoRows stands for the rows of a guard that no row of a register asks for.
const NoRows = "none"

// A Mutant is one entry of the list.
type Mutant struct {
	ID      string   // unique; lower-case letters, digits and hyphens
	Rows    []string // ids of register rows that the guard enforces; nil for NoRows
	Why     string   // what the mutant lets through, in a few words
	File    string   // the mutated file, from the root, with slashes
	Package string   // the package of the test, as go test takes it: "./chain"
	Test    string   // the test that must fail: "TestWalk" or "TestWalk/gap"
	Old     string   // whole lines, each with its line end; never empty
	New     string   // whole lines, each with its line end; empty to delete
	Line    int      // of the entry's first line in the list
}

var (
	idPattern   = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	testPattern = regexp.MustCompile(`^(Test|Fuzz)[A-Za-z0-9_]*(/[^/]+)*$`)
	pkgPattern  = regexp.MustCompile(`^\.(/[a-z0-9]+(-[a-z0-9]+)*)*$`)
)

// Parse reads a whole list. The error names the line.
func Parse(text string) ([]Mutant, error) {
	var list []Mutant
	seen := map[string]bool{}
	lines := strings.SplitAfter(text, "\n")
	for at := 0; at < len(lines); {
		line := strings.TrimRight(lines[at], "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			at++
			continue
		}
		m, next, err := entry(lines, at)
		if err != nil {
			return nil, err
		}
		if seen[m.ID] {
			return nil, fmt.Errorf("line %d: the id %s is taken", m.Line, m.ID)
		}
		seen[m.ID] = true
		list = append(list, m)
		at = next
	}
	return list, nil
}

// entry reads one entry from lines[at] on and says where the next line is.
func entry(lines []string, at int) (Mutant, int, error) {
	m := Mutant{Line: at + 1}
	fail := func(format string, args ...any) (Mutant, int, error) {
		return Mutant{}, 0, fmt.Errorf("line %d: %s", at+1, fmt.Sprintf(format, args...))
	}
	id, ok := strings.CutPrefix(strings.TrimRight(lines[at], "\n"), "== ")
	if !ok || !idPattern.MatchString(id) {
		return fail("an entry begins with == and an id")
	}
	m.ID = id
	members := map[string]string{}
	for at++; at < len(lines) && lines[at] != "--- old\n"; at++ {
		name, value, ok := strings.Cut(strings.TrimRight(lines[at], "\n"), ": ")
		switch {
		case !ok || value == "" || !slices.Contains([]string{"rows", "why", "file", "package", "test"}, name):
			return fail("not a member of an entry, and no --- old yet")
		case members[name] != "":
			return fail("a second %s", name)
		}
		members[name] = value
	}
	if members["rows"] != NoRows {
		m.Rows = strings.Split(members["rows"], ", ")
	}
	m.Why, m.File, m.Package, m.Test = members["why"], members["file"], members["package"], members["test"]
	switch {
	case members["rows"] == "" || m.Why == "" || m.File == "":
		return fail("%s lacks rows, why or file", id)
	case !pkgPattern.MatchString(m.Package):
		return fail("%s: package is written ./path", id)
	case !testPattern.MatchString(m.Test):
		return fail("%s: test is written TestName or TestName/subtest", id)
	}
	for _, part := range []struct {
		end string
		to  *string
	}{{"--- new", &m.Old}, {"--- end", &m.New}} {
		from := at + 1
		for at = from; at < len(lines) && strings.TrimRight(lines[at], "\n") != part.end; at++ {
		}
		if at == len(lines) {
			return fail("%s: no %s", id, part.end)
		}
		*part.to = strings.Join(lines[from:at], "")
	}
	if m.Old == "" || m.Old == m.New {
		return fail("%s: old is empty, or new is the same", id)
	}
	return m, at + 1, nil
}

// Apply returns src with the guard taken out. It is an error when old does not stand in
// src as whole lines, or does so more than once.
func (m Mutant) Apply(src string) (string, error) {
	// A line begins where the one before it ends, so two places may share that line end.
	whole, old := "\n"+src, "\n"+m.Old
	first, n := strings.Index(whole, old), 0
	for rest := whole; ; n++ {
		i := strings.Index(rest, old)
		if i < 0 {
			break
		}
		rest = rest[i+1:]
	}
	if n != 1 {
		return "", fmt.Errorf("%s: its old text stands %d times in %s, not once", m.ID, n, m.File)
	}
	return src[:first] + m.New + src[first+len(m.Old):], nil
}

// Dir is the directory of the test's package from the root, "." for the root itself.
func (m Mutant) Dir() string {
	if m.Package == "." {
		return "."
	}
	return strings.TrimPrefix(m.Package, "./")
}

// Pattern is the value of go test's -run that selects the test and no other.
func (m Mutant) Pattern() string {
	parts := strings.Split(m.Test, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}
