package cli

import (
	"cmp"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/driver/local"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/live/config"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
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
				return &badinput.Error{Field: cmd.CommandPath(), Want: "one argument: " + joinWords(shells)}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			const describe = true
			switch args[0] {
			case "bash":
				return a.writeBashCompletion(cmd.Root(), describe)
			case "zsh":
				return cmd.Root().GenZshCompletion(a.stdout)
			case "fish":
				return cmd.Root().GenFishCompletion(a.stdout, describe)
			}
			return &badinput.Error{Field: cmd.CommandPath(), Value: args[0], Want: joinWords(shells)}
		},
	}
	return cmd
}

// What the script takes from the package bash-completion, and what does where that is not
// installed: words are what blanks separate, up to the cursor.
const (
	packagedWords = `    _get_comp_words_by_ref "$@" cur prev words cword
`
	plainWords = `    if declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
        _get_comp_words_by_ref "$@" cur prev words cword
        return
    fi
    local line=${COMP_LINE:0:COMP_POINT}
    read -r -a words <<<"$line"
    [[ $line == *[[:blank:]] ]] && words+=("")
    cword=$((${#words[@]} - 1))
    cur=${words[cword]}
    prev=${words[cword-1]}
`
)

// writeBashCompletion prints the script for bash, which needs no other package.
func (a *app) writeBashCompletion(root *cobra.Command, describe bool) error {
	var script strings.Builder
	if err := root.GenBashCompletionV2(&script, describe); err != nil {
		return err
	}
	_, err := io.WriteString(a.stdout, strings.Replace(script.String(), packagedWords, plainWords, 1))
	return err
}

// completeNames offers the names of a flag's choices, and files for the
// others.
func completeNames(cmd *cobra.Command, flag string, names []string) {
	completeFlag(cmd, flag, cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
}

// completeFlag offers what a function finds.
func completeFlag(cmd *cobra.Command, flag string, find cobra.CompletionFunc) {
	// It fails only for a flag that is not there.
	if err := cmd.RegisterFlagCompletionFunc(flag, find); err != nil {
		panic("cli: " + err.Error())
	}
}

// runningBroker is the broker that a command would ask, whether it answers or not; nil
// if it cannot be told. None is started: completion must not wait.
func runningBroker() *api.Client {
	state, err := api.StateDir()
	if err != nil {
		return nil
	}
	socket := cmp.Or(os.Getenv(api.SocketSetting), api.SocketPath(state))
	if _, err := os.Stat(socket); err != nil && api.CheckTrusted(api.SharedSocket) == nil {
		socket = api.SharedSocket
	}
	return api.DialBroker(socket)
}

// completeClusters offers the names of the clusters: those of the broker, or, where none
// runs, those of the settings.
func (a *app) completeClusters(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if c := runningBroker(); c != nil {
		defer c.Close()
		if clusters, err := c.ListClusters(cmd.Context()); err == nil {
			for i := range clusters {
				names = append(names, clusters[i].Name)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		}
	}
	cpus, err := local.UsableCPUs()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	cfg, err := config.LoadSettings("", os.Getenv, cpus)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for i := range cfg.Clusters {
		names = append(names, cfg.Clusters[i].Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
