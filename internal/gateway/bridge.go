package gateway

import "context"

// A gateway has one data path, an [net/http.Handler]; what speaks over standard input and
// output is brought to it in process:
//
//   - [Front] is a client on a pair of pipes. Each of its lines becomes a request to the handler,
//     and what the handler answers, JSON or server-sent events, becomes lines.
//   - [Processes] is an upstream that is a program. It is the handler's [net/http.RoundTripper] for that
//     upstream: a request becomes a line for a process, and what the process says becomes an
//     answer, or events of a stream.
//
// So each of the four combinations passes the same checks in the same order, and a line of an
// unbound call has the same bytes on both sides.

// agentKey is the place of the authenticated agent in the context of an outbound request.
type agentKey struct{}

// withAgent says for whom an outbound request is made. [Processes] keeps agents apart by it.
func withAgent(ctx context.Context, agent string) context.Context {
	return context.WithValue(ctx, agentKey{}, agent)
}

// agentOf is the agent of an outbound request; "" is one that nobody has authenticated.
func agentOf(ctx context.Context) string {
	agent, _ := ctx.Value(agentKey{}).(string)
	return agent
}
