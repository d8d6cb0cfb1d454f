// Package cli is the command line: it turns arguments into calls of the
// packages that do the work, and what comes back into text or JSON. It decides
// how flags are called, what is printed and which exit code ends the process;
// names that others rely on are fixed. Results go to stdout alone, everything
// else to stderr. It must not decide anything about jobs.
package cli

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/agent"
	"github.com/godwit-hpc/godwit/internal/agent/poolworker"
	"github.com/godwit-hpc/godwit/internal/cli/connect"
	"github.com/godwit-hpc/godwit/internal/cli/flow"
	"github.com/godwit-hpc/godwit/internal/cli/job"
	clilab "github.com/godwit-hpc/godwit/internal/cli/lab"
	"github.com/godwit-hpc/godwit/internal/cli/model"
	"github.com/godwit-hpc/godwit/internal/cli/net"
	"github.com/godwit-hpc/godwit/internal/cli/sim"
	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/lab"
	"github.com/godwit-hpc/godwit/internal/live/outpost"
	"github.com/godwit-hpc/godwit/internal/live/userfiles"
	"github.com/godwit-hpc/godwit/internal/protocol/poolwork"
)

// app is the program, with the commands about clusters and the broker, which stand here.
type app struct{ *connect.Connector }

// RunCommand runs the command that the arguments name and returns the exit code of
// the process.
func RunCommand(version string, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) == 2 && args[0] == "agent" { // once for every job: no time is to be lost
		return agent.RunReleased(version, args[1])
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
	if len(args) > 1 && args[0] == poolwork.Subcommand { // started by an agent
		return poolworker.RunWorker(args[1:])
	}
	if code, ours := lab.RunRole(args); ours {
		return code
	}
	a := newApp(version, stdin, stdout, stderr)
	return a.RunRoot(a.rootCommand(), args)
}

// newApp is the program with its streams.
func newApp(version string, stdin io.Reader, stdout, stderr io.Writer) *app {
	program := &term.App{Name: "godwit", Version: version, Stdin: stdin, Stdout: stdout, Stderr: stderr,
		Now: clock.RealClock()}
	return &app{connect.NewConnector(program)}
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
      --compare fpsma,egs,equi,fold,marginal`,
	}
	a.SetUpRoot(root, "  godwit help run\n  godwit help flow plan", rootSections())
	root.AddCommand(job.NewCommands(a.Connector)...)
	root.AddCommand(a.clustersCommand(), a.hostsCommand(), a.historyCommand(), a.depotCommand(),
		a.drainCommand(), a.undrainCommand(), a.logCommand(), a.upCommand(),
		a.dashboardCommand(),
		a.initCommand(), a.clusterCommand(), a.reloadCommand(), a.doctorCommand(), a.tellCommand(), a.agentCommand(),
		a.manCommand())
	root.AddCommand(sim.NewCommand(a.App), flow.NewCommand(a.Connector), experimentCommand())
	root.AddCommand(net.NewCommands(a.Connector)...)
	root.AddCommand(clilab.NewCommand(a.Connector), model.NewCommand(a.App), a.demoCommand())
	root.InitDefaultHelpCmd()
	return root
}

// rootSections are the commands by what they are about, as the help lists them.
func rootSections() []term.Section {
	return []term.Section{
		{Title: "Jobs", Names: []string{"run", "submit", "quote", "ps", "show", "logs", "wait", "cancel", "hold", "release",
			"requeue",
			"suspend", "resume", "update", "resize", "migrate", "checkpoint", "explain", "files", "get", "attach", "exec",
			"shell",
			"forward", "pool", "tell"}},
		{Title: "Clusters and the broker",
			Names: []string{"init", "up", "reload", "clusters", "cluster", "hosts", "weather", "history",
				"usage", "drain", "undrain", "depot", "log", "dashboard", "doctor"}},
		{Title: "Workflows and performance models", Names: []string{"flow", "model"}},
		{Title: "Parallel programs and networks", Names: []string{"select", "capture", "skeleton"}},
		{Title: "Demo, simulator and lab", Names: []string{"demo", "sim", "lab"}},
		{Title: "About godwit", Names: []string{"help", "completion", "version"}},
	}
}
