package mcpenvelope

import (
	"context"
	"errors"

	"github.com/bindery/bindery/envelope"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// inputID names our one question in a round.
const inputID = "binding"

// askInAnswer asks as protocol 2026-07-28 does: the call ends with a question, and the client calls
// again with the answer. The tool's result waits here meanwhile.
func (b *Bridge) askInAnswer(c *call, q *question) (mcp.Result, error) {
	s, err := b.state(c, q)
	if err != nil { // parsers differ on the arguments, so that nothing could be bound to them
		b.drop(q.page)
		return b.tell(c, q, "")
	}
	b.keep(s.digest, q.result)
	return &inputRequired{&mcp.CallToolResult{
		InputRequests: mcp.InputRequestMap{inputID: b.elicitation(c, q)},
		RequestState:  b.seal.seal(s),
	}}, nil
}

// resume goes on with a question when the client has called again.
func (b *Bridge) resume(ctx context.Context, c *call) (mcp.Result, error) {
	params := *c.req.Params
	responses := params.InputResponses
	s, err := b.seal.open(params.RequestState)
	if err != nil {
		return nil, invalid(err.Error())
	}
	params.InputResponses, params.RequestState = nil, ""
	c.req = &mcp.CallToolRequest{Session: c.req.Session, Params: &params, Extra: c.req.Extra}
	digest, err := envelope.ParseDigest(s.digest)
	if err != nil {
		return nil, invalid(errState.Error())
	}
	em, err := b.ledger.Envelope(ctx, digest)
	if errors.Is(err, envelope.ErrTaken) {
		return c.refused(takenElsewhere("the envelope was resolved meanwhile")), nil
	}
	if err != nil {
		c.e.cfg.Log.ErrorContext(ctx, "an envelope that was asked about is not in the ledger", "error", err)
		return nil, internal("the ledger of envelopes does not answer: nothing was done because of this call")
	}
	q := &question{em: em, mode: s.mode, round: s.round}
	if s.mode == byPage {
		q.page = b.pageAt(s.path)
	}
	now, err := b.state(c, q)
	if err != nil {
		return nil, invalid(errState.Error())
	}
	now.path, now.expires = s.path, s.expires
	if now != s || !b.now().Before(s.expires) {
		return nil, invalid(errState.Error())
	}
	if q.result = b.release(s.digest); q.result == nil {
		q.result = c.result()
	}
	if q.view, err = b.viewFor(q); err != nil {
		return nil, err
	}
	if s.mode == byPage && q.page == nil {
		return b.tell(c, q, "The page of this question is gone. What was decided there, if anything was, is not handed over any more.")
	}
	res, _ := responses[inputID].(*mcp.ElicitResult)
	return b.answered(ctx, c, q, res)
}

// inputRequired is a result that asks. The SDK sets the type of a result where the handler returns,
// which is before this one is made.
type inputRequired struct{ *mcp.CallToolResult }

// MarshalJSON writes the members of such a result and no content.
func (r *inputRequired) MarshalJSON() ([]byte, error) {
	return encode(struct {
		Meta          mcp.Meta            `json:"_meta,omitempty"`
		ResultType    string              `json:"resultType"`
		InputRequests mcp.InputRequestMap `json:"inputRequests"`
		RequestState  string              `json:"requestState"`
	}{r.Meta, "input_required", r.InputRequests, r.RequestState})
}

// keep remembers an ordinary result between two rounds. Where there are too many, the one that is
// left out is told in words only.
func (b *Bridge) keep(digest string, r *mcp.CallToolResult) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	for d, h := range b.held {
		if !now.Before(h.expires) {
			delete(b.held, d)
		}
	}
	if len(b.held) < maxHeld {
		b.held[digest] = held{*r, now.Add(b.cfg.Lifetime)}
	}
}

// release returns what was kept, nil if nothing was.
func (b *Bridge) release(digest string) *mcp.CallToolResult {
	b.mu.Lock()
	defer b.mu.Unlock()
	h, ok := b.held[digest]
	delete(b.held, digest)
	if !ok {
		return nil
	}
	return &h.result
}
