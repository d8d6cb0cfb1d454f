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
	"github.com/godwit-hpc/godwit/internal/host/checkpoint/sandbox/sandboxtest"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

// The test binary is also the agent of the demo's broker.
func TestMain(m *testing.M) {
	if args := os.Args[1:]; len(args) == 2 && args[0] == "agent" {
		os.Exit(agent.RunAgent(args[1]))
	}
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	self, err := os.Executable()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	sandbox, err := sandboxtest.BuiltBinary()
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

// The demo sizes everything to what it measured. If the machine changes so much
// afterwards that a try fails, it measures anew and tries again: more often here than
// users have to wait for, because other tests come and go at the same time.
func TestTheDeadlineIsMetWithMigrationAndMissedWithout(t *testing.T) {
	var out bytes.Buffer
	d := Demo{Out: &out, Figure: filepath.Join(t.TempDir(), "new", "demo.svg"), Agent: []string{self(t), "agent"},
		Tries: 8, Alone: 3 * time.Second}
	t.Setenv("TMPDIR", t.TempDir())
	r, err := d.PlayStory(t.Context())
	t.Logf("%v\n%s", err, out.String())
	if r == nil || err != nil {
		t.Fatal(err)
	}
	if !r.With.Met || r.With.Migrations == 0 || r.Without.Met || r.Without.Migrations > 0 || !r.SameOutput {
		t.Errorf("%+v", r)
	}
	if w := &r.With; w.TookS <= 0 || w.TookS > w.DeadlineS || r.Without.TookS <= w.DeadlineS || w.record.LoadAt <= 0 {
		t.Errorf("%+v", r)
	}
	for _, part := range []string{"on the core of", ": migrate\n", "1. With migration", "running on",
		"The output of both runs is identical"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("%q is not said", part)
		}
	}
	if svg, err := os.ReadFile(d.Figure); err != nil || !strings.Contains(string(svg), "without migration") {
		t.Errorf("no figure: %v", err)
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
	if _, err := d.PlayStory(ctx); !errors.Is(err, context.Canceled) {
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
		m.slowed = m.rate / rapid.Float64Range(minSlowdown, 40).Draw(t, "slowdown")
		m.away = m.rate * rapid.Float64Range(0.5, 1.5).Draw(t, "away")
		m.startup = rapid.Float64Range(0.1, 4).Draw(t, "startup")
		method := rapid.SampledFrom([]string{methodSandbox, methodRestart}).Draw(t, "method")
		p := planRuns(m, DefaultDemo().Alone, method)
		at := m.startup + p.loadAt*p.alone // the competitors start
		stay := at + (1-p.loadAt)*float64(p.steps)/m.slowed
		left := 1 - p.loadAt
		if method == methodRestart {
			left = 1
		}
		migrated := at + left*float64(p.steps)/m.away
		deadline := p.deadline.Seconds()
		if p.alone < m.startup || deadline < 1.2*migrated || deadline > 0.85*stay {
			t.Errorf("deadline %.1f s, with migration %.1f s at least, without %.1f s", deadline, migrated, stay)
		}
		if math.Abs(float64(p.steps)/m.rate-p.alone) > 1/m.rate+1e-9 {
			t.Errorf("%d steps at %.1f a second take %.1f s, not %.1f s", p.steps, m.rate, float64(p.steps)/m.rate, p.alone)
		}
	})
}

