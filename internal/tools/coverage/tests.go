package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/bindery/bindery/internal/mutants"
)

// A test is one test function, one function of a kit, or one script.
type test struct {
	dir    string // its package, from the root
	name   string // "TestWalk"; for a script its name without the extension
	script bool
	at     string // file and line
	covers []string
}

func (t test) String() string {
	if t.script {
		return t.dir + " script " + t.name
	}
	if t.dir == "." {
		return t.name
	}
	return t.dir + "." + t.name
}

// runs says whether t is what a mutant's test runs: the function itself, or the script
// that is its subtest.
func (t test) runs(m mutants.Mutant) bool {
	parts := strings.Split(m.Test, "/")
	if t.script {
		return t.dir == m.Dir() && len(parts) == 2 && t.name == parts[1]
	}
	return t.dir == m.Dir() && t.name == parts[0]
}

var (
	coversLine   = regexp.MustCompile(`(?m)^(?://|#) covers ([A-Z]+-[0-9].*)$`)
	testFunction = regexp.MustCompile(`^(Test|Fuzz)([^a-z]|$)`)
)

// readTests finds every test and every script, and the covers lines that stand elsewhere.
func readTests(root fs.FS) (list []test, problems []error, err error) {
	err = fs.WalkDir(root, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && p != "." && (strings.HasPrefix(d.Name(), ".") || p == "bin"):
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		dir, inTestdata, _ := strings.Cut(p, "/testdata/")
		switch {
		case inTestdata != "" && slices.Contains([]string{".txt", ".txtar"}, path.Ext(p)):
			b, err := fs.ReadFile(root, p)
			if err != nil {
				return err
			}
			if ids := covered(string(b)); len(ids) > 0 {
				name := strings.TrimSuffix(path.Base(p), path.Ext(p))
				list = append(list, test{dir: dir, name: name, script: true, at: p, covers: ids})
			}
		case inTestdata == "" && path.Ext(p) == ".go":
			b, err := fs.ReadFile(root, p)
			if err != nil {
				return err
			}
			found, stray, err := readGo(p, b)
			if err != nil {
				return err
			}
			list, problems = append(list, found...), append(problems, stray...)
		}
		return nil
	})
	slices.SortStableFunc(list, func(a, b test) int { return strings.Compare(a.String(), b.String()) })
	return list, problems, err
}

func readGo(p string, src []byte) (list []test, problems []error, err error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, p, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, err
	}
	isTest := strings.HasSuffix(p, "_test.go")
	isKit := slices.ContainsFunc(f.Imports, func(s *ast.ImportSpec) bool { return s.Path.Value == `"testing"` })
	known := map[*ast.CommentGroup]bool{}
	for _, decl := range f.Decls {
		d, ok := decl.(*ast.FuncDecl)
		if !ok || isTest && (d.Recv != nil || !testFunction.MatchString(d.Name.Name)) || !isTest && !isKit {
			continue
		}
		t := test{dir: path.Dir(p), name: d.Name.Name, at: fset.Position(d.Pos()).String()}
		if d.Doc != nil {
			known[d.Doc] = true
			t.covers = covered(commentText(d.Doc))
		}
		list = append(list, t)
	}
	for _, group := range f.Comments {
		if !known[group] && len(covered(commentText(group))) > 0 {
			problems = append(problems, fmt.Errorf("%s: a covers line that stands above no test", fset.Position(group.Pos())))
		}
	}
	return list, problems, nil
}

// commentText is a comment as written, which [ast.CommentGroup.Text] is not.
func commentText(g *ast.CommentGroup) string {
	var lines []string
	for _, c := range g.List {
		lines = append(lines, c.Text)
	}
	return strings.Join(lines, "\n")
}

// covered are the ids on the covers lines of a text, in their order.
func covered(text string) []string {
	var ids []string
	for _, m := range coversLine.FindAllStringSubmatch(text, -1) {
		ids = append(ids, strings.Split(strings.TrimSpace(m[1]), ", ")...)
	}
	return ids
}
