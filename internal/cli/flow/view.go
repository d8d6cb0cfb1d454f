package flow

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/live/follow"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/report/progress"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/flow"
)

// flowView shows a workflow that runs: on a terminal its tree, kept up to date,
// elsewhere a line for each task that ends.
type flowView struct {
	app    *app
	screen *follow.Screen
	shows  bool
	quiet  bool
	drawn  time.Time
	heard  time.Time // of the last decision that was told
}

// newFlowView shows a workflow; quiet leaves out tasks that end well, and unless it is shown
// from its beginning what was decided earlier is left out.
func (a *app) newFlowView(quiet, fromBeginning bool) *flowView {
	v := &flowView{app: a, screen: follow.NewScreen(nil), quiet: quiet}
	if !fromBeginning {
		v.heard = a.Now()
	}
	if progress.IsTerminal(a.Stderr) {
		v.shows, v.screen = true, follow.NewScreen(a.Stderr)
	}
	return v
}

func (v *flowView) closeScreen() { v.screen.Close() }

func (v *flowView) sayLine(text string) {
	v.screen.SayLine(v.app.Stderr, "godwit: "+term.OneLine(text))
}

// maxNews is from how many tasks on single ones are not worth a line where there is
// no screen.
const maxNews = 200

func (v *flowView) showState(l *api.FlowLive) {
	for i := range l.News {
		d := &l.News[i]
		if !d.News || !d.Time.After(v.heard) {
			continue // or it was told before the connection broke
		}
		v.heard = d.Time.Time
		if d.Kind == "done" && (v.quiet || l.Flow.Tasks > maxNews) {
			continue
		}
		text := d.Choice
		if d.Why != "" {
			text += ": " + d.Why
		}
		v.sayLine(text)
	}
	now := v.app.Now()
	if !v.shows || now.Sub(v.drawn) < 100*time.Millisecond && !l.Final {
		return
	}
	v.drawn = now
	lines := []string{v.headLine(&l.Flow)}
	for _, line := range flowTree(l.Flow.Kinds) {
		if len(lines) == 20 {
			lines = append(lines, "  …")
			break
		}
		lines = append(lines, "  "+line)
	}
	room := max(term.WidthOf(v.app.Stderr, 80), 20) - 1
	for i, l := range lines {
		if r := []rune(l); len(r) > room {
			lines[i] = string(r[:room-1]) + "…"
		}
	}
	v.screen.ShowLines(lines)
}

// headLine is how far the whole is.
func (v *flowView) headLine(f *api.Flow) string {
	text := fmt.Sprintf("%s  %d of %d done%s", f.Name, f.Done, f.Tasks, moreCounts(f))
	if f.PredictedEnd != nil && f.Done < f.Tasks {
		text += fmt.Sprintf("  ends %s (%s to %s)", v.app.MomentText(f.PredictedEnd), v.app.MomentText(f.EndEarly),
			v.app.MomentText(f.EndLate))
	}
	return text + replanText(f.Replans)
}

// flowTree is the kinds of tasks, each below the one it waits for last.
func flowTree(kinds []api.FlowKind) []string {
	var lines []string
	var walk func(k, depth int)
	walk = func(k, depth int) {
		lead := ""
		if depth > 0 {
			lead = strings.Repeat("  ", depth-1) + "└ "
		}
		lines = append(lines, lead+kinds[k].Name+"  "+kindText(&kinds[k]))
		for c := range kinds {
			if kinds[c].Parent == k && depth < 30 {
				walk(c, depth+1)
			}
		}
	}
	for k := range kinds {
		if kinds[k].Parent < 0 {
			walk(k, 0)
		}
	}
	return lines
}

// kindText is how far the tasks of one kind are.
func kindText(k *api.FlowKind) string {
	var parts []string
	switch {
	case k.Done == k.Tasks && k.Tasks == 1:
		return "done"
	case k.Done == k.Tasks:
		return fmt.Sprintf("all %d done", k.Tasks)
	case k.Tasks > 1:
		parts = append(parts, fmt.Sprintf("%d/%d done", k.Done, k.Tasks))
	}
	if k.Running > 0 {
		var where []string
		for name, n := range k.On {
			if k.Tasks == 1 {
				where = append(where, name)
			} else {
				where = append(where, fmt.Sprintf("%s %d", name, n))
			}
		}
		slices.Sort(where)
		parts = append(parts, "running on "+strings.Join(where, ", "))
	}
	if k.Failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", k.Failed))
	}
	if len(parts) == 0 {
		return "waiting"
	}
	return strings.Join(parts, ", ")
}

// flowRunReport is what flow run prints; its JSON names are part of the surface.
type flowRunReport struct {
	ID          int64            `json:"id"`
	Workflow    string           `json:"workflow"`
	Tasks       int              `json:"tasks"`
	Done        int              `json:"done"`
	Failed      []string         `json:"failed"`
	Never       int              `json:"never"`
	MakespanS   float64          `json:"makespan_s"` // from the first start to the last end
	PlannedS    float64          `json:"planned_s"`
	LowerBoundS float64          `json:"lower_bound_s"` // by the estimates at the beginning
	Heuristic   string           `json:"heuristic"`
	Replans     int              `json:"replans"`
	WallS       float64          `json:"wall_s"`
	Runs        []flowTaskReport `json:"runs"`
}

type flowTaskReport struct {
	Task    string     `json:"task"`
	Job     core.JobID `json:"job"`
	Cluster string     `json:"cluster"`
	State   string     `json:"state"`
	Try     int        `json:"try"`
	StartS  *float64   `json:"start_s"`
	EndS    *float64   `json:"end_s"`
	Why     string     `json:"why"`
}

