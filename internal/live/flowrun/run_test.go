package flowrun

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/flow"
)

// ends runs a workflow that must not be kept from being carried out.
func ends(t *testing.T, o Options) *State {
	t.Helper()
	s, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if !s.Over {
		t.Error("it is not over")
	}
	return s
}

func wantKeys(t *testing.T, b *fakeBroker, want ...string) {
	t.Helper()
	if got := b.keys(); !slices.Equal(got, want) {
		t.Errorf("jobs %v, want %v", got, want)
	}
}

func TestTasksAreSubmittedOneAfterAnotherAsTheyBecomeReady(t *testing.T) {
	b := newBroker(t)
	s := ends(t, b.options(b.line("a", "b", "c")))
	wantKeys(t, b, "run/a/1", "run/b/1", "run/c/1")
	for _, x := range s.Tasks {
		if !x.Done || x.Job == 0 || x.Cluster == "" {
			t.Errorf("%+v", x)
		}
	}
}

func TestAPlanCountsWhatTasksTookBefore(t *testing.T) {
	b := newBroker(t)
	planned := func() float64 {
		f := b.line("a", "b", "c")
		for i := range f.Tasks {
			f.Tasks[i].Estimate = 0
		}
		return ends(t, b.options(f)).First.End
	}
	if end := planned(); end < 29 {
		t.Errorf("nothing is known of three tasks, and they are to take %.1f s", end)
	}
	b = newBroker(t)
	second := 0.5
	b.estimates = func(c api.Command) api.Estimate { return api.Estimate{RunS: &second} }
	if end := planned(); end < 1 || end > 3 {
		t.Errorf("three tasks that took 0.5 s each are to take %.1f s", end)
	}
}

func TestWhatATaskWaitsTakesAsLongOnAFastCluster(t *testing.T) {
	b := newBroker(t)
	f := b.line("a")
	f.Tasks[0].Estimate = 0
	took := 8.0
	hosts := []flow.Host{{Name: "slow", Class: 0, Speed: 1}, {Name: "fast", Class: 1, Speed: 4}}
	d, prior, err := BuildDAG(f, hosts, []api.Estimate{{RunS: &took, Waiting: 0.75}})
	if err != nil {
		t.Fatal(err)
	}
	for h, want := range []float64{8, 6.5} {
		if got := d.Tasks[0].Work / hosts[h].Speed * prior(d.Tasks[0].Kind, h); got < want-0.01 || got > want+0.01 {
			t.Errorf("on %s it takes %.2f s, want %.2f", hosts[h].Name, got, want)
		}
	}
}

func TestTheFirstPlanDoesNotDivideWhatATaskWaitedByTheShareOfACore(t *testing.T) {
	took := 8.0
	for waited, want := range map[float64]float64{0: 32, 0.75: 14} {
		b := newBroker(t)
		b.estimates = func(api.Command) api.Estimate { return api.Estimate{RunS: &took, Waiting: waited} }
		for i := range b.clusters {
			b.clusters[i].Share = 0.25
		}
		f := b.line("a")
		f.Tasks[0].Estimate = 0
		if end := ends(t, b.options(f)).First.End; end < want-1 || end > want+10 {
			t.Errorf("a task of 8 s of which it waits %.0f %% is to end after %.1f s on a quarter of a core, not %.1f",
				100*waited, end, want)
		}
	}
}

func TestEarlierRunsOfATaskCountMoreThanItsEstimate(t *testing.T) {
	b := newBroker(t)
	f := b.line("a", "b")
	f.Tasks[0].Estimate, f.Tasks[1].Estimate = time.Minute, time.Minute
	took := 0.5
	hosts := []flow.Host{{Name: "here", Speed: 1}}
	d, _, err := BuildDAG(f, hosts, []api.Estimate{{RunS: &took, Same: true}, {RunS: &took}})
	if err != nil {
		t.Fatal(err)
	}
	if d.Tasks[0].Work != took {
		t.Errorf("a task that took %v s is planned with %v s", took, d.Tasks[0].Work)
	}
	if d.Tasks[1].Work != 60 {
		t.Errorf("a task of 60 s, by its estimate, is planned with %v s of runs with other arguments", d.Tasks[1].Work)
	}
}

