package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/driver/local"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/config"
	"github.com/godwit-hpc/godwit/internal/live/daemon"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Names of the two clusters.
const (
	east = "east"
	west = "west"
)

// sampleInterval is how often the broker looks at the job.
const sampleInterval = 300 * time.Millisecond

// testbed is a broker of its own with two clusters of one core each.
type testbed struct {
	dir    string
	client *api.Client
	core   map[string]int // of each cluster
	clock  clock.Clock
	stop   context.CancelFunc
	ended  chan error
}

// twoCores chooses the cores of the two clusters, of two physical cores where there
// are two: what one hardware thread does would slow the other down.
func twoCores() (a, b int, err error) {
	cpus, err := local.UsableCPUs()
	if err != nil {
		return 0, 0, err
	}
	if len(cpus) < 2 {
		return 0, 0, errors.New("the demo needs two cores, and this process may use one only (taskset -pc $$ shows which)")
	}
	siblings := threadSiblings(cpus[0])
	for _, cpu := range cpus[1:] {
		if siblings == "" || threadSiblings(cpu) != siblings {
			return cpus[0], cpu, nil
		}
	}
	return cpus[0], cpus[1], nil
}

// threadSiblings names the hardware threads of a core; "" where the kernel does not say.
func threadSiblings(cpu int) string {
	text, err := os.ReadFile(fmt.Sprintf("/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// openTestbed starts the broker. It lives until close, also when ctx is cancelled:
// somebody has to end its jobs. Both clusters have speed 1: they are alike.
func openTestbed(ctx context.Context, agent []string) (*testbed, error) {
	a, b, err := twoCores()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "godwit-demo-")
	if err != nil {
		return nil, err
	}
	t := &testbed{dir: dir, core: map[string]int{east: a, west: b}, clock: clock.Real(), ended: make(chan error, 1)}
	settings := filepath.Join(dir, "config.yaml")
	text := fmt.Sprintf("clusters:\n  - {name: %s, cpus: [%d], speed: 1}\n  - {name: %s, cpus: [%d], speed: 1}\nintervals: {sample: %s}\n",
		east, a, west, b, sampleInterval)
	if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	own, stop := context.WithCancel(context.WithoutCancel(ctx))
	t.stop = stop
	ready := make(chan string, 1)
	go func() {
		t.ended <- daemon.Run(own, daemon.Options{State: filepath.Join(dir, "state"), Config: settings, Version: "demo", Agent: agent,
			Log: slog.New(slog.DiscardHandler), Ready: func(socket string, _ *config.Config) { ready <- socket }})
	}()
	select {
	case socket := <-ready:
		t.client = api.Dial(socket)
		return t, nil
	case err := <-t.ended:
		stop()
		return nil, errors.Join(fmt.Errorf("starting the broker of the demo: %w", err), os.RemoveAll(dir))
	}
}

// closeTimeout bounds how long the jobs that are left may take to end.
const closeTimeout = 30 * time.Second

// close ends what still runs, then the broker, and removes its folder.
func (t *testbed) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	jobs, err := t.client.Jobs(ctx, false)
	for i := range jobs {
		if !jobs[i].Over() {
			err = errors.Join(err, t.cancel(ctx, jobs[i].ID))
		}
	}
	t.client.Close()
	t.stop()
	if e := <-t.ended; !errors.Is(e, context.Canceled) {
		err = errors.Join(err, e)
	}
	return errors.Join(err, os.RemoveAll(t.dir))
}

// job is the program as a job.
func (t *testbed) job(p *program, steps int, method string) jobfile.Job {
	job := baseJob("pi", p.argv(steps), method)
	job.Workdir, job.Progress = p.dir, progressPattern
	return job
}

// baseJob fills in what all jobs of the demo have in common.
func baseJob(name string, argv []string, method string) jobfile.Job {
	return jobfile.Job{Name: name, Argv: argv, Min: 1, Max: 1, Retries: jobfile.DefaultRetries, Confidence: jobfile.DefaultConfidence,
		Env:        map[string]string{"PATH": os.Getenv("PATH"), "HOME": os.Getenv("HOME")},
		Checkpoint: jobfile.Checkpoint{Method: method, Every: jobfile.Never}}
}

// submit submits a job with its working directory.
func (t *testbed) submit(ctx context.Context, spec *jobfile.Job) (core.JobID, error) {
	s := api.Submit{Job: *spec}
	if spec.Workdir != "" {
		tree, _, _, err := depot.Push(ctx, spec.Workdir, depot.NewClient(t.client.HTTP, api.Base+"/v1/depot"), depot.PushOptions{})
		if err != nil {
			return 0, err
		}
		s.Work = string(tree)
	}
	submitted, err := t.client.Submit(ctx, &s)
	if err != nil {
		return 0, err
	}
	return submitted.IDs[0], nil
}

// submitTo submits a job that starts on a cluster but may be migrated: another job
// holds the only core of the other cluster until this one is placed.
func (t *testbed) submitTo(ctx context.Context, cluster string, spec *jobfile.Job) (id core.JobID, err error) {
	holder := baseJob("holder", []string{"sleep", "3600"}, methodRestart)
	holder.On = []string{other(cluster)}
	holding, err := t.submit(ctx, &holder)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, t.cancel(context.WithoutCancel(ctx), holding)) }()
	placed := func(j *api.Job) bool { return j.Cluster != "" || j.Over() }
	if _, err := t.await(ctx, holding, placed); err != nil {
		return 0, err
	}
	if id, err = t.submit(ctx, spec); err != nil {
		return 0, err
	}
	_, err = t.await(ctx, id, func(j *api.Job) bool { return j.State == core.Running || j.Over() })
	return id, err
}

func other(cluster string) string {
	if cluster == east {
		return west
	}
	return east
}

// cancel ends a job. One that is over already stays as it is.
func (t *testbed) cancel(ctx context.Context, id core.JobID) error {
	_, err := t.client.Cancel(ctx, fmt.Sprint(id))
	return err
}

var errSeen = errors.New("seen")

// await watches a job until it is as wanted.
func (t *testbed) await(ctx context.Context, id core.JobID, ok func(*api.Job) bool) (api.Job, error) {
	var last api.Job
	err := t.client.Watch(ctx, fmt.Sprint(id), func(l *api.Live) error {
		if last = l.Job; ok(&last) {
			return errSeen
		}
		return nil
	})
	if errors.Is(err, errSeen) {
		err = nil
	}
	return last, err
}
