package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// group is flags that belong together, under a title in the help.
type group struct {
	title string
	flags *pflag.FlagSet
}

func newGroup(title string) group {
	return group{title, pflag.NewFlagSet(title, pflag.ContinueOnError)}
}

// groupFlags gives a command its flags and a help that shows them by group.
func groupFlags(cmd *cobra.Command, groups ...group) {
	for _, g := range groups {
		g.flags.SortFlags = false
		cmd.Flags().AddFlagSet(g.flags)
	}
	cmd.Flags().SortFlags = false
	cmd.SetUsageFunc(func(cmd *cobra.Command) error {
		var b strings.Builder
		fmt.Fprintf(&b, "Usage:\n  %s\n", cmd.UseLine())
		if cmd.Example != "" {
			fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
		}
		for _, g := range groups {
			fmt.Fprintf(&b, "\n%s:\n%s", g.title, g.flags.FlagUsages())
		}
		_, err := fmt.Fprint(cmd.OutOrStdout(), b.String())
		return err
	})
}
