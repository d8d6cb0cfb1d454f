package term

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
)

// completionExample is that of the program godwit; others put their own name in its place.
const completionExample = `  # bash, for this session and for all later ones
  source <(godwit completion bash)
  godwit completion bash \
      > ~/.local/share/bash-completion/completions/godwit

  # zsh, fish
  godwit completion zsh > "${fpath[1]}/_godwit"
  godwit completion fish \
      > ~/.config/fish/completions/godwit.fish`

func (a *App) completionCommand() *cobra.Command {
	shells := []string{"bash", "zsh", "fish"}
	cmd := &cobra.Command{
		Use:                   "completion bash|zsh|fish",
		Short:                 "Print the completion script of a shell",
		Example:               strings.ReplaceAll(completionExample, "godwit", a.Name),
		ValidArgs:             shells,
		DisableFlagsInUseLine: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return &badinput.Error{Field: cmd.CommandPath(), Want: "one argument: " + JoinWords(shells)}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			const describe = true
			switch args[0] {
			case "bash":
				return a.writeBashCompletion(cmd.Root(), describe)
			case "zsh":
				return cmd.Root().GenZshCompletion(a.Stdout)
			case "fish":
				return cmd.Root().GenFishCompletion(a.Stdout, describe)
			}
			return &badinput.Error{Field: cmd.CommandPath(), Value: args[0], Want: JoinWords(shells)}
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
func (a *App) writeBashCompletion(root *cobra.Command, describe bool) error {
	var script strings.Builder
	if err := root.GenBashCompletionV2(&script, describe); err != nil {
		return err
	}
	_, err := io.WriteString(a.Stdout, strings.Replace(script.String(), packagedWords, plainWords, 1))
	return err
}

// CompleteNames offers the names of a flag's choices, and files for the
// others.
func CompleteNames(cmd *cobra.Command, flag string, names []string) {
	CompleteFlag(cmd, flag, cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
}

// CompleteFlag offers what a function finds.
func CompleteFlag(cmd *cobra.Command, flag string, find cobra.CompletionFunc) {
	// It fails only for a flag that is not there.
	if err := cmd.RegisterFlagCompletionFunc(flag, find); err != nil {
		panic("cli: " + err.Error())
	}
}
