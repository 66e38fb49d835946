package cli

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bindery/bindery/internal/agentauth"
	"github.com/bindery/bindery/jcs"
)

// A client of MCP reads what it may start from a file of its own. These are the places and the
// shapes as their makers document them; Linux has them below the user's folder.
func mcpClients() []mcpClient {
	return []mcpClient{
		{name: "claude-desktop", files: map[string]string{
			"darwin":  "~/Library/Application Support/Claude/claude_desktop_config.json",
			"windows": `%APPDATA%\Claude\claude_desktop_config.json`, "": "~/.config/Claude/claude_desktop_config.json",
		}, key: "mcpServers", note: "quit it and start it again"},
		{name: "claude-code", files: map[string]string{"": ".mcp.json"}, key: "mcpServers", stdio: true, note: "the file is in the project's folder; it asks once whether it may start it"},
		{name: "cursor", files: map[string]string{"": "~/.cursor/mcp.json"}, key: "mcpServers", note: "for one project alone the file is .cursor/mcp.json in it"},
		{name: "vscode", files: map[string]string{"": ".vscode/mcp.json"}, key: "servers", stdio: true, note: "the file is in the workspace; for all of them: MCP: Open User Configuration"},
		{name: "windsurf", files: map[string]string{"": "~/.codeium/windsurf/mcp_config.json"}, key: "mcpServers", note: "refresh its list of servers"},
		{name: "zed", files: map[string]string{"windows": `%APPDATA%\Zed\settings.json`, "": "~/.config/zed/settings.json"}, key: "context_servers", note: "it notices by itself"},
		{name: "codex", files: map[string]string{"": "~/.codex/config.toml"}, key: "mcp_servers", toml: true, note: "start it again"},
		{name: "gemini-cli", files: map[string]string{"": "~/.gemini/settings.json"}, key: "mcpServers", note: "start it again"},
	}
}

// mcpClient is a program that starts servers of MCP.
type mcpClient struct {
	name  string
	files map[string]string // by operating system; "" is any other
	key   string            // under which servers stand in the file
	stdio bool              // an entry has a type
	toml  bool
	note  string
}

func (c mcpClient) file() string {
	if f := c.files[runtime.GOOS]; f != "" {
		return f
	}
	return c.files[""]
}

func clientNames() (names []string) {
	for _, c := range mcpClients() {
		names = append(names, c.name)
	}
	return names
}

