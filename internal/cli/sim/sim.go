// Package sim is the command godwit sim: it turns flags into runs of the simulator and their
// outcomes into tables, files and charts. It must not know how anything is simulated.
package sim

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/sched/malleable"
	"github.com/godwit-hpc/godwit/internal/sim/runlog"
)

const simLong = `Simulates jobs on a grid, with the same engine and policies that run it live.

The jobs come from one of
  --trace     a trace in the Standard Workload Format, plain or gzip, on
              --platform, or on one cluster of the size that --processors or the
              header of the trace says; or the log of a live broker (godwit log
              export), on --platform or on the clusters that the broker had
  --scenario  a file with platform, workload, disturbances and policy
              (docs/scenarios.md)
  --replay    the log of an earlier run (--log): it must give the same results,
              and a new engine must take the same decision at every step; or the
              log of a live broker (godwit log export): the same decisions alone

Jobs of a trace are rigid and run as recorded: with --local through the queues of
the clusters themselves, without it through the broker. With --malleable (not none)
or --compare and without --local they become malleable versions of themselves: with
the recorded number of cores a job takes exactly the recorded time, it may run
on a quarter to twice as many (--min-share, --max-share), and how it scales is drawn
for each program from --seed (or is the same for all: --speedup).

Flags win over what a scenario says. Results go to stdout, everything else to
stderr. Exit codes: 0 done, 1 failed, 2 wrong usage or bad input.`

const simExample = `  # EASY backfilling on a trace: totals as JSON, one CSV row a job
  godwit sim --platform examples/platforms/small.yaml \
      --trace examples/traces/small.swf --local easy -o json --jobs-out jobs.csv

  # One scenario, another policy than it names, with charts
  godwit sim --scenario scenarios/koala/wm.yaml \
      --approach pra --malleable egs --plots out

  # Which policy suits last month's jobs, malleable and submitted 20 % faster?
  godwit sim --platform grid.yaml --trace last-month.swf.gz --load 1.2 \
      --compare fpsma,egs,equi,fold,marginal

  # Both approaches beside each other
  godwit sim --scenario scenarios/koala/w2m.yaml --compare pra/egs,pwa/egs

  # Was each decision to move an application right, over a sweep of sizes?
  godwit sim --scenario scenarios/grads/qr-size-sweep.yaml \
      --compare default,forced

  # Keep the log of a run, and prove that it can be replayed
  godwit sim --scenario scenarios/koala/wm.yaml --log wm.jsonl.gz
  godwit sim --replay wm.jsonl.gz

  # Does the broker of today decide as the live one did?
  godwit log export > live.jsonl && godwit sim --replay live.jsonl`

// app is the program whose command this is.
type app struct{ *term.App }

// NewCommand is godwit sim.
func NewCommand(program *term.App) *cobra.Command {
	a := &app{program}
	f := &simFlags{}
	cmd := &cobra.Command{
		Use:     "sim (--trace FILE | --scenario FILE | --replay FILE) [flags]",
		Short:   "Simulate jobs on a grid",
		Long:    simLong,
		Example: simExample,
		Args:    term.NoArguments,

		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.changed = cmd.Flags().Changed
			return a.runSim(cmd.Context(), f)
		},
	}
	term.GroupFlags(cmd, f.inputGroup(), f.policyGroup(), f.traceGroup(), f.outputGroup())
	for flag, names := range map[string][]string{
		"local": locals, "place": places, "approach": approaches, "malleable": policyNames(),
		"compare":    append(policyNames(), reschedModes()...),
		"easy-rules": ruleNames(), "estimates": {"user", "exact"}, "overrun": {"run", "kill"}, "output": {"table", "json"},
	} {
		term.CompleteNames(cmd, flag, names)
	}
	return cmd
}

var (
	locals     = []string{"none", "fcfs", "easy"}
	places     = []string{"wf", "cf", "cm", "fcm", "deadline"}
	approaches = []string{"pra", "pwa"}
)

func policyNames() []string { return append([]string{runlog.None}, malleable.PolicyNames()...) }

func (f *simFlags) inputGroup() term.Group {
	g := term.NewGroup("What to run")
	g.Flags.StringVar(&f.platform, "platform", "",
		"the grid as `FILE`: YAML, or SimGrid XML; with --scenario instead of the scenario's own")
	g.Flags.Var(term.WholeNumberFlag(&f.processors, 1, 10_000_000), "processors",
		"with --trace: one cluster of so many cores instead of --platform;\ndefault: MaxProcs, or else MaxNodes, of the "+
			"trace's header")
	g.Flags.StringVar(&f.trace, "trace", "", "the jobs of `FILE`, SWF or the log of a live broker, plain or gzip")
	g.Flags.StringVar(&f.scenario, "scenario", "", "the experiment that `FILE` describes")
	g.Flags.StringVar(&f.replay, "replay", "", "the run, or the live broker, whose log is `FILE`, plain or gzip")
	g.Flags.Uint64Var(&f.seed, "seed", 0, "everything random is drawn from `N`; default: the scenario's, or 1")
	return g
}

