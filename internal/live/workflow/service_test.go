package workflow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/flowfile"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/live/flowrun"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/live/store/memory"
	"github.com/godwit-hpc/godwit/internal/live/store/storetest"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// lineOf is a workflow of tasks one after another.
func lineOf(ids ...string) *api.FlowSubmit {
	f := flowfile.Flow{Name: "line", Dir: "/work"}
	for i, id := range ids {
		f.Kinds = append(f.Kinds, id)
		f.Tasks = append(f.Tasks, flowfile.Task{ID: id, Kind: i, Job: &jobfile.Job{Argv: []string{"true"}, Min: 1, Max: 1},
			Outputs: []flowfile.Output{{Name: id + ".out"}}, Estimate: time.Second})
		if i > 0 {
			f.Needs = append(f.Needs, flowfile.Need{From: i - 1, To: i, Bytes: 1})
		}
	}
	return &api.FlowSubmit{Key: "run", Flow: f}
}

// puppet is a broker whose jobs end when the test says so. It outlives the services that use
// it, as the store does.
type puppet struct {
	*testing.T
	store *memory.Store

	mu      sync.Mutex
	jobs    map[string]*puppetJob // by key
	order   []string              // keys, as they were submitted
	changed chan struct{}
	fails   map[string]bool // keys of jobs that fail
	holds   map[string]bool // keys of jobs that run until the test ends them
	refuses map[string]bool // keys of jobs that are not taken
}

type puppetJob struct {
	api.Job
	ended chan struct{}
}

func newPuppet(t *testing.T) *puppet {
	p := &puppet{T: t, store: memory.New(), jobs: map[string]*puppetJob{}, changed: make(chan struct{}),
		fails: map[string]bool{}, holds: map[string]bool{}, refuses: map[string]bool{}}
	t.Cleanup(func() { storetest.CheckFlowReplay(t, p.store) }) // after the services have ended
	return p
}

func (p *puppet) RequestUser(context.Context) (broker.User, error) {
	return broker.User{Name: "ada"}, nil
}
func (p *puppet) CheckNewFlow(context.Context, string) error { return nil }
func (p *puppet) CurrentTime() core.Time                     { return core.Time(time.Now().UnixNano()) }

func (p *puppet) CommitFlows(ctx context.Context, flows []store.Flow, tasks []store.FlowTask,
	entries []store.FlowEntry) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.store.CommitBatch(ctx, &store.Batch{Flows: flows, FlowTasks: tasks, FlowEntries: entries})
}

func (p *puppet) ListClusters(context.Context) ([]api.Cluster, error) {
	return []api.Cluster{{Name: "here", State: "up", Procs: 2, Speed: 1, Share: 1}}, nil
}

func (p *puppet) EstimateCommands(context.Context, *api.Commands) ([]api.Estimate, error) {
	return nil, errors.ErrUnsupported
}

func (p *puppet) SubmitTask(_ context.Context, job *jobfile.Job, _ []string, _ []api.Made) (core.JobID, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	j := p.jobs[job.Key]
	if p.refuses[job.Key] {
		return 0, &badinput.Error{Problem: "refused"}
	}
	if j == nil {
		p.order = append(p.order, job.Key)
		now := api.Time{Time: time.Now()}
		j = &puppetJob{Job: api.Job{ID: core.JobID(len(p.order)), State: core.Running, Cluster: job.StartOn, Procs: 1,
			Started: &now}, ended: make(chan struct{})}
		p.jobs[job.Key] = j
		if !p.holds[job.Key] {
			p.end(j, p.fails[job.Key])
		}
		close(p.changed)
		p.changed = make(chan struct{})
	}
	return j.ID, nil
}

// end lets a job come to its end; the lock is held.
func (p *puppet) end(j *puppetJob, fails bool) {
	if j.IsOver() {
		return
	}
	now := api.Time{Time: time.Now()}
	j.State, j.Ended, j.WallS, j.CPUS = core.Done, &now, 1, 1
	if fails {
		j.State, j.Why = core.Failed, "exit code 3"
	}
	close(j.ended)
}

func (p *puppet) endJob(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end(p.jobs[key], false)
}

func (p *puppet) find(ref string) *puppetJob {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, j := range p.jobs {
		if ref == "key:"+key || ref == fmt.Sprint(j.ID) {
			return j
		}
	}
	return nil
}

func (p *puppet) MigrateJob(context.Context, string, string) (api.Done, error) {
	return api.Done{}, errors.ErrUnsupported
}

func (p *puppet) CancelJob(_ context.Context, id string) (api.Job, error) {
	j := p.find(id)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !j.IsOver() {
		j.State = core.Cancelled
		close(j.ended)
	}
	return j.Job, nil
}

