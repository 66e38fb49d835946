// Package a2acrossing is the A2A extension of the Governed Crossing: both halves of it,
// over A2A 1.0 JSON-RPC.
//
// # The responder's half
//
// [NewHandler] serves the Agent Card with the extension's declaration (§3.3), the core
// methods of A2A, and the two methods of the extension (§3.6) beside them:
//
//	POST /rpc
//	A2A-Extensions: https://anaxstandard.ai/ext/governed-crossing/v1
//
//	{"jsonrpc":"2.0","id":1,"method":"anaxstandard.crossing/seal","params":{…}}
//
// The header is split at commas and echoed before any handler writes (§3.5, GC-040,
// GC-041). A body is scanned as strict JSON before the A2A library sees it, since that
// library takes the last of two equal names (design C3). The core methods stand on a
// request handler of our own over the [Desk]: a task is computed at each call, mandates
// appear only in the answer that carries them, and terms never (C6).
//
// An error of crossing:seal is {"code":-400xx,"message":…,"data":{"error":NAME,
// "failure_path":…}}. On core methods, where A2A 1.0 has its own form of error data, a
// refusal is a task in state TASK_STATE_REJECTED with the refusal in its status message,
// and a message of the extension without its activation is −32008 with the name in data.
//
// # The initiator's half
//
// [Discover] performs P0, and the [Peer] it returns sends phase messages and
// crossing:seal. A missing echo is a failed activation (§3.5.2-2). Answers are read with
// the strict parser. The A2A library's own client is not used here: it does not show the
// response header that carries the echo, and it drops an error's data when that is an
// object.
//
// # Refused
//
// A request for an operation of the extension that did not activate it
// (EXT_NOT_ACTIVATED, recorded); a body that is no strict JSON; a card without the
// extension, or one that declares verify-only; an interface that is neither https nor
// loopback. Streaming, push and listing of tasks are not offered.
//
// Room: speakers. Network, and no internal role.
package a2acrossing