func (f *simFlags) policyGroup() term.Group {
	g := term.NewGroup("Policies")
	g.Flags.Var(term.ChoiceFlag(&f.local, locals...), "local", "queue of every cluster, instead of what the platform says")
	g.Flags.Var(term.CheckedFlag(&f.rules, "RULES", nil, parseRules), "easy-rules",
		"what such a queue does within an instant: reference (default), textbook, or a\nlist of "+
			term.JoinWords(ruleNames()[2:]))
	g.Flags.Var(term.ChoiceFlag(&f.place, places...), "place",
		"placement: worst fit, close to files, cluster minimisation, flexible cluster\nminimisation, by deadline; default: "+
			"the scenario's, or wf")
	g.Flags.Var(term.ChoiceFlag(&f.approach, approaches...), "approach",
		"who comes first, running (pra) or waiting (pwa) applications;\ndefault: the scenario's, or pwa")
	g.Flags.Var(term.ChoiceFlag(&f.malleable, policyNames()...).WithKind("POLICY"), "malleable", "who grows and shrinks: "+
		strings.Join(policyNames(), ", ")+";\ndefault: the scenario's, or marginal; for traces none")
	g.Flags.Var(term.CheckedFlag(&f.compare, "LIST", nil, parsePairs), "compare",
		"policies to run side by side: egs,marginal or pra/egs,pwa/egs; or decisions of\nthe rescheduler: default,forced")
	g.Flags.Var(term.CheckedFlag(&f.keepFree, "N|CLUSTER=N,..", nil, parseReserve), "keep-free",
		"cores of each cluster that are left to its own users")
	g.Flags.Var(term.CheckedFlag(&f.growFree, "N|CLUSTER=N,..", nil, parseReserve), "grow-free",
		"further cores of each cluster that growing jobs leave free")
	g.Flags.Var(term.WholeNumberFlag(&f.maxTries, 0, 1<<31-1), "max-tries",
		"placement tries before a job fails; 0: no limit")
	g.Flags.Var(term.PositiveDurationFlag(&f.scanEvery), "scan-every",
		"the placement queue is looked through at least so often (30s)")
	return g
}

func (f *simFlags) traceGroup() term.Group {
	g := term.NewGroup("Traces")
	g.Flags.BoolVar(&f.lenient, "lenient", false, "leave out and count wrong records and jobs larger than every cluster")
	g.Flags.Var(term.NumberFlag(&f.load, 1e-6, 1e6), "load", "divide the times between submissions by this")
	g.Flags.Var(term.WholeNumberFlag(&f.first, 1, 1_000_000_000), "first", "take only so many jobs")
	g.Flags.Var(term.ChoiceFlag(&f.estimates, "user", "exact"), "estimates",
		"what queues know of run times: as recorded (default), or the truth")
	g.Flags.Var(term.ChoiceFlag(&f.overrun, "run", "kill"), "overrun",
		"jobs longer than their estimate run on (default) or are killed")
	g.Flags.Var(term.NumberFlag(&f.share, 1e-9, 1), "malleable-share", "share of the jobs that become malleable (1)")
	g.Flags.Var(term.NumberFlag(&f.minShare, 1e-9, 1), "min-share",
		"smallest size of a malleable version, of the recorded size (0.25)")
	g.Flags.Var(term.NumberFlag(&f.maxShare, 1, 1e6), "max-share",
		"largest size of a malleable version, of the recorded size (2)")
	g.Flags.Var(term.CheckedFlag(&f.speedup, "MODEL", nil, parseSpeedup), "speedup",
		"how malleable versions scale: linear, amdahl:0.05, downey:A=64,sigma=1,\ntable:2=600,4=420; default: drawn for "+
			"each program")
	return g
}

func (f *simFlags) outputGroup() term.Group {
	g := term.NewGroup("Output")
	term.OutputFlag(g.Flags, &f.output)
	g.Flags.StringVar(&f.jobsOut, "jobs-out", "",
		"write `FILE` with one CSV row a job: id, submit, start, end, min, max,\nmean_size, max_size, cluster")
	g.Flags.StringVar(&f.plots, "plots", "",
		"write charts as SVG into `DIR`: utilization, queue, and the distributions of sizes and times")
	g.Flags.StringVar(&f.log, "log", "",
		"write the event log to `FILE` as JSON lines, for --replay; compressed if it ends in .gz")
	g.Flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress bar and no notes")
	g.Flags.BoolP("help", "h", false, "show this help")
	return g
}

// traceOnly names the flags that say how the records of a trace become jobs.
func (f *simFlags) traceOnly() []string {
	var names []string
	f.traceGroup().Flags.VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	return names
}
