// Package gateway stands between agents and the tools that they call over the Model Context
// Protocol, and lets a call that names an execution_id reach its tool at most once (design X1 to
// X5).
//
// What is not bound to an execution passes untouched: a message is read strictly (package mcp) and
// its own bytes go on, JSON and server-sent events come back as they are. A tools/call that
// names an execution is bound. It takes this way, in this order (design X3):
//
//	authenticate → validate → settle the semantics of numbers → reserve, with its binding
//	→ mark dispatched → upstream → terminal state → reply
//
// The reply is built from what was stored, never from what came in. Of
//
//	{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"charge",
//	 "arguments":{"cents":1.0},"_meta":{"bindery/execution_id":"order-7",
//	 "bindery/action_timestamp":"2026-11-30T12:00:00Z"}}}
//
// the upstream gets the same bytes but for the value of arguments, which is {"cents":1}, and the
// result comes back with one member more, _meta["bindery/execution"]: execution_id, call_id,
// action_timestamp, binding and state. Sent again, the same call is answered with EXECUTION_REPLAY
// and the recorded result; with other arguments, with EXECUTION_COLLISION. Neither reaches the tool.
//
// Refusals are answers of JSON-RPC with a name, a number and what is safe to do next; the one table
// of them is in codes.go. To a request they come with status 200, since the usual clients drop the
// body of any other; but with 400 where headers contradict what is not bound, as the protocol asks.
//
// A gateway checks Host and Origin itself, since a proxy that does not opens its upstream to any
// page in a browser. It drops what it does not know of headers, both ways: credentials and cookies
// of clients go no further, those of an upstream do not come back. It follows no redirect. The
// Mcp-Session-Id that a client sees has a suffix that only this agent can use, and where there are no
// sessions a task is asked about by the agent alone that was answered with it.
//
// That an upstream is called does not show that anything happened, and nothing here says so:
// outcome_unknown is an answer (EXA-025).
//
// Room: adapters. HTTP, processes, a clock from Config; no storage but through package execution.
package gateway
