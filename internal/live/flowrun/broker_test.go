package flowrun

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/format/flowfile"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// A fakeBroker answers as the broker does, over a socket of its own, and ends jobs
// as the test wants.
type fakeBroker struct {
	t      *testing.T
	dir    string // of the workflow
	socket string
	clock  clock.Clock
	server *http.Server

	mu       sync.Mutex
	clusters []api.Cluster
	jobs     []*fakeJob
	byKey    map[string]int
	// outcome says how a job ends; nil: it is done and has made its outputs.
	outcome func(key string) outcome
	refuse  func(key string) *api.Error // of a submission; nil: none
	// estimates is what earlier runs say of a command; nil: the broker is too old to
	// be asked.
	estimates func(api.Command) api.Estimate
}

// An outcome is how a job ends.
type outcome struct {
	State    core.State
	Why      string
	Stderr   string
	Makes    bool   // its outputs
	GoesAway bool   // the broker breaks the connection once before it tells
	Stays    bool   // it runs until it is cancelled
	Waits    bool   // it waits until it is moved, and runs there
	MovesTo  string // while it runs; "": nowhere
}

type fakeJob struct {
	job       jobfile.Job
	api       api.Job
	out       outcome
	broke     bool
	cancelled chan struct{}
	once      sync.Once
	migrated  chan struct{}
}

func newBroker(t *testing.T) *fakeBroker {
	t.Helper()
	b := &fakeBroker{t: t, dir: t.TempDir(), socket: filepath.Join(t.TempDir(), "s"), clock: clock.RealClock(),
		byKey: map[string]int{}}
	b.clusters = []api.Cluster{{Name: "here", State: "up", Procs: 2, Speed: 1, Share: 1},
		{Name: "there", State: "up", Procs: 2, Speed: 1, Share: 1}}
	listener, err := net.Listen("unix", b.socket)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/clusters", func(w http.ResponseWriter, _ *http.Request) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.answer(w, b.clusters)
	})
	mux.HandleFunc("POST /v1/jobs", b.submit)
	mux.HandleFunc("POST /v1/estimates", func(w http.ResponseWriter, r *http.Request) {
		var asked api.Commands
		if b.estimates == nil || json.NewDecoder(r.Body).Decode(&asked) != nil {
			http.NotFound(w, r)
			return
		}
		var list []api.Estimate
		for _, c := range asked.Commands {
			list = append(list, b.estimates(c))
		}
		b.answer(w, list)
	})
	mux.HandleFunc("GET /v1/jobs/{id}/watch", b.watch)
	mux.HandleFunc("GET /v1/jobs/{id}/logs", func(w http.ResponseWriter, r *http.Request) {
		if j := b.find(w, r); j != nil && r.URL.Query().Get("stream") == "2" {
			_, _ = fmt.Fprint(w, j.out.Stderr)
		}
	})
	mux.HandleFunc("POST /v1/jobs/{id}/migrate", b.migrate)
	mux.HandleFunc("POST /v1/jobs/{id}/cancel", func(w http.ResponseWriter, r *http.Request) {
		if j := b.find(w, r); j != nil {
			j.once.Do(func() { close(j.cancelled) })
			b.answer(w, api.Job{ID: j.api.ID})
		}
	})
	b.server = &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { _ = b.server.Serve(listener) }()
	t.Cleanup(func() { _ = b.server.Close() })
	return b
}

func (b *fakeBroker) answer(w http.ResponseWriter, x any) { _ = json.NewEncoder(w).Encode(x) }

func (b *fakeBroker) find(w http.ResponseWriter, r *http.Request) *fakeJob {
	b.mu.Lock()
	defer b.mu.Unlock()
	id := r.PathValue("id")
	n, err := strconv.Atoi(id)
	if key, ok := strings.CutPrefix(id, "key:"); ok {
		n, err = b.byKey[key], nil
	}
	if err != nil || n < 1 || n > len(b.jobs) {
		w.WriteHeader(http.StatusNotFound)
		b.answer(w, api.Error{Code: 2, Text: "no such job"})
		return nil
	}
	return b.jobs[n-1]
}