func (p *puppet) WatchJob(ctx context.Context, ref string, see func(*api.Live) error) error {
	j := p.find(ref)
	if j == nil {
		return &badinput.Error{Problem: "no such job: " + ref}
	}
	for {
		p.mu.Lock()
		now := j.Job
		p.mu.Unlock()
		if err := see(&api.Live{Job: now, Final: now.IsOver()}); err != nil || now.IsOver() {
			return err
		}
		select {
		case <-j.ended:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (p *puppet) CopyLogs(context.Context, string, int, int64, bool, io.Writer) (int64, error) {
	return 0, nil
}

// untilSubmitted waits until a job of a key is there.
func (p *puppet) untilSubmitted(key string) {
	p.Helper()
	limit := time.After(time.Minute)
	for {
		p.mu.Lock()
		next, there := p.changed, p.jobs[key] != nil
		p.mu.Unlock()
		if there {
			return
		}
		select {
		case <-next:
		case <-limit:
			p.Fatalf("no job %s", key)
		}
	}
}

func (p *puppet) wantKeys(want ...string) {
	p.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Equal(p.order, want) {
		p.Errorf("jobs %v, want %v", p.order, want)
	}
}

// serve runs a service until the test, or who calls the function returned, ends it, as a broker
// that is killed would: whatever is under way is not brought to an end.
func (p *puppet) serve() (*Service, func()) {
	s := New(Options{Store: p.store, Broker: p, Port: func(broker.User, string) flowrun.Broker { return p }})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			p.Error(err)
		}
	})
	p.Cleanup(stop)
	return s, stop
}

// until watches a workflow until it is over.
func (p *puppet) until(s *Service, ref string) api.Flow {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Context(), time.Minute)
	defer cancel()
	for {
		f, err := s.GetFlow(ctx, ref)
		if err != nil {
			p.Fatal(err)
		}
		if f.IsOver() {
			return f
		}
		clocktest.WaitFor(p, "the service to find it in the store, or its end", func() bool {
			f, err = s.GetFlow(ctx, ref)
			return err != nil || f.IsOver() || s.liveFlow(f.ID) != nil
		})
		if l := s.liveFlow(f.ID); l != nil {
			next := l.nextChange()
			if s.liveFlow(f.ID) == l {
				_ = s.waitChange(ctx, next)
			}
		}
	}
}

func (p *puppet) submit(s *Service, spec *api.FlowSubmit) int64 {
	p.Helper()
	id, err := s.SubmitFlow(p.Context(), spec)
	if err != nil {
		p.Fatal(err)
	}
	return id
}

func TestAWorkflowGoesOnWithTheNextBrokerAndSubmitsNothingTwice(t *testing.T) {
	p := newPuppet(t)
	for _, key := range []string{"run/a/1", "run/b/1", "run/c/1"} {
		p.holds[key] = true
	}
	s, stop := p.serve()
	id := p.submit(s, lineOf("a", "b", "c"))
	p.untilSubmitted("run/a/1")
	stop()
	p.endJob("run/a/1") // while nobody looks
	_, stop = p.serve()
	p.untilSubmitted("run/b/1")
	stop()
	s, _ = p.serve()
	if again := p.submit(s, lineOf("a", "b", "c")); again != id {
		t.Errorf("submitted again it is workflow %d, and was %d", again, id)
	}
	p.endJob("run/b/1")
	p.untilSubmitted("run/c/1")
	p.endJob("run/c/1")
	if f := p.until(s, "line"); f.State != "completed" || f.Done != 3 || f.Why != "" {
		t.Errorf("%+v", f)
	}
	p.wantKeys("run/a/1", "run/b/1", "run/c/1")
	tasks, err := s.ListTasks(t.Context(), "last")
	if err != nil || len(tasks) != 3 {
		t.Fatal(tasks, err)
	}
	for _, x := range tasks {
		if !x.Done || x.Job == 0 || x.Cluster != "here" || x.Started == nil || x.Ended == nil {
			t.Errorf("%+v", x)
		}
	}
	_, entries, err := s.ExplainFlow(t.Context(), "1")
	count := map[string]int{}
	for _, e := range entries {
		count[e.Kind]++
	}
	// One that is killed may not have said yet that it was started, or what it submitted.
	if err != nil || count["submit"] != 1 || count["restart"] > 2 || count["done"] != 3 || count["end"] != 1 {
		t.Errorf("decided was %v, %v", count, err)
	}
}

