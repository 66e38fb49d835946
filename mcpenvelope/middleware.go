package mcpenvelope

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/bindery/bindery/envelope"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	methodCall = "tools/call"
	methodList = "tools/list"
)

// MetaWithheld is the member of a result's _meta that says why its envelope was left out.
const MetaWithheld = "bindery/envelope_withheld"

// MetaRefusal is the member of a result's _meta with the name of a discarded resolution's fault.
const MetaRefusal = "bindery/resolution_refused"

// A call is one tools/call on its way through the middleware.
type call struct {
	e     *Emitter
	req   *mcp.CallToolRequest
	next  mcp.MethodHandler
	args  []byte // as received, with what is taken out of them
	asked int    // envelopes put to a person by the bridge
}

// Middleware returns the receiving middleware. It takes resolutions out of calls, puts envelopes on
// results, and advertises in tools/list.
func (e *Emitter) Middleware() mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			switch req := req.(type) {
			case *mcp.CallToolRequest:
				if method == methodCall && req.Params != nil {
					return (&call{e: e, req: req, next: next, args: req.Params.Arguments}).serve(ctx)
				}
			case *mcp.ListToolsRequest:
				if method == methodList {
					res, err := next(ctx, method, req)
					if list, ok := res.(*mcp.ListToolsResult); ok && err == nil {
						return e.advertise(list)
					}
					return res, err
				}
			}
			return next(ctx, method, req)
		}
	}
}

func (c *call) serve(ctx context.Context) (mcp.Result, error) {
	taken, err := c.takeOut()
	if err != nil {
		return nil, err
	}
	b := c.e.cfg.Bridge
	switch {
	case b != nil && strings.HasPrefix(c.req.Params.RequestState, statePrefix):
		return b.resume(ctx, c) // the same arguments as in the first round, which has done what they ask
	case taken.await != "":
		return b.claim(ctx, c, taken.await)
	case taken.resolution != nil:
		d, err := c.settle(ctx, taken.resolution, c.e.cfg.By(c.req))
		return c.decided(ctx, d, err)
	}
	return c.run(ctx)
}

// run calls the tool and delivers what it made.
func (c *call) run(ctx context.Context) (mcp.Result, error) {
	res, err := c.next(ctx, methodCall, c.req)
	r, _ := res.(*mcp.CallToolResult)
	if h, ok := ctx.Value(decisionKey{}).(*handed); ok && !h.seen.Load() {
		c.e.cfg.Log.ErrorContext(ctx, "a resolution was taken, and the tool has not looked at it", "tool", c.req.Params.Name)
		if r != nil && !r.NeedsInput() {
			copied := *r
			copied.Content = append(slices.Clone(r.Content), &mcp.TextContent{Text: notLookedAt})
			res, r = &copied, &copied
		}
	}
	if err != nil || r == nil {
		return res, err
	}
	return c.deliver(ctx, r)
}

const notLookedAt = "The resolution that came with this call is taken, and this tool has not looked at it: nothing was done because of it. " +
	"It is not taken a second time; what is still to be decided has to be asked anew."

// settle is the one door for resolutions, from an argument, a form or a page.
func (c *call) settle(ctx context.Context, text []byte, by string) (envelope.Decision, error) {
	d, err := envelope.Settle(ctx, c.e.cfg.Ledger, text, envelope.Arrival{
		Agent: c.e.cfg.Agent, Session: c.e.cfg.Session(c.req), By: by, Assurance: envelope.Client, At: c.e.cfg.Now(),
	})
	if b := c.e.cfg.Bridge; b != nil && err == nil {
		b.resolvedElsewhere(d.Resolution.EnvelopeDigest())
	}
	return d, err
}

// decided runs the tool with a decision, or says why there is none.
func (c *call) decided(ctx context.Context, d envelope.Decision, err error) (mcp.Result, error) {
	var refusal *envelope.Refusal
	switch {
	case err == nil:
		return c.run(context.WithValue(ctx, decisionKey{}, &handed{decision: d}))
	case errors.As(err, &refusal):
		c.e.cfg.Log.WarnContext(ctx, "resolution discarded", "name", refusal.Name, "row", refusal.Row)
		return c.refused(refusal), nil
	}
	c.e.cfg.Log.ErrorContext(ctx, "the ledger does not answer", "error", err)
	return nil, internal("the ledger of envelopes does not answer: nothing was done because of this call")
}