// submit takes a job in, one with a key that is known as the one it is.
func (b *fakeBroker) submit(w http.ResponseWriter, r *http.Request) {
	var s api.Submit
	if err := json.NewDecoder(r.Body).Decode(&s); err != nil {
		b.t.Error(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.refuse != nil {
		if e := b.refuse(s.Job.Key); e != nil {
			w.WriteHeader(http.StatusBadRequest)
			b.answer(w, e)
			return
		}
	}
	id, known := b.byKey[s.Job.Key]
	if !known {
		id = b.add(s.Job, outcome{State: core.Done, Makes: true})
	}
	b.answer(w, api.Submitted{IDs: []core.JobID{core.JobID(id)}})
}

func (b *fakeBroker) add(job jobfile.Job, out outcome) int {
	if b.outcome != nil {
		out = b.outcome(job.Key)
	}
	now := api.Time{Time: b.clock()}
	j := &fakeJob{job: job, out: out, cancelled: make(chan struct{}), migrated: make(chan struct{})}
	j.api = api.Job{ID: core.JobID(len(b.jobs) + 1), State: core.Running, Cluster: job.StartOn, Procs: 1, Started: &now}
	if out.Waits {
		j.api.State, j.api.Started = core.Queued, nil
	}
	b.jobs = append(b.jobs, j)
	b.byKey[job.Key] = len(b.jobs)
	return len(b.jobs)
}

// watch tells of a job that runs, and then of its end.
func (b *fakeBroker) watch(w http.ResponseWriter, r *http.Request) {
	j := b.find(w, r)
	if j == nil {
		return
	}
	b.mu.Lock()
	running, breaks := j.api, j.out.GoesAway && !j.broke
	j.broke = true
	b.mu.Unlock()
	if running.IsOver() {
		b.answer(w, api.Live{Job: running, Final: true})
		return
	}
	b.answer(w, api.Live{Job: running})
	_ = http.NewResponseController(w).Flush()
	if breaks {
		return
	}
	if j.out.Waits {
		select {
		case <-j.migrated:
		case <-r.Context().Done():
			return
		}
	}
	if j.out.MovesTo != "" {
		b.mu.Lock()
		j.api.Cluster = j.out.MovesTo
		running = j.api
		b.mu.Unlock()
		b.answer(w, api.Live{Job: running})
		_ = http.NewResponseController(w).Flush()
	}
	if j.out.Stays {
		select {
		case <-j.cancelled:
			b.mu.Lock() // several may watch
			j.out.State = core.Cancelled
			b.mu.Unlock()
		case <-r.Context().Done():
			return
		}
	}
	b.mu.Lock()
	if !j.api.IsOver() {
		b.end(j)
	}
	ended := j.api
	b.mu.Unlock()
	b.answer(w, api.Live{Job: ended, Final: true})
}

// migrate moves a job that waits.
func (b *fakeBroker) migrate(w http.ResponseWriter, r *http.Request) {
	var m api.Migrate
	j := b.find(w, r)
	if j == nil || json.NewDecoder(r.Body).Decode(&m) != nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := api.Time{Time: b.clock()}
	j.api.Cluster, j.api.State, j.api.Started = m.To, core.Running, &now
	close(j.migrated)
	b.answer(w, api.Done{Text: "moved"})
}

// end lets a job come to its end.
func (b *fakeBroker) end(j *fakeJob) {
	now := api.Time{Time: b.clock()}
	j.api.State, j.api.Why, j.api.Ended, j.api.WallS, j.api.CPUS = j.out.State, j.out.Why, &now, 1, 1
	if !j.out.Makes && j.out.State == core.Done {
		j.api.MissingOutputs = slices.DeleteFunc(slices.Clone(j.job.Outputs),
			func(out string) bool { return out == jobfile.NoOutputs })
	}
}

// keys are those of all jobs, in the order in which they were taken in.
func (b *fakeBroker) keys() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var keys []string
	for _, j := range b.jobs {
		keys = append(keys, j.job.Key)
	}
	return keys
}

func (b *fakeBroker) options(f *flowfile.Flow) Options {
	client := api.DialBroker(b.socket)
	b.t.Cleanup(client.Close)
	return Options{Flow: f, ID: "run", Clock: b.clock, Began: b.clock(), Broker: submitter{client}}
}

// submitter hands in tasks as the broker that they run in would.
type submitter struct{ *api.Client }

func (s submitter) SubmitTask(ctx context.Context, job *jobfile.Job, _ []string, made []api.Made) (core.JobID, error) {
	done, err := s.SubmitJob(ctx, &api.Submit{Job: *job, Made: made})
	if err != nil {
		return 0, err
	}
	return done.IDs[0], nil
}

// line is a workflow of tasks one after another, each with an output of its name.
func (b *fakeBroker) line(ids ...string) *flowfile.Flow {
	f := &flowfile.Flow{Name: "line", Dir: b.dir}
	for i, id := range ids {
		f.Tasks = append(f.Tasks, flowfile.Task{ID: id, Kind: i, Job: &jobfile.Job{Min: 1, Max: 1},
			Outputs: []flowfile.Output{{Name: id}}, Estimate: time.Second})
		f.Kinds = append(f.Kinds, id)
		if i > 0 {
			f.Needs = append(f.Needs, flowfile.Need{From: i - 1, To: i, Bytes: 1})
		}
	}
	return f
}
