package mcpenvelope

import (
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/http"

	"github.com/bindery/bindery/envelope"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Policy says what is done with envelopes of a server that is not authenticated (ENV-106).
type Policy string

// The policies. The zero Policy is Warn.
const (
	Warn   Policy = "warn"   // the envelope is given, with a warning beside it
	Refuse Policy = "refuse" // the ordinary content is shown alone, with a diagnostic
	Allow  Policy = "allow"  // nothing is said
)

// A ClientConfig says how a client takes envelopes. The zero value is one with the default names that
// warns of servers that are not authenticated.
type ClientConfig struct {
	Names           Names
	Unauthenticated Policy
	// Trusted says that the surface is authenticated by means that are not seen here, such as a
	// tunnel. Otherwise a server counts as authenticated if its transport is HTTPS throughout, or
	// it is a process that this client started, or part of its own.
	Trusted bool
	Log     *slog.Logger // diagnostics and warnings; nil is slog.Default
}

// A Client is the receiving half: it sees the bytes of tool results, which the SDK's types have no
// place for. Connect one server through it, by [Client.Transport] or by [Client.HTTP], and call tools
// with [Client.Call].
type Client struct {
	cfg     ClientConfig
	rawKey  string // member of _meta in which the bytes of a result ride through the SDK
	surface surface
}

// NewClient checks cfg.
func NewClient(cfg ClientConfig) (*Client, error) {
	names, err := cfg.Names.complete()
	if err != nil {
		return nil, err
	}
	cfg.Names = names
	switch cfg.Unauthenticated {
	case "":
		cfg.Unauthenticated = Warn
	case Warn, Refuse, Allow:
	default:
		return nil, errors.New("mcpenvelope: what to do with a server that is not authenticated is warn, refuse or allow (ENV-106)")
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	// The key is random, so that no server can put other bytes in its place.
	return &Client{cfg: cfg, rawKey: "bindery/raw-" + secret()}, nil
}

// A Reply is the answer to a tool call.
type Reply struct {
	Result   *mcp.CallToolResult // the ordinary content, always
	Raw      []byte              // the JSON of the whole result, as received
	Envelope envelope.Envelope   // what is to be rendered as a decision; zero if there is none
	// Diagnostic says in one line what was discarded; show it beside the ordinary content
	// (ENV-013). "" is none.
	Diagnostic string
	// Warning says in one line what the principal should know before deciding. "" is none.
	Warning string
}

// ErrNotRaw is returned by [Client.Call] for a session whose connection does not go through this
// client, and for a result of more than [MaxResult] bytes: they cannot be looked at, and a surface looks
// at each (ENV-087). The reply beside it has the ordinary content alone.
var ErrNotRaw = errors.New("mcpenvelope: the bytes of the result are not known, or too many: connect through Client.Transport or Client.HTTP")

// Call calls a tool and looks at its result, whatever the tool has advertised. A malformed envelope is
// no error: the reply has the ordinary content, and a diagnostic (ENV-098 to ENV-101).
func (c *Client) Call(ctx context.Context, s *mcp.ClientSession, params *mcp.CallToolParams) (*Reply, error) {
	res, err := s.CallTool(ctx, params)
	if err != nil {
		return nil, err
	}
	reply := &Reply{Result: res}
	text, ok := res.Meta[c.rawKey].(string)
	if !ok {
		return reply, ErrNotRaw
	}
	delete(res.Meta, c.rawKey)
	if reply.Raw, err = base64.StdEncoding.DecodeString(text); err != nil {
		return reply, ErrNotRaw
	}
	c.judge(ctx, reply)
	return reply, nil
}

// judge fills in what there is to say of a result.
func (c *Client) judge(ctx context.Context, r *Reply) {
	found := inspect(r.Raw, c.cfg.Names)
	authenticated := c.cfg.Trusted || c.surface.authenticated()
	if !found.Envelope.IsZero() && !authenticated {
		switch c.cfg.Unauthenticated {
		case Refuse:
			found = Inspection{Fault: errSurface}
		case Warn:
			r.Warning = "The server that asks is not authenticated: what it says it saw, somebody else may have written."
			c.cfg.Log.WarnContext(ctx, "envelope of a server that is not authenticated", "digest", found.Envelope.Digest().String())
		}
	}
	if r.Diagnostic = found.Diagnostic(); r.Diagnostic != "" {
		c.cfg.Log.WarnContext(ctx, r.Diagnostic)
	}
	r.Envelope = found.Envelope
}

// Resolve hands a resolution to the agent: as the argument of its next tool call (section 7.3). args
// are the tool's own arguments, nil for none; what the tool requires has to be among them.
func (c *Client) Resolve(ctx context.Context, s *mcp.ClientSession, tool string, args map[string]any, r envelope.Resolution) (*Reply, error) {
	if r.IsZero() {
		return nil, errors.New("mcpenvelope: there is no resolution to hand over")
	}
	with := map[string]any{}
	for k, v := range args {
		with[k] = v
	}
	with[c.cfg.Names.Argument] = raw(r.JSON())
	return c.Call(ctx, s, &mcp.CallToolParams{Name: tool, Arguments: with})
}

// Transport returns t with this client in it. It is for stdio, a command, and memory; a connection
// over HTTP takes [Client.HTTP] instead, since a wrapped one would lose its protocol version.
func (c *Client) Transport(t mcp.Transport) mcp.Transport {
	switch t.(type) {
	case *mcp.CommandTransport, *mcp.InMemoryTransport:
		c.surface.known.Store(true)
	}
	return &tapped{t, c}
}

// HTTP returns base with this client in it, for [mcp.StreamableClientTransport.HTTPClient]. Nil is
// [http.DefaultClient].
func (c *Client) HTTP(base *http.Client) *http.Client {
	if base == nil {
		base = http.DefaultClient
	}
	copied := *base
	next := base.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	copied.Transport = &roundTripper{next, c}
	return &copied
}
