package bindery_test

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/bindery/bindery"

// A goFile is one parsed source file of the module.
type goFile struct {
	path string // from the root, with slashes
	room string // its directory; "." is the root
	test bool
	*ast.File
	fset *token.FileSet
}

func (f *goFile) at(n ast.Node) string { return f.fset.Position(n.Pos()).String() }

// ours are the packages of this module that a file imports, by directory.
func (f *goFile) ours() []string {
	var list []string
	for _, path := range f.imported() {
		if dir, ok := strings.CutPrefix(path, module+"/"); ok {
			list = append(list, dir)
		}
	}
	return list
}

func (f *goFile) imported() []string {
	var list []string
	for _, spec := range f.Imports {
		list = append(list, strings.Trim(spec.Path.Value, `"`))
	}
	return list
}

// textFiles are all files of the repository that a person can read, by path from the root.
// What a build has left or fetched (bin, node_modules, hidden folders other than .ci) is
// not looked at.
var textFiles = sync.OnceValues(func() (map[string]string, error) {
	files := map[string]string{}
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a test elsewhere has just removed it
		}
		if err != nil {
			return err
		}
		p = filepath.ToSlash(p)
		hidden := strings.HasPrefix(d.Name(), ".") && !slices.Contains([]string{".", ".ci", ".gitignore"}, d.Name())
		switch {
		case d.IsDir() && (hidden || p == "bin" || d.Name() == "node_modules"):
			return fs.SkipDir
		case d.IsDir() || hidden || !d.Type().IsRegular():
			return nil
		}
		b, err := os.ReadFile(p)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && !bytes.ContainsRune(b, 0) {
			files[p] = string(b)
		}
		return err
	})
	return files, err
})

func repoFiles(t *testing.T) map[string]string {
	t.Helper()
	files, err := textFiles()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

var sources = sync.OnceValues(func() ([]*goFile, error) {
	files, err := textFiles()
	if err != nil {
		return nil, err
	}
	var list []*goFile
	for p, src := range files {
		if path.Ext(p) != ".go" || strings.Contains(p, "testdata/") {
			continue
		}
		f := &goFile{path: p, room: path.Dir(p), test: strings.HasSuffix(p, "_test.go"), fset: token.NewFileSet()}
		if f.File, err = parser.ParseFile(f.fset, p, src, parser.ParseComments|parser.SkipObjectResolution); err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b *goFile) int { return strings.Compare(a.path, b.path) })
	return list, nil
})

func goFiles(t *testing.T) []*goFile {
	t.Helper()
	list, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// production are the files that end up in a program.
func production(t *testing.T) []*goFile {
	t.Helper()
	return slices.DeleteFunc(slices.Clone(goFiles(t)), func(f *goFile) bool { return f.test || rooms[f.room].kind == kits })
}

var (
	binaryDir  string // made and removed by TestMain
	binaryOnce = sync.OnceValues(func() (string, error) {
		bin := filepath.Join(binaryDir, "bindery")
		out, err := exec.Command("go", "build", "-buildvcs=false", "-o", bin, "./cmd/bindery").CombinedOutput()
		if err != nil {
			return "", errors.New(string(out))
		}
		return bin, nil
	})
)

// binary is the built command; a test that needs it is left out where it cannot be built.
func binary(t *testing.T) string {
	t.Helper()
	bin, err := binaryOnce()
	if err != nil {
		t.Skipf("not run: %s (the binary cannot be built: %v)", t.Name(), err)
	}
	return bin
}

func TestMain(m *testing.M) {
	var err error
	if binaryDir, err = os.MkdirTemp("", "bindery-root-"); err != nil {
		panic(err)
	}
	code := m.Run()
	if err := os.RemoveAll(binaryDir); err != nil {
		panic(err)
	}
	os.Exit(code)
}