// flowEnd says how a workflow ended.
func (a *app) flowEnd(f *api.Flow, tasks []api.FlowTask, output string) error {
	from, to := ranBetween(f, tasks)
	r := &flowRunReport{ID: f.ID, Workflow: f.Name, Tasks: len(tasks), Done: f.Done, Never: len(tasks) - f.Done - f.Failed,
		MakespanS: to.Sub(from).Seconds(),
		PlannedS:  f.PlannedS, LowerBoundS: f.LowerBoundS, Heuristic: f.Heuristic, Replans: f.Replans, Failed: []string{},
		Runs: []flowTaskReport{}}
	if f.Submitted != nil && f.Ended != nil {
		r.WallS = f.Ended.Sub(f.Submitted.Time).Seconds()
	}
	for i := range tasks {
		x := &tasks[i]
		line := flowTaskReport{Task: x.Task, Job: x.Job, Cluster: x.Cluster, State: strings.ToLower(x.State.String()),
			Try: x.Try, Why: x.Why}
		if x.Job == 0 {
			line.State = "never"
		}
		if x.Started != nil {
			begin := x.Started.Sub(from).Seconds()
			line.StartS = &begin
		}
		if x.Ended != nil {
			end := x.Ended.Sub(from).Seconds()
			line.EndS = &end
		}
		if x.Failed {
			r.Failed = append(r.Failed, x.Task)
		}
		r.Runs = append(r.Runs, line)
	}
	if output == "json" {
		if err := term.WriteJSON(a.Stdout, r); err != nil {
			return err
		}
	} else if _, err := fmt.Fprint(a.Stdout, flowEnding(f, r)); err != nil {
		return err
	}
	switch f.State {
	case "completed":
		return nil
	case "cancelled":
		a.SayLine(fmt.Sprintf("workflow %d was cancelled; godwit flow run goes on with it", f.ID))
		return term.ExitCode(term.ExitFailed)
	}
	return errors.New(term.OneLine(cmp.Or(f.Why, "the workflow failed")))
}

func flowEnding(f *api.Flow, r *flowRunReport) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d of %s done in %s; planned makespan %s (%s)", r.Workflow, r.Done,
		term.PluralNoun(int64(r.Tasks), "task"),
		term.FormatSeconds(r.MakespanS), term.FormatSeconds(r.PlannedS), heuristicName(r.Heuristic))
	b.WriteString(replanText(r.Replans) + "\n")
	for _, l := range flowTree(f.Kinds) {
		b.WriteString("  " + l + "\n")
	}
	return b.String()
}

// ranBetween is when the first task started and the last ended.
func ranBetween(f *api.Flow, tasks []api.FlowTask) (from, to time.Time) {
	if f.Submitted != nil {
		from, to = f.Submitted.Time, f.Submitted.Time
	}
	begun := false
	for i := range tasks {
		if x := &tasks[i]; x.Started != nil && (!begun || x.Started.Before(from)) {
			from, begun = x.Started.Time, true
		}
		if x := &tasks[i]; x.Ended != nil && x.Ended.After(to) {
			to = x.Ended.Time
		}
	}
	if to.Before(from) {
		to = from
	}
	return from, to
}

// writeRan writes what ran where, with as many rows for a cluster as it had tasks at a
// time.
func (p *planFiles) writeRan(f *api.Flow, tasks []api.FlowTask) error {
	from, to := ranBetween(f, tasks)
	tasks = slices.DeleteFunc(slices.Clone(tasks), func(t api.FlowTask) bool { return t.Started == nil || t.Ended == nil })
	slots := make([]flow.Slot, len(tasks))
	named := make([]flow.Task, len(tasks))
	order := make([]int, 0, len(tasks))
	for t := range tasks {
		named[t] = flow.Task{Name: tasks[t].Task, Kind: tasks[t].Kind}
		order = append(order, t)
	}
	slices.SortStableFunc(order, func(a, b int) int { return tasks[a].Started.Compare(tasks[b].Started.Time) })
	var hosts []flow.Host
	var free [][]time.Time
	for _, t := range order {
		x := &tasks[t]
		h := slices.IndexFunc(hosts, func(h flow.Host) bool { return h.Name == x.Cluster })
		if h < 0 {
			h = len(hosts)
			hosts, free = append(hosts, flow.Host{Name: x.Cluster, Site: h, Class: h, Speed: 1}), append(free, nil)
		}
		core := slices.IndexFunc(free[h], func(at time.Time) bool { return !at.After(x.Started.Time) })
		if core < 0 {
			core = len(free[h])
			free[h] = append(free[h], time.Time{})
			hosts[h].Cores = len(free[h])
		}
		free[h][core] = x.Ended.Time
		slots[t] = flow.Slot{Host: h, Core: core, Start: x.Started.Sub(from).Seconds(), End: x.Ended.Sub(from).Seconds()}
	}
	if len(hosts) == 0 {
		hosts = []flow.Host{{Name: "none", Cores: 1, Speed: 1}}
	}
	d, err := flow.NewDAG(named, nil)
	if err != nil {
		return err
	}
	span := to.Sub(from).Seconds()
	g := flow.NewGrid(hosts, len(hosts), func(int, int) flow.Route { return flow.Route{} })
	r := &flowReport{Workflow: f.Name, Platform: term.PluralNoun(int64(len(hosts)), "cluster"), MakespanS: span}
	return p.writeFiles(d, g, &flow.Schedule{Slots: slots, Makespan: span}, r)
}
