package cli

import (
	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
)

func (a *app) completionCommand() *cobra.Command {
	shells := []string{"bash", "zsh", "fish"}
	cmd := &cobra.Command{
		Use:   "completion bash|zsh|fish",
		Short: "Print the completion script of a shell",
		Example: `  # bash, for this session and for all later ones
  source <(godwit completion bash)
  godwit completion bash > ~/.local/share/bash-completion/completions/godwit

  # zsh, fish
  godwit completion zsh > "${fpath[1]}/_godwit"
  godwit completion fish > ~/.config/fish/completions/godwit.fish`,
		ValidArgs:             shells,
		DisableFlagsInUseLine: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return &badinput.Error{Field: cmd.CommandPath(), Want: "one argument: " + listed(shells)}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			const describe = true
			switch args[0] {
			case "bash":
				return cmd.Root().GenBashCompletionV2(a.stdout, describe)
			case "zsh":
				return cmd.Root().GenZshCompletion(a.stdout)
			case "fish":
				return cmd.Root().GenFishCompletion(a.stdout, describe)
			}
			return &badinput.Error{Field: cmd.CommandPath(), Value: args[0], Want: listed(shells)}
		},
	}
	return cmd
}

// completeNames offers the names of a flag's choices, and files for the
// others.
func completeNames(cmd *cobra.Command, flag string, names []string) {
	// It fails only for a flag that is not there.
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic("cli: " + err.Error())
	}
}
