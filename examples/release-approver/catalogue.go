package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bindery/bindery/jcs"
)

const (
	maxDescription = 64 << 10
	maxView        = 8 << 20
	maxViews       = 3 // beside them stands the option to release nothing
	maxDatasets    = 256
)

// A dataset is one folder of the catalogue.
type dataset struct {
	name        string
	title       string
	review      bool // somebody is still looking at it
	counts      string
	identifying []string
	views       []view
}

// A view is one file that could be released.
type view struct {
	name, file, about string
	detail            int64
	content           []byte
	digest            jcs.Digest // of the file
	rows              int
	least             int64    // the smallest count in it; -1 where it has no counts
	identifies        []string // columns that name persons
}

var errName = errors.New("a name has 1 to 64 lower-case letters, digits and hyphens")

func checkName(s string) error {
	if s == "" || len(s) > 64 || strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return errName
	}
	return nil
}

// datasets lists the names in a catalogue.
func datasets(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, errors.New("the catalogue cannot be read")
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && checkName(e.Name()) == nil && len(names) < maxDatasets {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// load reads one dataset and all its views.
func load(dir, name string) (dataset, error) {
	if err := checkName(name); err != nil {
		return dataset{}, fmt.Errorf("dataset: %w", err)
	}
	root, err := os.OpenRoot(filepath.Join(dir, name)) // so that no file of a dataset leads out of it
	if err != nil {
		return dataset{}, fmt.Errorf("there is no dataset %s", name)
	}
	defer root.Close()
	text, err := readAll(root, "dataset.json", maxDescription)
	if err != nil {
		return dataset{}, err
	}
	d, err := parseDataset(text)
	if err != nil {
		return dataset{}, fmt.Errorf("dataset.json of %s: %w", name, err)
	}
	d.name = name
	for i := range d.views {
		v := &d.views[i]
		if v.content, err = readAll(root, v.file, maxView); err != nil {
			return dataset{}, err
		}
		v.digest = jcs.Digest("sha256:" + string(jcs.HexOf(v.content)))
		if err := v.look(d); err != nil {
			return dataset{}, fmt.Errorf("%s of %s: %w", v.file, name, err)
		}
	}
	return d, nil
}

func readAll(root *os.Root, name string, limit int64) ([]byte, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read", name)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s cannot be read", name)
	case int64(len(text)) > limit:
		return nil, fmt.Errorf("%s is larger than %d bytes", name, limit)
	}
	return text, nil
}

func parseDataset(text []byte) (d dataset, err error) {
	v, err := jcs.Parse(text)
	if err != nil {
		return d, err
	}
	r := jcs.NewReader(v)
	d.title, d.counts = r.Text("title"), r.Text("counts")
	status, ok := r.OptText("status")
	if ok && status != "final" && status != "under-review" {
		return d, errors.New("status is final or under-review")
	}
	d.review = status == "under-review"
	for _, item := range r.Items("identifying") {
		column, ok := item.Text()
		if !ok {
			return d, errors.New("identifying is a list of columns")
		}
		d.identifying = append(d.identifying, column)
	}
	for _, item := range r.Items("views") {
		i := jcs.NewReader(item)
		w := view{name: i.Text("name"), file: i.Text("file"), about: i.Text("about"), detail: i.Int("detail")}
		if err := errors.Join(i.Close(), checkName(w.name)); err != nil {
			return d, err
		}
		d.views = append(d.views, w)
	}
	if err := r.Close(); err != nil {
		return d, err
	}
	if len(d.views) == 0 || len(d.views) > maxViews {
		return d, fmt.Errorf("a dataset has 1 to %d views", maxViews)
	}
	slices.SortStableFunc(d.views, func(a, b view) int { return int(a.detail - b.detail) })
	return d, nil
}

// look counts what a view shows.
func (v *view) look(d dataset) error {
	rows := csv.NewReader(bytes.NewReader(v.content))
	head, err := rows.Read()
	if err != nil {
		return errors.New("it has no line of columns")
	}
	for _, column := range head {
		if slices.Contains(d.identifying, column) {
			v.identifies = append(v.identifies, column)
		}
	}
	counts := slices.Index(head, d.counts)
	v.least = -1
	for {
		row, err := rows.Read()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return errors.New("it is not a table of equal rows")
		}
		v.rows++
		if counts >= 0 {
			n, err := strconv.ParseInt(row[counts], 10, 64)
			if err != nil || n < 0 {
				return fmt.Errorf("row %d has no count in %s", v.rows, d.counts)
			}
			if v.least < 0 || n < v.least {
				v.least = n
			}
		}
	}
}

// fit reports whether a view shows nobody and no small group.
func (v *view) fit(smallest int64) bool {
	return v.rows > 0 && len(v.identifies) == 0 && (v.least < 0 || v.least >= smallest)
}

// sees says what was seen in a view, in one sentence.
func (v *view) sees(smallest int64) string {
	s := fmt.Sprintf("The %s view (%s) has %d rows", v.name, v.about, v.rows)
	switch {
	case len(v.identifies) > 0:
		return s + " and names persons in its columns " + strings.Join(v.identifies, ", ") + "."
	case v.least < 0:
		return s + ", no counts and no column that names a person."
	case v.least < smallest:
		return s + fmt.Sprintf(" and a smallest count of %d, below the limit of %d.", v.least, smallest)
	}
	return s + fmt.Sprintf(" and a smallest count of %d.", v.least)
}

// action is what releasing a view to a recipient does, as the digest that an option stands for.
func (v *view) action(dataset, recipient string) jcs.Digest {
	action := []jcs.Member{
		{Name: "act", Value: jcs.String("publish")},
		{Name: "dataset", Value: jcs.String(dataset)},
		{Name: "file_sha256", Value: jcs.String(string(v.digest))},
		{Name: "recipient", Value: jcs.String(recipient)},
		{Name: "view", Value: jcs.String(v.name)},
	}
	return jcs.Digest("sha256:" + string(jcs.HexOf(jcs.Object(action...))))
}
