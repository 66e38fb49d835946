package bindery_test

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// TestOneWayToACommitment: a seal's row is written in one function, which only the commit of
// an attempt calls; an attempt is made of a cleared record, in one place; and only
// crossing.Clear makes one of those. There is no other way to a commitment (§1.4).
//
// covers GC-018, GC-043
func TestOneWayToACommitment(t *testing.T) {
	callers := map[string][]string{}
	for _, f := range production(t) {
		ast.Inspect(f.File, func(n ast.Node) bool {
			fn, ok := n.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				return true
			}
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CallExpr:
					if name := called(n); slices.Contains([]string{"sealAttempt", "CommitConfirmed", "OpenAttempt", "Clear"}, name) {
						callers[name] = append(callers[name], f.room+"."+fn.Name.Name)
					}
				case *ast.CompositeLit:
					if id, ok := n.Type.(*ast.Ident); ok && id.Name == "Cleared" {
						callers["Cleared{}"] = append(callers["Cleared{}"], f.room+"."+fn.Name.Name)
					}
				case *ast.BasicLit:
					if strings.Contains(n.Value, "INSERT INTO seals") {
						callers["INSERT INTO seals"] = append(callers["INSERT INTO seals"], f.room+"."+fn.Name.Name)
					}
				}
				return true
			})
			return false
		})
	}
	for name, want := range map[string]string{
		"INSERT INTO seals": "internal/store/sqlstore.sealAttempt",
		"sealAttempt":       "internal/store/sqlstore.CommitConfirmed internal/store/sqlstore.Commit",
		"CommitConfirmed":   "internal/centre.commitApart", // with the receipts of RAs elsewhere
		"OpenAttempt":       "internal/centre.attempt",
		"Clear":             "internal/centre.clear",
		"Cleared{}":         "crossing.Clear",
	} {
		if got := strings.Join(callers[name], " "); got != want {
			t.Errorf("%s: used in %s, want %s alone", name, got, want)
		}
	}
}

func called(c *ast.CallExpr) string {
	switch f := c.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}
