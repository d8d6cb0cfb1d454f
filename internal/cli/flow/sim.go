package flow

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/sched/flow"
	"github.com/godwit-hpc/godwit/internal/sched/flow/conduct"
	"github.com/godwit-hpc/godwit/internal/sim/flowsim"
)

// simFlowFlags say what happens in the simulated grid.
type simFlowFlags struct {
	flowFlags
	spread  float64
	wrong   []string
	busy    float64
	every   time.Duration // between failures of a host
	repair  time.Duration
	fail    float64
	retries int
	static  bool
}

func (a *app) flowSimCommand() *cobra.Command {
	f := &simFlowFlags{flowFlags: flowFlags{weights: flow.Weights{Run: 1, Move: 1}, improve: time.Second, steps: maxSteps},
		repair: 10 * time.Minute, retries: 3}
	cmd := &cobra.Command{
		Use:   "sim WORKFLOW --platform FILE",
		Short: "Carry a workflow out in virtual time",
		Long: `Plans a workflow and carries the plan out in virtual time: files share the links
they cross, tasks take another time than their models say, hosts have other work or
fail. What starts where is decided by the same code as in flow run: what has not
started is planned again when reality departs from the plan, and finished tasks
correct the models of those of their kind.`,
		Example: `  godwit flow sim examples/flows/mosaic.json \
      --platform examples/platforms/hetero8.yaml
  godwit flow sim montage.json.gz --platform grid.yaml \
      --busy 0.5 --error 0.3 --seed 7
  godwit flow sim montage.json.gz --platform grid.yaml \
      --wrong partner=2 --static -o json
  godwit flow sim montage.json.gz --platform grid.yaml \
      --fail-every 1h --gantt run.svg`,
		Args: func(cmd *cobra.Command, args []string) error { return term.OneArgument(cmd, args, "a workflow file") },
		RunE: func(cmd *cobra.Command, args []string) error {
			f.given = cmd.Flags().Changed("improve") || cmd.Flags().Changed("steps")
			return a.flowSim(cmd.Context(), args[0], f)
		},
	}
	in, what, how, out := term.NewGroup("Input"), term.NewGroup("What happens"), term.NewGroup("Planning"),
		term.NewGroup("Output")
	in.Flags.StringVar(&f.platform, "platform", "", "run on the platform in `FILE` (YAML or SimGrid XML)")
	what.Flags.Var(term.NumberFlag(&f.spread, 0, 3), "error",
		"how far tasks are from their models, as the standard deviation of the logarithm")
	what.Flags.Var(wrongModels(&f.wrong), "wrong",
		"tasks take F times what their models say on a cluster: CLUSTER=F, with commas between")
	what.Flags.Var(term.NumberFlag(&f.busy, 0, 1), "busy", "part of the hosts that have other work now and then")
	what.Flags.Var(term.DurationFlag(&f.every), "fail-every", "mean time between failures of a host; 0s: none fails")
	what.Flags.Var(term.DurationFlag(&f.repair), "repair", "how long a host that failed is gone, on average")
	what.Flags.Var(term.NumberFlag(&f.fail, 0, 0.9), "fail", "chance that a task fails by its own fault")
	what.Flags.Var(term.WholeNumberFlag(&f.retries, 0, 1000), "retries", "how often such a task is tried again")
	how.Flags.BoolVar(&f.static, "static", false, "keep to the first plan whatever happens, and learn nothing")
	how.Flags.Var(term.DurationFlag(&f.improve), "improve", "time for the local search on the first plan")
	how.Flags.Var(term.WholeNumberFlag(&f.steps, 1, maxSteps), "steps",
		"steps of the local search at most; with few enough the result is the same on every machine")
	how.Flags.Uint64Var(&f.seed, "seed", 1, "everything random is drawn from `N`")
	term.OutputFlag(out.Flags, &f.output)
	out.Flags.StringVar(&f.scheduleOut, "schedule-out", "",
		"write what ran where to `FILE` as CSV: task,host,core,start,end")
	out.Flags.StringVar(&f.gantt, "gantt", "", "draw what ran where to `FILE` as SVG, its values beside it as CSV")
	term.GroupFlags(cmd, in, what, how, out)
	return cmd
}

// wrongModels is a flag with clusters and factors.
func wrongModels(to *[]string) pflag.Value {
	show := func(s []string) string { return strings.Join(s, ",") }
	return term.CheckedFlag(to, "LIST", show, func(text string) ([]string, error) {
		list := strings.Split(text, ",")
		for _, item := range list {
			_, value, ok := strings.Cut(item, "=")
			if x, err := strconv.ParseFloat(value, 64); !ok || err != nil || !(x > 0 && x <= 1000) {
				return nil, fmt.Errorf("CLUSTER=FACTOR with commas between, factors above 0, such as uh=1.66")
			}
		}
		return list, nil
	})
}

