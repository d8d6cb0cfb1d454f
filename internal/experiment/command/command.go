// Package command is the command line of godwit-experiments: it turns arguments into
// experiments, and what they saw into text or JSON. What an experiment does, and what its
// report says, stands in the packages beside it.
package command

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/lab"
)

// app is the program whose commands these are.
type app struct{ term.App }

// RunCommand runs the command that the arguments name and returns the exit code of
// the process.
func RunCommand(version string, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if code, ours := lab.RunRole(args); ours {
		return code
	}
	a := newApp(version, stdin, stdout, stderr)
	return a.RunRoot(a.rootCommand(), args)
}

// newApp is the program with its streams.
func newApp(version string, stdin io.Reader, stdout, stderr io.Writer) *app {
	return &app{App: term.App{Name: "godwit-experiments", Version: version, Stdin: stdin, Stdout: stdout, Stderr: stderr,
		Now: clock.RealClock()}}
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   a.Name,
		Short: "Run an experiment of the papers and write its report",
		Long: `Runs an experiment of the papers and writes a report: what the paper saw, what we
see, with figures. Those in the simulator give the same report for the same files
and seeds; those with the live broker are measurements of this machine, and use the
program godwit that lies beside this one.`,
		Example: `  godwit-experiments koala
  godwit-experiments workflow --out /tmp/report`,
	}
	a.SetUpRoot(root, "  godwit-experiments help koala", []term.Section{
		{Title: "In the simulator", Names: []string{"koala", "workflow", "grads"}},
		{Title: "Measurements of this machine", Names: []string{"adaptive", "predictions", "models", "nodes", "skeletons"}},
		{Title: "About godwit-experiments", Names: []string{"help", "completion", "version"}},
	})
	root.AddCommand(a.koalaCommand(), a.workflowCommand(), a.gradsCommand(), a.adaptiveCommand(), a.predictionsCommand(),
		a.modelsCommand(), a.nodesCommand(), a.skeletonsCommand())
	root.AddCommand(a.sensorCommand(), a.spinnerCommand())
	root.InitDefaultHelpCmd()
	return root
}
