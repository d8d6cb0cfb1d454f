package job

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/cli/connect"
	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(seconds int) *api.Time {
	return &api.Time{Time: noon.Add(time.Duration(seconds) * time.Second)}
}

func ptr[T any](x T) *T { return &x }

// newApp is the program as RunCommand makes it, without standard input.
func newApp(stdout, stderr io.Writer) *app {
	return &app{Connector: connect.NewConnector(&term.App{Name: "godwit", Version: "v0", Stdin: strings.NewReader(""),
		Stdout: stdout, Stderr: stderr, Now: clock.RealClock()})}
}

// quietApp is an app whose clock stands still and whose words can be read.
func quietApp() (*app, *bytes.Buffer, *bytes.Buffer) {
	var out, msg bytes.Buffer
	a := newApp(&out, &msg)
	a.Now = func() time.Time { return noon }
	return a, &out, &msg
}

func runningJob() *api.Job {
	return &api.Job{
		ID: 7, Name: "pi", State: core.Running, Cluster: "left", Submitted: at(-13), Started: at(-12), Deadline: at(60),
		PDeadline:    ptr(0.974),
		PredictedEnd: at(30), EndEarly: at(25), EndLate: at(41), Progress: ptr(0.426), Share: ptr(0.98), Migrations: 1,
		Checkpoints: 2, Confidence: 0.95, WallS: 12,
	}
}

func TestTheLinesSayWhereHowFarWhenAndHowLikely(t *testing.T) {
	a, _, _ := quietApp()
	for _, c := range []struct {
		change func(*api.Job)
		width  int
		colour bool
		want   string
	}{
		{func(*api.Job) {}, 120, false, "job 7 pi  running on left  42 % done  12 s  CPU 98 %\n" +
			"  ends 12:00:30 (12:00:25 to 12:00:41)  deadline 12:01:00, in time 97 %  2 checkpoints  1 migration"},
		{func(*api.Job) {}, 40, false, "job 7 pi  running on left  42 % done  …\n  ends 12:00:30 (12:00:25 to 12:00:41)…"},
		{func(*api.Job) {}, 120, true, "job 7 pi  running on left  42 % done  12 s  CPU 98 %\n" +
			"  ends 12:00:30 (12:00:25 to 12:00:41)  deadline 12:01:00, in time \x1b[32m97 %\x1b[0m  2 checkpoints  1 " +
			"migration"},
		{func(j *api.Job) { *j.PDeadline = 0.2 }, 84, true, "job 7 pi  running on left  42 % done  12 s  CPU 98 %\n" +
			"  ends 12:00:30 (12:00:25 to 12:00:41)  deadline 12:01:00, in time \x1b[31m20 %\x1b[0m  2 checkpo…"},
		{func(j *api.Job) {
			j.PredictedEnd, j.Progress, j.Deadline, j.Migrations, j.Checkpoints = nil, nil, nil, 0, 0
		}, 80, false,
			"job 7 pi  running on left  12 s  CPU 98 %\n  end not known yet"},
		{func(j *api.Job) {
			*j = api.Job{ID: 8, Name: "x", State: core.Submitted, Why: "waiting for 4 cores (at most 2 free in one cluster)"}
		}, 80, false, "job 8 x  pending\n  waiting for 4 cores (at most 2 free in one cluster)"},
	} {
		v := &liveView{app: a, id: "7", colour: c.colour, width: func() int { return c.width }, job: runningJob()}
		c.change(v.job)
		if got := strings.Join(v.statusLines(), "\n"); got != c.want {
			t.Errorf("got\n%s\nwant\n%s", got, c.want)
		}
	}
}

func TestWithoutATerminalOnlyWhatMattersIsSaid(t *testing.T) {
	a, _, msg := quietApp()
	v := a.newLiveView("7")
	v.showState(&api.Live{Job: *runningJob(), News: []api.Decision{{Choice: "placed on left", Why: "best chance"}}})
	v.showState(&api.Live{Job: *runningJob(),
		News: []api.Decision{{Choice: "moved to right", Why: "the chance\nfell", News: true}}})
	v.showState(&api.Live{Job: *runningJob(), News: []api.Decision{{Choice: "moved to right", Why: "still", News: true}}})
	v.redrawLines()
	v.closeScreen()
	if got := msg.String(); got != "godwit: job 7: moved to right: the chance fell\n" {
		t.Errorf("%q", got)
	}
}

