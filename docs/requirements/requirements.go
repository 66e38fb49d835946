// Package requirements holds the three requirement registers and finds a row in them.
//
// A row is one line of a register's tables, as in
//
//	| GC-134 | WC-6 | VECTOR | 3.7.7 | An unknown seal_id yields a verdict … | VA | As stated. |
//
// The registers are our own words on the three specifications; coverage.md beside them is
// generated (see CONTRIBUTING.md).
//
// Room: values. The texts are part of the program.
package requirements

import (
	"embed"
	"strings"
)

//go:embed crossing.md envelope.md execution.md
var registers embed.FS

// A Row is one requirement.
type Row struct {
	ID          string // "GC-134"
	Label       string // the specification's own label, "" if it has none
	Level       string // MUST, MUST†, SHOULD, MAY, VECTOR or OPEN
	Clause      string // "§3.7.7", or the name of a heading that has no number
	Requirement string
	Role        string
	Test        string // what shows it
}

// Find returns the row of an id.
func Find(id string) (Row, bool) {
	for _, name := range []string{"crossing.md", "envelope.md", "execution.md"} {
		text, err := registers.ReadFile(name)
		if err != nil {
			return Row{}, false
		}
		for line := range strings.Lines(string(text)) {
			if !strings.HasPrefix(line, "| "+id+" ") {
				continue
			}
			if row, ok := parse(line); ok {
				return row, true
			}
		}
	}
	return Row{}, false
}

// parse splits a table line into its seven cells; \| inside a cell is a bar.
func parse(line string) (Row, bool) {
	line = strings.ReplaceAll(strings.TrimSpace(line), `\|`, "\x00")
	cells := strings.Split(strings.Trim(line, "|"), "|")
	if len(cells) != 7 {
		return Row{}, false
	}
	for i := range cells {
		cells[i] = strings.ReplaceAll(strings.TrimSpace(cells[i]), "\x00", "|")
	}
	id, _, _ := strings.Cut(cells[0], " ")
	label := strings.Trim(cells[1], "*")
	if label == "—" {
		label = ""
	}
	clause := cells[3]
	if clause != "" && '0' <= clause[0] && clause[0] <= '9' { // others are headings by name
		clause = "§" + clause
	}
	return Row{ID: id, Label: label, Level: cells[2], Clause: clause, Requirement: cells[4], Role: cells[5], Test: cells[6]}, true
}
