package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/live/flowrun"
	"github.com/godwit-hpc/godwit/internal/live/follow"
	"github.com/godwit-hpc/godwit/internal/report/progress"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/flow"
)

// lockFile takes a lock that ends with the process.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// flowView shows a workflow that runs: on a terminal its tree, kept up to date,
// elsewhere a line for each task that ends.
type flowView struct {
	app    *app
	screen *follow.Screen
	shows  bool
	quiet  bool
	drawn  time.Time
}

func (a *app) newFlowView(quiet bool) *flowView {
	v := &flowView{app: a, screen: follow.NewScreen(nil), quiet: quiet}
	if progress.IsTerminal(a.Stderr) {
		v.shows, v.screen = true, follow.NewScreen(a.Stderr)
	}
	return v
}

func (v *flowView) closeScreen() { v.screen.Close() }

// maxNews is from how many tasks on single ones are not worth a line where there is
// no screen.
const maxNews = 200

func (v *flowView) showState(s *flowrun.State) {
	for _, news := range s.News {
		if !v.quiet && len(s.Tasks) <= maxNews || !strings.Contains(news, " done on ") {
			v.screen.SayLine(v.app.Stderr, "godwit: "+term.OneLine(news))
		}
	}
	if !v.shows || s.Now.Sub(v.drawn) < 100*time.Millisecond && !s.Over {
		return
	}
	v.drawn = s.Now
	lines := []string{v.headLine(s)}
	for _, l := range flowTree(s) {
		if len(lines) == 20 {
			lines = append(lines, "  …")
			break
		}
		lines = append(lines, "  "+l)
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
func (v *flowView) headLine(s *flowrun.State) string {
	text := fmt.Sprintf("%s  %d of %d done", s.Flow.Name, s.Count.Done, len(s.Tasks))
	if n := s.Count.Running + s.Count.Sent; n > 0 {
		text += fmt.Sprintf(", %d running", n)
	}
	if s.Count.Failed > 0 {
		text += fmt.Sprintf(", %d failed", s.Count.Failed)
	}
	if s.Count.Done < len(s.Tasks) && s.Outlook.End > 0 {
		at := func(x float64) string {
			return s.Began.Add(time.Duration(x * float64(time.Second))).Format("15:04:05")
		}
		text += fmt.Sprintf("  ends %s (%s to %s)", at(s.Outlook.End), at(s.Outlook.Early), at(s.Outlook.Late))
	}
	if n := len(s.Notes) - 1; n > 0 {
		text += fmt.Sprintf(", planned again %d times", n)
	}
	return text
}

// kindCount is how far the tasks of one kind are.
type kindCount struct {
	all, done, live, failed int
	on                      map[string]int // running
}

// flowTree is the kinds of tasks, each below the one it waits for last.
func flowTree(s *flowrun.State) []string {
	n := len(s.Flow.Kinds)
	count := make([]kindCount, n)
	parent, level := make([]int, n), make([]int, n)
	for k := range parent {
		parent[k] = -1
		count[k].on = map[string]int{}
	}
	for t := range s.Tasks {
		c, x := &count[s.Flow.Tasks[t].Kind], &s.Tasks[t]
		c.all++
		switch {
		case x.Done:
			c.done++
		case x.Failed:
			c.failed++
		case x.Job != 0 && x.State == core.Running:
			c.live++
			c.on[x.Cluster]++
		}
	}
	// Levels settle after as many rounds as the tree is deep.
	for round, changed := 0, true; changed && round < n; round++ {
		changed = false
		for _, need := range s.Flow.Needs {
			from, to := s.Flow.Tasks[need.From].Kind, s.Flow.Tasks[need.To].Kind
			if from != to && level[to] < level[from]+1 && level[from] < n {
				level[to], parent[to], changed = level[from]+1, from, true
			}
		}
	}
	var lines []string
	var walk func(k, depth int)
	walk = func(k, depth int) {
		lead := ""
		if depth > 0 {
			lead = strings.Repeat("  ", depth-1) + "└ "
		}
		lines = append(lines, lead+s.Flow.Kinds[k]+"  "+count[k].formatText())
		for c := range n {
			if parent[c] == k && depth < 30 {
				walk(c, depth+1)
			}
		}
	}
	for k := range n {
		if parent[k] < 0 {
			walk(k, 0)
		}
	}
	return lines
}

func (c *kindCount) formatText() string {
	var parts []string
	switch {
	case c.done == c.all && c.all == 1:
		return "done"
	case c.done == c.all:
		return fmt.Sprintf("all %d done", c.all)
	case c.all > 1:
		parts = append(parts, fmt.Sprintf("%d/%d done", c.done, c.all))
	}
	if c.live > 0 {
		var where []string
		for name, n := range c.on {
			if c.all == 1 {
				where = append(where, name)
			} else {
				where = append(where, fmt.Sprintf("%s %d", name, n))
			}
		}
		slices.Sort(where)
		parts = append(parts, "running on "+strings.Join(where, ", "))
	}
	if c.failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", c.failed))
	}
	if len(parts) == 0 {
		return "waiting"
	}
	return strings.Join(parts, ", ")
}

// flowRunReport is what flow run prints; its JSON names are part of the surface.
type flowRunReport struct {
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
func (a *app) flowEnd(s *flowrun.State, output string) error {
	from, to := ranBetween(s)
	r := &flowRunReport{Workflow: s.Flow.Name, Tasks: len(s.Tasks), Done: s.Count.Done, Never: s.Count.Never, MakespanS: to.Sub(from).Seconds(),
		PlannedS: s.First.End, LowerBoundS: s.Bound, Heuristic: s.First.Heuristic, Replans: max(0, len(s.Notes)-1), WallS: s.Now.Sub(s.Began).Seconds(), Failed: []string{}}
	for t := range s.Tasks {
		x := &s.Tasks[t]
		line := flowTaskReport{Task: x.ID, Job: x.Job, Cluster: x.Cluster, State: strings.ToLower(x.State.String()), Try: x.Try, Why: x.Why}
		if x.Job == 0 {
			line.State = "never"
		}
		if !x.Started.IsZero() {
			begin := x.Started.Sub(from).Seconds()
			line.StartS = &begin
		}
		if !x.Ended.IsZero() {
			end := x.Ended.Sub(from).Seconds()
			line.EndS = &end
		}
		if x.Failed {
			r.Failed = append(r.Failed, x.ID)
		}
		r.Runs = append(r.Runs, line)
	}
	if output == "json" {
		if err := term.WriteJSON(a.Stdout, r); err != nil {
			return err
		}
	} else if _, err := fmt.Fprint(a.Stdout, flowEnding(s, r)); err != nil {
		return err
	}
	if r.Done < r.Tasks {
		for t := range s.Tasks {
			if s.Tasks[t].Failed {
				return fmt.Errorf("task %s failed: %s", s.Tasks[t].ID, s.Tasks[t].Why)
			}
		}
		return term.ExitCode(term.ExitFailed)
	}
	return nil
}

func flowEnding(s *flowrun.State, r *flowRunReport) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d of %s done in %s; planned makespan %s (%s)", r.Workflow, r.Done, term.PluralNoun(int64(r.Tasks), "task"),
		term.FormatSeconds(r.MakespanS), term.FormatSeconds(r.PlannedS), heuristicName(r.Heuristic))
	if r.Replans > 0 {
		fmt.Fprintf(&b, ", replanned %s", term.PluralNoun(int64(r.Replans), "time"))
	}
	b.WriteString("\n")
	for _, l := range flowTree(s) {
		b.WriteString("  " + l + "\n")
	}
	return b.String()
}

