package flow

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/platform"
	"github.com/godwit-hpc/godwit/internal/sched/flow"
)

// flowReport is what flow plan prints; the JSON names are part of the surface.
type flowReport struct {
	Workflow    string             `json:"workflow"`
	Platform    string             `json:"platform"`
	Tasks       int                `json:"tasks"`
	Edges       int                `json:"edges"`
	Hosts       int                `json:"hosts"`
	MakespanS   float64            `json:"makespan_s"`
	LowerBoundS float64            `json:"lower_bound_s"`
	Heuristic   string             `json:"heuristic"`
	ByHeuristic map[string]float64 `json:"by_heuristic"`
	WallS       float64            `json:"wall_s"`

	outcomes []flow.Outcome
	cores    int
}

// flowPlan plans one workflow, writes the files that the flags ask for, and
// prints what came of it. The files are opened first: a wrong path is known
// before any work is done.
func (a *app) flowPlan(ctx context.Context, path string, f *flowFlags) error {
	if f.platform == "" {
		return &badinput.Error{Field: "--platform",
			Want: "the platform to plan on, like --platform examples/platforms/hetero64.yaml"}
	}
	term.FavourSpeed()
	var out planFiles
	defer out.discardFiles()
	if err := out.openFiles(f); err != nil {
		return err
	}
	begin := a.Now()
	world, g, err := loadGrid(f.platform)
	if err != nil {
		return err
	}
	p := world.Platform
	w, err := a.loadFlow(path, p)
	if err != nil {
		return err
	}
	d := w.dag
	if w.prior != nil {
		g.CorrectSpeeds(len(w.kinds), w.prior)
	}
	plan, err := a.makePlan(ctx, d, g, f)
	if err != nil {
		return explainNobody(path, d, err)
	}
	r := reportOf(path, p, d, g, plan)
	r.WallS = a.Now.Since(begin).Seconds()
	if err := out.writeFiles(d, g, plan.Schedule, r); err != nil {
		return err
	}
	a.sayWritten(f)
	if f.output == "json" {
		return term.WriteJSON(a.Stdout, r)
	}
	_, err = fmt.Fprint(a.Stdout, r.formatTable(a.TableWidth()))
	return err
}

// makePlan runs the heuristics, then the search for as long as it may take. A
// plan that cannot be carried out would be a fault of ours: it is checked.
func (a *app) makePlan(ctx context.Context, d *flow.DAG, g *flow.Grid, f *flowFlags) (*flow.Plan, error) {
	o := flow.Options{
		Weights:    f.weights,
		Heuristics: f.heuristics,
		Budget:     func(float64, float64) flow.Budget { return a.searchBudget(ctx, f) },
	}
	if !f.given {
		a.planThriftily(ctx, f, &o)
	}
	plan, err := flow.New(d, g, o)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := flow.CheckSchedule(d, g, plan.Schedule); err != nil {
		return nil, fmt.Errorf("the plan is wrong, please report this: %w", err)
	}
	return plan, nil
}

// planThriftily lets planning go on as long as it may pay for its time, if nobody says how
// long.
func (a *app) planThriftily(ctx context.Context, f *flowFlags, o *flow.Options) {
	const begins = 4 // it takes the search so many times what the first plan took to begin
	var t flow.Thrift
	start := a.Now()
	pays := func(best, bound, next float64) bool {
		return t.PaysOff(a.Now.Since(start).Seconds(), best, bound, next)
	}
	o.Worth = pays
	o.Budget = func(best, bound float64) flow.Budget {
		if !pays(best, bound, begins) {
			return flow.Budget{}
		}
		stop := func(best float64) bool { return ctx.Err() != nil || !pays(best, bound, 0) }
		return flow.Budget{Steps: f.steps, Seed: f.seed, Stop: stop}
	}
}

// searchBudget is the search for as long as the user says.
func (a *app) searchBudget(ctx context.Context, f *flowFlags) flow.Budget {
	if f.improve <= 0 {
		return flow.Budget{}
	}
	begin := a.Now()
	return flow.Budget{Steps: f.steps, Seed: f.seed, Stop: func(float64) bool {
		return ctx.Err() != nil || f.steps == maxSteps && a.Now.Since(begin) >= f.improve
	}}
}

func reportOf(path string, p *platform.Platform, d *flow.DAG, g *flow.Grid, plan *flow.Plan) *flowReport {
	r := &flowReport{
		Workflow: filepath.Base(path), Platform: p.Name,
		Tasks: len(d.Tasks), Edges: d.EdgeCount(), Hosts: len(g.Hosts), cores: g.CoreCount(),
		MakespanS: plan.Schedule.Makespan, LowerBoundS: plan.Bound,
		Heuristic: plan.Heuristic, ByHeuristic: map[string]float64{}, outcomes: plan.Outcomes,
	}
	for _, o := range plan.Outcomes {
		r.ByHeuristic[o.Heuristic] = o.Makespan
	}
	return r
}

// heuristicName is what people call a heuristic.
func heuristicName(name string) string {
	switch name {
	case flow.Improved:
		return "local search"
	case flow.HEFT, flow.PEFT:
		return strings.ToUpper(name)
	}
	return name
}

// formatTable is the report for people.
func (r *flowReport) formatTable(width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s, %s) on %s (%s, %s)\n", r.Workflow, term.PluralNoun(int64(r.Tasks), "task"),
		term.PluralNoun(int64(r.Edges), "edge"),
		r.Platform, term.PluralNoun(int64(r.Hosts), "host"), term.PluralNoun(int64(r.cores), "core"))
	fmt.Fprintf(&b, "  makespan     %s (%s)\n", term.FormatSeconds(r.MakespanS), heuristicName(r.Heuristic))
	fmt.Fprintf(&b, "  lower bound  %s", term.FormatSeconds(r.LowerBoundS))
	if r.LowerBoundS > 0 {
		fmt.Fprintf(&b, ", %s below", term.FormatPercent(1-r.LowerBoundS/r.MakespanS))
	}
	fmt.Fprintf(&b, "\n  planned in   %s\n\n", term.FormatDuration(r.WallS))
	cells := [][]string{{"heuristic", "makespan", "above the best"}}
	for _, o := range r.outcomes {
		above := "best"
		if o.Makespan > r.MakespanS {
			above = term.FormatPercent(o.Makespan/r.MakespanS - 1)
		}
		name := o.Heuristic // as --heuristics takes it
		if name == flow.Improved {
			name = heuristicName(name)
		}
		cells = append(cells, []string{name, term.FormatSeconds(o.Makespan), above})
	}
	term.WriteCells(&b, cells, width)
	return b.String()
}
