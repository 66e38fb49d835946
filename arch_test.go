// Package bindery_test holds the rules of the repository as a whole: which room may
// import which, where an effect may stand, and that documents say what is so. It reads
// sources and documents and builds the command; it imports no room.
package bindery_test

import (
	"go/ast"
	"go/token"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The kinds of rooms, in the words with which a package doc's last paragraph begins.
const (
	values   = "values"           // pure: no I/O, no clock, no log
	speakers = "speakers"         // network allowed, no internal role
	roles    = "roles"            // what a party does; storage comes in as an interface
	adapters = "adapters"         // SQL, HTTP
	command  = "the command line" // knows every room, and no room knows it
	kits     = "tests"            // never part of a program
)

// mayImport are the directions: all arrows point down.
var mayImport = map[string][]string{
	values:   {values},
	speakers: {values},
	roles:    {values},
	adapters: {values, roles, adapters},
	command:  {values, speakers, roles, adapters, command},
	kits:     {values, speakers, roles, adapters, kits},
}

// A room is one package: what it may import of ours.
type room struct {
	kind    string
	imports []string
	tests   []string // what its tests may import besides: everything above, every value and every kit
}

// rooms lists every package. A new one fails TestRooms until it has an entry here, and so
// has to say where it belongs.
var rooms = map[string]room{
	"jcs":            {kind: values},
	"commitment":     {kind: values},
	"chain":          {kind: values, imports: []string{"jcs"}},
	"actionbinding":  {kind: values, imports: []string{"jcs"}},
	"envelope":       {kind: values, imports: []string{"jcs"}},
	"internal/jose":  {kind: values, imports: []string{"jcs"}},
	"internal/sdjwt": {kind: values, imports: []string{"jcs", "internal/jose"}},
	"mandate":        {kind: values, imports: []string{"jcs", "commitment", "internal/jose", "internal/sdjwt"}},
	"crossing":       {kind: values, imports: []string{"jcs", "commitment", "mandate", "chain"}},
	"api":            {kind: values, imports: []string{"jcs", "mandate", "crossing", "chain", "internal/jose"}},
	"internal/limit": {kind: values},
	"internal/audit": {kind: values, imports: []string{"jcs", "internal/jose"}},

	"internal/toolaction": {kind: values, imports: []string{"jcs", "actionbinding"}},
	"internal/mcp":        {kind: values, imports: []string{"jcs"}},
	"envelope/render":     {kind: values, imports: []string{"envelope"}},

	"client":      {kind: speakers, imports: []string{"jcs", "mandate", "crossing", "api", "internal/jose"}},
	"signer":      {kind: speakers, imports: []string{"jcs", "internal/jose"}, tests: []string{"mandate"}},
	"a2acrossing": {kind: speakers, imports: []string{"jcs", "commitment", "crossing", "api"}, tests: []string{"internal/centre"}},

	"internal/registry": {
		kind: roles, imports: []string{"jcs", "commitment", "mandate", "crossing", "chain", "api", "internal/jose", "internal/limit", "internal/audit"},
		tests: []string{"internal/store/sqlite", "internal/store/sqlstore", "internal/store/postgres"},
	},
	"internal/authority": {
		kind: roles, imports: []string{"jcs", "mandate", "crossing", "chain", "api", "internal/jose", "internal/limit"},
		tests: []string{"internal/store/sqlite", "internal/store/sqlstore", "internal/store/postgres"},
	},
	"internal/centre": {
		kind: roles, imports: []string{"jcs", "commitment", "mandate", "crossing", "chain", "api", "internal/jose"},
		tests: []string{"internal/store/sqlite", "internal/store/sqlstore", "internal/store/postgres"},
	},
	"internal/execution": {
		kind: roles, imports: []string{"jcs", "actionbinding", "internal/audit", "internal/jose"},
		tests: []string{"internal/store/sqlite", "internal/store/sqlstore", "internal/store/postgres"},
	},

	"internal/httpapi": {
		kind: adapters, imports: []string{"jcs", "crossing", "api", "internal/jose", "internal/registry", "internal/authority"},
		tests: []string{"client", "internal/store/sqlite", "internal/store/sqlstore", "internal/store/postgres"},
	},
	"internal/gateway": {
		kind: adapters, imports: []string{"jcs", "actionbinding", "internal/toolaction", "internal/mcp", "internal/audit", "internal/execution", "internal/agentauth"},
		tests: []string{"internal/store/sqlite", "internal/store/sqlstore"},
	},
	"internal/store/sqlite": {
		kind: adapters, imports: []string{"internal/store/sqlstore"},
		tests: []string{"internal/registry", "internal/authority", "internal/centre", "internal/execution"},
	},
	"internal/store/postgres": {
		kind: adapters, imports: []string{"internal/store/sqlstore"},
		tests: []string{"internal/registry", "internal/authority", "internal/centre", "internal/execution"},
	},
	"internal/store/sqlstore": {kind: adapters, tests: []string{"internal/store/sqlite", "internal/store/postgres", "internal/gateway", "internal/agentauth"}, imports: []string{
		"jcs", "commitment", "mandate", "crossing", "chain", "api", "internal/jose", "internal/audit",
		"internal/registry", "internal/authority", "internal/centre", "internal/execution", "envelope",
	}},

	"internal/agentauth": {kind: adapters, imports: []string{"jcs", "internal/jose"}},
	"internal/telemetry": {kind: adapters, imports: []string{"internal/gateway"}},
	"internal/metrics": {
		kind: adapters, imports: []string{"api", "crossing", "internal/registry", "internal/authority", "internal/centre", "internal/store/sqlstore", "internal/execution", "internal/gateway"},
		tests: []string{"internal/store/sqlite"},
	},

	"internal/keyring":   {kind: adapters, imports: []string{"internal/jose"}},
	"docs/requirements":  {kind: values},
	"internal/failpoint": {kind: command},
	"internal/cli": {kind: command, imports: []string{
		"jcs", "commitment", "mandate", "crossing", "chain", "api", "client", "a2acrossing", "internal/jose",
		"internal/registry", "internal/authority", "internal/centre", "internal/httpapi", "internal/store/sqlite", "internal/store/postgres", "internal/store/sqlstore", "internal/failpoint",
		"docs/requirements", "internal/audit", "internal/metrics", "internal/keyring", "signer", "actionbinding", "internal/execution", "internal/agentauth", "internal/telemetry", "internal/gateway", "internal/toolaction", "envelope", "envelope/render",
	}},
	"cmd/bindery": {kind: command, imports: []string{"internal/cli"}},

	"mcpenvelope": {kind: speakers, imports: []string{"jcs", "envelope", "envelope/render"}},

	"examples/release-approver": {kind: command, imports: []string{"jcs", "envelope", "envelope/render", "mcpenvelope"}},

	"internal/interoptest": {kind: kits, tests: []string{"internal/registry", "internal/store/sqlite"}},
	"internal/gatewaytest": {kind: kits, imports: []string{"jcs"}, tests: []string{
		"internal/gateway", "internal/execution", "internal/agentauth", "internal/store/sqlite", "internal/store/sqlstore", "internal/store/postgres",
	}},
	"internal/gatewaytest/countingserver": {kind: kits, imports: []string{"internal/gatewaytest"}},
	"internal/gatewaytest/sdktest":        {kind: kits},

	"internal/browsertest":    {kind: kits},
	"internal/mutants":        {kind: kits},
	"internal/tools/coverage": {kind: kits, imports: []string{"internal/mutants"}},
	"internal/tools/mutants":  {kind: kits, imports: []string{"internal/mutants"}},

	"internal/store/pgtest":     {kind: kits, imports: []string{"internal/store/postgres"}},
	"internal/store/sqlitetest": {kind: kits, imports: []string{"internal/store/sqlite"}},

	"internal/crossingtest": {kind: kits, imports: []string{"jcs", "commitment", "mandate", "crossing", "chain", "internal/jose", "internal/sdjwt"}},
	"internal/store/storetest": {kind: kits, imports: []string{
		"jcs", "commitment", "mandate", "crossing", "chain", "api", "internal/jose", "internal/audit",
		"internal/registry", "internal/authority", "internal/centre", "internal/execution", "internal/crossingtest", "envelope", "internal/store/sqlstore",
	}},
	"internal/wiretest": {kind: kits, imports: []string{
		"jcs", "commitment", "mandate", "crossing", "chain", "api", "client", "a2acrossing", "internal/jose",
		"internal/registry", "internal/authority", "internal/centre", "internal/httpapi", "internal/store/sqlite", "internal/store/sqlstore",
		"internal/sdjwt", "internal/crossingtest", "internal/store/storetest", "internal/store/postgres", "internal/store/pgtest", "internal/store/sqlitetest",
	}},
}

func TestRooms(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range goFiles(t) {
		seen[f.room] = true
		if _, ok := rooms[f.room]; !ok && f.room != "." {
			t.Errorf("%s: package %s has no entry in arch_test.go: say which room it is and what it may import", f.path, f.room)
		}
	}
	for name, r := range rooms {
		if !seen[name] {
			t.Errorf("arch_test.go has an entry for %s, which does not exist", name)
		}
		for _, to := range r.imports {
			if !slices.Contains(mayImport[r.kind], rooms[to].kind) {
				t.Errorf("%s (%s) may not import %s (%s), whatever its entry says", name, r.kind, to, rooms[to].kind)
			}
		}
	}
}

func TestImportsOfOurs(t *testing.T) {
	for _, f := range goFiles(t) {
		for _, to := range f.ours() {
			if !allowed(f, to) {
				t.Errorf("%s imports %s, which its entry does not allow", f.path, to)
			}
		}
	}
}

func allowed(f *goFile, to string) bool {
	r := rooms[f.room]
	if slices.Contains(r.imports, to) {
		return true
	}
	if !f.test {
		return false
	}
	kind := rooms[to].kind
	return to == f.room || kind == values || kind == kits || slices.Contains(r.tests, to)
}

// The table cannot be loosened entry by entry into what must never be: some rooms do not
// reach each other by any path.
func TestNeverReaches(t *testing.T) {
	reach := func(from string) map[string]bool {
		found, queue := map[string]bool{}, []string{from}
		for len(queue) > 0 {
			r := rooms[queue[0]]
			queue = queue[1:]
			for _, to := range r.imports {
				if !found[to] {
					found[to] = true
					queue = append(queue, to)
				}
			}
		}
		return found
	}
	for _, pair := range [][2]string{
		{"internal/registry", "internal/authority"},
		{"internal/authority", "internal/registry"},
		{"internal/centre", "internal/registry"},
		{"internal/centre", "internal/authority"},
		{"client", "internal/centre"},
		{"a2acrossing", "internal/centre"},
		{"crossing", "a2acrossing"},
		{"crossing", "api"},
	} {
		if reach(pair[0])[pair[1]] {
			t.Errorf("%s reaches %s", pair[0], pair[1])
		}
	}
}

// A thirdParty rule says where a module of somebody else may be imported.
type thirdParty struct {
	prefix     string
	production []string // rooms whose programs may use it
	tests      []string // rooms whose tests may; "*" means every room's tests and every kit
}

var thirdParties = []thirdParty{
	{prefix: "github.com/jackc/pgx/v5", production: []string{"internal/store/postgres"}, tests: []string{"*"}},
	{prefix: "github.com/anishathalye/porcupine", tests: []string{"internal/registry", "internal/execution", "internal/gatewaytest"}},
	{prefix: "modernc.org/sqlite", production: []string{"internal/store/sqlite"}, tests: []string{"*"}},
	{prefix: "github.com/a2aproject/a2a-go/v2", production: []string{"a2acrossing"}, tests: []string{"a2acrossing"}},
	{prefix: "filippo.io/age", production: []string{"internal/keyring"}, tests: []string{"internal/keyring"}},
	{prefix: "golang.org/x/term", production: []string{"internal/cli"}},
	{prefix: "github.com/spf13/cobra", production: []string{"internal/cli"}, tests: []string{"internal/cli"}},
	{prefix: "github.com/go-jose/go-jose/v4", production: []string{"internal/agentauth"}},
	{prefix: "go.opentelemetry.io/otel", production: []string{"internal/telemetry"}},
	{prefix: "github.com/modelcontextprotocol/go-sdk", production: []string{"mcpenvelope", "examples/release-approver"}, tests: []string{"internal/gatewaytest", "internal/gatewaytest/sdktest", "mcpenvelope", "examples/release-approver"}},
	{prefix: "github.com/prometheus/client_golang", production: []string{"internal/metrics"}},
	{prefix: "github.com/google/go-cmp", tests: []string{"*"}},
	{prefix: "github.com/chromedp", tests: []string{"internal/browsertest"}},
	{prefix: "golang.org/x/net/html", tests: []string{"envelope/render"}},
	{prefix: "github.com/rogpeppe/go-internal", tests: []string{"internal/cli", "examples/release-approver"}},
	{prefix: "github.com/gowebpki/jcs", tests: []string{"jcs"}},
	{prefix: "github.com/cyberphone/json-canonicalization", tests: []string{"jcs"}},
}

// Of the standard library, what has an effect is allowed room by room. A prefix covers
// the packages below it.
var effects = []thirdParty{
	{prefix: "database/sql", production: []string{"internal/store/sqlite", "internal/store/postgres", "internal/store/sqlstore"}, tests: []string{"*"}},
	{prefix: "net/http", production: []string{"a2acrossing", "client", "internal/httpapi", "internal/cli", "internal/metrics", "internal/gateway", "internal/agentauth", "internal/telemetry", "mcpenvelope", "examples/release-approver"}, tests: []string{"*"}},
	{prefix: "os/exec", production: []string{"internal/cli", "signer", "internal/gateway"}, tests: []string{"*"}},
	{prefix: "os", production: []string{"cmd/bindery", "internal/cli", "internal/failpoint", "internal/store/sqlite", "internal/keyring", "signer", "examples/release-approver"}, tests: []string{"*"}},
	{prefix: "syscall", production: []string{"internal/cli", "internal/failpoint", "signer", "internal/gateway", "examples/release-approver"}, tests: []string{"*"}},
	{prefix: "testing", tests: []string{"*"}},
	{prefix: "math/rand"},                               // crypto/rand is the one source of randomness; tests seed their own
	{prefix: "unsafe", tests: []string{"internal/cli"}}, // a terminal of its own takes an ioctl
	{prefix: "html/template"},
	{prefix: "text/template"},
}

// Values have no effect, so that one can be read, fuzzed and trusted alone. Two exceptions: jcs
// keeps the emptied lists of its parsers in a sync.Pool, which no result depends on; envelope
// says what a ledger is, which takes a context, and has one in memory, which takes a lock.
var effectsOfValues = []string{"context", "io/fs", "log", "net", "os", "runtime", "sync", "testing", "database", "syscall"}

func TestImportsOfOthers(t *testing.T) {
	for _, f := range goFiles(t) {
		for _, imp := range f.imported() {
			first, _, _ := strings.Cut(imp, "/")
			switch {
			case imp == module || strings.HasPrefix(imp, module+"/"):
			case strings.Contains(first, "."):
				rule := ruleFor(thirdParties, imp)
				if rule == nil || !rule.allows(f) {
					t.Errorf("%s imports %s, for which arch_test.go has no rule that allows it", f.path, imp)
				}
			default:
				if rule := ruleFor(effects, imp); rule != nil && !rule.allows(f) {
					t.Errorf("%s imports %s", f.path, imp)
				}
				excepted := f.room == "jcs" && imp == "sync" || f.room == "envelope" && (imp == "sync" || imp == "context")
				if rooms[f.room].kind == values && !f.test && !excepted && slices.ContainsFunc(effectsOfValues, func(p string) bool { return under(imp, p) }) {
					t.Errorf("%s is a value and imports %s", f.path, imp)
				}
			}
		}
	}
}

func ruleFor(list []thirdParty, imp string) *thirdParty {
	for i := range list {
		if under(imp, list[i].prefix) {
			return &list[i]
		}
	}
	return nil
}

func under(imp, prefix string) bool { return imp == prefix || strings.HasPrefix(imp, prefix+"/") }

func (p *thirdParty) allows(f *goFile) bool {
	if f.test || rooms[f.room].kind == kits {
		return slices.Contains(p.tests, "*") || slices.Contains(p.tests, f.room) || p.prefix == "math/rand"
	}
	return slices.Contains(p.production, f.room)
}

// calls walks every selector X.Name of a package-like X in the production files.
func selectors(t *testing.T, visit func(f *goFile, n *ast.SelectorExpr, x string, parents []ast.Node)) {
	for _, f := range production(t) {
		var parents []ast.Node
		ast.Inspect(f.File, func(n ast.Node) bool {
			if n == nil {
				parents = parents[:len(parents)-1]
				return true
			}
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := sel.X.(*ast.Ident); ok {
					visit(f, sel, x.Name, parents)
				}
			}
			parents = append(parents, n)
			return true
		})
	}
}

