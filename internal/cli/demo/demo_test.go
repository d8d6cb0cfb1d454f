package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/godwit-hpc/godwit/internal/agent"
	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

// The test binary is also the agent of the demo's broker.
func TestMain(m *testing.M) {
	if args := os.Args[1:]; len(args) == 2 && args[0] == "agent" {
		os.Exit(agent.Main(args[1]))
	}
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	self, err := os.Executable()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	sandbox, err := filepath.Abs("../../../build/godwit-sandbox")
	if err == nil {
		err = os.Symlink(sandbox, filepath.Join(filepath.Dir(self), "godwit-sandbox"))
	}
	if err != nil && !os.IsExist(err) {
		fmt.Println(err)
		return 1
	}
	return m.Run()
}

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Whether the deadline is met depends on what else the machine does; that the story is
// told and nothing is left behind does not.
func TestTheStoryIsToldAndNothingIsLeftBehind(t *testing.T) {
	var out bytes.Buffer
	d := Demo{Out: &out, Figure: filepath.Join(t.TempDir(), "new", "demo.svg"), Agent: []string{self(t), "agent"}, Tries: 1, Alone: 2 * time.Second}
	t.Setenv("TMPDIR", t.TempDir())
	r, err := d.Play(t.Context())
	t.Logf("%v\n%s", err, out.String())
	if r == nil {
		t.Fatal(err)
	}
	if err != nil && !strings.HasPrefix(err.Error(), "demo failed: ") {
		t.Error(err)
	}
	if !r.SameOutput || r.Without.Migrations > 0 || r.With.TookS <= 0 || r.Without.TookS <= 0 || r.With.loadAt <= 0 {
		t.Errorf("%+v", r)
	}
	for _, part := range []string{"other programs start on the core of", "1. With migration", "running on", "The output of both runs is identical"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("%q is not said", part)
		}
	}
	if _, e := os.Stat(d.Figure); err == nil && e != nil {
		t.Error(e)
	}
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestAnInterruptedDemoLeavesNothingBehind(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	d := Demo{Out: writerFunc(func(text string) {
		if strings.Contains(text, "running on") {
			cancel()
		}
	}), Agent: []string{self(t), "agent"}, Tries: 1, Alone: time.Minute}
	if _, err := d.Play(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

type writerFunc func(string)

func (f writerFunc) Write(data []byte) (int, error) {
	f(string(data))
	return len(data), nil
}

// On any machine: idle, or so busy that everything takes ten times as long.
func TestTheDeadlineLiesBetweenTheEndWithMigrationAndTheEndWithout(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := measurement{start: east, competitors: 10}
		m.rate = rapid.Float64Range(2, 1000).Draw(t, "steps a second")
		m.slowed = m.rate / rapid.Float64Range(wantedSlowdown, 40).Draw(t, "slowdown")
		m.away = m.rate * rapid.Float64Range(0.5, 1.5).Draw(t, "away")
		m.startup = rapid.Float64Range(0.1, 1.5).Draw(t, "startup")
		method := rapid.SampledFrom([]string{methodSandbox, methodRestart}).Draw(t, "method")
		p := planRuns(m, 7*time.Second, method)
		at := m.startup + p.loadAt*p.alone // the competitors start
		stay := at + (1-p.loadAt)*float64(p.steps)/m.slowed
		left := 1 - p.loadAt
		if method == methodRestart {
			left = 1
		}
		migrated := at + left*float64(p.steps)/m.away
		deadline := p.deadline.Seconds()
		if deadline < 1.25*migrated || deadline > 0.85*stay {
			t.Errorf("deadline %.1f s, with migration %.1f s at least, without %.1f s", deadline, migrated, stay)
		}
		if math.Abs(float64(p.steps)/m.rate-p.alone) > 1/m.rate+1e-9 {
			t.Errorf("%d steps at %.1f a second take %.1f s, not %.1f s", p.steps, m.rate, float64(p.steps)/m.rate, p.alone)
		}
	})
}

