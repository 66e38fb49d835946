// Package actionbinding computes the execution action binding, version 1: one digest of
// who does what to what, and when it was first asked for.
//
// It implements sections 1 to 5 of the contract (EXA-001 to EXA-019, readings AX-02 to
// AX-06; design J4, J5). A binding is the digest of the RFC 8785 bytes of one object with
// exactly six members:
//
//	domain            the text cmcp.execution-action-binding
//	version           the integer 1
//	agent_id          the authenticated agent, under which the execution_id is reserved
//	action_type       the verb
//	action_scope      what it is done to, with a digest of the governed arguments
//	action_timestamp  the caller's time of the operation, the same in every retry
//
// For example, vector EAB-001 has these 207 bytes, here on two lines,
//
//	{"action_scope":"account:merchant-7","action_timestamp":"2026-09-10T16:30:00Z","action_type":"transfer",
//	"agent_id":"spiffe://agent.example/payments/prod","domain":"cmcp.execution-action-binding","version":1}
//
// and this binding:
//
//	sha256:305b05b249b159fa9dea8cbbfaa0c19b71aa867a6da718693c1c7d4b83f52fe4
//
// # What is refused
//
// Every fault is an *[Error] that names the member and the rule:
//
//   - a text that is empty, that is not valid UTF-8 (so that an unpaired surrogate is none
//     either), or that is longer than its limit: [MaxAgentID], [MaxType], [MaxScope];
//   - a timestamp that is not a real date and time of RFC 3339 in UTC, spelled with T, Z and
//     whole seconds: an instant has one spelling, and nothing is normalised (AX-03);
//   - a preimage that has other members than the six, another domain, or a version that is not
//     the token 1: 1.0, 1e0, "1" and true are none (AX-05, J4);
//   - a binding that is not an algorithm, a colon and lower-case hexadecimal digits of its length.
//
// Algorithms are sha256 and sha384. Any other name is [ErrAlgorithm]. Texts are taken as they are:
// é as one code point and as two are two texts.
//
// Bindings compare with ==, the whole of the rendered string. Equal bindings are of one action; they
// are no permission to repeat it, and no evidence that it happened.
//
// Room: values. No I/O, no clock, no randomness.
package actionbinding
