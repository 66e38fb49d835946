// Command coverage says which rows of the requirement registers a test names, and which of
// them bite, and writes that as docs/requirements/coverage.md.
//
// A test names a row on a line of its doc comment, a script in testdata on a line of its own:
//
//	// covers GC-241, GC-242
//	# covers GC-098
//
// A kit's functions may do so too: a file that imports testing, such as a store's suite.
// A row bites when, besides, a mutant of internal/mutants/mutants.txt serves it by making
// a test fail that names it. Counted are the rows that bind: MUST, MUST† and VECTOR. Naming
// any other row, or a reading (AG-…), is allowed and counts nowhere.
//
// Refused, with the place: a covers line above no test, an id that no register has, and a
// mutant whose rows, file, old text or test do not exist, or whose test names none of a row.
// Nothing is written then.
//
//	go run ./internal/tools/coverage          write the file
//	go run ./internal/tools/coverage -check   only say whether it is up to date
//
// Room: tests. Reads the repository, writes one file.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/bindery/bindery/internal/mutants"
)

// output is the file that this command writes, from the root.
const output = "docs/requirements/coverage.md"

func main() { os.Exit(run(os.Args[1:], os.Stderr)) }

func run(args []string, stderr io.Writer) int {
	flags := flag.NewFlagSet("coverage", flag.ContinueOnError)
	flags.SetOutput(stderr)
	root := flags.String("root", ".", "the root of the repository")
	check := flags.Bool("check", false, "write nothing; fail when the file is not up to date")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 {
		return 2
	}
	text, err := report(os.DirFS(*root))
	if err == nil {
		err = put(filepath.Join(*root, filepath.FromSlash(output)), text, *check)
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

func put(name, text string, check bool) error {
	if !check {
		return os.WriteFile(name, []byte(text), 0o644)
	}
	old, err := os.ReadFile(name)
	if err == nil && string(old) != text {
		err = errors.New(output + " is not up to date: go run ./internal/tools/coverage")
	}
	return err
}

// report is the text of the output for the repository at root, or everything that is
// wrong with it.
func report(root fs.FS) (string, error) {
	var registers []*register
	ids := map[string]bool{}
	for _, name := range []string{"crossing", "envelope", "execution"} {
		r, err := readRegister(root, "docs/requirements/"+name+".md")
		if err != nil {
			return "", err
		}
		registers = append(registers, r)
		for _, id := range r.ids {
			ids[id] = true
		}
	}
	found, problems, err := readTests(root)
	if err != nil {
		return "", err
	}
	names := map[string][]string{} // row id → the tests that name it
	for _, t := range found {
		for _, id := range t.covers {
			if !ids[id] {
				problems = append(problems, fmt.Errorf("%s covers %s, which no register has", t.at, id))
			}
			if !slices.Contains(names[id], t.String()) {
				names[id] = append(names[id], t.String())
			}
		}
	}
	list, err := fs.ReadFile(root, mutants.Path)
	if err != nil {
		return "", err
	}
	all, err := mutants.Parse(string(list))
	if err != nil {
		return "", fmt.Errorf("%s: %w", mutants.Path, err)
	}
	bites := map[string][]string{} // row id → the mutants that serve it
	for _, m := range all {
		problems = append(problems, checkMutant(root, m, ids, found)...)
		for _, id := range m.Rows {
			bites[id] = append(bites[id], m.ID)
		}
	}
	if len(problems) > 0 {
		return "", errors.Join(problems...)
	}
	return render(registers, names, bites), nil
}

func checkMutant(root fs.FS, m mutants.Mutant, ids map[string]bool, found []test) []error {
	var problems []error
	bad := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("%s:%d: %s: %s", mutants.Path, m.Line, m.ID, fmt.Sprintf(format, args...)))
	}
	if src, err := fs.ReadFile(root, m.File); err != nil {
		bad("%v", err)
	} else if _, err := m.Apply(string(src)); err != nil {
		problems = append(problems, fmt.Errorf("%s:%d: %w", mutants.Path, m.Line, err))
	}
	exists, named := false, map[string]bool{}
	for _, t := range found {
		if t.runs(m) {
			exists = exists || !t.script
			for _, id := range t.covers {
				named[id] = true
			}
		}
	}
	if !exists {
		bad("%s has no %s", m.Package, m.Test)
		return problems
	}
	for _, id := range m.Rows {
		switch {
		case !ids[id]:
			bad("no register has %s", id)
		case !named[id]:
			bad("%s does not name %s on a covers line", m.Test, id)
		}
	}
	return problems
}
