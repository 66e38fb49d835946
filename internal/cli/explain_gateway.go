package cli

import (
	"fmt"

	"github.com/bindery/bindery/internal/gateway"
	"github.com/bindery/bindery/jcs"
)

// explainRefusal says what a refusal of the gateway means.
func (a *app) explainRefusal(c gateway.Code) error {
	if a.json {
		a.print(jcs.Object(
			said("name", c.Name),
			jcs.Member{Name: "code", Value: jcs.Int(int64(c.Number))},
			jcs.Member{Name: "http", Value: jcs.Int(int64(c.Status))},
			said("message", c.Meaning),
			said("fix", c.Next),
		))
		return nil
	}
	fmt.Fprintf(a.out, "%s: %s.\n\n", c.Name, c.Meaning)
	fmt.Fprintf(a.out, "of       bindery gateway\ncode     %d\nHTTP     %d\n\n", c.Number, c.Status)
	fmt.Fprintf(a.out, "Usual fix: %s\n", c.Next)
	return nil
}