func TestATaskThatFailsIsTriedAsOftenAsItMayAndIsToldWithItsLastLines(t *testing.T) {
	b := newBroker(t)
	b.outcome = func(key string) outcome {
		if strings.HasPrefix(key, "run/b/") {
			return outcome{State: core.Failed, Why: "exit code 3", Stderr: "one\ntwo\nno such file\n"}
		}
		return outcome{State: core.Done, Makes: true}
	}
	f := b.line("a", "b", "c")
	f.Tasks[1].Job.Retries, f.Tasks[1].Job.RetryOn = 2, []string{jobfile.RetryFailed}
	s := ends(t, b.options(f))
	wantKeys(t, b, "run/a/1", "run/b/1", "run/b/2", "run/b/3")
	if x := s.Tasks[1]; !x.Failed || x.Done || !strings.Contains(x.Why, "exit code 3") ||
		!strings.Contains(x.Why, "no such file") {
		t.Errorf("%+v", x)
	}
	if x := s.Tasks[2]; x.Job != 0 || x.Done {
		t.Errorf("c was run though b failed: %+v", x)
	}
}

func TestATaskThatSucceedsAtTheSecondTryLetsOthersGoOn(t *testing.T) {
	b := newBroker(t)
	b.outcome = func(key string) outcome {
		if key == "run/a/1" {
			return outcome{State: core.Failed}
		}
		return outcome{State: core.Done, Makes: true}
	}
	f := b.line("a", "b")
	f.Tasks[0].Job.Retries, f.Tasks[0].Job.RetryOn = 1, []string{jobfile.RetryFailed}
	s := ends(t, b.options(f))
	wantKeys(t, b, "run/a/1", "run/a/2", "run/b/1")
	if !s.Tasks[1].Done {
		t.Errorf("%+v", s.Tasks[1])
	}
}

func TestATaskThatEndsWellWithoutItsOutputHasFailed(t *testing.T) {
	b := newBroker(t)
	b.outcome = func(string) outcome { return outcome{State: core.Done} }
	s := ends(t, b.options(b.line("a", "b")))
	if x := s.Tasks[0]; !x.Failed || !strings.Contains(x.Why, "did not make a") {
		t.Errorf("%+v", x)
	}
	wantKeys(t, b, "run/a/1")
}

// job puts a job of the task that its key names into the broker.
func (b *fakeBroker) job(key string, out outcome) *fakeJob {
	return b.jobs[b.add(jobfile.Job{Key: key, StartOn: "here", Outputs: []string{strings.Split(key, "/")[1]}}, out)-1]
}

func TestAnotherRunGoesOnWhereTheFirstWasAndRunsNothingTwice(t *testing.T) {
	b := newBroker(t)
	f := b.line("a", "b", "c", "d")
	f.Tasks[1].Job.Retries, f.Tasks[1].Job.RetryOn = 2, []string{jobfile.RetryFailed}
	// a is done, b failed once and runs now, as the broker has it.
	b.end(b.job("run/a/1", outcome{State: core.Done, Makes: true}))
	b.end(b.job("run/b/1", outcome{State: core.Failed}))
	b.job("run/b/2", outcome{State: core.Done, Makes: true})
	s := ends(t, b.options(f))
	wantKeys(t, b, "run/a/1", "run/b/1", "run/b/2", "run/c/1", "run/d/1")
	for _, x := range s.Tasks {
		if !x.Done {
			t.Errorf("%+v", x)
		}
	}
}

func TestAfterARestartATaskHasAsManyRetriesLeftAsBefore(t *testing.T) {
	b := newBroker(t)
	b.outcome = func(string) outcome { return outcome{State: core.Failed} }
	f := b.line("a", "b")
	f.Tasks[0].Job.Retries, f.Tasks[0].Job.RetryOn = 2, []string{jobfile.RetryFailed}
	b.end(b.job("run/a/1", outcome{}))
	b.end(b.job("run/a/2", outcome{}))
	s := ends(t, b.options(f))
	wantKeys(t, b, "run/a/1", "run/a/2", "run/a/3")
	if !s.Tasks[0].Failed {
		t.Errorf("%+v", s.Tasks[0])
	}
	// One that failed for good is not tried again by whoever goes on with the run.
	if s = ends(t, b.options(f)); !s.Tasks[0].Failed {
		t.Errorf("%+v", s.Tasks[0])
	}
	wantKeys(t, b, "run/a/1", "run/a/2", "run/a/3")
}

func TestATaskThatIsForgivenIsRunAgain(t *testing.T) {
	b := newBroker(t)
	f := b.line("a", "b")
	b.end(b.job("run/a/1", outcome{State: core.Done, Makes: true}))
	b.end(b.job("run/b/1", outcome{State: core.Failed}))
	b.outcome = func(string) outcome { return outcome{State: core.Done, Makes: true} }
	o := b.options(f)
	o.Tasks = []store.FlowTask{{Forgiven: 1}, {N: 1, Forgiven: 1}}
	s := ends(t, o)
	wantKeys(t, b, "run/a/1", "run/b/1", "run/a/2", "run/b/2")
	if !s.Tasks[0].Done || !s.Tasks[1].Done {
		t.Errorf("%+v", s.Tasks)
	}
}

