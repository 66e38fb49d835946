package httpapi_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/httpapi"
)

// apiCodes reads the constants Code… from the source of package api, so that a new one
// cannot be forgotten here.
func apiCodes(t *testing.T) (codes []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../api/api.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for n := range ast.Preorder(file) {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Code") || len(spec.Values) != 1 {
			continue
		}
		code, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		codes = append(codes, code)
	}
	if len(codes) < 8 {
		t.Fatalf("found only the codes %q", codes)
	}
	return codes
}

// covers GC-120
func TestEveryCodeHasAStatus(t *testing.T) {
	codes := append(apiCodes(t), httpapi.EdgeCodes()...)
	for _, row := range crossing.Table() {
		codes = append(codes, string(row.Name))
		if got, _ := httpapi.Status(string(row.Name)); got != row.HTTP {
			t.Errorf("%s: status %d, want %d", row.Name, got, row.HTTP)
		}
	}
	for _, code := range codes {
		if n, ok := httpapi.Status(code); !ok || n < 400 || n > 599 {
			t.Errorf("%s: status %d, mapped %v", code, n, ok)
		}
	}
	if n, ok := httpapi.Status("NO_SUCH_NAME"); ok || n != 500 {
		t.Errorf("an unmapped code: status %d, mapped %v", n, ok)
	}
	for code, want := range map[string]int{
		"malformed_request": 400, "unauthenticated": 401, "not_found": 404, "enrolment_refused": 403, "conflict": 409,
		"predecessor_missing": 409, "too_large": 413, "temporarily_unavailable": 503, "ROLE_MISMATCH": 403, "RATE_LIMITED": 429,
	} {
		if got, _ := httpapi.Status(code); got != want {
			t.Errorf("%s: status %d, want %d", code, got, want)
		}
	}
}
