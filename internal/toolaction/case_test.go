package toolaction_test

import (
	"testing"

	"github.com/bindery/bindery/internal/toolaction"
)

// Where some arguments govern, none may pass beside one of them that is its name but for case: some
// upstreams take the one for the other, and would do what the call is not bound to.
//
// covers EXA-013, EXA-028
func TestCaseOfGoverned(t *testing.T) {
	some := tool(t, `{}`, `{"governed":["/amount","/to/account","/list/0/id"]}`)
	for arguments, pointer := range map[string]string{
		`{"amount":1,"Amount":1000}`:                    "/Amount",
		`{"AMOUNT":1000}`:                               "/AMOUNT",
		`{"amount":1,"To":{"account":"a"}}`:             "/To",
		`{"amount":1,"to":{"account":"a","Account":1}}`: "/to/Account",
		`{"list":[{"id":1,"ID":2}]}`:                    "/list/0/ID",
		`{"li\u017ft":[]}`:                              "/li\u017ft",
	} {
		refused(t, some, arguments, toolaction.Invalid, pointer)
	}
	adapt(t, some, `{"amount":1,"to":{"account":"a"},"Note":1,"note":2,"list":[{"id":1}]}`)
	adapt(t, tool(t, `{}`, `{"governed":["/a","/A/b"]}`), `{"a":1,"A":{"b":1}}`) // both govern
	refused(t, tool(t, `{}`, `{"governed":["/a","/A/b"]}`), `{"a":1,"A":{"B":1}}`, toolaction.Invalid, "/A/B")
	adapt(t, tool(t, `{}`, `{}`), `{"amount":1,"Amount":1000}`) // all of them govern
}
