// Package mcpenvelope carries briefing-and-binding envelopes in the Model Context Protocol: section 8
// of the memo, and what sections 3, 7 and 12 ask of the two ends of a tool call. It stands on the
// official Go SDK; what an envelope is, package envelope says.
//
// # Emitting
//
// A tool's handler returns its ordinary result and attaches an envelope; a receiving middleware does
// the rest. A call that is answered with an envelope looks so on the wire:
//
//	{"content":[{"type":"text","text":"Release 7 is ready."}],
//	 "_meta":{"bindery/binding_moment":{…}},
//	 "binding_moment":{"findings":[…],"offer":"…","question":{…},"recommendations":[…],"synopsis":"…"}}
//
// The envelope stands at the literal top level, and once more in _meta, which clients with typed
// results keep; take both away, and the rest is what the tool would have answered without (ENV-081,
// ENV-082). Before it leaves, the ledger records it; a digest that was ever emitted is refused there,
// and the result leaves alone ([MetaWithheld]). An envelope beside no ordinary content, beside a
// request for input, or beside another envelope is a fault of the server and answered as one.
//
//	emitter, err := mcpenvelope.New(mcpenvelope.Config{Agent: "release-approver", Ledger: ledger, Emits: []string{"propose"}})
//	server.AddReceivingMiddleware(emitter.Middleware())
//
//	emission := draft.Emission(e) // in the tool's handler, beside its ordinary result
//	emission.Principal = "ana"
//	mcpenvelope.Attach(result, emission)
//
// The example has the whole of both ends, which say what they are by [Names.AddToServer] and
// [Names.AddToClient]. tools/list has "emits_binding_moment": true in the tool's annotations and its
// _meta, and a schema of the argument below. Both are advice (section 8.2).
//
// # Taking
//
// A resolution is the argument binding_resolution of a later tools/call of the same server, or the
// whole arguments of a tool that emits. The middleware takes it out, and the ledger takes it, once:
//
//	{"name":"propose","arguments":{"binding_resolution":
//	 {"envelope_digest":"sha256:…","resolution":"option","option_idx":0}}}
//
// The tool is then called, and finds the decision with [DecisionOf]. The resolution is taken before:
// a tool whose own arguments are required is called with them again, or the SDK refuses the call and
// the decision is spent; the answer says so. What a decision is about, the tool has to keep under the
// envelope's digest.
//
// A resolution that is malformed, unknown, taken before, out of range or by a closed hatch is discarded
// and recorded, the tool is not called, and the answer is an error result whose _meta names the fault
// ([MetaRefusal]). All of these resolutions have the assurance client: they prove no human (E4), and an
// emission that needs more is not resolved here at all.
//
// # For clients that render no envelopes
//
// A [Bridge] asks the person behind such a client by a page of its own, by a form, or in words; in
// protocol 2025-11-25 and before by a request to the client, from 2026-07-28 on in the answer. Then
// the tool is called with the decision at once, as if the client had made its next call. Closing the
// question, declining a form and running out of time decide nothing.
//
// # Receiving
//
// A [Client] gives a tool's result with its bytes and the envelope that is in them. Every result is
// looked at ([Inspect]): top level first, then the mirror; both must be equal, and a parser's choice
// between two readings of one text is no envelope. What is malformed is dropped whole with one line
// that says why, and the ordinary content is there: nothing fails because of an envelope.
//
// Room: speakers. Network through the SDK and net/http; a clock and a log from its Config; no store
// but the ledger that it is given.
package mcpenvelope
