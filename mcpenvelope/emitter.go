package mcpenvelope

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/bindery/bindery/envelope"
	"github.com/bindery/bindery/jcs"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Config says how a server emits envelopes and takes resolutions.
type Config struct {
	Agent  string          // who emits: the name under which the ledger knows this server; required
	Ledger envelope.Ledger // what was emitted and what is resolved; required
	Emits  []string        // names of the tools that may emit; they are advertised, and take a bare resolution
	Names  Names

	// Enabled is the flag of a staged adoption (section 8.3): where it says false, a result leaves
	// with its ordinary content alone and nothing is emitted. Nil is always true. What is
	// outstanding can be resolved either way.
	Enabled func(*mcp.CallToolRequest) bool

	// Session names the session of a call. If it is not "", an envelope emitted there can be
	// resolved there alone (ENV-104). Nil is [SessionOf].
	Session func(*mcp.CallToolRequest) string

	// By names who gives a resolution with a call, for the record; it proves nothing. Nil is
	// [CallerOf].
	By func(*mcp.CallToolRequest) string

	Bridge *Bridge          // for clients that render no envelopes; nil is none
	Now    func() time.Time // nil is time.Now
	Log    *slog.Logger     // what was discarded and withheld; nil is slog.Default
}

// An Emitter is the emitting and the taking side of a server. Make one with [New], and pass its
// [Emitter.Middleware] to the server's AddReceivingMiddleware, after all others. It may serve several
// servers and transports at once.
type Emitter struct {
	cfg Config
}

// New checks cfg.
func New(cfg Config) (*Emitter, error) {
	if cfg.Agent == "" || cfg.Ledger == nil {
		return nil, errors.New("mcpenvelope: an emitter has a name and a ledger")
	}
	names, err := cfg.Names.complete()
	if err != nil {
		return nil, err
	}
	cfg.Names = names
	cfg.Emits = slices.Clone(cfg.Emits)
	if cfg.Session == nil {
		cfg.Session = SessionOf
	}
	if cfg.By == nil {
		cfg.By = CallerOf
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	if cfg.Bridge != nil {
		if err := cfg.Bridge.join(cfg); err != nil {
			return nil, err
		}
	}
	return &Emitter{cfg}, nil
}

// SessionOf names the session of a call by what a client cannot choose: the user of its token, or
// else a digest of the session id that the transport gave it, or else nothing: over stdio the process
// is the session, and in protocol 2026-07-28 there are none.
func SessionOf(req *mcp.CallToolRequest) string {
	if extra := req.GetExtra(); extra != nil && extra.TokenInfo != nil && extra.TokenInfo.UserID != "" {
		return "user:" + extra.TokenInfo.UserID
	}
	if req.Session != nil {
		if id := req.Session.ID(); id != "" { // a credential: only its digest is kept
			return "session:" + string(jcs.HexOf([]byte("bindery-session-v1\n"+id)))
		}
	}
	return ""
}

// CallerOf names the caller as far as the server knows it: the user of its token, or what the client
// says its program is.
func CallerOf(req *mcp.CallToolRequest) string {
	if extra := req.GetExtra(); extra != nil && extra.TokenInfo != nil && extra.TokenInfo.UserID != "" {
		return "user:" + extra.TokenInfo.UserID
	}
	if info := req.ClientInfo(); info != nil && info.Name != "" && len(info.Name) <= 200 {
		return "client:" + info.Name
	}
	return "client"
}

type decisionKey struct{}

// A handed decision is one on its way to a tool.
type handed struct {
	decision envelope.Decision
	seen     atomic.Bool // by the tool
}

// DecisionOf returns what was decided, in a tool handler that is called with a resolution that was
// just taken. The handler that was called without one, once made the envelope; this call is where it
// is acted on. A tool that has several decisions tells them apart by [envelope.Emission.Matter].
func DecisionOf(ctx context.Context) (envelope.Decision, bool) {
	h, ok := ctx.Value(decisionKey{}).(*handed)
	if !ok {
		return envelope.Decision{}, false
	}
	h.seen.Store(true)
	return h.decision, true
}

// attachedKey is where an emission rides from the handler to the middleware, within the process.
const attachedKey = "bindery/attached"

// attached has no exported field: where no middleware takes it out, it is sent as {}.
type attached struct{ emissions []envelope.Emission }

// Attach puts an envelope on a result, beside its ordinary content. Of the emission it takes the
// envelope, the principal, and what else the agent keeps beside it; agent, session and time are set
// when it is emitted. A result carries one envelope: a second one is refused, as an envelope is no
// broadcast (ENV-089).
func Attach(res *mcp.CallToolResult, e envelope.Emission) {
	meta := res.GetMeta()
	if meta == nil {
		meta = map[string]any{}
	}
	a, ok := meta[attachedKey].(*attached)
	if !ok {
		a = &attached{}
		meta[attachedKey] = a
	}
	a.emissions = append(a.emissions, e)
	res.SetMeta(meta)
}

// detach takes what [Attach] put there.
func detach(res *mcp.CallToolResult) []envelope.Emission {
	meta := res.GetMeta()
	a, ok := meta[attachedKey].(*attached)
	if !ok {
		return nil
	}
	delete(meta, attachedKey)
	if len(meta) == 0 {
		res.SetMeta(nil)
	}
	return a.emissions
}

// Withheld returns the result of an agent that is not ready to ask: where it stands, and its request
// for leave to go on. It has no envelope (ENV-062, ENV-063).
func Withheld(d envelope.Deliberation) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{
		&mcp.TextContent{Text: d.State},
		&mcp.TextContent{Text: d.Request},
	}}
}