func TestOfAnEarlierVersionAllFailuresAreForgiven(t *testing.T) {
	b := newBroker(t)
	f := b.line("a", "b")
	b.end(b.job("run/a/1", outcome{State: core.Done, Makes: true}))
	b.end(b.job("run/b/1", outcome{State: core.Failed}))
	b.outcome = func(string) outcome { return outcome{State: core.Done, Makes: true} }
	o := b.options(f)
	o.Forgive = true
	s := ends(t, o)
	wantKeys(t, b, "run/a/1", "run/b/1", "run/b/2")
	if s.Tasks[1].Forgiven != 1 || !s.Tasks[1].Done {
		t.Errorf("%+v", s.Tasks)
	}
}

func TestABrokerThatGoesAwayForAMomentIsAskedAgain(t *testing.T) {
	b := newBroker(t)
	b.outcome = func(string) outcome { return outcome{State: core.Done, Makes: true, GoesAway: true} }
	s := ends(t, b.options(b.line("a", "b")))
	wantKeys(t, b, "run/a/1", "run/b/1")
	if !s.Tasks[1].Done {
		t.Errorf("%+v", s.Tasks[1])
	}
}

func TestAJobThatTheBrokerDoesNotTakeIsTheFailureOfItsTask(t *testing.T) {
	b := newBroker(t)
	b.refuse = func(key string) *api.Error {
		if strings.HasPrefix(key, "run/b/") {
			return &api.Error{Code: 2, Field: "command", Text: "a program that exists"}
		}
		return nil
	}
	s := ends(t, b.options(b.line("a", "b", "c")))
	if x := s.Tasks[1]; !x.Failed || !strings.Contains(x.Why, "a program that exists") {
		t.Errorf("%+v", x)
	}
	wantKeys(t, b, "run/a/1")
}

func TestStoppedItCancelsWhatRunsAndStartsNothingMore(t *testing.T) {
	b := newBroker(t)
	b.outcome = func(string) outcome { return outcome{Stays: true} }
	stop := make(chan struct{})
	var once sync.Once
	o := b.options(b.line("a", "b"))
	o.Stop = stop
	o.See = func(s *State) {
		if s.Tasks[0].Started != 0 {
			once.Do(func() { close(stop) })
		}
	}
	s := ends(t, o)
	wantKeys(t, b, "run/a/1")
	if s.Tasks[0].Done || s.Tasks[0].Failed || !s.Stopped {
		t.Errorf("%+v", s.Tasks[0])
	}
	select {
	case <-b.jobs[0].cancelled:
	default:
		t.Error("the job was not cancelled")
	}
}

func TestARunThatWasStoppedBeforeARestartCancelsWhatItFinds(t *testing.T) {
	b := newBroker(t)
	b.job("run/a/1", outcome{Stays: true})
	o := b.options(b.line("a", "b"))
	stop := make(chan struct{})
	close(stop)
	o.Stop = stop
	ends(t, o)
	wantKeys(t, b, "run/a/1")
	select {
	case <-b.jobs[0].cancelled:
	default:
		t.Error("the job was not cancelled")
	}
}

func TestWhenTheContextEndsJobsRunOn(t *testing.T) {
	b := newBroker(t)
	b.outcome = func(string) outcome { return outcome{Stays: true} }
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	o := b.options(b.line("a", "b"))
	o.See = func(s *State) {
		if s.Tasks[0].Started != 0 {
			leave()
		}
	}
	if _, err := Run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	select {
	case <-b.jobs[0].cancelled:
		t.Error("the job was cancelled")
	default:
	}
}

func TestAnotherClusterHasTheRunBegunAgain(t *testing.T) {
	b := newBroker(t)
	b.outcome = func(string) outcome { return outcome{Stays: true} }
	o := b.options(b.line("a"))
	o.See = func(s *State) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if len(b.clusters) == 2 && s.Tasks[0].Job != 0 {
			b.clusters = append(b.clusters, api.Cluster{Name: "new", State: "up", Procs: 2, Speed: 1, Share: 1})
		}
	}
	if _, err := Run(t.Context(), o); !errors.Is(err, ErrClustersChanged) {
		t.Errorf("%v", err)
	}
	wantKeys(t, b, "run/a/1")
}

