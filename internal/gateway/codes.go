package gateway

import (
	"net/http"
	"slices"

	"github.com/bindery/bindery/internal/agentauth"
	"github.com/bindery/bindery/internal/execution"
	"github.com/bindery/bindery/internal/mcp"
	"github.com/bindery/bindery/internal/toolaction"
)

// Names of refusals that this package gives. Those of package mcp, agentauth, toolaction and
// execution stand in the same table.
const (
	codeHost         = "HOST_REFUSED"
	codeOrigin       = "ORIGIN_REFUSED"
	codePath         = "UPSTREAM_UNKNOWN"
	codeMethod       = "METHOD_REFUSED"
	codeHeader       = "HEADER_MISMATCH"
	codeSession      = "SESSION_UNKNOWN"
	codeTask         = "TASK_UNKNOWN"
	codeOverload     = "GATEWAY_OVERLOADED"
	codeInternal     = "GATEWAY_INTERNAL"
	codeCallID       = "CALL_WITHOUT_ID"
	codeUnreachable  = "UPSTREAM_UNREACHABLE"
	codeUpstreamAuth = "UPSTREAM_REFUSED"
	codeRedirect     = "UPSTREAM_REDIRECT"
	codeUpstreamTime = "UPSTREAM_TIMEOUT"
	codeIDInvalid    = "EXECUTION_ID_INVALID"
	codeIDConflict   = "EXECUTION_ID_CONFLICT"
	codeIDRequired   = "EXECUTION_ID_REQUIRED"
	codeAnonymous    = "EXECUTION_UNAUTHENTICATED"
	codeContext      = "EXECUTION_CONTEXT_INVALID"
	codeUnavailable  = execution.NameUnavailable
	codeCollision    = execution.NameCollision
	codeReplay       = execution.NameReplay
	codePending      = execution.NamePending
	codeHeld         = "EXECUTION_HELD"
	codeRefused      = execution.NameRefused
	codeContinuation = execution.NameContinuation
	codeNotSent      = "EXECUTION_NOT_SENT"
	codeFailed       = "EXECUTION_FAILED"
	codeUnknown      = "EXECUTION_OUTCOME_UNKNOWN"
	codeUndeclared   = toolaction.SemanticsUndeclared
	codeAction       = toolaction.Invalid
	codeTimestamp    = toolaction.TimestampInvalid
)

// A Code is one name that a refusal can have (EXA-077). One table has them all: docs/gateway.md
// and bindery explain print it.
type Code struct {
	Name    string
	Number  int    // code of the JSON-RPC error
	Status  int    // of HTTP, where the refusal is not the answer to a request of JSON-RPC
	Meaning string // a sentence without its full stop; the error's message begins with it
	Next    string // safe_next, where the execution's own row does not say: what who meets it honestly does
}

// The numbers. Those below −32019 are the protocol's own (MCP 2026-07-28 reserves −32020 to
// −32099), which has given one the meaning of a refusal here; JSON-RPC has given two.
const (
	numberParse    = -32700
	numberInvalid  = -32600
	numberHeader   = -32020 // HeaderMismatch of MCP 2026-07-28
	numberGateway  = -32000 // the gateway, before any upstream
	numberAgent    = -32003 // who asks
	numberUpstream = -32004 // the upstream did not answer as one does
	numberContext  = -32005 // the execution context of a call
	numberAction   = -32006 // the action that it would be bound to
	numberDown     = -32007 // executions cannot be had now
)