func TestWhatIsNotAsPromisedIsAFailureInWords(t *testing.T) {
	good := Result{With: Run{Met: true, Migrations: 1}, SameOutput: true}
	if err := good.failure(); err != nil {
		t.Error(err)
	}
	for want, spoil := range map[string]func(r *Result){
		"demo failed: the deadline was missed":                func(r *Result) { r.With.Met = false },
		"demo failed: the job was not migrated":               func(r *Result) { r.With.Migrations = 0 },
		"demo failed: the deadline was met without migration": func(r *Result) { r.Without.Met = true },
		"demo failed: the outputs of the two runs differ":     func(r *Result) { r.SameOutput = false },
	} {
		bad := good
		spoil(&bad)
		if err := bad.failure(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestStepsAreCountedHoweverTheOutputIsCut(t *testing.T) {
	c := newStepCounter(clock.Real())
	fifth := c.reached(5)
	for _, part := range []string{"st", "ep 1/9\nstep 4", "/9\n", "a line\nstep x/9\n"} {
		if _, err := c.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-fifth:
		t.Error("step 5 was seen too early")
	default:
	}
	if c.done() != 4 || c.began().IsZero() {
		t.Errorf("%d steps, since %v", c.done(), c.began())
	}
	if _, err := c.Write([]byte("step 7/9\nstep 3/9\n")); err != nil { // written again from a checkpoint on
		t.Fatal(err)
	}
	<-fifth
	if c.done() != 3 {
		t.Errorf("%d steps", c.done())
	}
}

func TestTheStorySaysWhatWasDecidedInPlainWords(t *testing.T) {
	c := &course{plan: &plan{method: methodSandbox}, job: api.Job{Cluster: east}}
	for _, e := range []struct {
		want string
		news api.Decision
	}{
		{"running on east", api.Decision{Kind: "start"}},
		{"its CPU share dropped from 98 % to 11 %", api.Decision{Kind: "predict", Inputs: map[string]any{"from": 0.98, "to": 0.11}}},
		{"", api.Decision{Kind: "predict", Inputs: map[string]any{"chance": 0.2}}},
		{"predicted end on east 42.0 s, on west 12.5 s: migrate",
			api.Decision{SinceS: 2, Kind: "decide", Choice: "move to west", Inputs: map[string]any{"left_p50_s": 40.0, "west_left_p50_s": 10.5}}},
		{"stay in east: nowhere else is better", api.Decision{Kind: "decide", Choice: "stay in east", Why: "nowhere else is better"}},
		{"checkpoint written: 7.2 MB, the program was stopped for 0.13 s",
			api.Decision{Kind: "checkpoint", Inputs: map[string]any{"bytes": 7.2e6, "frozen_s": 0.13}}},
		{"", api.Decision{Kind: "place", Choice: "cluster east"}},
		{"attempt lost: the agent died", api.Decision{Kind: "lost", Choice: "attempt lost", Why: "the agent died"}},
	} {
		if got := c.sentence(&e.news); got != e.want {
			t.Errorf("%+v: %q, want %q", e.news, got, e.want)
		}
	}
	c.run.moves = []float64{3}
	if got := c.sentence(&api.Decision{Kind: "start"}); got != "running on east, continued from the checkpoint" {
		t.Error(got)
	}
}

func TestTheFigureShowsWhatHappened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.svg")
	points := []point{{1, 10, 12, 15}, {2, 11, 12, 14}}
	with := Run{Name: "with migration", DeadlineS: 20, TookS: 12, loadAt: 3, moves: []float64{5}, points: points}
	without := Run{Name: "without migration", DeadlineS: 20, TookS: 30, loadAt: 3, points: points}
	if err := drawRuns(path, &with, &without); err != nil {
		t.Fatal(err)
	}
	svg, err := os.ReadFile(path)
	for _, part := range []string{"deadline", "migrated", "other programs start", "actual end", "90 % interval", "without migration"} {
		if err != nil || !strings.Contains(string(svg), part) {
			t.Errorf("%q is not shown: %v", part, err)
		}
	}
}