func TestProcessEndsInCmd(t *testing.T) {
	selectors(t, func(f *goFile, n *ast.SelectorExpr, x string, _ []ast.Node) {
		ends := x == "os" && n.Sel.Name == "Exit" || x == "log" && (strings.HasPrefix(n.Sel.Name, "Fatal") || strings.HasPrefix(n.Sel.Name, "Panic"))
		if ends && !strings.HasPrefix(f.room, "cmd/") && !strings.HasPrefix(f.room, "examples/") {
			t.Errorf("%s: %s.%s outside cmd", f.at(n), x, n.Sel.Name)
		}
	})
}

// A status is written at the HTTP edges alone: in the one table of internal/httpapi, and
// by a2acrossing for a body that is too large to be a request at all. Whoever makes
// requests reads the status of an answer.
func TestStatusNumbers(t *testing.T) {
	write := []string{"internal/httpapi", "a2acrossing", "internal/gateway", "mcpenvelope"}
	read := append([]string{"client", "internal/cli", "internal/agentauth"}, write...)
	selectors(t, func(f *goFile, n *ast.SelectorExpr, x string, parents []ast.Node) {
		switch {
		case x == "http" && strings.HasPrefix(n.Sel.Name, "Status") && n.Sel.Name != "StatusText":
			compared := false
			if len(parents) > 0 {
				b, ok := parents[len(parents)-1].(*ast.BinaryExpr)
				compared = ok && (b.Op == token.EQL || b.Op == token.NEQ)
			}
			if !slices.Contains(write, f.room) && !(compared && slices.Contains(read, f.room)) {
				t.Errorf("%s: an HTTP status outside the rooms that write one", f.at(n))
			}
		case n.Sel.Name == "WriteHeader", x == "http" && slices.Contains([]string{"Error", "NotFound", "Redirect"}, n.Sel.Name):
			if !slices.Contains(write, f.room) {
				t.Errorf("%s: an HTTP answer outside the rooms that write one", f.at(n))
			}
		}
	})
}

