package mcpenvelope_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/bindery/bindery/envelope"
	"github.com/bindery/bindery/mcpenvelope"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestNothingButCalls: from question to decision a client that renders envelopes sees tool calls and
// nothing else, in either direction, also of a server with a bridge, and although it could be asked.
//
// covers ENV-001, ENV-004
func TestNothingButCalls(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			w, _, _ := bridged(t, mcpenvelope.BridgeConfig{Pages: "pages"})
			var mu sync.Mutex
			var trace []string
			note := func(direction string) mcp.Middleware {
				return func(next mcp.MethodHandler) mcp.MethodHandler {
					return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
						if method != "notifications/initialized" { // the end of the handshake, which may come late
							mu.Lock()
							trace = append(trace, direction+" "+method)
							mu.Unlock()
						}
						return next(ctx, method, req)
					}
				}
			}
			w.server.AddReceivingMiddleware(note("to the server"))
			w.server.AddSendingMiddleware(note("to the client"))
			caps := &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{
				Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{},
			}}
			if err := (mcpenvelope.Names{}).AddToClient(caps); err != nil {
				t.Fatal(err)
			}
			surface := mcp.NewClient(&mcp.Implementation{Name: "surface", Version: "1"}, &mcp.ClientOptions{
				Capabilities: caps, Logger: quiet,
				ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					return &mcp.ElicitResult{Action: "decline"}, nil
				},
			})
			c := newClient(t, mcpenvelope.ClientConfig{Trusted: true})
			cs := inMemory(t, w, c, surface, version)
			mu.Lock()
			trace = nil
			mu.Unlock()
			r := call(t, c, cs, "propose", nil)
			chosen, err := envelope.Choose(r.Envelope, 0)
			if err != nil {
				t.Fatalf("%v: %s", err, r.Raw)
			}
			if _, err := c.Resolve(t.Context(), cs, "propose", nil, chosen); err != nil {
				t.Fatal(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if want := []string{"to the server tools/call", "to the server tools/call"}; !slices.Equal(trace, want) {
				t.Errorf("what was sent: %q", trace)
			}
			if got := w.done(); !slices.Equal(got, []string{"option 0"}) {
				t.Errorf("effects: %q", got)
			}
		})
	}
}