func (a *app) gatewayInstall() *cobra.Command {
	var client string
	var f gatewayFlags
	cmd := &cobra.Command{
		Use:   "install --client NAME (--upstream URL | -- COMMAND…)",
		Short: "Print the entry with which an MCP client starts the gateway in front of a server",
		Long: "Print the entry with which an MCP client starts the gateway in front of a server, and say in\n" +
			"which file it goes. It writes nothing: the file is the client's.\n\n" +
			"Where the gateway needs something in its environment, a key of an agent that is registered\n" +
			"in the directory or a header's value, the entry has an env with a placeholder for it, in\n" +
			"angle brackets. What is secret is never printed.\n\nClients: " + strings.Join(clientNames(), ", ") + ".",
		Example: "  bindery gateway install --client claude-desktop -- npx -y @modelcontextprotocol/server-filesystem /srv/files\n" +
			"  bindery gateway install --client codex --upstream https://tools.example/mcp --header-env Authorization=TOOLS_TOKEN",
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			known := mcpClients()
			i := slices.IndexFunc(known, func(m mcpClient) bool { return m.name == client })
			switch dash := c.ArgsLenAtDash(); {
			case client == "":
				return usage("--client is missing", "there are: "+strings.Join(clientNames(), ", "))
			case i < 0:
				return usagef("there are: "+strings.Join(clientNames(), ", "), "no client is known by the name %q", client)
			case dash < 0 && len(args) > 0 || dash > 0:
				return usagef("put the server's command behind --", "install does not take %q", args)
			case (len(args) > 0) == (f.upstream != ""):
				return usage("install needs one upstream", "give --upstream URL, or -- and the server's command")
			}
			if err := f.entry(args); err != nil {
				return err
			}
			if len(args) > 0 && filepath.Base(args[0]) != args[0] { // a path: the client starts it elsewhere
				if at, err := filepath.Abs(args[0]); err == nil {
					args[0] = at
				}
			}
			u, err := adHoc(f.name, f.upstream, args)
			if err != nil {
				return err
			}
			return a.printEntry(known[i], u, f)
		},
	}
	cmd.Flags().StringVar(&client, "client", "", "the client: "+strings.Join(clientNames(), ", "))
	cmd.Flags().StringVar(&f.upstream, "upstream", "", "URL of an MCP server over streamable HTTP")
	cmd.Flags().StringVar(&f.name, "name", "", "the upstream's name (default: made of its URL or command)")
	cmd.Flags().StringVar(&f.agent, "agent", "", "the client's name as an agent (default stdio)")
	cmd.Flags().StringArrayVar(&f.headers, "header-env", nil, "NAME=VARIABLE: send this header to the URL, with the value of that variable; may be repeated")
	cmd.Flags().StringVar(&f.require, "require-execution-id", "", "none, destructive or all: which tools are refused without an execution_id")
	cmd.Flags().StringVar(&f.store, "store", "", storeUsage)
	_ = cmd.RegisterFlagCompletionFunc("client", cobra.FixedCompletions(clientNames(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// entry refuses flags with which the gateway would not start, or that would show a secret.
func (f gatewayFlags) entry(command []string) error {
	switch {
	case f.agent != "" && !agentauth.ValidName(f.agent):
		return badAgentName()
	case len(command) > 0 && len(f.headers) > 0:
		return usage("--header-env is for a URL", "set the command's environment")
	}
	if _, err := headerFlags(f.headers); err != nil {
		return err
	}
	if _, err := requireWord(f.require); err != nil {
		return err
	}
	if err := checkStore(f.store); err != nil {
		return err
	}
	if f.store != "" && hasPassword(f.store) {
		return usage("the password of --store would stand in the client's file", "begin the directory with it: bindery gateway agent add NAME --store URL; then leave --store out")
	}
	return nil
}

// A variable is one that the gateway needs, and what stands in the place of its value.
type variable struct{ name, place string }

// environment is what the gateway needs there, started by a client.
func (a *app) environment(f gatewayFlags) (list []variable, err error) {
	if a.initialised() {
		h, err := a.home()
		if err != nil {
			return nil, err
		}
		g, err := h.gateway()
		if err != nil {
			return nil, err
		}
		if !g.Agents.none() {
			if f.agent != "" {
				return nil, usagef("leave --agent out", "the gateway of %s has agents, and knows them by %s", h.dir, agentKeyEnv)
			}
			list = append(list, variable{agentKeyEnv, "<a key that bindery gateway agent add has printed>"})
		}
	}
	for _, s := range f.headers {
		header, name, _ := strings.Cut(s, "=")
		if !slices.ContainsFunc(list, func(v variable) bool { return v.name == name }) {
			list = append(list, variable{name, "<the whole value of the header " + header + ">"})
		}
	}
	return list, nil
}

func (a *app) printEntry(c mcpClient, u gatewayUpstream, f gatewayFlags) error {
	env, err := a.environment(f)
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		program = "bindery"
	}
	dir, err := a.directory()
	if err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return usage("the directory's place cannot be told", "give an absolute --dir")
	}
	args := []string{"gateway", "--dir", dir}
	flags := [][2]string{{"--name", f.name}, {"--agent", f.agent}, {"--upstream", u.URL}}
	for _, header := range f.headers {
		flags = append(flags, [2]string{"--header-env", header})
	}
	for _, flag := range append(flags, [2]string{"--require-execution-id", f.require}, [2]string{"--store", f.store}) {
		if flag[1] != "" {
			args = append(args, flag[0], flag[1])
		}
	}
	if len(u.Command) > 0 {
		args = append(append(args, "--"), u.Command...)
	}
	entry, format := c.entry(u.Name, program, args, env), "json"
	if c.toml {
		format = "toml"
	}
	if a.json {
		a.print(jcs.Object(
			jcs.Member{Name: "client", Value: jcs.String(c.name)}, jcs.Member{Name: "file", Value: jcs.String(c.file())},
			jcs.Member{Name: "format", Value: jcs.String(format)}, jcs.Member{Name: "entry", Value: jcs.String(entry)},
		))
		return nil
	}
	a.print([]byte(entry))
	a.say("it belongs in %s: %s", c.file(), c.note)
	for _, word := range u.Command {
		if word == "." || word == ".." || strings.HasPrefix(word, "./") || strings.HasPrefix(word, "../") {
			a.say("%s counts from the folder in which the client starts the gateway; take a whole path", visible(word))
		}
	}
	if len(env) > 0 {
		a.say("in env, put what is meant in the place of each <…>; whoever may read that file has it then")
	}
	return nil
}

// entry is the whole of a file that has this server alone.
func (c mcpClient) entry(name, program string, args []string, env []variable) string {
	if c.toml { // whose basic strings are those of JSON
		if strings.Contains(name, ".") { // which would begin a table within
			name = string(jcs.String(name))
		}
		return "[" + c.key + "." + name + "]\ncommand = " + string(jcs.String(program)) + "\nargs = " + list(args) + variables(env, "\nenv = { ", " = ", " }")
	}
	kind := ""
	if c.stdio {
		kind = "      \"type\": \"stdio\",\n"
	}
	return "{\n  " + string(jcs.String(c.key)) + ": {\n    " + string(jcs.String(name)) + ": {\n" + kind +
		"      \"command\": " + string(jcs.String(program)) + ",\n      \"args\": " + list(args) +
		variables(env, ",\n      \"env\": {", ": ", "}") + "\n    }\n  }\n}"
}

// variables are between before and after; there is nothing if there are none.
func variables(env []variable, before, is, after string) string {
	var items []string
	for _, v := range env {
		items = append(items, string(jcs.String(v.name))+is+string(jcs.String(v.place)))
	}
	if len(items) == 0 {
		return ""
	}
	return before + strings.Join(items, ", ") + after
}

func list(words []string) string {
	var items []string
	for _, w := range words {
		items = append(items, string(jcs.String(w)))
	}
	return "[" + strings.Join(items, ", ") + "]"
}
