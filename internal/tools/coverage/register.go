package main

import (
	"fmt"
	"io/fs"
	"regexp"
	"strings"
)

// A register is one file of docs/requirements.
type register struct {
	title    string
	file     string // its base name
	sections []section
	ids      []string // of every row and every reading
}

// A section is one heading of a register with the rows that bind.
type section struct {
	title string
	rows  []row
}

// A row is one requirement that binds: MUST, MUST† or VECTOR.
type row struct {
	id, label, level, clause string
}

var (
	rowID = regexp.MustCompile(`^(GC|ENV|EXA|AG|AE|AX)-[0-9]{2,3}\b`)
	// A cell ends at a bar that no backslash precedes.
	cellEnd = regexp.MustCompile(`([^\\])\|`)
)

// readRegister reads the tables of a register. Rows have seven cells: id, label, level,
// clause, requirement, role and test; a reading has five, and its id alone is kept.
func readRegister(root fs.FS, name string) (*register, error) {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return nil, err
	}
	r := &register{file: name[strings.LastIndex(name, "/")+1:]}
	seen := map[string]bool{}
	for i, line := range strings.Split(string(b), "\n") {
		if title, ok := strings.CutPrefix(line, "# Requirement register – "); ok {
			r.title, _, _ = strings.Cut(title, " (")
		}
		if title, ok := strings.CutPrefix(line, "## "); ok {
			r.sections = append(r.sections, section{title: title})
		}
		cells := cells(line)
		if len(cells) == 0 || !rowID.MatchString(cells[0]) {
			continue
		}
		id := rowID.FindString(cells[0])
		if seen[id] {
			return nil, fmt.Errorf("%s:%d: a second row %s", name, i+1, id)
		}
		seen[id] = true
		r.ids = append(r.ids, id)
		if strings.HasPrefix(id, "A") {
			continue
		}
		if len(cells) != 7 || len(r.sections) == 0 {
			return nil, fmt.Errorf("%s:%d: row %s has %d cells, not 7, or stands in no section", name, i+1, id, len(cells))
		}
		switch cells[2] {
		case "MUST", "MUST†", "VECTOR":
			s := &r.sections[len(r.sections)-1]
			s.rows = append(s.rows, row{id: id, label: cells[1], level: cells[2], clause: cells[3]})
		case "SHOULD", "MAY", "OPEN":
		default:
			return nil, fmt.Errorf("%s:%d: row %s has the level %q", name, i+1, id, cells[2])
		}
	}
	if r.title == "" || len(r.ids) == 0 {
		return nil, fmt.Errorf("%s: no title, or no row", name)
	}
	return r, nil
}

// cells are the cells of a table's line, none for any other line.
func cells(line string) []string {
	line, ok := strings.CutPrefix(line, "|")
	if !ok {
		return nil
	}
	list := strings.Split(cellEnd.ReplaceAllString(line, "$1\x00"), "\x00")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return list[:len(list)-1] // what follows the last bar
}
