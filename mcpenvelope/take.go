package mcpenvelope

import (
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// taken is what the arguments of a call have for us.
type taken struct {
	resolution []byte // the text of a resolution, as received
	await      string // the digest of an envelope whose page is asked about
}

// takeOut takes a resolution out of the arguments, so that the tool sees its own alone. It reads the
// bytes as received: a repeated name, at whatever level, is refused before it could be dropped
// (ENV-057, AE-11). Arguments that name neither of ours are not looked into.
func (c *call) takeOut() (taken, error) {
	text := c.req.Params.Arguments
	args, ok := parseObject(text)
	if !ok {
		return taken{}, nil // the tool's own schema refuses what is no object
	}
	n := c.e.cfg.Names
	resolution, named := args[n.Argument]
	await, awaited := args[n.Await]
	bare := !named && c.emits() && isBare(args)
	if !named && !awaited && !bare {
		return taken{}, nil
	}
	if _, err := foreign(MaxResult).Append(nil, text); err != nil {
		// Parsers differ on what these arguments hold. The ledger's door refuses them as a whole, by
		// the rule that they break, and records it.
		return taken{resolution: text}, nil
	}
	if named && awaited {
		return taken{}, invalid("the arguments have a resolution, and ask for the outcome of a page: one of the two")
	}
	var t taken
	switch {
	case bare:
		t.resolution, args = text, nil
	case named:
		t.resolution = resolution
		delete(args, n.Argument)
	default:
		if !decode(await, &t.await) || t.await == "" {
			return taken{}, invalid("the argument " + n.Await + " is the digest of an envelope")
		}
		delete(args, n.Await)
	}
	return t, c.setArguments(args)
}

// setArguments gives the tool its own arguments. The request is copied: the caller's is not ours.
func (c *call) setArguments(args object) error {
	if args == nil {
		args = object{}
	}
	text, err := encode(args)
	if err != nil {
		return internal("the arguments cannot be written")
	}
	params := *c.req.Params
	params.Arguments = text
	c.req = &mcp.CallToolRequest{Session: c.req.Session, Params: &params, Extra: c.req.Extra}
	return nil
}

// emits reports whether the tool that is called is one that may emit.
func (c *call) emits() bool { return slices.Contains(c.e.cfg.Emits, c.req.Params.Name) }

// isBare reports whether the arguments are themselves a resolution (AE-04): whether they have the two
// members that each has. What else they have makes it malformed.
func isBare(args object) bool {
	_, digest := args["envelope_digest"]
	_, kind := args["resolution"]
	return digest && kind
}

func invalid(message string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: message}
}
