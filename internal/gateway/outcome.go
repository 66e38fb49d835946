package gateway

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/bindery/bindery/internal/execution"
	"github.com/bindery/bindery/internal/mcp"
	"github.com/bindery/bindery/jcs"
)

// Reasons of an outcome_unknown, beside the names of the table.
const (
	reasonUnasked   = "answered_unasked"     // an answer came although nothing was sent
	reasonTimeout   = "upstream_timeout"     // nothing came in time
	reasonLost      = "connection_lost"      // the connection, or the program, ended before any answer
	reasonBroken    = "answer_broken"        // it broke off before it was whole
	reasonLarge     = "answer_too_large"     // it is longer than the limit
	reasonMalformed = "answer_malformed"     // it is no answer of MCP as this gateway reads it
	reasonWrongID   = "answer_to_another"    // its id is that of no call of this exchange
	reasonNoAnswer  = "no_answer"            // the exchange is over without one
	reasonKind      = "answer_of_a_new_kind" // its resultType is one that nobody here knows
	reasonStatus    = "upstream_status_"     // and the number
)

func failed(reason string) outcome {
	return outcome{Outcome: execution.Outcome{State: execution.Failed, Reason: reason}}
}

// unknown is the outcome of a call of which something may have been sent. The end of the time for it, or
// of the gateway, says more than what the end has caused.
func unknown(ctx context.Context, reason string) outcome {
	switch {
	case errors.Is(context.Cause(ctx), errEnded):
		reason = reasonEnded
	case ctx.Err() != nil:
		reason = reasonTimeout
	}
	return outcome{Outcome: execution.Outcome{State: execution.OutcomeUnknown, Reason: reason}}
}

// digester is a SHA-256 under way.
type digester interface {
	io.Writer
	Sum([]byte) []byte
}

// seeing is a body of which the digest is kept: of an answer that is not passed on it is the
// evidence of what was seen.
type seeing struct {
	r    io.Reader
	sum  digester
	left int64 // of the limit
}

func newSeeing(r io.Reader, limit int64) *seeing { return &seeing{r, sha256.New(), limit} }

func (s *seeing) Read(p []byte) (int, error) {
	if s.left <= 0 {
		return 0, errLarge
	}
	n, err := s.r.Read(p[:min(int64(len(p)), s.left)])
	s.left -= int64(n)
	_, _ = s.sum.Write(p[:n])
	return n, err
}

func (s *seeing) digest() string { return "sha256:" + hex.EncodeToString(s.sum.Sum(nil)) }

// outcomeOf reads an answer to a bound call. What is told before the answer goes to the client at
// once; the answer itself to nobody yet.
func (x *exchanging) outcomeOf(ctx context.Context, m *mcp.Message, resp *http.Response, in *large) outcome {
	limit := x.g.cfg.Limits.Answer
	kind := resp.Header.Get("Content-Type")
	encoded := resp.Header.Get("Content-Encoding") != "" // nobody has asked for that
	switch status := resp.StatusCode; {
	case status == http.StatusOK && isEvents(kind) && !encoded:
		return x.fromEvents(ctx, m, in, limit)
	case status == http.StatusOK && isJSON(kind) && !encoded:
		return fromJSON(ctx, m, in, limit)
	case status >= 400 && status < 500 && status != http.StatusRequestTimeout:
		return fromRefusal(m, resp, limit)
	default:
		return seen(unknown(ctx, statusReason(status, encoded)), newSeeing(resp.Body, refusalBytes))
	}
}

func statusReason(status int, encoded bool) string {
	switch {
	case unwanted(status) == codeRedirect:
		return codeRedirect
	case status == http.StatusOK && encoded:
		return reasonMalformed
	case status >= 200 && status < 300:
		return reasonNoAnswer
	}
	return reasonStatus + strconv.Itoa(status)
}

// refusalBytes is how much is read of an answer that will not be passed on.
const refusalBytes = 64 << 10

// seen adds the digest of what is left of a body to an outcome.
func seen(o outcome, body *seeing) outcome {
	_, _ = io.Copy(io.Discard, body) // what can be read of it
	o.Digest = body.digest()
	return o
}

func fromJSON(ctx context.Context, m *mcp.Message, body io.Reader, limit int) outcome {
	s := newSeeing(body, int64(limit)+1)
	b, err := readAll(s, -1, limit)
	if err != nil {
		o := unknown(ctx, reasonBroken)
		if errors.Is(err, errLarge) {
			o = unknown(ctx, reasonLarge)
		}
		o.Digest = s.digest()
		return o
	}
	o := judged(ctx, m, b, limit)
	if o.Answer == nil {
		o.Digest = s.digest()
	}
	return o
}

