package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

const head = `# Coverage of the requirement registers

Written by ` + "`go run ./internal/tools/coverage`" + `; a test fails when it is out of date. Do not edit it.

A row is **named** when a test carries its id on a *covers* line. It **bites** when, besides, a mutant serves it: a guard
that was taken out made a test fail that names the row ([the mutants](../../internal/mutants/mutants.txt), ` + "`make mutants`" + `).
Only rows that bind are counted: MUST, MUST† and VECTOR. A percentage is of rows that bite, unless it says named.

`

// A tally counts rows that bind.
type tally struct {
	rows, named, bites int
}

func (t *tally) add(o tally) {
	t.rows, t.named, t.bites = t.rows+o.rows, t.named+o.named, t.bites+o.bites
}

func (t tally) cells() string {
	return fmt.Sprintf("%d | %s | %s |\n", t.rows, share(t.bites, t.rows), share(t.named, t.rows))
}

// share rounds down, so that 100 % means all.
func share(part, whole int) string {
	if whole == 0 {
		return "–"
	}
	return fmt.Sprintf("%d %% (%d)", 100*part/whole, part)
}

// render writes the whole document. names and bites are by row id, in their final order.
func render(registers []*register, names, bites map[string][]string) string {
	var b strings.Builder
	b.WriteString(head)
	b.WriteString("| Register | Rows | Bites | Named |\n|---|---|---|---|\n")
	for _, r := range registers {
		var all, core tally
		for _, s := range r.sections {
			t := count(s, names, bites)
			all.add(t)
			if r.file == "crossing.md" && isCore(s.title) {
				core.add(t)
			}
		}
		fmt.Fprintf(&b, "| [%s](%s) | %s", r.title, r.file, all.cells())
		if core.rows > 0 {
			fmt.Fprintf(&b, "| – of it sections 1 and 3.5 to 6 | %s", core.cells())
		}
	}
	for _, r := range registers {
		renderRegister(&b, r, names, bites)
	}
	return b.String()
}

func renderRegister(b *strings.Builder, r *register, names, bites map[string][]string) {
	fmt.Fprintf(b, "\n## %s\n\n| Section | Rows | Bites | Named |\n|---|---|---|---|\n", r.title)
	var unnamed []string
	for _, s := range r.sections {
		if len(s.rows) == 0 {
			continue
		}
		fmt.Fprintf(b, "| %s | %s", s.title, count(s, names, bites).cells())
		for _, row := range s.rows {
			if len(names[row.id]) == 0 {
				unnamed = append(unnamed, row.id)
			}
		}
	}
	b.WriteString("\nNamed by nobody: ")
	if len(unnamed) == 0 {
		b.WriteString("none")
	}
	b.WriteString(strings.Join(unnamed, ", ") + ".\n")
	if !anyNamed(r, names) {
		return
	}
	b.WriteString("\n| ID | Level | § | Named by | Bites by |\n|---|---|---|---|---|\n")
	for _, s := range r.sections {
		for _, row := range s.rows {
			fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", row.id, row.level, row.clause, cell(names[row.id]), cell(bites[row.id]))
		}
	}
}

func anyNamed(r *register, names map[string][]string) bool {
	for _, id := range r.ids {
		if len(names[id]) > 0 {
			return true
		}
	}
	return false
}

func cell(list []string) string {
	if len(list) == 0 {
		return "–"
	}
	return strings.Join(list, ", ")
}

func count(s section, names, bites map[string][]string) tally {
	t := tally{rows: len(s.rows)}
	for _, row := range s.rows {
		if len(names[row.id]) > 0 {
			t.named++
		}
		if len(bites[row.id]) > 0 {
			t.bites++
		}
	}
	return t
}

var sectionNumber = regexp.MustCompile(`^([0-9]+)(?:\.([0-9]+))?`)

// isCore says whether a heading of the crossing's register belongs to sections 1 and 3.5
// to 6, which are what one crossing needs.
func isCore(title string) bool {
	m := sectionNumber.FindStringSubmatch(title)
	if m == nil {
		return false
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	return major == 1 || major == 3 && minor >= 5 || major >= 4 && major <= 6
}
