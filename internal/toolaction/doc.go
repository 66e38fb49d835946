// Package toolaction makes an execution action out of a call of an MCP tool.
//
// It implements design X5 (D7; EXA-013, EXA-028 to EXA-030, EXA-033, EXA-042, EXA-073, EXA-075):
// either every distinction that governs the operation reaches the preimage of its binding, or the
// call is refused before there is a binding. The bytes of arguments that it returns are those to be
// forwarded, so that policy, gate, binding and upstream see one and the same document. A call
// without arguments is one with {}.
//
// # Scope
//
// The action type is the declared verb, or mcp.tools/call. The scope is
//
//	mcp:UPSTREAM/TOOL#sha256:HEX
//
// UPSTREAM and TOOL are exact names in which each byte but A-Z a-z 0-9 . _ ~ - is written %XX. HEX is
// the SHA-256 of the canonical arguments. So the call
//
//	pay at bank with { "to": "merchant-7", "amount": 5.0 }
//
// whose canonical arguments are {"amount":5,"to":"merchant-7"}, has the scope
//
//	mcp:bank/pay#sha256:3fdb184684dc1d153ce81beef5fa47656885f66a29af029ea46131e8899a117a
//
// Where a [Declaration] says which arguments govern, HEX is of the array of those instead: for each
// pointer, in byte order, [pointer,value], or [pointer] where there is none. An array is no
// arguments object, so the two never meet. A declared template stands before it all, with "|"
// between: account:merchant-7|mcp:bank/pay#sha256:… Two calls that differ in upstream, tool or a
// governed argument have two scopes.
//
// # Numbers
//
// A number that is spelled as it will be forwarded needs nobody's verdict. Any other spelling, such
// as 1.0, 1e0 or -0, is forwarded as its canonical form where the declaration calls spellings
// equal, or where it says nothing and the tool's input schema says that there is a number or an
// integer: in JSON Schema, numbers are equal by their value. Where neither says so, and where the
// declaration keeps spellings distinct, the call is refused. A token whose exact decimal value is
// not that of its canonical form, as 9007199254740993 or 1e400, is refused whatever anybody says.
//
// The schema is read from properties, additionalProperties, items, prefixItems, local $ref, allOf,
// anyOf and oneOf; whatever else it has settles nothing. A branch of anyOf or oneOf that admits no
// number there is passed over, and all others must settle it. A dialect of which this is not known
// settles nothing, and before draft 6 an integer is a spelling and not a value.
//
// Strings are taken as they are: é as one code point and as two are two operations.
//
// # What is refused
//
// Every refusal is an *[Error]: ACTION_INVALID, ACTION_SEMANTICS_UNDECLARED or
// ACTION_TIMESTAMP_INVALID, with the place in the arguments, the rule, and what to do.
//
// Annotations of a tool are its upstream's word. They make a call stricter, never a declaration
// laxer.
//
// Room: values. No I/O, no clock, no state.
package toolaction
