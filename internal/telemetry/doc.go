// Package telemetry sends traces of what a gateway does to an OpenTelemetry collector.
//
// Each message that a client sends is one span of kind server. The trace goes on from the
// client's traceparent (W3C Trace Context), if it sent one, and on to the upstream, whose
// request carries the span's own. It is exported over OTLP/HTTP in protobuf. For
// example, of a call that was refused:
//
//	name        tools/call
//	attributes  mcp.method.name="tools/call" bindery.upstream="pay" gen_ai.tool.name="charge"
//	            bindery.execution_id="order-7" bindery.execution.state="succeeded"
//	            bindery.refusal="EXECUTION_REPLAY"
//	status      error, "EXECUTION_REPLAY"
//
// There is never an argument, an answer, a session's id, an agent's name or a credential in a
// span. What a client has written of a method, a tool and an execution_id stands there at
// most 200 bytes long.
//
// A call never waits for a collector. A span waits in a queue of 2,048; when it is full, or the
// collector does not answer, the span is dropped and counted. The end of the process waits
// for the rest for five seconds at most. Without an endpoint there is no Tracer, and no cost.
//
// Room: adapters. Sends to the one endpoint it was given.
package telemetry
