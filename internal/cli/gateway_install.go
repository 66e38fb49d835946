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
	var client, name, upstream, agent string
	cmd := &cobra.Command{
		Use:   "install --client NAME (--upstream URL | -- COMMAND…)",
		Short: "Print the entry with which an MCP client starts the gateway in front of a server",
		Long: "Print the entry with which an MCP client starts the gateway in front of a server, and say in\n" +
			"which file it goes. It writes nothing: the file is the client's.\n\nClients: " + strings.Join(clientNames(), ", ") + ".",
		Example: "  bindery gateway install --client claude-desktop -- npx -y @modelcontextprotocol/server-filesystem /srv/files\n" +
			"  bindery gateway install --client codex --upstream https://tools.example/mcp",
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
			case (len(args) > 0) == (upstream != ""):
				return usage("install needs one upstream", "give --upstream URL, or -- and the server's command")
			case agent != "" && !agentauth.ValidName(agent):
				return badAgentName()
			}
			u, err := adHoc(name, upstream, args)
			if err != nil {
				return err
			}
			return a.printEntry(known[i], u, name, agent)
		},
	}
	cmd.Flags().StringVar(&client, "client", "", "the client: "+strings.Join(clientNames(), ", "))
	cmd.Flags().StringVar(&upstream, "upstream", "", "URL of an MCP server over streamable HTTP")
	cmd.Flags().StringVar(&name, "name", "", "the upstream's name (default: made of its URL or command)")
	cmd.Flags().StringVar(&agent, "agent", "", "the client's name as an agent (default stdio)")
	_ = cmd.RegisterFlagCompletionFunc("client", cobra.FixedCompletions(clientNames(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (a *app) printEntry(c mcpClient, u gatewayUpstream, name, agent string) error {
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
	for _, flag := range [][2]string{{"--name", name}, {"--agent", agent}, {"--upstream", u.URL}} {
		if flag[1] != "" {
			args = append(args, flag[0], flag[1])
		}
	}
	if len(u.Command) > 0 {
		args = append(append(args, "--"), u.Command...)
	}
	entry, format := c.entry(u.Name, program, args), "json"
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
	return nil
}

// entry is the whole of a file that has this server alone.
func (c mcpClient) entry(name, program string, args []string) string {
	if c.toml { // whose basic strings are those of JSON
		return "[" + c.key + "." + name + "]\ncommand = " + string(jcs.String(program)) + "\nargs = " + list(args)
	}
	kind := ""
	if c.stdio {
		kind = "      \"type\": \"stdio\",\n"
	}
	return "{\n  " + string(jcs.String(c.key)) + ": {\n    " + string(jcs.String(name)) + ": {\n" + kind +
		"      \"command\": " + string(jcs.String(program)) + ",\n      \"args\": " + list(args) + "\n    }\n  }\n}"
}

func list(words []string) string {
	var items []string
	for _, w := range words {
		items = append(items, string(jcs.String(w)))
	}
	return "[" + strings.Join(items, ", ") + "]"
}