// Values are told the time. Roles, speakers and adapters take a clock from their Config,
// for which time.Now is the default: they name it, but do not call it.
func TestClock(t *testing.T) {
	selectors(t, func(f *goFile, n *ast.SelectorExpr, x string, parents []ast.Node) {
		if x != "time" || !slices.Contains([]string{"Now", "Since", "Until"}, n.Sel.Name) {
			return
		}
		called := n.Sel.Name != "Now"
		if len(parents) > 0 {
			call, ok := parents[len(parents)-1].(*ast.CallExpr)
			called = called || ok && call.Fun == n
		}
		switch kind := rooms[f.room].kind; {
		case kind == values:
			t.Errorf("%s: a value looks at the clock", f.at(n))
		case kind != command && called:
			t.Errorf("%s: the clock is called, not taken from Config", f.at(n))
		}
	})
}

// SQL is a string that begins like a statement. Tests of roles may look into the tables.
var sqlStatement = regexp.MustCompile(`^\s*(SELECT|INSERT|UPDATE|DELETE|REPLACE|CREATE|DROP|ALTER|PRAGMA|BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|VACUUM|WITH)\b`)

func TestSQL(t *testing.T) {
	for _, f := range production(t) {
		if strings.HasPrefix(f.room, "internal/store/") {
			continue
		}
		ast.Inspect(f.File, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if s, err := strconv.Unquote(lit.Value); err == nil && sqlStatement.MatchString(s) {
					t.Errorf("%s: SQL outside internal/store", f.at(n))
				}
			}
			return true
		})
	}
	for p := range repoFiles(t) {
		if path.Ext(p) == ".sql" && !strings.HasPrefix(p, "internal/store/") {
			t.Errorf("%s: SQL outside internal/store", p)
		}
	}
}