// codes is the table, in the order in which a call meets them.
var codes = [...]Code{
	{codeHost, numberGateway, http.StatusForbidden, "the Host header names no host of this gateway",
		"use an address that the gateway's hosts list, or add this one there."},
	{codeOrigin, numberGateway, http.StatusForbidden, "a page of another origin asks",
		"add the page's origin to the gateway's origins if it may use your tools."},
	{codePath, numberGateway, http.StatusNotFound, "there is no upstream at this path",
		"use /mcp/NAME with the name of a configured upstream; /mcp works when there is one alone."},
	{codeMethod, numberGateway, http.StatusMethodNotAllowed, "streamable HTTP has POST, GET and DELETE",
		"send messages with POST."},
	{agentauth.Unauthenticated, numberAgent, http.StatusUnauthorized, "no credential came",
		"send the agent's key or token as Authorization: Bearer, or use its client certificate."},
	{agentauth.CredentialInvalid, numberAgent, http.StatusUnauthorized, "the credential is not one that this gateway takes",
		"get a key with bindery gateway agent add, or a token for this audience from the configured issuer."},
	{agentauth.TokenExpired, numberAgent, http.StatusUnauthorized, "the token has expired",
		"ask the issuer for another token."},
	{agentauth.CredentialConflict, numberAgent, http.StatusUnauthorized, "the credentials that came do not name one agent",
		"send one credential."},
	{agentauth.KeysUnavailable, numberAgent, http.StatusServiceUnavailable, "the issuer's keys cannot be had, so a token cannot be checked",
		"try again; the operator sees to it that the gateway reaches the issuer's keys."},
	{codeOverload, numberGateway, http.StatusServiceUnavailable, "too many calls are open",
		"wait for some of your calls to end; the operator may raise the gateway's limits."},
	{codeSession, numberGateway, http.StatusNotFound, "this agent has no such session",
		"begin a new session with initialize."},
	{mcp.Large, numberGateway, http.StatusRequestEntityTooLarge, "the message is longer than the gateway's limit",
		"send less in one message."},
	{mcp.Malformed, numberParse, http.StatusBadRequest, "the body is not JSON as this gateway reads it",
		"send one message of valid UTF-8 JSON without repeated names, at most 64 levels deep."},
	{mcp.Invalid, numberInvalid, http.StatusBadRequest, "the body is no message of MCP",
		"send one JSON-RPC 2.0 message whose id is a string or an integer."},
	{mcp.Ambiguous, numberInvalid, http.StatusBadRequest, "a member is named like one of the protocol but for its case",
		"leave the member out, or spell it as the protocol does."},
	{mcp.Batch, numberInvalid, http.StatusBadRequest, "several messages came in one body",
		"send each message by itself."},
	{codeCallID, numberInvalid, http.StatusBadRequest, "a tools/call came as a notification, to which there is no answer",
		"give the call an id."},
	{codeHeader, numberHeader, http.StatusBadRequest, "an Mcp header says something else than the body",
		"make Mcp-Method, Mcp-Name and Mcp-Param headers agree with the body, numbers in their shortest spelling."},
	{codeTask, numberGateway, http.StatusNotFound, "this gateway has answered this agent with no such task",
		"ask about the tasks of your own calls, one by one; repeat a call with an execution_id to be given its task again."},
	{codeIDRequired, numberContext, http.StatusBadRequest, "this tool is called with an execution_id alone",
		`add _meta["bindery/execution_id"] and _meta["bindery/action_timestamp"] to params, and repeat both when you repeat the call.`},
	{codeIDConflict, numberContext, http.StatusBadRequest, "_meta and _cmcp name different executions",
		"give the execution context once."},
	{codeIDInvalid, numberContext, http.StatusBadRequest, "the execution_id is not 1 to 200 bytes, each from 0x21 to 0x7E",
		"use a printable id without spaces, such as a UUID."},
	{codeContext, numberContext, http.StatusBadRequest, "a member of _meta that begins with bindery/ is not known, one of _cmcp is known but for its case, or the workflow_id is not a text of 1 to 256 bytes without U+0000",
		"spell bindery/execution_id, bindery/action_timestamp and bindery/workflow_id so, in _cmcp without bindery/; correct the workflow_id, or leave it out."},
	{codeAnonymous, numberAgent, http.StatusBadRequest, "an execution_id belongs to an authenticated agent, and this gateway has none configured",
		"configure agents (bindery gateway agent add NAME), or call without an execution_id."},
	{codeTimestamp, numberAction, http.StatusBadRequest, "the action_timestamp is missing, implausible or no RFC 3339 time in UTC with whole seconds",
		"send the time of the operation as 2026-11-30T12:00:00Z, and the same one when you repeat the call."},
	{codeAction, numberAction, http.StatusBadRequest, "no action can be made of this call",
		"correct the arguments at the place that is named; bindery gateway explain shows what a call is bound to."},
	{codeUndeclared, numberAction, http.StatusUnprocessableEntity, "a number has a spelling of which neither the tool's schema nor its declaration says what it means",
		"send the number in its shortest spelling (1, not 1.0 or 1e0), or declare the tool's numbers in the gateway's config."},
	{codeUnavailable, numberDown, http.StatusServiceUnavailable, "executions cannot be admitted now",
		"repeat the same call later; the operator looks at the gateway's self-test and its store."},
	{codeCollision, -32009, http.StatusConflict, "this execution_id is bound to another action",
		"use one execution_id for one operation; a repeat has the same tool, arguments and action_timestamp."},
	{codeReplay, -32010, http.StatusConflict, "this execution is over, and is not run again",
		"use the recorded result; another operation needs another execution_id."},
	{codePending, -32011, http.StatusConflict, "this execution is still under way",
		"repeat the same call later: it is answered with what the first one brings."},
	{codeHeld, -32012, http.StatusConflict, "this execution awaits a decision",
		"repeat the same call when the decision has been taken."},
	{codeRefused, -32013, http.StatusConflict, "this execution was refused, and nothing was sent",
		"begin another execution if the operation is still wanted."},
	{codeContinuation, -32014, http.StatusConflict, "what the call continues is not what this execution waits for",
		"repeat the call without requestState: it is answered with the question that is open."},
	{codeNotSent, -32015, http.StatusBadGateway, "the call could not be sent, and the upstream has got nothing of it",
		"see that the upstream is up, and call again with another execution_id."},
	{codeFailed, -32016, http.StatusBadGateway, "the upstream refused the call",
		"look at what the upstream has answered; another attempt needs another execution_id."},
	{codeUnknown, -32017, http.StatusBadGateway, "the call was sent, and nobody knows what came of it",
		"find out at the upstream whether it happened; the operator records that with bindery executions reconcile."},
	{codeUnreachable, numberUpstream, http.StatusBadGateway, "the upstream cannot be reached",
		"see that the upstream is up, and its URL or command is right."},
	{codeUpstreamTime, numberUpstream, http.StatusGatewayTimeout, "the upstream did not answer in time",
		"look at the upstream; whether it has acted is not known here."},
	{codeUpstreamAuth, numberUpstream, http.StatusBadGateway, "the upstream does not accept the gateway's own credential",
		"correct the upstream's headers in the gateway's config and secrets."},
	{codeRedirect, numberUpstream, http.StatusBadGateway, "the upstream answered with a redirect, which is not followed",
		"configure the URL that the upstream redirects to, if it is right."},
	{codeInternal, numberGateway, http.StatusInternalServerError, "the gateway has a fault",
		"report it; a call with an execution_id may be repeated as it was."},
}

// Codes are all names, in the order in which a call meets them.
func Codes() []Code { return slices.Clone(codes[:]) }

// CodeOf returns the row of a name.
func CodeOf(name string) (Code, bool) {
	i := slices.IndexFunc(codes[:], func(c Code) bool { return c.Name == name })
	if i < 0 {
		return Code{}, false
	}
	return codes[i], true
}

// code is CodeOf for a name that other code has made: one without a row is a fault of ours.
func code(name string) Code {
	if c, ok := CodeOf(name); ok {
		return c
	}
	c, _ := CodeOf(codeInternal)
	return c
}
