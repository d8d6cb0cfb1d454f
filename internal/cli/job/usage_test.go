package job

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func TestUsageIsSummedUpByWhatJobsHaveInCommon(t *testing.T) {
	day := func(n int) *api.Time { return &api.Time{Time: time.Date(2026, 11, n, 0, 0, 0, 0, time.UTC)} }
	met, missed := true, false
	jobs := []api.Job{
		{User: "ann", State: core.Done, Procs: 4, WallS: 10, CPUS: 30, Started: day(1), Ended: day(2), Migrations: 1,
			Command: []string{"python3", "fit.py", "3"}, Labels: map[string]string{"sweep": "1", "x": "y"}, DeadlineMet: &met},
		{User: "ann", State: core.Failed, Procs: 1, WallS: 5, CPUS: 5, Started: day(1), Ended: day(5),
			Command: []string{"python3", "fit.py", "4"}, Labels: map[string]string{"sweep": "2"}, DeadlineMet: &missed},
		{User: "bob", State: core.Running, Procs: 2, WallS: 100, CPUS: 150, Started: day(1), Command: []string{"./burn"}},
		{User: "bob", State: core.Submitted, Command: []string{"./burn"}},
	}
	for _, c := range []struct {
		by    string
		since time.Time
		want  []usage
	}{
		{"user", time.Time{}, []usage{{Key: "bob", Jobs: 1, Running: 1, CoreS: 200, CPUS: 150},
			{Key: "ann", Jobs: 2, Completed: 1, CoreS: 45, CPUS: 35, Deadlines: 2, DeadlineMet: 1, Migrations: 1}}},
		{"program", day(3).Time, []usage{{Key: "burn", Jobs: 1, Running: 1, CoreS: 200, CPUS: 150},
			{Key: "python3 fit.py", Jobs: 1, CoreS: 5, CPUS: 5, Deadlines: 1}}},
		{"label", time.Time{}, []usage{
			{Key: "sweep=1", Jobs: 1, Completed: 1, CoreS: 40, CPUS: 30, Deadlines: 1, DeadlineMet: 1, Migrations: 1},
			{Key: "x=y", Jobs: 1, Completed: 1, CoreS: 40, CPUS: 30, Deadlines: 1, DeadlineMet: 1, Migrations: 1},
			{Key: "sweep=2", Jobs: 1, CoreS: 5, CPUS: 5, Deadlines: 1}}},
		{"label:x", day(3).Time, []usage{{Key: "-", Jobs: 2, Running: 1, CoreS: 205, CPUS: 155, Deadlines: 1}}},
	} {
		keysOf, err := usageKeysBy(c.by)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, sumUsage(jobs, c.since, keysOf)); diff != "" {
			t.Errorf("by %s since %v (-want +got)\n%s", c.by, c.since, diff)
		}
	}
}

func TestWrongTimesAndKeysOfUsageAreRefused(t *testing.T) {
	now := time.Date(2026, 11, 19, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{"": {}, "7d": now.AddDate(0, 0, -7), "2026-11-01": time.Date(2026, 11, 1, 0, 0, 0, 0,
		time.UTC)} {
		if at, err := parseSince(text, now); err != nil || !at.Equal(want) {
			t.Errorf("%q is %v, %v", text, at, err)
		}
	}
	if _, err := parseSince("yesterday", now); !badinput.Is(err) {
		t.Errorf("yesterday: %v", err)
	}
	for _, by := range []string{"", "label:", "weight"} {
		if _, err := usageKeysBy(by); !badinput.Is(err) {
			t.Errorf("by %q: %v", by, err)
		}
	}
}