func TestATryThatWasRefusedLeavesNoGapAmongTheKeys(t *testing.T) {
	b := newBroker(t)
	refused := 0
	b.refuse = func(string) *api.Error {
		if refused++; refused == 1 {
			return &api.Error{Code: 2, Field: "jobs", Text: "too many"}
		}
		return nil
	}
	f := b.line("a")
	f.Tasks[0].Job.Retries, f.Tasks[0].Job.RetryOn = 1, []string{jobfile.RetryFailed}
	if s := ends(t, b.options(f)); !s.Tasks[0].Done {
		t.Errorf("%+v", s.Tasks[0])
	}
	wantKeys(t, b, "run/a/1")
}

func TestATaskThatNoClusterCanRunIsNamedBeforeAnythingIsSubmitted(t *testing.T) {
	b := newBroker(t)
	f := b.line("a", "wide")
	f.Tasks[1].Job.Min = 99
	_, err := Run(t.Context(), b.options(f))
	if !badinput.Is(err) || !strings.Contains(err.Error(), "wide") || !strings.Contains(err.Error(), "99 cores") {
		t.Errorf("%v", err)
	}
	wantKeys(t, b)
}

// A plan says where a task starts; its own "on" says where it may run.
func TestTheClusterOfThePlanIsNoFence(t *testing.T) {
	b := newBroker(t)
	f := b.line("a", "b")
	f.Tasks[1].Job.On = []string{"there", "elsewhere"}
	ends(t, b.options(f))
	if j := b.jobs[0].job; j.StartOn == "" || len(j.On) != 0 {
		t.Errorf("a is to start on %q and may run on %q", j.StartOn, j.On)
	}
	if j := b.jobs[1].job; j.StartOn != "there" || !slices.Equal(j.On, []string{"there", "elsewhere"}) {
		t.Errorf("b is to start on %q and may run on %q", j.StartOn, j.On)
	}
}

func TestADeadlineOfATaskCountsFromItsSubmission(t *testing.T) {
	b := newBroker(t)
	f := b.line("a", "b")
	f.Tasks[0].Job.Deadline = 20 * time.Minute
	f.Tasks[1].Job.By = time.Now().Add(time.Hour)
	ends(t, b.options(f))
	if d := b.jobs[0].job.Deadline; d != 20*time.Minute {
		t.Errorf("a has the deadline %v", d)
	}
	if d := b.jobs[1].job.Deadline; d <= 30*time.Minute || d > time.Hour {
		t.Errorf("b, due in an hour, has the deadline %v", d)
	}
}

func TestATaskThatIsMovedIsFollowedAndThePlanMadeAnew(t *testing.T) {
	b := newBroker(t)
	f := b.line("a", "b")
	f.Tasks[0].Estimate = time.Hour
	b.clusters[0].Speed = 2 // so that the plan has it there
	b.outcome = func(key string) outcome {
		if key == "run/a/1" {
			return outcome{State: core.Done, Makes: true, MovesTo: "there"}
		}
		return outcome{State: core.Done, Makes: true}
	}
	o := b.options(f)
	var why []string
	o.See = func(s *State) {
		for _, d := range s.Events {
			if d.Kind == "plan" {
				why = append(why, d.Why)
			}
		}
	}
	s := ends(t, o)
	if first := b.jobs[0].job.StartOn; first != "here" || s.Tasks[0].Cluster != "there" {
		t.Errorf("a was to start on %s, and is said to have run on %s", first, s.Tasks[0].Cluster)
	}
	if !slices.Contains(why, "a was moved to there") {
		t.Errorf("planned again because of %q", why)
	}
}

func TestATaskWhoseClusterGoesAwayBeforeItStartsIsMoved(t *testing.T) {
	b := newBroker(t)
	b.outcome = func(string) outcome { return outcome{State: core.Done, Makes: true, Waits: true} }
	o := b.options(b.line("a"))
	var news []store.FlowEntry
	o.See = func(s *State) {
		news = append(news, s.Events...)
		b.mu.Lock()
		defer b.mu.Unlock()
		if s.Tasks[0].Job != 0 {
			for i := range b.clusters {
				if b.clusters[i].Name == b.jobs[0].job.StartOn {
					b.clusters[i].State = "down: no answer"
				}
			}
		}
	}
	s := ends(t, o)
	wantKeys(t, b, "run/a/1")
	if x := s.Tasks[0]; !x.Done || x.Cluster == b.jobs[0].job.StartOn {
		t.Errorf("%+v; told %+v", x, news)
	}
}
