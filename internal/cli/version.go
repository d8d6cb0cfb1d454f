package cli

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

func (a *app) versionCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			if output == "json" {
				return writeJSON(a.stdout, map[string]string{"version": a.version})
			}
			_, err := fmt.Fprintln(a.stdout, "godwit", a.version)
			return err
		},
	}
	outputFlag(cmd.Flags(), &output)
	return cmd
}

// writeJSON prints a value for programs, indented so that people can read it
// too.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
