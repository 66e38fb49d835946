package cli

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bindery/bindery/actionbinding"
	"github.com/bindery/bindery/internal/gateway"
	"github.com/bindery/bindery/internal/toolaction"
	"github.com/bindery/bindery/jcs"
)

// explainFlags are those of bindery gateway explain.
type explainFlags struct {
	upstream, name, schema, agent, timestamp string
	headers                                  []string
}

func (a *app) gatewayExplain() *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain TOOL ARGUMENTS [--schema FILE | --upstream URL | -- COMMAND…]",
		Short: "Show what a call would be bound to: preimage, binding, and who settles its numbers",
		Long: "Show what a call of TOOL with ARGUMENTS, a JSON object, would be bound to: the preimage and\n" +
			"its binding, which arguments govern, and by which schema or declaration the spelling of each\n" +
			"number is settled. The call is not made.\n\n" +
			"The tool's declaration is the one in config.json, if there is one. Its input schema is asked\n" +
			"of the upstream, or read from --schema FILE: a schema, a tool, or a result of tools/list.\n" +
			"ARGUMENTS may be @FILE, or - for standard input. A call that would be refused ends with 1.",
		Example: "  bindery gateway explain charge '{\"cents\": 1.0}' --schema charge.json --timestamp 2026-11-30T12:00:00Z\n" +
			"  bindery gateway explain write_file '{\"path\": \"a\"}' -- my-mcp-server",
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			words, command := args, []string(nil)
			if dash := c.ArgsLenAtDash(); dash >= 0 {
				words, command = args[:dash], args[dash:]
			}
			if len(words) != 2 {
				return usage("explain needs a tool and its arguments", "as in: bindery gateway explain TOOL '{}' --schema FILE")
			}
			return a.explainCall(c.Context(), f, words[0], words[1], command)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.upstream, "upstream", "", "URL of the MCP server that has the tool")
	flags.StringVar(&f.name, "name", "", "the upstream's name: a configured one, or as it would be given to bindery gateway")
	flags.StringArrayVar(&f.headers, "header-env", nil, "NAME=VARIABLE: send this header to the URL, with the value of that variable")
	flags.StringVar(&f.schema, "schema", "", "file with the tool's input schema; the upstream is not asked then")
	flags.StringVar(&f.agent, "agent", "local:stdio", "the agent's id, as it would be authenticated")
	flags.StringVar(&f.timestamp, "timestamp", "", "the caller's time, such as 2026-11-30T12:00:00Z (default: now)")
	return cmd
}

func (a *app) explainCall(ctx context.Context, f explainFlags, name, arguments string, command []string) error {
	cfg, h := &gatewayConfig{}, (*home)(nil)
	if dir, err := a.directory(); err == nil && fileExists(dir) {
		if h, err = a.home(); err != nil {
			return err
		}
		if cfg, err = h.gateway(); err != nil {
			return err
		}
	}
	u, err := f.choose(cfg, command)
	if err != nil {
		return err
	}
	tool := toolaction.Tool{Upstream: u.Name, Name: name, Annotations: toolaction.Annotations{Destructive: true}}
	if f.schema != "" {
		err = a.toolFromFile(ctx, f.schema, &tool)
	} else {
		err = a.toolFromUpstream(ctx, h, u, &tool)
	}
	if err != nil {
		return err
	}
	tool.Declaration = u.declared[name]
	tool.Require, _ = toolaction.ParseRequire(cmp.Or(cfg.Require, "none"))
	text := []byte(arguments)
	if file, ok := strings.CutPrefix(arguments, "@"); ok || arguments == "-" {
		if !ok {
			file = "-"
		}
		if text, err = a.read(ctx, file, 4<<20, "give a file with the arguments"); err != nil {
			return err
		}
	}
	algorithm, err := actionbinding.ParseAlgorithm(cmp.Or(cfg.Algorithm, "sha256"))
	if err != nil {
		return err
	}
	timestamp := cmp.Or(f.timestamp, time.Now().UTC().Format("2006-01-02T15:04:05Z"))
	return a.printExplanation(toolaction.Explain(tool, f.agent, timestamp, text), algorithm)
}

// choose is the upstream whose tool is meant.
func (f explainFlags) choose(cfg *gatewayConfig, command []string) (*gatewayUpstream, error) {
	if f.upstream != "" && len(command) > 0 {
		return nil, usage("--upstream and a command are two upstreams", "give one of them")
	}
	if f.upstream == "" && len(command) == 0 {
		u := cfg.upstream(f.name)
		switch {
		case u != nil:
			return u, nil
		case f.name == "" && len(cfg.Upstreams) == 1:
			return &cfg.Upstreams[0], nil
		case f.name == "" && len(cfg.Upstreams) > 1: // each has declarations of its own
			return nil, usage("several upstreams are configured", "say whose tool it is, with --name NAME")
		case f.schema != "":
			return &gatewayUpstream{Name: cmp.Or(f.name, "upstream")}, nil
		}
		return nil, usage("whose tool it is is not known", "give --schema FILE, --upstream URL, -- and the server's command, or the --name of a configured one")
	}
	headers, err := headerFlags(f.headers)
	if err != nil {
		return nil, err
	}
	given, err := adHoc(f.name, f.upstream, command)
	if err != nil {
		return nil, err
	}
	given.HeadersEnv = headers
	if err := cfg.choose(&given, gatewayFlags{name: f.name}); err != nil {
		return nil, err
	}
	return &cfg.Upstreams[0], nil
}

