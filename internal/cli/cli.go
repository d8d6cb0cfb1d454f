// Package cli is the command line: it turns arguments into calls of the
// packages that do the work, and what comes back into text or JSON. It decides
// how flags are called, what is printed and which exit code ends the process;
// names that others rely on are fixed. Results go to stdout alone, everything
// else to stderr. It must not decide anything about jobs.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/agent"
	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/lab"
	"github.com/godwit-hpc/godwit/internal/live/outpost"
	"github.com/godwit-hpc/godwit/internal/live/userfiles"
)

// The exit codes of every command.
const (
	exitDone        = 0
	exitFailed      = 1 // the work failed
	exitBadInput    = 2 // wrong usage or bad input
	exitInterrupted = 130
)

// app is what all commands share.
type app struct {
	version        string
	stdin          io.Reader
	stdout, stderr io.Writer
	now            clock.Clock
	toldShared     sync.Once // that the broker is that of all users
	toldAgain      sync.Once // that a job is submitted again
}

// RunCommand runs the command that the arguments name and returns the exit code of
// the process.
func RunCommand(version string, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) == 2 && args[0] == "agent" { // once for every job: no time is to be lost
		return agent.RunAgent(args[1])
	}
	if len(args) == 3 && args[0] == "agent" && args[1] == "--guard" {
		return agent.RunGuard(args[2])
	}
	if code, ours := runLaunched(args); ours {
		return code
	}
	if len(args) == 1 && args[0] == "outpost" { // started by a broker over SSH, for nobody to type
		return outpost.RunOutpost()
	}
	if len(args) == 1 && args[0] == userfiles.Subcommand { // likewise, as the user whose files are concerned
		return userfiles.ServeRequest()
	}
	if code, ours := lab.RunRole(args); ours {
		return code
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	a := &app{version: version, stdin: stdin, stdout: stdout, stderr: stderr, now: clock.RealClock()}
	root := a.rootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	if err := a.unknownCommand(root, args); err != nil {
		return a.reportError(err)
	}
	return a.reportError(root.ExecuteContext(ctx))
}

// reportError tells the user what went wrong, in one line, and which exit code says
// so to programs.
func (a *app) reportError(err error) int {
	var code exitCode
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &code):
		return int(code)
	case errors.Is(err, context.Canceled):
		a.sayLine("interrupted")
		return exitInterrupted
	}
	a.sayLine(err.Error())
	if badinput.Is(err) {
		return exitBadInput
	}
	return exitFailed
}

// sayLine writes one line to stderr.
func (a *app) sayLine(text string) {
	_, _ = fmt.Fprintf(a.stderr, "godwit: %s\n", oneLine(text)) // there is nobody else to tell
}

func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), " ")
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "godwit",
		Short: "Adaptive broker for jobs that must end in time",
		Long: `Godwit runs jobs on this machine, on Slurm and Grid Engine clusters and on hosts behind SSH.
It chooses where a job runs, predicts when it will be done, and migrates it when its deadline
is in danger. The simulator runs the same engine on recorded traces and described workloads.`,
		Example: `  # An unmodified program, done in time
  godwit run --deadline 90s -- python3 examples/jobs/pi.py 2000

  # When would it be done, and where? Then: what was decided for it, and why?
  godwit quote --deadline 60s -- ./examples/jobs/burn 30
  godwit explain 7

  # The schedule that a cluster's own queue would have made of a trace
  godwit sim --platform examples/platforms/small.yaml \
      --trace examples/traces/small.swf --local easy

  # Five malleability policies on one workload, side by side
  godwit sim --scenario scenarios/koala/w2m.yaml \
      --compare fpsma,egs,equi,fold,marginal

  # The experiments of the papers, with a report each
  godwit experiment koala`,
		Version:       a.version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          a.noSuchCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(a.helpCommand())
	root.SetVersionTemplate("godwit {{.Version}}\n")
	root.SetHelpFunc(printHelp)
	root.SetUsageFunc(func(cmd *cobra.Command) error { return printUsage(cmd, nil) })
	root.AddCommand(a.runCommand(), a.submitCommand(), a.quoteCommand(), a.psCommand(), a.showCommand(), a.logsCommand(), a.waitCommand(),
		a.cancelCommand(), a.explainCommand(), a.migrateCommand(), a.checkpointCommand(), a.clustersCommand(), a.hostsCommand(), a.historyCommand(), a.depotCommand(),
		a.upCommand(), a.initCommand(), a.clusterCommand(), a.reloadCommand(), a.doctorCommand(), a.agentCommand(), a.manCommand())
	root.AddCommand(a.simCommand(), a.flowCommand(), a.experimentCommand(), a.completionCommand(), a.versionCommand())
	root.AddCommand(a.selectCommand(), a.captureCommand(), a.skeletonCommand(), a.labCommand())
	root.AddCommand(a.weatherCommand(), a.modelCommand(), a.demoCommand())
	root.InitDefaultHelpCmd()
	return root
}

// noSuchCommand refuses arguments of a command that only has subcommands.
func (a *app) noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var known []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			known = append(known, c.Name())
		}
	}
	want := suggestChoices(args[0], known)
	if !cmd.HasParent() && badinput.NearestName(args[0], known) == "" {
		want = "godwit help lists them all"
	}
	return &badinput.Error{Field: cmd.CommandPath(), Value: args[0], Problem: "unknown command, " + want}
}

// noArguments refuses arguments of a command that takes flags only.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return &badinput.Error{Problem: fmt.Sprintf("%s takes no arguments (got %q)", cmd.CommandPath(), args[0])}
}
