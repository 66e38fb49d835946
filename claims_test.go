package bindery_test

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// overclaim are words that say more than a gateway can know: it knows what it has sent and what it
// was answered, and neither how often the other side acts on it nor whether it does.
var overclaim = regexp.MustCompile(`(?i)\bexactly[- ]onc[e]\b|\bfully enforce[d]\b|\bguarantee[ds]?\b|\btamper-?proof\b|\bcrash-?(proof|safe)\b` +
	`|\b(is|are|was|were|been|gets?) executed\b|\bexecution is proved\b|\bproves? (the|an|any) effect\b|\bproof that (it|the call|the effect)\b` +
	`|\bno double (charge|execution|effect)s?\b|\bnever (charges|acts|executes) twice\b`)

// overclaims are the places of a text that say too much.
func overclaims(text string) []string {
	return overclaim.FindAllString(strings.Join(strings.Fields(text), " "), -1)
}

// TestClaims reads every document but the registers, every text that the program can print, and the
// comments: none of them claims that a call or its effect happens a certain number of times, that
// a binding or a log proves an effect, or that nothing can go wrong. What stands on the page of the
// gateway about its limits has to stay there.
//
// covers EXA-025, EXA-034, EXA-035
func TestClaims(t *testing.T) {
	for text, want := range map[string]int{
		"It runs exactly " + "once.": 1, "an exactly-once\ngateway": 1, "we guarantee it": 1, "The call was executed": 1, "a tamper-proof log": 1,
		"This proves the effect": 1, "the upstream gets the call at most once": 0, "no proof of an effect": 0, "executed as it is": 0, "the executions": 0,
	} {
		if got := len(overclaims(text)); got != want {
			t.Errorf("%q: %d claims are seen, want %d", text, got, want)
		}
	}
	for doc, text := range documents(t) {
		if strings.HasPrefix(doc, "docs/requirements/") {
			continue
		}
		for _, claim := range overclaims(text) {
			t.Errorf("%s says %q", doc, claim)
		}
	}
	texts := 0
	for _, f := range production(t) {
		for _, group := range f.Comments {
			for _, claim := range overclaims(group.Text()) {
				t.Errorf("%s: a comment says %q", f.at(group), claim)
			}
		}
		ast.Inspect(f.File, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				texts++
				if s, err := strconv.Unquote(lit.Value); err == nil && len(overclaims(s)) > 0 {
					t.Errorf("%s: the program says %q", f.at(lit), overclaims(s))
				}
			}
			return true
		})
	}
	if texts < 1000 {
		t.Errorf("only %d texts were looked at", texts)
	}
	page := repoFiles(t)["docs/gateway.md"]
	for _, stays := range []string{
		"**Experimental.**", "does not switch a registry on by itself", "at most once", "Neither is proof of an effect", "*not established*",
		"gives no permission to repeat, no proof of an effect and no crash safety",
	} {
		if !strings.Contains(page, stays) {
			t.Errorf("docs/gateway.md no longer says %q", stays)
		}
	}
}
