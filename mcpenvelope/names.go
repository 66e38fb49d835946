package mcpenvelope

import (
	"errors"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Names are the member names of the binding. Section 11 of the memo leaves them free; both ends must
// agree, and a surface looks for the default of Field and Mirror besides its own (AE-06, ENV-105). An
// empty field has its default.
type Names struct {
	Field      string // top-level member of a tool result (section 8.1): "binding_moment"
	Mirror     string // the same value in its _meta (E2): "bindery/binding_moment"
	Annotation string // of a tool that may emit (section 8.2): "emits_binding_moment"
	Manifest   string // the same in the tool's _meta, which clients keep: "bindery/emits_binding_moment"
	Argument   string // argument that carries a resolution (AE-04): "binding_resolution"
	Await      string // argument that asks for the outcome of a page (see [Bridge]): "binding_await"
	Extension  string // capability of both sides: "bindery/binding-moment"
}

// DefaultNames returns the defaults.
func DefaultNames() Names {
	return Names{
		Field: "binding_moment", Mirror: "bindery/binding_moment",
		Annotation: "emits_binding_moment", Manifest: "bindery/emits_binding_moment",
		Argument: "binding_resolution", Await: "binding_await", Extension: "bindery/binding-moment",
	}
}

// reserved are the members of a tool result that MCP defines.
const reserved = " _meta content structuredContent isError inputRequests requestState resultType task "

// complete fills in the defaults.
func (n Names) complete() (Names, error) {
	d := DefaultNames()
	for _, f := range []struct {
		name *string
		or   string
	}{
		{&n.Field, d.Field}, {&n.Mirror, d.Mirror}, {&n.Annotation, d.Annotation}, {&n.Manifest, d.Manifest},
		{&n.Argument, d.Argument}, {&n.Await, d.Await}, {&n.Extension, d.Extension},
	} {
		if *f.name == "" {
			*f.name = f.or
		}
		if strings.ContainsAny(*f.name, " \"\\\x00") || strings.ToValidUTF8(*f.name, "") != *f.name || len(*f.name) > 128 {
			return n, errors.New("mcpenvelope: a name has up to 128 bytes of UTF-8, without a space, a quote or a backslash")
		}
	}
	if strings.Contains(reserved, " "+n.Field+" ") || n.Argument == n.Await {
		return n, errors.New("mcpenvelope: a name that MCP has, or one name for two things")
	}
	return n, nil
}

// AddToClient declares that this client renders envelopes: a server does not send it through an
// elicitation then.
func (n Names) AddToClient(c *mcp.ClientCapabilities) error {
	n, err := n.complete()
	if err == nil {
		c.AddExtension(n.Extension, nil)
	}
	return err
}

// AddToServer declares that this server may emit envelopes.
func (n Names) AddToServer(c *mcp.ServerCapabilities) error {
	n, err := n.complete()
	if err == nil {
		c.AddExtension(n.Extension, map[string]any{"field": n.Field, "argument": n.Argument})
	}
	return err
}
