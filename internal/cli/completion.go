package cli

import (
	"github.com/spf13/cobra"
)

func (a *app) completion() *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|fish|powershell|zsh",
		Short: "Print the script that completes bindery's commands, flags and error names in a shell",
		Example: "  source <(bindery completion bash)\n" +
			"  bindery completion fish > ~/.config/fish/completions/bindery.fish\n" +
			"  bindery completion zsh > \"${fpath[1]}/_bindery\"",
		ValidArgs: []string{"bash", "fish", "powershell", "zsh"},
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		RunE: func(c *cobra.Command, args []string) error {
			root := c.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(a.out, true)
			case "fish":
				return root.GenFishCompletion(a.out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(a.out)
			}
			return root.GenZshCompletion(a.out)
		},
	}
}
