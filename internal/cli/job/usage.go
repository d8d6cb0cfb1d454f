package job

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// usage is what jobs that have something in common have used.
type usage struct {
	Key         string  `json:"key"`
	Jobs        int     `json:"jobs"`      // that have started
	Running     int     `json:"running"`   // of them, that have not ended
	Completed   int     `json:"completed"` // that ended with code 0
	CoreS       float64 `json:"core_s"`    // wall time of the program, times its cores
	CPUS        float64 `json:"cpu_s"`
	Deadlines   int     `json:"deadlines"` // jobs that had one, and of which is known whether it was met
	DeadlineMet int     `json:"deadlines_met"`
	Migrations  int     `json:"migrations"`
}

type usageFlags struct {
	output, since, by string
	users             bool
}

// usageKeys are what usage can be counted by, besides labels.
var usageKeys = []string{"user", "cluster", "program", "name", "label"}

func (a *app) usageCommand() *cobra.Command {
	var f usageFlags
	cmd := &cobra.Command{
		Use:   "usage [--since TIME] [--by KEY]",
		Short: "Say what jobs have used",
		Long: `Sums up what jobs have used: core time (wall time times cores), CPU time, how many
completed, how many met their deadline. Jobs count that have started and run still, or
ended since the moment of --since, with all that they used. A job that moved counts for the
cluster where it was last, one of several labels for each of them; with label:NAME it
counts for its value of that label.

Of a broker that several users share you see your own jobs; root sees those of all
with --all-users.`,
		Example: `  godwit usage --since 7d --by program
  godwit usage --by label:sweep -o json
  sudo godwit usage --all-users --by user --since 2026-11-01`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.showUsage(cmd.Context(), &f) },
	}
	g := term.OutputGroup(&f.output)
	g.Flags.StringVar(&f.since, "since", "", "jobs that ended since: `TIME` ago such as 7d or 12h, or a date; default: all")
	g.Flags.StringVar(&f.by, "by", "user", "sum up by this `KEY`: user, cluster, program, name, label, label:NAME")
	g.Flags.BoolVar(&f.users, "all-users", false, "jobs of all users, for root")
	term.GroupFlags(cmd, g)
	term.CompleteNames(cmd, "by", usageKeys)
	return cmd
}

func (a *app) showUsage(ctx context.Context, f *usageFlags) error {
	keysOf, err := usageKeysBy(f.by)
	if err != nil {
		return err
	}
	since, err := parseSince(f.since, a.Now())
	if err != nil {
		return err
	}
	return a.AskBroker(ctx, func(c *api.Client) error {
		list := c.ListJobs
		if f.users {
			list = c.JobsOfAll
		}
		jobs, err := list(ctx, true)
		if err != nil {
			return err
		}
		sums := sumUsage(jobs, since, keysOf)
		if f.output == "json" {
			return term.WriteJSON(a.Stdout, term.OrEmpty(sums))
		}
		if len(sums) == 0 {
			a.SayLine("no jobs have used anything since then")
			return nil
		}
		return usageTable(f.by, sums).PrintTable(a.Stdout, a.TerminalWidth())
	})
}

// parseSince reads a time ago, or a date; none: the beginning.
func parseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, ok := yamlfile.ParseDuration(text); ok && d > 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02"} {
		if at, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return at, nil
		}
	}
	return time.Time{}, &badinput.Error{Field: "--since", Value: text,
		Want: "a time ago such as 7d or 12h, or a date such as 2026-11-01"}
}

// usageKeysBy is what a job is counted by.
func usageKeysBy(by string) (func(*api.Job) []string, error) {
	one := func(of func(*api.Job) string) func(*api.Job) []string {
		return func(j *api.Job) []string { return []string{of(j)} }
	}
	switch by {
	case "user":
		return one(func(j *api.Job) string { return j.User }), nil
	case "cluster":
		return one(clusterText), nil
	case "program":
		return one(func(j *api.Job) string { program, _ := history.SplitCommand(j.Command); return program }), nil
	case "name":
		return one(func(j *api.Job) string { return j.Name }), nil
	case "label":
		return func(j *api.Job) (keys []string) {
			for name, value := range j.Labels { // order-free: each is counted for itself
				keys = append(keys, name+"="+value)
			}
			return keys
		}, nil
	}
	if len(by) > len("label:") && by[:len("label:")] == "label:" {
		return one(func(j *api.Job) string { return j.Labels[by[len("label:"):]] }), nil
	}
	return nil, &badinput.Error{Field: "--by", Value: by, Want: "user, cluster, program, name, label or label:NAME"}
}

// sumUsage adds up what jobs have used, the most core time first.
func sumUsage(jobs []api.Job, since time.Time, keysOf func(*api.Job) []string) []usage {
	sums := map[string]*usage{}
	for i := range jobs {
		j := &jobs[i]
		if j.Started == nil || j.Ended != nil && j.Ended.Before(since) {
			continue
		}
		for _, key := range keysOf(j) {
			key = cmp.Or(key, "-")
			if sums[key] == nil {
				sums[key] = &usage{Key: key}
			}
			sums[key].addJob(j)
		}
	}
	list := make([]usage, 0, len(sums))
	for _, u := range sums { // order-free: sorted below
		list = append(list, *u)
	}
	slices.SortFunc(list, func(x, y usage) int {
		return cmp.Or(cmp.Compare(y.CoreS, x.CoreS), cmp.Compare(x.Key, y.Key))
	})
	return list
}

func (u *usage) addJob(j *api.Job) {
	u.Jobs++
	u.CoreS += j.WallS * float64(max(1, j.Procs))
	u.CPUS += j.CPUS
	u.Migrations += j.Migrations
	if j.Ended == nil {
		u.Running++
	}
	if j.State == core.Done {
		u.Completed++
	}
	if j.DeadlineMet != nil {
		u.Deadlines++
		if *j.DeadlineMet {
			u.DeadlineMet++
		}
	}
}

func usageTable(by string, sums []usage) *term.Table {
	t := term.NewTable(by, "jobs", "running", "completed", "core time", "CPU time", "deadlines met", "migrations").
		AlignRight(1, 2, 3, 4, 5, 6, 7)
	t.Shrinks, t.Optional = 0, []string{"migrations", "running"}
	for i := range sums {
		u := &sums[i]
		met := term.Unknown
		if u.Deadlines > 0 {
			met = fmt.Sprintf("%d of %d", u.DeadlineMet, u.Deadlines)
		}
		t.AddRow(u.Key, fmt.Sprint(u.Jobs), fmt.Sprint(u.Running), fmt.Sprint(u.Completed), term.FormatDuration(u.CoreS),
			term.FormatDuration(u.CPUS), met, fmt.Sprint(u.Migrations))
	}
	return t
}