// flowSimReport is what flow sim prints; the JSON names are part of the surface.
type flowSimReport struct {
	flowReport
	PlannedS float64       `json:"planned_s"` // by the first plan
	Replans  int           `json:"replans"`
	Lost     int           `json:"lost"`    // runs that ended with their host
	Runs     int           `json:"runs"`    // of tasks that went well in the end
	Failed   []string      `json:"failed"`  // tasks, for good
	Never    int           `json:"never"`   // tasks that wait for these
	MovedB   float64       `json:"moved_b"` // bytes between hosts
	ByHost   []flowSimHost `json:"by_host"`
	Notes    []flowSimNote `json:"notes"`
}

type flowSimHost struct {
	Host  string  `json:"host"`
	Tasks int     `json:"tasks"`
	BusyS float64 `json:"busy_s"`
}

type flowSimNote struct {
	AtS     float64 `json:"at_s"`
	Why     string  `json:"why"`
	By      string  `json:"by"`
	Tasks   int     `json:"tasks"`
	EndS    float64 `json:"end_s"`
	BeforeS float64 `json:"before_s"`
}

func (a *app) flowSim(ctx context.Context, path string, f *simFlowFlags) error {
	if f.platform == "" {
		return &badinput.Error{Field: "--platform",
			Want: "the platform to run on, like --platform examples/platforms/hetero64.yaml"}
	}
	term.FavourSpeed()
	var out planFiles
	defer out.discardFiles()
	if err := out.openFiles(&f.flowFlags); err != nil {
		return err
	}
	begin := a.Now()
	world, g, err := loadGrid(f.platform)
	if err != nil {
		return err
	}
	w, err := a.loadFlow(path, world.Platform)
	if err != nil {
		return err
	}
	if w.prior != nil {
		g.CorrectSpeeds(len(w.kinds), w.prior)
	}
	plan, err := a.makePlan(ctx, w.dag, g, &f.flowFlags)
	if err != nil {
		return explainNobody(path, w.dag, err)
	}
	cfg, err := f.simulatedWorld(world, w, plan)
	if err != nil {
		return err
	}
	res, err := flowsim.Run(cfg)
	if err != nil {
		return explainNobody(path, w.dag, err)
	}
	r := flowSimmed(path, world, w, g, plan, res)
	r.WallS = a.Now.Since(begin).Seconds()
	if err := out.writeFiles(w.dag, g, ranAs(w.dag, res), &r.flowReport); err != nil {
		return err
	}
	a.sayWritten(&f.flowFlags)
	if f.output == "json" {
		err = term.WriteJSON(a.Stdout, r)
	} else {
		_, err = fmt.Fprint(a.Stdout, r.formatText(a.TableWidth()))
	}
	if err == nil && (len(res.Failed) > 0 || res.Stuck) {
		return term.ExitCode(term.ExitFailed)
	}
	return err
}

// simulatedWorld is what happens, as the flags and the seed say.
func (f *simFlowFlags) simulatedWorld(g *flowsim.Grid, w *flowInput, plan *flow.Plan) (flowsim.Config, error) {
	cfg := flowsim.Config{Grid: g, DAG: w.dag, Conduct: conduct.Config{
		Weights: f.weights, First: plan.Schedule, Static: f.static, Prior: w.prior,
		Retries: func(int) int { return f.retries }}}
	factor := make([]float64, len(g.Platform.Clusters))
	for c := range factor {
		factor[c] = 1
	}
	for _, item := range f.wrong {
		name, value, _ := strings.Cut(item, "=")
		c, ok := g.Platform.FindCluster(name)
		if !ok {
			return cfg, &badinput.Error{Field: "--wrong", Value: name,
				Want: badinput.UnknownName("cluster", name, g.Platform.ClusterNames())}
		}
		factor[c], _ = strconv.ParseFloat(value, 64) // checked when it was given
	}
	r := rand.New(rand.NewPCG(f.seed, 6))
	off := make([]float64, len(w.dag.Tasks))
	for t := range off {
		off[t] = math.Exp(f.spread * r.NormFloat64())
	}
	cfg.Truth = func(task, host int) float64 {
		h := &g.Hosts[host]
		x := w.dag.Tasks[task].Work / h.Speed * off[task] * factor[h.Class]
		if w.prior != nil {
			x *= w.prior(w.dag.Tasks[task].Kind, h.Class)
		}
		return x
	}
	if f.fail > 0 {
		cfg.Fails = func(int, int) bool { return r.Float64() < f.fail }
	}
	horizon := 4*plan.Schedule.Makespan + 3600
	for h := range g.Hosts {
		if r.Float64() < f.busy {
			cfg.Loads = append(cfg.Loads, busyPeriods(r, h, horizon, plan.Schedule.Makespan/5)...)
		}
		for at := 0.0; f.every > 0; {
			at += r.ExpFloat64() * f.every.Seconds()
			if at > horizon {
				break
			}
			back := at + r.ExpFloat64()*f.repair.Seconds() + 1
			cfg.Outages = append(cfg.Outages, flowsim.Outage{Host: h, From: at, To: back})
			at = back
		}
	}
	if len(cfg.Loads) > 0 {
		noise := rand.New(rand.NewPCG(f.seed, 7))
		cfg.Noise = func(int) float64 { return 0.03 * noise.NormFloat64() }
		cfg.Sense = max(1, min(60, plan.Schedule.Makespan/100))
	}
	return cfg, nil
}

