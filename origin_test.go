package bindery_test

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// An origin finds out whether jcs has made the bytes of an expression. It follows names: a call
// gives such bytes if it is a builder of jcs, or if every function or method of that name returns
// such bytes; a variable or a field holds them if everything that is ever assigned to it does.
type origin struct {
	files []*goFile
	known map[string]bool // true also while a name is looked at, so that it may meet itself
	blame string          // where the first bytes came from that are not of jcs
}

func (o *origin) isJCS(f *goFile, decl ast.Node, e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name == "nil" || o.variable(f, decl, e.Name)
	case *ast.SelectorExpr:
		return o.field(e.Sel.Name)
	case *ast.CallExpr:
		switch fun := e.Fun.(type) {
		case *ast.Ident:
			if fun.Name == "append" {
				return o.all(e.Args, f, decl)
			}
			return fun.Name == "make" || o.function(f.room, fun.Name)
		case *ast.SelectorExpr:
			pkg := ""
			if x, ok := fun.X.(*ast.Ident); ok {
				pkg = f.imports(x.Name)
			}
			if pkg == module+"/jcs" {
				return slices.Contains([]string{"Append", "Object", "Array", "String", "Int", "Bool", "Null"}, fun.Sel.Name)
			}
			room, ours := strings.CutPrefix(pkg, module+"/")
			return (ours || pkg == "") && o.function(room, fun.Sel.Name)
		}
	}
	return false
}

func (o *origin) blames(f *goFile, n ast.Node) {
	if o.blame == "" {
		o.blame = f.at(n)
	}
}

func (o *origin) all(list []ast.Expr, f *goFile, decl ast.Node) bool {
	for _, e := range list {
		if !o.isJCS(f, decl, e) {
			return false
		}
	}
	return len(list) > 0
}

// variable is true also of a list of such bytes, which begins empty and to which they are added.
func (o *origin) variable(f *goFile, decl ast.Node, name string) bool {
	key := f.at(decl) + " " + name
	if known, ok := o.known[key]; ok {
		return known
	}
	o.known[key] = true
	o.known[key] = o.all(assigned(decl, func(lhs ast.Expr) bool {
		if index, ok := lhs.(*ast.IndexExpr); ok {
			lhs = index.X
		}
		id, ok := lhs.(*ast.Ident)
		return ok && id.Name == name
	}), f, decl)
	return o.known[key]
}

// field is true of Value, which is checked wherever a jcs.Member is made.
func (o *origin) field(name string) bool {
	key := "." + name
	if _, ok := o.known[key]; ok || name == "Value" {
		return name == "Value" || o.known[key]
	}
	o.known[key] = true
	found := false
	for _, f := range o.files {
		for _, decl := range f.Decls {
			list := assigned(decl, func(lhs ast.Expr) bool {
				sel, ok := lhs.(*ast.SelectorExpr)
				return ok && sel.Sel.Name == name
			})
			ast.Inspect(decl, func(n ast.Node) bool {
				if kv, ok := n.(*ast.KeyValueExpr); ok {
					if id, ok := kv.Key.(*ast.Ident); ok && id.Name == name {
						list = append(list, kv.Value)
					}
				}
				return true
			})
			found = found || len(list) > 0
			if len(list) > 0 && !o.all(list, f, decl) {
				o.known[key] = false
				o.blames(f, list[0])
			}
		}
	}
	o.known[key] = o.known[key] && found
	return o.known[key]
}

// function looks at the functions of a room, or, with no room, at the methods of all, of those
// that return bytes. Value.Bytes of jcs is one; what is in jcs is not looked into.
func (o *origin) function(room, name string) bool {
	key := room + ":" + name
	if known, ok := o.known[key]; ok {
		return known
	}
	o.known[key] = true
	found := room == "" && name == "Bytes"
	for _, f := range o.files {
		for _, decl := range f.Decls {
			d, ok := decl.(*ast.FuncDecl)
			if !ok || d.Name.Name != name || f.room == "jcs" || (d.Recv != nil) != (room == "") || room != "" && room != f.room || !returnsBytes(d) {
				continue
			}
			found = true
			ast.Inspect(d.Body, func(n ast.Node) bool {
				if ret, ok := n.(*ast.ReturnStmt); ok && (len(ret.Results) == 0 || !o.isJCS(f, d, ret.Results[0])) {
					o.known[key] = false
					o.blames(f, ret)
				}
				_, nested := n.(*ast.FuncLit)
				return !nested
			})
		}
	}
	o.known[key] = o.known[key] && found
	return o.known[key]
}

