package gateway

import (
	"context"
	"net/http"
	"time"
)

// An Observer is told of each message of a client's once it has been dealt with, for metrics.
// Its method must return at once, and may be called concurrently.
type Observer interface {
	Observe(o Observation)
}

// A Tracer follows messages through the gateway, for OpenTelemetry. Its methods may be called
// concurrently.
type Tracer interface {
	// Start opens the span of a message as it comes in. in are the headers it came with, of
	// which traceparent and tracestate count (W3C Trace Context); nil if there are none, as
	// over standard input and output.
	Start(ctx context.Context, in http.Header) (context.Context, Span)
}

// A Span is one message on its way.
type Span interface {
	// Inject writes traceparent and tracestate of this span to the headers of a request to the
	// upstream, in the place of what stands there.
	Inject(out http.Header)
	// End closes the span. It is called once.
	End(o Observation)
}

// An Observation says what a message was and what became of it. Of what clients write there is the
// method and the tool, which an Observer bounds itself, and the execution_id, which no
// metric shows; never an argument, a session's id or a credential.
type Observation struct {
	Upstream    string // the configured name; "" before one was found
	Method      string // of JSON-RPC, as it came; "GET" and "DELETE" for these; "" before it was read
	Tool        string // of a tools/call, as it came
	Bound       bool   // the call names an execution
	ExecutionID string // valid, or ""
	State       string // of the execution, for a bound call that has one
	Refusal     string // a name of [Codes]; "" if the gateway refused nothing
	Status      int    // of the HTTP answer; 0 before there is one
	Joined      bool   // the answer is that of another call of the same execution
	// Took is the time from the message's coming in until its answer had left. Waited is the part
	// of it in which the upstream had the word, from the first byte to it until the last of its
	// answer; 0 if it was not asked. What is left is what the gateway adds.
	Took, Waited time.Duration
}
