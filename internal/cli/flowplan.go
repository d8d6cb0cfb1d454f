package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/badinput"
	"github.com/godwit-hpc/godwit/internal/platform"
	"github.com/godwit-hpc/godwit/internal/policy/flow"
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
		return &badinput.Error{Field: "--platform", Want: "the platform to plan on, like --platform examples/platforms/hetero64.yaml"}
	}
	favourSpeed()
	var out planFiles
	defer out.discard()
	if err := out.open(f); err != nil {
		return err
	}
	begin := a.now()
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
		g.Correct(len(w.kinds), w.prior)
	}
	plan, err := a.makePlan(ctx, d, g, f)
	if err != nil {
		return nobody(path, d, err)
	}
	r := reportOf(path, p, d, g, plan)
	r.WallS = a.now.Since(begin).Seconds()
	if err := out.write(d, g, plan.Schedule, r); err != nil {
		return err
	}
	if f.output == "json" {
		return writeJSON(a.stdout, r)
	}
	_, err = fmt.Fprint(a.stdout, r.table())
	return err
}

// makePlan runs the heuristics, then the search for as long as it may take. A
// plan that cannot be carried out would be a fault of ours: it is checked.
func (a *app) makePlan(ctx context.Context, d *flow.DAG, g *flow.Grid, f *flowFlags) (*flow.Plan, error) {
	o := flow.Options{
		Weights:    f.weights,
		Heuristics: f.heuristics,
		Budget:     func(best, bound float64) flow.Budget { return a.budget(ctx, f, best, bound) },
	}
	if !f.given {
		begin := a.now()
		o.Worth = func(best, bound float64) bool { return a.now.Since(begin) < worth(best, bound) }
	}
	plan, err := flow.New(d, g, o)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := flow.Check(d, g, plan.Schedule); err != nil {
		return nil, fmt.Errorf("the plan is wrong, please report this: %w", err)
	}
	return plan, nil
}

// worth is how long to look for a better plan if nobody says how long: not so long
// that what is lost by a vain search could be noticed, and only for a part of what
// is to be won at the most.
func worth(best, bound float64) time.Duration {
	const (
		most      = 4 * time.Second
		ofPlan    = 1.0 / 100
		ofWinning = 1.0 / 10
	)
	return min(most, time.Duration(min(ofPlan*best, ofWinning*(best-bound))*float64(time.Second)))
}

// budget bounds the search. Unless the user says how long, it must be worth its
// time: it ends when for a while it has shortened the plan by less than it took.
func (a *app) budget(ctx context.Context, f *flowFlags, best, bound float64) flow.Budget {
	begin := a.now()
	limit, patience := f.improve, f.improve
	if !f.given {
		limit = worth(best, bound)
		patience = limit / 4
	}
	if limit <= 0 {
		return flow.Budget{}
	}
	found := begin
	return flow.Budget{Steps: f.steps, Seed: f.seed, Stop: func(now float64) bool {
		t := a.now()
		if best-now > max(t.Sub(found).Seconds(), 1e-4*best) || f.given && now < best {
			best, found = now, t
		}
		late := t.Sub(begin) >= limit || t.Sub(found) >= patience
		return ctx.Err() != nil || late && f.steps == maxSteps
	}}
}

func reportOf(path string, p *platform.Platform, d *flow.DAG, g *flow.Grid, plan *flow.Plan) *flowReport {
	r := &flowReport{
		Workflow: filepath.Base(path), Platform: p.Name,
		Tasks: len(d.Tasks), Edges: d.Edges(), Hosts: len(g.Hosts), cores: g.Cores(),
		MakespanS: plan.Schedule.Makespan, LowerBoundS: plan.Bound,
		Heuristic: plan.Heuristic, ByHeuristic: map[string]float64{}, outcomes: plan.Outcomes,
	}
	for _, o := range plan.Outcomes {
		r.ByHeuristic[o.Heuristic] = o.Makespan
	}
	return r
}

// table is the report for people.
func (r *flowReport) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s, %s) on %s (%s, %s)\n", r.Workflow, plural(int64(r.Tasks), "task"), plural(int64(r.Edges), "edge"),
		r.Platform, plural(int64(r.Hosts), "host"), plural(int64(r.cores), "core"))
	fmt.Fprintf(&b, "  makespan     %s, by %s\n", seconds(r.MakespanS), r.Heuristic)
	fmt.Fprintf(&b, "  lower bound  %s", seconds(r.LowerBoundS))
	if r.LowerBoundS > 0 {
		fmt.Fprintf(&b, ", %s below", percent(1-r.LowerBoundS/r.MakespanS))
	}
	fmt.Fprintf(&b, "\n  planned in   %s\n\n", duration(r.WallS))
	cells := [][]string{{"heuristic", "makespan", "above the best"}}
	for _, o := range r.outcomes {
		above := "best"
		if o.Makespan > r.MakespanS {
			above = percent(o.Makespan/r.MakespanS - 1)
		}
		cells = append(cells, []string{o.Heuristic, seconds(o.Makespan), above})
	}
	writeCells(&b, cells)
	return b.String()
}