// refused answers a call whose resolution was discarded.
func (c *call) refused(r *envelope.Refusal) *mcp.CallToolResult {
	res := c.result()
	res.Meta, res.IsError = mcp.Meta{MetaRefusal: r.Name}, true
	res.Content = []mcp.Content{&mcp.TextContent{Text: refusedText(r)}}
	return res
}

// result begins a result that no tool has made. From 2026-07-28 on a result says that it is complete;
// the SDK writes that into what comes from a tool, and into what it has read.
func (c *call) result() *mcp.CallToolResult {
	res := &mcp.CallToolResult{}
	if c.req.ProtocolVersion() >= modern {
		decode([]byte(`{"content":[],"resultType":"complete"}`), res)
	}
	return res
}

func internal(message string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: message}
}

// deliver puts the envelope that a handler attached on its result.
func (c *call) deliver(ctx context.Context, r *mcp.CallToolResult) (mcp.Result, error) {
	list := detach(r)
	enabled := c.e.cfg.Enabled == nil || c.e.cfg.Enabled(c.req)
	if len(list) == 0 || !enabled {
		return r, nil
	}
	switch {
	case len(list) > 1:
		return nil, internal("server fault: one result has one envelope, for one principal (ENV-089)")
	case r.InputRequests != nil || r.NeedsInput() || r.RequestState != "":
		return nil, internal("server fault: a result that asks for input carries no envelope (D3)")
	case !payload(r):
		return nil, internal("server fault: an envelope goes beside ordinary content, and there is none (ENV-099)")
	}
	em := list[0]
	em.Agent, em.Session, em.At = c.e.cfg.Agent, c.e.cfg.Session(c.req), c.e.cfg.Now()
	if err := em.Check(); err != nil {
		return nil, internal("server fault: " + err.Error())
	}
	if err := c.e.cfg.Ledger.Emit(ctx, em); err != nil {
		return c.withhold(ctx, r, err), nil
	}
	if b := c.e.cfg.Bridge; b != nil && !c.renders() {
		return b.ask(ctx, c, r, em)
	}
	return c.e.carry(r, em.Envelope), nil
}

// renders reports whether the client has said that it renders envelopes.
func (c *call) renders() bool {
	caps := c.req.ClientCapabilities()
	if caps == nil {
		return false
	}
	_, ok := caps.Extensions[c.e.cfg.Names.Extension]
	return ok
}

// payload reports whether a result has ordinary content to fall back to.
func payload(r *mcp.CallToolResult) bool {
	return r.StructuredContent != nil || slices.ContainsFunc(r.Content, func(c mcp.Content) bool {
		text, ok := c.(*mcp.TextContent)
		return c != nil && (!ok || strings.TrimSpace(text.Text) != "")
	})
}

// withhold lets the ordinary result go alone: nothing can be decided by it, so nothing is lost but
// the question.
func (c *call) withhold(ctx context.Context, r *mcp.CallToolResult, err error) *mcp.CallToolResult {
	why := "the ledger of envelopes does not answer"
	if errors.Is(err, envelope.ErrEmitted) {
		why = envelope.ErrEmitted.Error()
	}
	c.e.cfg.Log.WarnContext(ctx, "envelope withheld", "tool", c.req.Params.Name, "error", err)
	meta := r.GetMeta()
	if meta == nil {
		meta = map[string]any{}
	}
	meta[MetaWithheld] = why
	r.SetMeta(meta)
	return r
}

// A carrier is a tool result with one more member. All that the SDK asks of a result it asks of the
// embedded one.
type carrier struct {
	*mcp.CallToolResult
	field string
	value raw // canonical
}

// carry puts an envelope on a result: at the literal top level, and in the mirror (E2).
func (e *Emitter) carry(r *mcp.CallToolResult, env envelope.Envelope) mcp.Result {
	value := raw(env.JSON())
	meta := r.GetMeta()
	if meta == nil {
		meta = map[string]any{}
	}
	meta[e.cfg.Names.Mirror] = value
	r.SetMeta(meta)
	return &carrier{r, e.cfg.Names.Field, value}
}

// MarshalJSON appends the member to the members of the result, which stay as they are.
func (c *carrier) MarshalJSON() ([]byte, error) {
	text, err := c.CallToolResult.MarshalJSON()
	if err != nil {
		return nil, err
	}
	name, err := encode(c.field)
	if err != nil {
		return nil, err
	}
	text = append(text[:len(text)-1], ',') // a result always has the member content
	text = append(append(append(text, name...), ':'), c.value...)
	return append(text, '}'), nil
}
