package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/godwit-hpc/godwit/internal/sched/malleable"
	"github.com/godwit-hpc/godwit/internal/sim/runlog"
)

const simLong = `Simulates jobs on a grid, with the same engine and policies that run it live.

The jobs come from one of
  --trace     a trace in the Standard Workload Format, plain or gzip, on
              --platform, or on one cluster of the size that --processors or the
              header of the trace says
  --scenario  a file with platform, workload, disturbances and policy
              (docs/scenarios.md)
  --replay    the log of an earlier run (--log): it must give the same results,
              and a new engine must take the same decision at every step

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

  # Keep the log of a run, and prove that it can be replayed
  godwit sim --scenario scenarios/koala/wm.yaml --log wm.jsonl.gz
  godwit sim --replay wm.jsonl.gz`

func (a *app) simCommand() *cobra.Command {
	f := &simFlags{}
	cmd := &cobra.Command{
		Use:     "sim (--trace FILE | --scenario FILE | --replay FILE) [flags]",
		Short:   "Simulate jobs on a grid",
		Long:    simLong,
		Example: simExample,
		Args:    noArguments,

		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.changed = cmd.Flags().Changed
			return a.runSim(cmd.Context(), f)
		},
	}
	groupFlags(cmd, f.inputGroup(), f.policyGroup(), f.traceGroup(), f.outputGroup())
	for flag, names := range map[string][]string{
		"local": locals, "place": places, "approach": approaches, "malleable": policyNames(), "compare": policyNames(),
		"easy-rules": ruleNames(), "estimates": {"user", "exact"}, "overrun": {"run", "kill"}, "output": {"table", "json"},
	} {
		completeNames(cmd, flag, names)
	}
	return cmd
}

var (
	locals     = []string{"none", "fcfs", "easy"}
	places     = []string{"wf", "cf", "cm", "fcm", "deadline"}
	approaches = []string{"pra", "pwa"}
)

func policyNames() []string { return append([]string{runlog.None}, malleable.PolicyNames()...) }

func (f *simFlags) inputGroup() group {
	g := newGroup("What to run")
	g.flags.StringVar(&f.platform, "platform", "", "the grid as `FILE`: YAML, or SimGrid XML; with --scenario instead of the scenario's own")
	g.flags.Var(wholeNumberFlag(&f.processors, 1, 10_000_000), "processors", "with --trace: one cluster of so many cores instead of --platform;\ndefault: MaxProcs, or else MaxNodes, of the trace's header")
	g.flags.StringVar(&f.trace, "trace", "", "the jobs of `FILE`, SWF, plain or gzip")
	g.flags.StringVar(&f.scenario, "scenario", "", "the experiment that `FILE` describes")
	g.flags.StringVar(&f.replay, "replay", "", "the run whose log is `FILE`, plain or gzip")
	g.flags.Uint64Var(&f.seed, "seed", 0, "everything random is drawn from `N`; default: the scenario's, or 1")
	return g
}

func (f *simFlags) policyGroup() group {
	g := newGroup("Policies")
	g.flags.Var(choiceFlag(&f.local, locals...), "local", "queue of every cluster, instead of what the platform says")
	g.flags.Var(checked[rules]{&f.rules, "RULES", nil, parseRules}, "easy-rules",
		"what such a queue does within an instant: reference (default), textbook, or a\nlist of "+joinWords(ruleNames()[2:]))
	g.flags.Var(choiceFlag(&f.place, places...), "place", "placement: worst fit, close to files, cluster minimisation, flexible cluster\nminimisation, by deadline; default: the scenario's, or wf")
	g.flags.Var(choiceFlag(&f.approach, approaches...), "approach", "who comes first, running (pra) or waiting (pwa) applications;\ndefault: the scenario's, or pwa")
	g.flags.Var(choiceFlag(&f.malleable, policyNames()...).withKind("POLICY"), "malleable", "who grows and shrinks: "+strings.Join(policyNames(), ", ")+";\ndefault: the scenario's, or marginal; for traces none")
	g.flags.Var(checked[[]pair]{&f.compare, "LIST", nil, parsePairs}, "compare", "policies to run side by side: egs,marginal or pra/egs,pwa/egs")
	g.flags.Var(checked[reserve]{&f.keepFree, "N|CLUSTER=N,..", nil, parseReserve}, "keep-free", "cores of each cluster that are left to its own users")
	g.flags.Var(checked[reserve]{&f.growFree, "N|CLUSTER=N,..", nil, parseReserve}, "grow-free", "further cores of each cluster that growing jobs leave free")
	g.flags.Var(wholeNumberFlag(&f.maxTries, 0, 1<<31-1), "max-tries", "placement tries before a job fails; 0: no limit")
	g.flags.Var(positiveDurationFlag(&f.scanEvery), "scan-every", "the placement queue is looked through at least so often (30s)")
	return g
}

func (f *simFlags) traceGroup() group {
	g := newGroup("Traces")
	g.flags.BoolVar(&f.lenient, "lenient", false, "leave out and count wrong records and jobs larger than every cluster")
	g.flags.Var(numberFlag(&f.load, 1e-6, 1e6), "load", "divide the times between submissions by this")
	g.flags.Var(wholeNumberFlag(&f.first, 1, 1_000_000_000), "first", "take only so many jobs")
	g.flags.Var(choiceFlag(&f.estimates, "user", "exact"), "estimates", "what queues know of run times: as recorded (default), or the truth")
	g.flags.Var(choiceFlag(&f.overrun, "run", "kill"), "overrun", "jobs longer than their estimate run on (default) or are killed")
	g.flags.Var(numberFlag(&f.share, 1e-9, 1), "malleable-share", "share of the jobs that become malleable (1)")
	g.flags.Var(numberFlag(&f.minShare, 1e-9, 1), "min-share", "smallest size of a malleable version, of the recorded size (0.25)")
	g.flags.Var(numberFlag(&f.maxShare, 1, 1e6), "max-share", "largest size of a malleable version, of the recorded size (2)")
	g.flags.Var(checked[speedup]{&f.speedup, "MODEL", nil, parseSpeedup}, "speedup", "how malleable versions scale: linear, amdahl:0.05, downey:A=64,sigma=1,\ntable:2=600,4=420; default: drawn for each program")
	return g
}

func (f *simFlags) outputGroup() group {
	g := newGroup("Output")
	outputFlag(g.flags, &f.output)
	g.flags.StringVar(&f.jobsOut, "jobs-out", "", "write `FILE` with one CSV row a job: id, submit, start, end, min, max,\nmean_size, max_size, cluster")
	g.flags.StringVar(&f.plots, "plots", "", "write charts as SVG into `DIR`: utilization, queue, and the distributions of sizes and times")
	g.flags.StringVar(&f.log, "log", "", "write the event log to `FILE` as JSON lines, for --replay; compressed if it ends in .gz")
	g.flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress bar and no notes")
	g.flags.BoolP("help", "h", false, "show this help")
	return g
}

// traceOnly names the flags that say how the records of a trace become jobs.
func (f *simFlags) traceOnly() []string {
	var names []string
	f.traceGroup().flags.VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	return names
}