// ranBetween is when the first task started and the last ended.
func ranBetween(s *flowrun.State) (from, to time.Time) {
	from, to = s.Now, s.Began
	for t := range s.Tasks {
		if x := &s.Tasks[t]; !x.Started.IsZero() && x.Started.Before(from) {
			from = x.Started
		}
		if x := &s.Tasks[t]; x.Ended.After(to) {
			to = x.Ended
		}
	}
	if to.Before(from) {
		to = from
	}
	return from, to
}

// ranGantt draws what ran where, with as many rows for a cluster as it had tasks at a
// time.
func ranGantt(s *flowrun.State) []byte {
	from, to := ranBetween(s)
	slots := make([]flow.Slot, len(s.Tasks))
	order := make([]int, len(s.Tasks))
	for t := range order {
		order[t] = t
	}
	slices.SortStableFunc(order, func(a, b int) int { return s.Tasks[a].Started.Compare(s.Tasks[b].Started) })
	free := make([][]time.Time, len(s.Hosts))
	for _, t := range order {
		x := &s.Tasks[t]
		h := slices.IndexFunc(s.Hosts, func(h flow.Host) bool { return h.Name == x.Cluster })
		if h < 0 || x.Started.IsZero() || x.Ended.IsZero() {
			continue
		}
		core := slices.IndexFunc(free[h], func(at time.Time) bool { return !at.After(x.Started) })
		if core < 0 {
			core = len(free[h])
			free[h] = append(free[h], time.Time{})
		}
		free[h][core] = x.Ended
		slots[t] = flow.Slot{Host: h, Core: core, Start: x.Started.Sub(from).Seconds(), End: x.Ended.Sub(from).Seconds()}
	}
	span := to.Sub(from).Seconds()
	g := flow.NewGrid(s.Hosts, len(s.Hosts), func(int, int) flow.Route { return flow.Route{} })
	r := &flowReport{Workflow: s.Flow.Name, Platform: term.PluralNoun(int64(len(s.Hosts)), "cluster"), MakespanS: span}
	return ganttSVG(s.DAG, g, &flow.Schedule{Slots: slots, Makespan: span}, r)
}