// Signing always draws fresh randomness (design M3): a nil reader would ask the library
// for a deterministic signature.
func TestNoNilReader(t *testing.T) {
	for _, f := range goFiles(t) {
		ast.Inspect(f.File, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || sel.Sel.Name != "Sign" && sel.Sel.Name != "SignASN1" {
				return true
			}
			if arg, ok := call.Args[0].(*ast.Ident); ok && arg.Name == "nil" {
				t.Errorf("%s: %s with a nil reader", f.at(n), sel.Sel.Name)
			}
			return true
		})
	}
}

// No ambient state: no init functions, and package variables that are constant in all
// but name, save the pool of jcs.
func TestNoAmbientState(t *testing.T) {
	for _, f := range production(t) {
		for _, decl := range f.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil && d.Name.Name == "init" {
					t.Errorf("%s: an init function", f.at(d))
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if v, ok := spec.(*ast.ValueSpec); ok && d.Tok == token.VAR && !fixed(d, v) && !(f.room == "jcs" && v.Names[0].Name == "parsers") {
						t.Errorf("%s: a package variable that can change", f.at(v))
					}
				}
			}
		}
	}
}

// fixed allows interface assertions, error sentinels, compiled patterns, what is computed
// once, embedded files and arrays.
func fixed(d *ast.GenDecl, v *ast.ValueSpec) bool {
	if v.Names[0].Name == "_" || strings.Contains(d.Doc.Text()+v.Doc.Text(), "go:embed") || embedded(d) || embedded(v) {
		return true
	}
	if len(v.Values) == 0 {
		return false
	}
	for _, value := range v.Values {
		switch e := value.(type) {
		case *ast.CallExpr:
			sel, ok := e.Fun.(*ast.SelectorExpr)
			if !ok || sel.Sel.Name != "New" && sel.Sel.Name != "MustCompile" && sel.Sel.Name != "OnceValue" {
				return false
			}
			if x, ok := sel.X.(*ast.Ident); !ok || x.Name != "errors" && x.Name != "regexp" && x.Name != "sync" {
				return false
			}
		case *ast.CompositeLit:
			if a, ok := e.Type.(*ast.ArrayType); !ok || a.Len == nil {
				return false
			}
		default:
			return false
		}
	}
	return true
}

