package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"

	"github.com/bindery/bindery/envelope/render"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mcpenvelope"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	toolList    = "list_datasets"
	toolShow    = "show_view"
	toolPropose = "propose_release"
	toolHear    = "hear_objection"
)

const shownRows = 6

func schema(required string, properties string) json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{` + properties + `},"required":[` + required + `],"additionalProperties":false}`)
}

const matterSchema = `"dataset":{"type":"string","description":"name of a dataset, as list_datasets gives it"},` +
	`"recipient":{"type":"string","description":"who gets it"}`

// newServer is the MCP server with its four tools.
func newServer(o *office, b *mcpenvelope.Bridge, s settings, log *slog.Logger) (*mcp.Server, error) {
	o.pages = b
	emitter, err := mcpenvelope.New(mcpenvelope.Config{
		Agent: s.agent, Ledger: emissions{o.ledger, o}, Emits: []string{toolPropose}, Bridge: b, Log: log,
		Enabled: func(*mcp.CallToolRequest) bool { return s.emit },
		// There is one principal here, whose client may come back in another session.
		Session: func(*mcp.CallToolRequest) string { return "" },
	})
	if err != nil {
		return nil, err
	}
	caps := &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}
	if err := (mcpenvelope.Names{}).AddToServer(caps); err != nil {
		return nil, err
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "release-approver", Version: "1.0.0"}, &mcp.ServerOptions{
		Capabilities: caps, Logger: log,
		Instructions: "Proposes data releases, asks the principal, and does what they decide. Give a resolution only as the person gave it.",
	})
	no, yes := false, true
	server.AddTool(&mcp.Tool{
		Name: toolList, Description: "Lists the datasets of the catalogue and their views.",
		InputSchema: schema("", ""), Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}, o.tool(func(*jcs.Reader) func(context.Context) saying {
		return func(context.Context) saying { return o.list() }
	}))
	server.AddTool(&mcp.Tool{
		Name: toolShow, Description: "Shows the first rows of a view that names no persons.",
		InputSchema: schema(`"dataset","view"`, `"dataset":{"type":"string"},"view":{"type":"string"}`), Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}, o.tool(func(r *jcs.Reader) func(context.Context) saying {
		dataset, view := r.Text("dataset"), r.Text("view")
		return func(context.Context) saying { return o.show(dataset, view) }
	}))
	server.AddTool(&mcp.Tool{
		Name: toolPropose, Description: "Proposes the release of a dataset to a recipient. The principal decides: the result carries a binding_moment, and the decision comes back as binding_resolution.",
		InputSchema: schema("", matterSchema+`,"views":{"type":"array","items":{"type":"string"},"description":"which views are put to choice; all if left out"},`+
			`"question":{"type":"string","description":"the question in other words; needed after one was declined"}`),
		Annotations: &mcp.ToolAnnotations{DestructiveHint: &yes, OpenWorldHint: &no},
	}, o.tool(readRequest(o)))
	server.AddTool(&mcp.Tool{
		Name: toolHear, Description: "Takes in what the principal said against a question that they declined, in their own words.",
		InputSchema: schema(`"dataset","recipient","objection"`, matterSchema+`,"objection":{"type":"string"}`),
	}, o.tool(func(r *jcs.Reader) func(context.Context) saying {
		matter, objection := request{dataset: r.Text("dataset"), recipient: r.Text("recipient")}, r.Text("objection")
		return func(ctx context.Context) saying { return o.hear(ctx, matter, objection) }
	}))
	server.AddReceivingMiddleware(emitter.Middleware())
	return server, nil
}

// tool makes a handler of what reads arguments and what answers them: all of them are read, and none
// is left over, before anything is done. A decision comes first, with whichever tool: it is taken, and
// there is no second call with it.
func (o *office) tool(read func(*jcs.Reader) func(context.Context) saying) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if d, ok := mcpenvelope.DecisionOf(ctx); ok {
			return result(o.decide(d)), nil
		}
		text := req.Params.Arguments
		if len(text) == 0 {
			text = []byte("{}")
		}
		v, err := jcs.Parse(text)
		if err != nil {
			return result(no("the arguments are not strict JSON: %v", err)), nil
		}
		r := jcs.NewReader(v)
		answer := read(r)
		if err := r.Close(); err != nil {
			return result(no("the arguments: %v", err)), nil
		}
		return result(answer(ctx)), nil
	}
}

// readRequest reads the arguments of a proposal.
func readRequest(o *office) func(*jcs.Reader) func(context.Context) saying {
	return func(r *jcs.Reader) func(context.Context) saying {
		asked := request{dataset: r.Text("dataset"), recipient: r.Text("recipient")}
		asked.question, _ = r.OptText("question")
		for item := range r.OptValue("views").Items() {
			name, _ := item.Text()
			asked.views = append(asked.views, name)
		}
		return func(ctx context.Context) saying { return o.propose(ctx, asked) }
	}
}

// result is what a tool says, as MCP has it.
func result(s saying) *mcp.CallToolResult {
	if s.withheld != nil {
		return mcpenvelope.Withheld(*s.withheld)
	}
	res := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s.text}}, IsError: s.failed}
	if s.emission != nil {
		mcpenvelope.Attach(res, *s.emission)
	}
	return res
}

func (o *office) list() saying {
	names, err := datasets(o.set.catalogue)
	if err != nil {
		return no("%v", err)
	}
	var b strings.Builder
	for _, name := range names {
		d, err := load(o.set.catalogue, name)
		if err != nil {
			fmt.Fprintf(&b, "%s: cannot be used: %v\n", name, err)
			continue
		}
		fmt.Fprintf(&b, "%s: %s\n", name, render.Show(d.title))
		for _, v := range d.views {
			fmt.Fprintf(&b, "  %s: %s\n", v.name, render.Show(v.sees(o.set.smallest)))
		}
	}
	if b.Len() == 0 {
		return saying{text: "The catalogue is empty."}
	}
	return saying{text: b.String()}
}

func (o *office) show(dataset, name string) saying {
	d, err := load(o.set.catalogue, dataset)
	if err != nil {
		return no("%v", err)
	}
	for _, v := range d.views {
		switch {
		case v.name != name:
			continue
		case len(v.identifies) > 0:
			return no("The %s view names persons, and is shown to nobody through an agent.", name)
		}
		var b strings.Builder
		rows := 0
		for line := range bytes.Lines(v.content) {
			if rows++; rows > shownRows {
				break
			}
			b.WriteString(string(render.Show(strings.TrimRight(string(line), "\r\n"))) + "\n")
		}
		return saying{text: b.String()}
	}
	return no("%s has no view %q", dataset, name)
}
