// Package flow is the commands of workflows: godwit flow plan, sim, run, submit, attach, ps, show,
// cancel and explain. It must not know how workflows are planned or carried out.
package flow

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/godwit-hpc/godwit/internal/cli/connect"
	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/sched/flow"
)

// app is the program whose commands these are.
type app struct{ *connect.Connector }

// NewCommand is godwit flow with the commands below it.
func NewCommand(program *connect.Connector) *cobra.Command {
	a := &app{program}
	cmd := &cobra.Command{
		Use:   "flow",
		Short: "Plan, simulate, submit and follow workflows",
		Long: `A workflow is tasks and the files that pass between them: a YAML file of ours
(see docs/guides/flow.md, and docs/flow.schema.json for editors) or WfFormat JSON.
plan says where and when every task should run on the hosts of a platform so that
the last one ends early; sim carries that out in virtual time, with links that are
shared, load, failures and models that are wrong.

run and submit hand it to the broker, which carries it out for real, each task as a
job, and goes on after it was killed; run follows it, as attach does later. ps, show,
cancel and explain are for workflows what they are for jobs.`,
		Args: a.NoSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.flowPlanCommand(), a.flowSimCommand(), a.flowRunCommand(), a.flowSubmitCommand(),
		a.flowAttachCommand(),
		a.flowPsCommand(), a.flowShowCommand(), a.flowCancelCommand(), a.flowExplainCommand())
	return cmd
}

type flowFlags struct {
	platform    string
	output      string
	scheduleOut string
	gantt       string
	weights     flow.Weights
	heuristics  []string
	improve     time.Duration
	steps       int
	seed        uint64
	given       bool // --improve or --steps was
}

func (a *app) flowPlanCommand() *cobra.Command {
	f := &flowFlags{weights: flow.Weights{Run: 1, Move: 1}, improve: time.Second, steps: maxSteps}
	cmd := &cobra.Command{
		Use:   "plan WORKFLOW --platform FILE",
		Short: "Plan a workflow with several heuristics and keep the best plan",
		Long: `Reads a workflow (YAML, or WfFormat JSON, plain or gzip) and a platform, plans every task
with the heuristics of the matrix of ranks, HEFT and lookahead variants, improves
the best plan by local search, and says how long it takes, by which heuristic, and below
which time no plan can be.`,
		Example: `  godwit flow plan examples/flows/diamond.json \
      --platform examples/platforms/hetero8.yaml
  godwit flow plan montage.json.gz --platform grid.yaml \
      --schedule-out plan.csv --gantt plan.svg
  godwit flow plan montage.json.gz --platform grid.yaml \
      --heuristics heft,peft --improve 0s -o json`,
		Args: func(cmd *cobra.Command, args []string) error { return term.OneArgument(cmd, args, "a workflow file") },
		RunE: func(cmd *cobra.Command, args []string) error {
			f.given = cmd.Flags().Changed("improve") || cmd.Flags().Changed("steps")
			return a.flowPlan(cmd.Context(), args[0], f)
		},
	}
	in, how, out := term.NewGroup("Input"), term.NewGroup("Planning"), term.NewGroup("Output")
	in.Flags.StringVar(&f.platform, "platform", "", "plan on the platform in `FILE` (YAML or SimGrid XML)")
	how.Flags.Var(term.NumberFlag(&f.weights.Run, 0, 1e6), "w1", "weight of the time to run in the matrix of ranks")
	how.Flags.Var(term.NumberFlag(&f.weights.Move, 0, 1e6), "w2", "weight of the time to move data")
	how.Flags.Var(heuristicList(&f.heuristics), "heuristics", "only these: "+strings.Join(flow.Heuristics(), ", "))
	how.Flags.Var(term.DurationFlag(&f.improve), "improve",
		"time for the local search; by default while it gains more than it takes, 8 s at most")
	how.Flags.Var(term.WholeNumberFlag(&f.steps, 1, maxSteps), "steps",
		"steps of the local search at most; with few enough the plan is the same on every machine")
	how.Flags.Uint64Var(&f.seed, "seed", 1, "seed `N` of the local search")
	term.OutputFlag(out.Flags, &f.output)
	out.Flags.StringVar(&f.scheduleOut, "schedule-out", "", "write the plan to `FILE` as CSV: task,host,core,start,end")
	out.Flags.StringVar(&f.gantt, "gantt", "", "draw the plan to `FILE` as SVG, its values beside it as CSV")
	term.GroupFlags(cmd, in, how, out)
	return cmd
}

// maxSteps is more than any search gets to.
const maxSteps = 1_000_000_000

// heuristicList is a flag with names of heuristics.
func heuristicList(to *[]string) pflag.Value {
	show := func(s []string) string { return strings.Join(s, ",") }
	return term.CheckedFlag(to, "LIST", show, func(text string) ([]string, error) {
		var list []string
		for _, name := range strings.Split(text, ",") {
			name = strings.TrimSpace(name)
			if !slices.Contains(flow.Heuristics(), name) {
				return nil, fmt.Errorf("names of heuristics with commas between; %s is none, %s", strconv.Quote(name),
					term.SuggestChoices(name, flow.Heuristics()))
			}
			list = append(list, name)
		}
		return list, nil
	})
}