func TestTheLastWordIsOnlySaidWhereTheExitCodeDoesNotSayIt(t *testing.T) {
	a, _, _ := quietApp()
	job := func(state core.State, code int) *api.Job {
		return &api.Job{ID: 7, State: state, Cluster: "left", Started: at(-10), Ended: at(0), WallS: 10, ExitCode: &code,
			Why: "the program ended with code 7"}
	}
	late := job(core.Done, 0)
	late.Deadline, late.DeadlineMet = at(-3), ptr(false)
	early := job(core.Done, 0)
	early.Deadline, early.DeadlineMet, early.Migrations = at(5), ptr(true), 1
	never := &api.Job{ID: 7, State: core.Failed, ExitCode: ptr(0), Why: "needs 99 cores"}
	for _, c := range []struct {
		job          *api.Job
		quiet, shown string
	}{
		{job(core.Done, 0), "", "job 7 completed on left after 10.0 s"},
		{job(core.Failed, 7), "", "job 7 failed: the program ended with code 7"},
		{job(core.Cancelled, 143), "job 7 was cancelled", "job 7 was cancelled"},
		{late, "job 7 missed its deadline by 3.00 s", "job 7 missed its deadline by 3.00 s"},
		{early, "", "job 7 completed on left after 10.0 s, 5.00 s before its deadline, 1 migration"},
		{never, "job 7 failed: needs 99 cores", "job 7 failed: needs 99 cores"},
	} {
		for _, shows := range []bool{false, true} {
			want := c.quiet
			if shows {
				want = c.shown
			}
			v := &liveView{app: a, id: "7", shows: shows}
			if got := v.endingText(c.job); got != want {
				t.Errorf("shown %v: got %q, want %q", shows, got, want)
			}
		}
	}
}

func TestTheStoryOfAJobIsReadable(t *testing.T) {
	a, out, _ := quietApp()
	j := runningJob()
	j.State, j.Ended, j.ExitCode, j.DeadlineMet = core.Done, at(20), ptr(0), ptr(true)
	err := a.printStory(j, []api.Decision{
		{SinceS: 0.0021, Kind: "place", Choice: "cluster left",
			Why:    "best chance of meeting its deadline: 0.99; expected to end after 28.3 s",
			Inputs: map[string]any{"wait_s": 0.0, "p_deadline": 0.991, "idle": 2.0, "speed": 1.25, "share": 0.97}},
		{SinceS: 12.34, Kind: "decide", Choice: "move to right",
			Why: "the chance of meeting the deadline is 41 % here and 97 % there, and the program can be saved in less than " +
				"the time that is to be gained"},
		{SinceS: 33, Kind: "end", Choice: "DONE"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `job 7 pi: completed on left, exit code 0, 40.0 s before its deadline
    +2.10 ms  placed: cluster left
                best chance of meeting its deadline: 0.99; expected to end after 28.3 s
                with idle 2, P(deadline) 99 %, share 97 %, speed 1.25, wait 0 s
     +12.3 s  decision: move to right
                the chance of meeting the deadline is 41 % here and 97 % there, and the program can
                be saved in less than the time that is to be gained
     +33.0 s  ended: completed
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestTablesAreAlignedAndTheLastColumnIsWrapped(t *testing.T) {
	tab := term.NewTable("cluster", "wait", "why").AlignRight(1)
	tab.AddRow("left", "0 s", "idle now and quicker than all the others that could be had")
	tab.AddRow("right-hand", "12.0 s", "")
	var b strings.Builder
	if err := tab.PrintTable(&b, 44); err != nil {
		t.Fatal(err)
	}
	want := "cluster       wait  why\nleft           0 s  idle now and quicker\n                    than all the others " +
		"that\n                    could be had\nright-hand  12.0 s\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestChancesAreCertainOnlyIfTheyAre(t *testing.T) {
	for p, want := range map[float64]string{0: "0 %", 0.001: "< 1 %", 0.5: "50 %", 0.994: "99 %", 0.9999: "> 99 %",
		1: "100 %"} {
		if got := term.ChanceText(&p); got != want {
			t.Errorf("%g: %s, want %s", p, got, want)
		}
	}
	if term.ChanceText(nil) != term.Unknown || term.SecondsText(nil) != term.Unknown ||
		term.CodeText(nil) != term.Unknown {
		t.Error("what is not known is no dash")
	}
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1 << 20: "1 MiB", 3 << 29: "1.5 GiB", 5 << 40: "5 TiB"} {
		if got := term.BytesText(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