func embedded(n ast.Node) bool {
	var doc *ast.CommentGroup
	switch d := n.(type) {
	case *ast.GenDecl:
		doc = d.Doc
	case *ast.ValueSpec:
		doc = d.Doc
	}
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:embed ") })
}

// Every package says what it is, and its last paragraph which room it is.
func TestPackageDocs(t *testing.T) {
	docs := map[string]string{}
	for _, f := range goFiles(t) {
		if !f.test && f.Doc != nil {
			docs[f.room] += f.Doc.Text()
		}
	}
	for name, r := range rooms {
		doc := strings.TrimSpace(docs[name])
		if doc == "" {
			t.Errorf("%s has no package doc", name)
			continue
		}
		paragraphs := strings.Split(doc, "\n\n")
		last := paragraphs[len(paragraphs)-1]
		if !strings.HasPrefix(last, "Room: "+r.kind) {
			t.Errorf("%s: the package doc's last paragraph does not begin %q", name, "Room: "+r.kind)
		}
	}
}

// Every exported name of a program's rooms has a doc comment.
func TestDocComments(t *testing.T) {
	for _, f := range production(t) {
		for _, decl := range f.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && exportedReceiver(d) && d.Doc == nil {
					t.Errorf("%s: %s has no doc comment", f.at(d), d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if name, doc := exportedSpec(spec); name != "" && !doc && d.Doc == nil {
						t.Errorf("%s: %s has no doc comment", f.at(spec), name)
					}
				}
			}
		}
	}
}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return true
	}
	recv := d.Recv.List[0].Type
	if star, ok := recv.(*ast.StarExpr); ok {
		recv = star.X
	}
	x, ok := recv.(*ast.Ident)
	return !ok || x.IsExported()
}