// toolFromFile takes a schema, a tool, or a list of tools.
func (a *app) toolFromFile(ctx context.Context, file string, tool *toolaction.Tool) error {
	const try = "give a JSON Schema, a tool, or a result of tools/list"
	b, err := a.read(ctx, file, 16<<20, try)
	if err != nil {
		return err
	}
	v, err := jcs.Profile{Numbers: jcs.DoubleNumbers}.Parse(b)
	if err != nil || v.Type() != jcs.ObjectType {
		return usagef(try, "%s is no object in strict JSON", inputName(file))
	}
	if result := v.Get("result"); result.Type() == jcs.ObjectType {
		v = result
	}
	if v.Get("tools").Type() == jcs.ArrayType {
		if !listed(v, tool) {
			return usagef(try, "%s has no tool %q", inputName(file), tool.Name)
		}
		return nil
	}
	if v.Get("inputSchema").Type() == jcs.ObjectType {
		if found, err := toolaction.ReadTool(tool.Upstream, v); err == nil {
			tool.InputSchema, tool.Annotations = found.InputSchema, found.Annotations
			return nil
		}
	}
	tool.InputSchema = v
	return nil
}

// listed takes a tool from a list, if it is there.
func listed(result jcs.Value, tool *toolaction.Tool) bool {
	for entry := range result.Get("tools").Items() {
		if found, err := toolaction.ReadTool(tool.Upstream, entry); err == nil && found.Name == tool.Name {
			*tool = found
			return true
		}
	}
	return false
}

// toolFromUpstream asks the upstream for its list.
func (a *app) toolFromUpstream(ctx context.Context, h *home, u *gatewayUpstream, tool *toolaction.Tool) error {
	if h == nil {
		h = &home{}
	}
	n := &gatewayNode{home: h, cfg: &gatewayConfig{Upstreams: []gatewayUpstream{*u}}, processes: map[string]*gateway.Processes{}}
	if err := a.reach(n, gatewayOptions{log: slog.New(slog.DiscardHandler)}); err != nil {
		return err
	}
	for _, p := range n.processes {
		defer p.Close()
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	found, names := false, []string(nil)
	err := gateway.ListTools(ctx, n.ways[0], func(result []byte) {
		v, err := jcs.Profile{Numbers: jcs.DoubleNumbers}.Parse(result)
		if err != nil {
			return
		}
		found = listed(v, tool) || found
		for entry := range v.Get("tools").Items() {
			name, _ := entry.Get("name").Text()
			names = append(names, name)
		}
	})
	switch {
	case err != nil:
		return &unknownError{"the upstream " + u.shown() + " gives no list of its tools", "does it run? else give --schema FILE"}
	case !found:
		return usagef("it has: "+visible(strings.Join(names, ", ")), "the upstream has no tool %q", tool.Name)
	}
	return nil
}

func (a *app) printExplanation(e toolaction.Explanation, algorithm actionbinding.Algorithm) error {
	if a.json {
		a.print(e.JSON(algorithm))
	} else {
		a.lineExplanation(e, algorithm)
	}
	if e.Refusal != nil {
		a.say("bindery: such a call is refused: %s: %s; %s", e.Refusal.Name, e.Refusal.Rule, e.Refusal.Try)
		return errVerdict
	}
	return nil
}

func (a *app) lineExplanation(e toolaction.Explanation, algorithm actionbinding.Algorithm) {
	required := "no"
	if e.RequiresID {
		required = "yes"
	}
	a.line("tool          %s of %s", e.Tool.Name, e.Tool.Upstream)
	a.line("needs an id   %s", required)
	for _, n := range e.Numbers {
		switch {
		case n.Refusal != "":
			a.line("number        %s %s refused: %s", cmp.Or(n.Pointer, "/"), n.Token, n.Refusal)
		default:
			a.line("number        %s %s forwarded as %s, by %s", cmp.Or(n.Pointer, "/"), n.Token, n.Form, n.By)
		}
	}
	if e.Refusal != nil {
		return
	}
	a.line("arguments     %s", e.Adapted.Arguments)
	a.line("governing     %s", e.Governing)
	a.line("semantics     %s", e.Adapted.Semantics)
	a.line("preimage      %s", e.Adapted.Action.Preimage())
	a.line("binding       %s", e.Adapted.Action.Bind(algorithm))
}