func returnsBytes(d *ast.FuncDecl) bool {
	return d.Type.Results != nil && types.ExprString(d.Type.Results.List[0].Type) == "[]byte"
}

// assigned are the expressions assigned to what is meant, within decl.
func assigned(decl ast.Node, meant func(lhs ast.Expr) bool) (list []ast.Expr) {
	ast.Inspect(decl, func(n ast.Node) bool {
		if assign, ok := n.(*ast.AssignStmt); ok {
			for i, lhs := range assign.Lhs {
				if meant(lhs) {
					list = append(list, assign.Rhs[min(i, len(assign.Rhs)-1)])
				}
			}
		}
		return true
	})
	return list
}

// unfollowed lists what is put into an object or array without jcs being seen to have made it.
var unfollowed = [...]struct{ file, fn, value, why string }{
	{"a2acrossing/server.go", "writeResult", "result", "an answer, which nobody hashes or signs; what calls this gives Bytes of api and crossing"},
	{"a2acrossing/server.go", "writeRPCError", "data", "an answer, which nobody hashes or signs; what calls this gives Refusal.Data"},
	{"api/enrol.go", "array", "out", "each item is made by a function that the caller names"},
	{"internal/centre/view.go", "Centre.View", "rec", "a view for the operator, of bytes that the store has kept"},
	{"internal/centre/view.go", "Centre.View", "block", "a view for the operator, of bytes that the store has kept"},
	{"internal/cli/gateway_config.go", "members.add", "value", "what calls this gives builders of jcs; nobody hashes the configuration"},
	{"internal/gateway/bound.go", "described", "r.Answer", "an answer as the upstream has made it, in an answer, which nobody hashes or signs"},
	{"internal/gateway/follow.go", "follower.ask", "f.meta", "members of a client's request, which jcs has accepted, in a request, which nobody hashes or signs"},
	{"internal/gateway/finder.go", "callTool", "arguments", "toolaction.Status has filled them in, canonically; nobody hashes what is asked with them"},
	{"internal/mcp/answer.go", "ErrorMember", "data", "an answer, which nobody hashes or signs; what calls this gives objects of jcs"},
	{"internal/sdjwt/issue.go", "Issue", "digests", "the second result of disclose, which holds strings of jcs"},
}

// TestBuildersAreGivenJCS: the builders of jcs trust the values that they are given, so these too
// must be of its making.
//
// covers GC-215
func TestBuildersAreGivenJCS(t *testing.T) {
	seen := [len(unfollowed)]bool{}
	o := &origin{files: production(t), known: map[string]bool{}}
	want := func(f *goFile, decl ast.Decl, e ast.Expr) {
		if o.isJCS(f, decl, e) {
			return
		}
		for i, u := range unfollowed {
			if u.file == f.path && u.fn == declared(decl) && u.value == types.ExprString(e) {
				seen[i] = true
				return
			}
		}
		t.Errorf("%s: %s in %s: jcs has not made these bytes %s", f.at(e), types.ExprString(e), declared(decl), o.blame)
	}
	count := 0
	for _, f := range o.files {
		for _, decl := range f.Decls {
			ast.Inspect(decl, func(n ast.Node) bool {
				for _, e := range given(n) {
					count++
					want(f, decl, e)
				}
				return true
			})
		}
	}
	if count < 300 {
		t.Errorf("only %d values found: this test no longer sees them", count)
	}
	for i, u := range unfollowed {
		if !seen[i] {
			t.Errorf("unfollowed: there is no %s in %s of %s, or jcs has made it", u.value, u.fn, u.file)
		}
	}
}

// given are the values in n that go into an object or array: of a jcs.Member, whether it is made
// at once or filled later, and of jcs.Array.
func given(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.CallExpr:
		if types.ExprString(n.Fun) == "jcs.Array" {
			return n.Args
		}
	case *ast.CompositeLit:
		if len(n.Elts) != 2 {
			return nil
		}
		name, _ := n.Elts[0].(*ast.KeyValueExpr)
		value, _ := n.Elts[1].(*ast.KeyValueExpr)
		if name != nil && value != nil && types.ExprString(name.Key) == "Name" && types.ExprString(value.Key) == "Value" {
			return []ast.Expr{value.Value}
		}
	case *ast.AssignStmt:
		return assigned(n, func(lhs ast.Expr) bool {
			sel, ok := lhs.(*ast.SelectorExpr)
			return ok && sel.Sel.Name == "Value"
		})
	}
	return nil
}