func exportedSpec(spec ast.Spec) (name string, doc bool) {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Name.IsExported() {
			return s.Name.Name, s.Doc != nil || s.Comment != nil
		}
	case *ast.ValueSpec:
		for _, n := range s.Names {
			if n.IsExported() {
				return n.Name, s.Doc != nil || s.Comment != nil
			}
		}
	}
	return "", false
}

// Words that stand nowhere in the repository. They are put together here so that this
// file does not hold them.
//
// covers GC-025
func TestWords(t *testing.T) {
	never := []string{"pass" + "port", "fully " + "enforced", "exactly " + "once"}
	unfinished := regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME)\b`)
	for p, text := range repoFiles(t) {
		lower := strings.ToLower(p + "\n" + text)
		for _, word := range never {
			if i := strings.Index(lower, word); i >= 0 {
				t.Errorf("%s:%d: the words %q", p, strings.Count(lower[:i], "\n"), word)
			}
		}
		if m := unfinished.FindStringIndex(text); m != nil && p != "LICENSE" {
			t.Errorf("%s:%d: unfinished work", p, 1+strings.Count(text[:m[0]], "\n"))
		}
	}
}

func TestGoMod(t *testing.T) {
	b, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	// An older line turns deterministic signature readers back on (design M3).
	if !regexp.MustCompile(`(?m)^go 1\.26(\.\d+)?$`).MatchString(text) {
		t.Error("go.mod does not say go 1.26")
	}
	if !regexp.MustCompile(`(?m)^\s*(require )?github\.com/a2aproject/a2a-go/v2 v2\.4\.0$`).MatchString(text) {
		t.Error("go.mod does not require a2a-go at v2.4.0")
	}
	for _, directive := range []string{"replace ", "godebug ", "exclude ", "toolchain "} {
		if regexp.MustCompile(`(?m)^` + directive).MatchString(text) {
			t.Errorf("go.mod has a %sdirective", directive)
		}
	}
}

func TestMainIsShort(t *testing.T) {
	if lines := strings.Count(repoFiles(t)["cmd/bindery/main.go"], "\n"); lines == 0 || lines > 15 {
		t.Errorf("cmd/bindery/main.go has %d lines, at most 15 are allowed", lines)
	}
}