// fromRefusal is the outcome of a status that says the upstream did not take the call. The error in
// it is passed on, if it is one of JSON-RPC; not of an upstream that wants a credential: that is the
// gateway's.
func fromRefusal(m *mcp.Message, resp *http.Response, limit int) outcome {
	s := newSeeing(resp.Body, refusalBytes)
	o := failed(reasonStatus + strconv.Itoa(resp.StatusCode))
	if name := unwanted(resp.StatusCode); name != "" {
		o.Reason = name
		return seen(o, s)
	}
	body, err := io.ReadAll(s)
	o.Digest = s.digest()
	if err != nil {
		return o
	}
	a, _, err := mcp.ReadAnswer(body, nil, limit)
	if err == nil && a.IsError && (string(a.ID) == "null" || mcp.SameID(a.ID, m.ID)) {
		o.Answer, o.IsError, o.Digest = a.Error.Of(a.Body), true, ""
	}
	return o
}

// fromEvents reads a stream until the answer. What comes behind it, another answer too, is never
// read. A stream that ends before its answer, and has said how it can be taken up, is taken up: an
// upstream of 2025-11-25 may close one that lasts (SEP-1699). That sends nothing of the call again.
func (x *exchanging) fromEvents(ctx context.Context, m *mcp.Message, in *large, limit int) outcome {
	s := newSeeing(in.r, maxStream)
	events := newSSE(s, limit)
	events.grow = in.take
	var more io.ReadCloser // what it was taken up with
	defer func() { shut(more) }()
	for tries := 0; ; {
		e, err := events.next()
		if err == nil {
			tries = 0 // it goes on: one that lasts may be closed as often as its upstream likes
			if o, over := x.told(ctx, m, e, limit); over {
				if o.Answer == nil {
					o.Digest = s.digest()
				}
				return o
			}
			continue
		}
		shut(more)
		more = nil
		tooLarge := errors.Is(err, errEventSize) || errors.Is(err, errLarge)
		for over := tooLarge || events.last == ""; !over && more == nil && tries < maxResumes; tries++ {
			more, over = x.resume(ctx, events)
		}
		if more == nil {
			o := unknown(ctx, reasonBroken)
			if tooLarge {
				o = unknown(ctx, reasonLarge)
			}
			o.Digest = s.digest()
			return o
		}
		s.r = more
		events = &sseReader{r: bufio.NewReader(s), limit: limit, grow: in.take, last: events.last, retry: events.retry}
	}
}

func shut(c io.Closer) {
	if c != nil {
		_ = c.Close() // all of it that is wanted was read
	}
}

// told takes one event, and says whether it was the answer.
func (x *exchanging) told(ctx context.Context, m *mcp.Message, e sseEvent, limit int) (outcome, bool) {
	if len(e.data) == 0 || e.name != "" && e.name != "message" {
		x.event(sseEvent{}) // it lives
		return outcome{}, false
	}
	told, _, err := mcp.Read(e.data, nil, limit)
	if err == nil && told.Kind != mcp.Response {
		x.event(e)
		return outcome{}, false
	}
	return judged(ctx, m, e.data, limit), true
}

// How a stream is taken up again.
const (
	maxResumes    = 10 // in a row, that bring nothing
	leastResume   = 10 * time.Millisecond
	defaultResume = 500 * time.Millisecond
	mostResume    = 10 * time.Second
)

// resume asks for the rest of a stream; nil if it cannot be had now, and over if it never can.
func (x *exchanging) resume(ctx context.Context, events *sseReader) (rest io.ReadCloser, over bool) {
	wait := defaultResume
	if events.retry > 0 {
		wait = min(max(events.retry, leastResume), mostResume)
	}
	select {
	case <-time.After(wait):
	case <-ctx.Done():
		return nil, true
	}
	h := outbound(x.up, x.r.Header, x.session)
	for _, name := range []string{"Content-Type", headerMethod, headerName} {
		h.Del(name)
	}
	h["Accept"], h[headerLast] = []string{typeEvents}, []string{events.last}
	resp, err := x.up.Transport.RoundTrip(x.request(ctx, http.MethodGet, nil, h))
	if err != nil {
		return nil, false
	}
	if resp.StatusCode != http.StatusOK || !isEvents(resp.Header.Get("Content-Type")) || resp.Header.Get("Content-Encoding") != "" {
		resp.Body.Close()
		return nil, resp.StatusCode < 500 && resp.StatusCode != http.StatusTooManyRequests
	}
	return resp.Body, false
}

// maxStream is how much an upstream may say in all about one bound call.
const maxStream = 1 << 30

// judged says what an answer means for its execution.
func judged(ctx context.Context, m *mcp.Message, body []byte, limit int) outcome {
	a, _, err := mcp.ReadAnswer(body, nil, limit)
	switch {
	case err != nil:
		return unknown(ctx, reasonMalformed)
	case !mcp.SameID(a.ID, m.ID):
		return unknown(ctx, reasonWrongID)
	case a.IsError:
		o := failed("")
		o.Answer, o.IsError = a.Error.Of(body), true
		return o
	}
	o := outcome{Outcome: execution.Outcome{State: execution.Succeeded, Answer: a.Result.Of(body)}}
	switch a.ResultType {
	case mcp.Complete:
		if a.ToolError {
			o.State = execution.Failed
		}
	case mcp.InputRequired:
		o.suspends, o.state = true, string(jcs.HexOf([]byte(a.RequestState)))
	case mcp.TaskCreated:
		o.task = a.TaskID
	default:
		return unknown(ctx, reasonKind)
	}
	return o
}
