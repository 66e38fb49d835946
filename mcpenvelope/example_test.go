package mcpenvelope_test

import (
	"context"
	"fmt"

	"github.com/bindery/bindery/envelope"
	"github.com/bindery/bindery/mcpenvelope"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// deploy asks when it is called, and acts when it is called with a decision.
func deploy(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
	if d, ok := mcpenvelope.DecisionOf(ctx); ok {
		idx, chosen := d.Resolution.OptionIdx()
		if !chosen { // an answer in their own words, or the question declined
			return say("Nothing is deployed."), nil, nil
		}
		return say("Chosen: " + d.Emission.Envelope.Options()[idx].Label), nil, nil
	}
	draft := envelope.Draft{
		Synopsis:        "Deployment 7 goes live now, because its checks pass.", // no two envelopes are equal: number them
		Findings:        []string{"All 42 checks pass.", "Two engineers are on call.", "The last deployment was an hour ago."},
		Recommendations: []string{"Deploy it now.", "Roll it back at one per cent of errors."},
		Offer:           "The log of the checks can be shown.",
		Stem:            "When does deployment 7 go live?",
		Options: []envelope.Option{
			{Label: "Deploy now", Reasoning: "The checks pass."},
			{Label: "Deploy tomorrow", Reasoning: "Everybody is there then."},
		},
	}
	e, err := draft.Build(envelope.Ready())
	if err != nil {
		return nil, nil, err
	}
	emission := draft.Emission(e)
	emission.Principal = "ana"
	result := say("Deployment 7 waits for a decision.")
	mcpenvelope.Attach(result, emission)
	return result, nil, nil
}

func say(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

func newServer() (*mcp.Server, error) {
	bridge, err := mcpenvelope.NewBridge(mcpenvelope.BridgeConfig{}) // for clients that have forms, or words alone
	if err != nil {
		return nil, err
	}
	emitter, err := mcpenvelope.New(mcpenvelope.Config{Agent: "deployer", Ledger: envelope.NewMemory(), Emits: []string{"deploy"}, Bridge: bridge})
	if err != nil {
		return nil, err
	}
	caps := &mcp.ServerCapabilities{}
	if err := (mcpenvelope.Names{}).AddToServer(caps); err != nil {
		return nil, err
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "deployer", Version: "1"}, &mcp.ServerOptions{Capabilities: caps})
	mcp.AddTool(server, &mcp.Tool{Name: "deploy", Description: "Deploys once it is decided."}, deploy)
	server.AddReceivingMiddleware(emitter.Middleware())
	return server, nil
}

// connect returns a session of a client that renders envelopes. Over stdio the transport is a
// [mcp.CommandTransport]; over HTTP, Client.HTTP takes the place of Client.Transport.
func connect(ctx context.Context, c *mcpenvelope.Client) (*mcp.ClientSession, error) {
	server, err := newServer()
	if err != nil {
		return nil, err
	}
	here, there := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, there, nil); err != nil {
		return nil, err
	}
	caps := &mcp.ClientCapabilities{}
	if err := (mcpenvelope.Names{}).AddToClient(caps); err != nil {
		return nil, err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "surface", Version: "1"}, &mcp.ClientOptions{Capabilities: caps})
	return client.Connect(ctx, c.Transport(here), nil)
}

// A server that asks before it deploys, and a client that renders what it asks.
func Example() {
	ctx := context.Background()
	c, err := mcpenvelope.NewClient(mcpenvelope.ClientConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	session, err := connect(ctx, c)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()
	reply, err := c.Call(ctx, session, &mcp.CallToolParams{Name: "deploy"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(reply.Envelope.Stem())
	chosen, err := envelope.Choose(reply.Envelope, 1) // as the person has
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		reply, err := c.Resolve(ctx, session, "deploy", nil, chosen)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(reply.Result.Content[0].(*mcp.TextContent).Text)
	}
	// Output:
	// When does deployment 7 go live?
	// Chosen: Deploy tomorrow
	// The resolution was discarded and nothing was done. RESOLUTION_TAKEN: /envelope_digest: is the digest of an envelope that is resolved (ENV-079)
}
