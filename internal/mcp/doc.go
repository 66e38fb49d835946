// Package mcp reads one JSON-RPC message of the Model Context Protocol from its original bytes,
// and changes in it what the gateway may change and nothing else (design X1, X2).
//
// A message is read once and strictly, by package jcs with the numbers of RFC 8785 (design J1,
// J3): repeated names at any level, 65 levels, bad UTF-8, half surrogate pairs and numbers
// beyond binary64 are refused, before and instead of any other reader. What is known of it
// then are spans of those bytes. Of
//
//	{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"charge",
//	 "arguments":{"cents":1.0},"_meta":{"bindery/execution_id":"order-7"}}}
//
// Read says: a request, its id the token 7, its method tools/call. [Message.Call] says: the tool
// charge, its arguments the bytes {"cents":1.0}, execution_id order-7. [Message.WithArguments]
// puts {"cents":1} in their place; every other byte stays as it came.
//
// An id is a string, or a number whose token is an integer. It is compared and sent back as a
// token, so that 9007199254740993 stays what it is. Refused are an id that is null, a truth
// value, a container or a fraction; a batch; a version other than "2.0"; a message that is both
// request and response; params that are neither an object nor null; and a member that differs
// from one of the protocol's by upper and lower case alone, since some parsers of JSON would take
// the one for the other ("Method" beside "method").
//
// An answer is read the same way by [ReadAnswer], which also says what a result means: complete,
// an answer that asks for more input (input_required, with requestState), or a task that will
// have the result later, in the spelling of 2025-11-25 (result.task) and of the tasks extension
// of 2026-07-28 (resultType "task").
//
// Where the caller puts the id of an execution (design X2; EXA-044, EXA-047 as overridden):
// params._meta["bindery/execution_id"], or params._cmcp.execution_id, as cMCP has it; beside them
// action_timestamp and workflow_id in the same two forms. Two that differ are a conflict.
//
// Room: values. No I/O and no clock.
package mcp
