package job

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

// column is something that is printed of each job of a list.
type column struct {
	name string
	text func(a *app, j *api.Job) string
	size func(j *api.Job) float64 // by which jobs are ordered; nil: by the text
}

// jobColumns are all there are.
var jobColumns = []column{
	{"id", func(_ *app, j *api.Job) string { return jobLabel(j) }, func(j *api.Job) float64 { return float64(j.ID) }},
	{"name", func(_ *app, j *api.Job) string { return j.Name }, nil},
	{"user", func(_ *app, j *api.Job) string { return j.User }, nil},
	{"state", func(_ *app, j *api.Job) string { return stateWord(j) }, nil},
	{"why", func(_ *app, j *api.Job) string { return j.Why }, nil},
	{"cluster", func(_ *app, j *api.Job) string { return clusterText(j) }, nil},
	{"hosts", func(_ *app, j *api.Job) string { return strings.Join(j.Hosts, ",") }, nil},
	{"procs", func(_ *app, j *api.Job) string { return fmt.Sprint(j.Procs) },
		func(j *api.Job) float64 { return float64(j.Procs) }},
	{"labels", func(_ *app, j *api.Job) string { return labelsText(j.Labels) }, nil},
	{"command", func(_ *app, j *api.Job) string { return quoteCommand(j.Command) }, nil},
	momentColumn("submitted", func(j *api.Job) *api.Time { return j.Submitted }),
	momentColumn("started", func(j *api.Job) *api.Time { return j.Started }),
	momentColumn("ended", func(j *api.Job) *api.Time { return j.Ended }),
	momentColumn("deadline", func(j *api.Job) *api.Time { return j.Deadline }),
	momentColumn("ends", func(j *api.Job) *api.Time { return j.PredictedEnd }),
	{"in_time", func(_ *app, j *api.Job) string { return inTime(j) }, nil},
	{"ran", func(_ *app, j *api.Job) string { return ranText(j) }, func(j *api.Job) float64 { return j.WallS }},
	{"cpu", func(_ *app, j *api.Job) string { return term.FormatDuration(j.CPUS) },
		func(j *api.Job) float64 { return j.CPUS }},
	{"memory", func(_ *app, j *api.Job) string { return term.BytesText(j.Peak) },
		func(j *api.Job) float64 { return float64(j.Peak) }},
	{"migrations", func(_ *app, j *api.Job) string { return fmt.Sprint(j.Migrations) },
		func(j *api.Job) float64 { return float64(j.Migrations) }},
	{"code", func(_ *app, j *api.Job) string { return term.CodeText(j.ExitCode) }, nil},
}

func momentColumn(name string, of func(*api.Job) *api.Time) column {
	return column{name, func(a *app, j *api.Job) string { return a.MomentText(of(j)) }, func(j *api.Job) float64 {
		if at := of(j); at != nil {
			return float64(at.UnixNano()) / float64(time.Second)
		}
		return 0
	}}
}

func columnNames() []string {
	var names []string
	for i := range jobColumns {
		names = append(names, jobColumns[i].name)
	}
	return names
}

func findColumn(name string) *column {
	if i := slices.IndexFunc(jobColumns, func(c column) bool { return c.name == name }); i >= 0 {
		return &jobColumns[i]
	}
	return nil
}

// checkColumns refuses columns that there are not.
func checkColumns(f *psFlags) error {
	for _, c := range []struct {
		flag  string
		names []string
	}{{"--columns", f.columns}, {"--sort", []string{strings.TrimPrefix(f.sort, "-")}}} {
		for _, name := range c.names {
			if name != "" && findColumn(name) == nil {
				return &badinput.Error{Field: c.flag, Value: name, Problem: badinput.UnknownName("column", name, columnNames())}
			}
		}
	}
	return nil
}

// sortJobs orders jobs by a column; those that are alike stay as they are.
func sortJobs(jobs []api.Job, by string) {
	name, down := strings.CutPrefix(by, "-")
	c := findColumn(name)
	if c == nil {
		return
	}
	slices.SortStableFunc(jobs, func(x, y api.Job) int {
		if down {
			x, y = y, x
		}
		if c.size != nil {
			return cmp.Compare(c.size(&x), c.size(&y))
		}
		return strings.Compare(c.text(nil, &x), c.text(nil, &y))
	})
}

// printColumns prints of each job what is wanted.
func (a *app) printColumns(jobs []api.Job, names []string) error {
	if len(jobs) == 0 {
		a.SayLine("no such jobs")
		return nil
	}
	t := term.NewTable(names...)
	for i := range jobs {
		var row []string
		for _, name := range names {
			row = append(row, term.OrDash(findColumn(name).text(a, &jobs[i])))
		}
		t.AddRow(row...)
	}
	return t.PrintTable(a.Stdout, a.TerminalWidth())
}