// busyPeriods is other work on a host: one to three processes beside ours, for times that
// are mean on the average, with pauses between.
func busyPeriods(r *rand.Rand, host int, until, mean float64) []flowsim.Load {
	var list []flowsim.Load
	for at := mean * (r.Float64() - 0.5); at < until; {
		list = append(list, flowsim.Load{At: at, Host: host, Share: 1 / float64(2+r.IntN(3))})
		at += mean * (0.2 + r.ExpFloat64())
		list = append(list, flowsim.Load{At: at, Host: host, Share: 1})
		at += mean * (0.2 + r.ExpFloat64())
	}
	return list
}

// ranAs is what ran where, as a schedule for files and charts.
func ranAs(d *flow.DAG, res *flowsim.Result) *flow.Schedule {
	s := &flow.Schedule{Slots: make([]flow.Slot, len(d.Tasks)), Makespan: res.Makespan}
	for t, r := range res.Tasks {
		s.Slots[t] = flow.Slot{Host: max(0, r.Host), Core: r.Core, Start: r.Start, End: r.End}
	}
	return s
}

func flowSimmed(path string, g *flowsim.Grid, w *flowInput, plan *flow.Grid, p *flow.Plan,
	res *flowsim.Result) *flowSimReport {
	r := &flowSimReport{flowReport: *reportOf(path, g.Platform, w.dag, plan, p), PlannedS: p.Schedule.Makespan,
		Lost: res.Lost, MovedB: res.Moved, Never: res.Count.Never, Failed: []string{}}
	r.MakespanS = res.Makespan
	for _, t := range res.Failed {
		r.Failed = append(r.Failed, w.dag.Tasks[t].Name)
	}
	hosts := make([]flowSimHost, len(g.Hosts))
	for t := range res.Tasks {
		if x := &res.Tasks[t]; x.Host >= 0 {
			hosts[x.Host].Tasks++
			hosts[x.Host].BusyS += x.End - x.Start
			r.Runs += x.Runs
		}
	}
	for h := range hosts {
		if hosts[h].Host = g.Hosts[h].Name; hosts[h].Tasks > 0 {
			r.ByHost = append(r.ByHost, hosts[h])
		}
	}
	for i, n := range res.Notes {
		if i > 0 {
			r.Replans++
		}
		r.Notes = append(r.Notes, flowSimNote{n.At, n.Why, n.Heuristic, n.Tasks, n.End, n.Before})
	}
	return r
}

func (r *flowSimReport) formatText(width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s, %s) on %s (%s, %s)\n", r.Workflow, term.PluralNoun(int64(r.Tasks), "task"),
		term.PluralNoun(int64(r.Edges), "edge"),
		r.Platform, term.PluralNoun(int64(r.Hosts), "host"), term.PluralNoun(int64(r.cores), "core"))
	fmt.Fprintf(&b, "  makespan     %s, planned %s (%s)\n", term.FormatSeconds(r.MakespanS),
		term.FormatSeconds(r.PlannedS), heuristicName(r.Heuristic))
	fmt.Fprintf(&b, "  lower bound  %s, by the models and without transfers\n", term.FormatSeconds(r.LowerBoundS))
	fmt.Fprintf(&b, "  on the way   %s, %s, %s of files between hosts\n", term.PluralNoun(int64(r.Replans), "new plan"),
		term.PluralNoun(int64(r.Lost), "lost run"), term.BytesText(int64(r.MovedB)))
	if len(r.Failed) > 0 {
		fmt.Fprintf(&b, "  failed       %s; %s never ran\n", strings.Join(r.Failed, ", "),
			term.PluralNoun(int64(r.Never), "task"))
	}
	fmt.Fprintf(&b, "  simulated in %s\n", term.FormatDuration(r.WallS))
	const most = 8
	if len(r.Notes) > 1 {
		b.WriteString("\n")
		fmt.Fprintf(&b, "%8s  %11s  %8s  %s\n", "at", "not started", "end", "planned again because")
		for i, n := range r.Notes[1:] {
			if i == most {
				fmt.Fprintf(&b, "%8s  %d more; -o json has all\n", "…", len(r.Notes)-1-most)
				break
			}
			line := fmt.Sprintf("%8s  %11d  %8s  ", term.FormatSeconds(n.AtS), n.Tasks, term.FormatSeconds(n.EndS))
			why := term.WrapText(n.Why, max(term.MinLast, width-len(line)))
			b.WriteString(line + strings.Join(why, "\n"+strings.Repeat(" ", len(line))) + "\n")
		}
	}
	return b.String()
}
