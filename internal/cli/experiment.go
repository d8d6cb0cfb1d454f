package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
)

// experimentCommand tells who still calls godwit experiment where the experiments are.
func experimentCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "experiment",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			call := strings.Join(append([]string{"godwit-experiments"}, args...), " ")
			return &badinput.Error{Problem: cmd.CommandPath() + " is a program of its own now: run " + call +
				" (make experiments builds it)"}
		},
	}
}
