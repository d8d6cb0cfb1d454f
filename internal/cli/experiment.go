package cli

import (
	"github.com/spf13/cobra"
)

func (a *app) experimentCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "experiment",
		Short: "Run an experiment of the papers and write its report",
		Args:  a.noSuchCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	return cmd
}