func TestAWorkflowThatFailedGoesOnWhenItsUserWantsItTo(t *testing.T) {
	p := newPuppet(t)
	p.fails["run/b/1"] = true
	s, _ := p.serve()
	id := p.submit(s, lineOf("a", "b", "c"))
	f := p.until(s, fmt.Sprint(id))
	if f.State != "failed" || !strings.Contains(f.Why, "task b failed: exit code 3") || f.Done != 1 || f.Failed != 1 {
		t.Errorf("%+v", f)
	}
	if again := p.submit(s, lineOf("a", "b", "c")); again != id {
		t.Errorf("it is workflow %d, and was %d", again, id)
	}
	p.wantKeys("run/a/1", "run/b/1")
	spec := lineOf("a", "b", "c")
	spec.Resume = true
	if again := p.submit(s, spec); again != id {
		t.Errorf("it is workflow %d, and was %d", again, id)
	}
	if f = p.until(s, fmt.Sprint(id)); f.State != "completed" || f.Done != 3 || f.Failed != 0 {
		t.Errorf("%+v", f)
	}
	p.wantKeys("run/a/1", "run/b/1", "run/b/2", "run/c/1")
}

func TestATaskWhoseResultIsGoneIsRunAgainWhenTheWorkflowGoesOn(t *testing.T) {
	p := newPuppet(t)
	p.fails["run/b/1"] = true
	s, _ := p.serve()
	id := p.submit(s, lineOf("a", "b"))
	p.until(s, fmt.Sprint(id))
	spec := lineOf("a", "b")
	spec.Resume, spec.Absent = true, []string{"a.out", "b.out"}
	p.submit(s, spec)
	if f := p.until(s, fmt.Sprint(id)); f.State != "completed" {
		t.Errorf("%+v", f)
	}
	p.wantKeys("run/a/1", "run/b/1", "run/a/2", "run/b/2")
}

func TestATaskWhoseInputIsMadeAnewAndThatIsDoneDoesNotRunAgain(t *testing.T) {
	p := newPuppet(t)
	p.fails["run/c/1"] = true
	s, stop := p.serve()
	id := p.submit(s, lineOf("a", "b", "c"))
	p.until(s, fmt.Sprint(id))
	spec := lineOf("a", "b", "c")
	spec.Resume, spec.Absent = true, []string{"a.out"}
	p.holds["run/a/2"] = true
	p.submit(s, spec)
	p.untilSubmitted("run/a/2")
	stop()
	s, _ = p.serve()
	p.endJob("run/a/2")
	if f := p.until(s, fmt.Sprint(id)); f.State != "completed" || f.Done != 3 {
		t.Errorf("%+v", f)
	}
	p.wantKeys("run/a/1", "run/b/1", "run/c/1", "run/a/2", "run/c/2")
}

func TestAWorkflowOfATaskThatIsRefusedFailsAfterARestartToo(t *testing.T) {
	p := newPuppet(t)
	p.refuses["run/a/1"], p.holds["run/b/1"] = true, true
	spec := lineOf("a", "b")
	spec.Flow.Needs = nil
	s, stop := p.serve()
	id := p.submit(s, spec)
	p.untilSubmitted("run/b/1")
	stop()
	s, _ = p.serve()
	p.endJob("run/b/1")
	if f := p.until(s, fmt.Sprint(id)); f.State != "failed" || f.Done != 1 || f.Failed != 1 {
		t.Errorf("%+v", f)
	}
}

func TestACancelledWorkflowIsCancelledByTheNextBrokerToo(t *testing.T) {
	p := newPuppet(t)
	p.holds["run/a/1"] = true
	s, stop := p.serve()
	id := p.submit(s, lineOf("a", "b"))
	p.untilSubmitted("run/a/1")
	// It is killed after the wish is durable and before anything followed from it.
	l := s.liveFlow(id)
	if err := s.markCancelled(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	stop()
	s, _ = p.serve()
	if f := p.until(s, fmt.Sprint(id)); f.State != "cancelled" || f.Done != 0 {
		t.Errorf("%+v", f)
	}
	p.wantKeys("run/a/1")
	if j := p.find("key:run/a/1"); j.State != core.Cancelled {
		t.Errorf("its job is %s", j.State)
	}
	f, err := s.CancelFlow(t.Context(), "last") // once more, which changes nothing
	if err != nil || f.State != "cancelled" {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestAWatcherHearsEverythingOfAWorkflowOnce(t *testing.T) {
	p := newPuppet(t)
	p.holds["run/b/1"] = true
	s, _ := p.serve()
	id := p.submit(s, lineOf("a", "b"))
	p.untilSubmitted("run/b/1")
	heard := map[string]int{}
	var last api.Flow
	err := s.WatchFlow(t.Context(), fmt.Sprint(id), func(f *api.Flow, news []wire.Entry) error {
		for _, e := range news {
			heard[e.Kind+" "+e.Choice]++
		}
		if last = *f; f.Done == 1 && f.Running == 1 {
			p.endJob("run/b/1")
		}
		return nil
	})
	if err != nil || last.State != "completed" {
		t.Errorf("%+v, %v", last, err)
	}
	for what, n := range heard {
		if n != 1 {
			t.Errorf("%q is told %d times", what, n)
		}
	}
	if heard["end completed"] != 1 || heard["submit accepted"] != 1 {
		t.Errorf("heard was %v", heard)
	}
}