func TestWhatIsNotAsPromisedIsAFailureInWords(t *testing.T) {
	good := Result{With: Run{Met: true, Migrations: 1}, SameOutput: true}
	if err := good.promiseFailure(); err != nil {
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
		if err := bad.promiseFailure(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestStepsAreCountedHoweverTheOutputIsCut(t *testing.T) {
	c := newStepCounter(clock.RealClock())
	fifth := c.reachedStep(5)
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
	if c.stepsDone() != 4 || c.firstStepAt().IsZero() {
		t.Errorf("%d steps, since %v", c.stepsDone(), c.firstStepAt())
	}
	if _, err := c.Write([]byte("step 7/9\nstep 3/9\n")); err != nil { // written again from a checkpoint on
		t.Fatal(err)
	}
	<-fifth
	if c.stepsDone() != 3 {
		t.Errorf("%d steps", c.stepsDone())
	}
}

func TestTheStorySaysWhatWasDecidedInPlainWords(t *testing.T) {
	c := &course{plan: &plan{method: methodSandbox}, job: api.Job{Cluster: east}}
	for _, e := range []struct {
		want string
		news api.Decision
	}{
		{"running on east", api.Decision{Kind: "start"}},
		{"its CPU share dropped from 98 % to 11 %",
			api.Decision{Kind: "predict", Inputs: map[string]any{"from": 0.98, "to": 0.11}}},
		{"", api.Decision{Kind: "predict", Inputs: map[string]any{"chance": 0.2}}},
		{"the chance of meeting its deadline is 3 % here and 98 % there: migrate",
			api.Decision{Kind: "decide", Choice: "move to west",
				Why: "the chance of meeting its deadline is 3 % here and 98 % there"}},
		{"stay on east: nowhere else is better",
			api.Decision{Kind: "decide", Choice: "stay on east", Why: "nowhere else is better"}},
		{"checkpoint written: 7.2 MB, the program was stopped for 0.13 s",
			api.Decision{Kind: "checkpoint", Inputs: map[string]any{"bytes": 7.2e6, "frozen_s": 0.13}}},
		{"", api.Decision{Kind: "place", Choice: "cluster east"}},
		{"attempt lost: the agent died", api.Decision{Kind: "lost", Choice: "attempt lost", Why: "the agent died"}},
	} {
		if got := c.storyLine(&e.news); got != e.want {
			t.Errorf("%+v: %q, want %q", e.news, got, e.want)
		}
	}
	c.run.record.Moves = []float64{3}
	if got := c.storyLine(&api.Decision{Kind: "start"}); got != "running on east, continued from the checkpoint" {
		t.Error(got)
	}
}

func TestSoManyCompetitorsStartAsTheMachineNeeds(t *testing.T) {
	for _, c := range []struct {
		share  float64
		raised bool
		want   int
	}{{1, false, 9}, {1, true, 3}, {0.5, false, 18}, {0.5, true, 6}, {0.05, false, maxCompetitors}} {
		if got := competitorsFor(c.share, c.raised); got != c.want {
			t.Errorf("share %.2f, raised %v: %d, want %d", c.share, c.raised, got, c.want)
		}
	}
	for _, c := range []struct {
		n        int
		slowdown float64
		want     int
	}{{9, 5.5, 18}, {3, 1, 12}, {3, 9.5, 4}, {60, 2, maxCompetitors}} {
		if got := moreCompetitors(c.n, c.slowdown); got != c.want {
			t.Errorf("%d make it %.1f times slower: %d, want %d", c.n, c.slowdown, got, c.want)
		}
	}
}

func TestMoreCompetitorsStartWhereTheProgramIsFasterThanMeasured(t *testing.T) {
	begin := clock.RealClock()()
	p := &plan{measurement: measurement{slowed: 10, competitors: 4}}
	for steps, want := range map[int]int{0: 0, 20: 0, 28: 0, 30: 2, 40: 4, 200: 4} { // in 2 s
		if got := p.missingCompetitors(pace{begin, 100}, pace{begin.Add(2 * time.Second), 100 + steps}); got != want {
			t.Errorf("%d steps: %d more, want %d", steps, got, want)
		}
	}
	p.competitors = maxCompetitors
	if got := p.missingCompetitors(pace{begin, 0}, pace{begin.Add(time.Second), 100}); got != 0 {
		t.Errorf("%d more than there may be", got)
	}
}
