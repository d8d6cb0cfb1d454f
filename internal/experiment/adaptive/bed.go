// Package adaptive is the experiment of papers/004, chapter 5: a program with a
// deadline, on one of two clusters, while others begin to compute there; with the
// adaptive service and without, and what the service costs. The two clusters are
// two processors of this machine, the broker is the real one, the load is real.
// It must not know how the broker decides: it asks over the same socket as
// everybody else.
package adaptive

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
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

// Names of the two clusters. Jobs begin in the first.
const (
	Home = "home"
	Away = "away"
)

// Bed is a broker of its own with two clusters of one processor each.
type Bed struct {
	Dir    string
	Client *api.Client
	CPU    map[string]int // of each cluster
	clock  clock.Clock
	stop   context.CancelFunc
	ended  chan error
}

// ErrOneCPU says that the experiment cannot be done here.
var ErrOneCPU = errors.New("this machine lets us use one processor only; the experiment needs two: one for each cluster")

// twoCPUs are the processors of the two clusters.
func twoCPUs() (home, away int, err error) {
	cpus, err := local.UsableCPUs()
	if err != nil {
		return 0, 0, err
	}
	if len(cpus) < 2 {
		return 0, 0, ErrOneCPU
	}
	return cpus[0], cpus[1], nil
}

// NewBed starts a broker whose agents look every sample. agent is the command of
// an agent; nil: this program. The broker lives until Close, also when ctx is
// cancelled: somebody has to end its jobs. Both clusters have speed 1: this
// machine is the reference host of the experiment.
func NewBed(ctx context.Context, agent []string, sample time.Duration) (*Bed, error) {
	home, away, err := twoCPUs()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "godwit-adaptive-")
	if err != nil {
		return nil, err
	}
	b := &Bed{Dir: dir, CPU: map[string]int{Home: home, Away: away}, clock: clock.Real(), ended: make(chan error, 1)}
	settings := filepath.Join(dir, "config.yaml")
	text := fmt.Sprintf("clusters:\n  - {name: %s, cpus: [%d], speed: 1}\n  - {name: %s, cpus: [%d], speed: 1}\nintervals: {sample: %s}\n", Home, home, Away, away, sample)
	if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	own, stop := context.WithCancel(context.WithoutCancel(ctx))
	b.stop = stop
	ready := make(chan string, 1)
	go func() {
		b.ended <- daemon.Run(own, daemon.Options{State: filepath.Join(dir, "state"), Config: settings, Version: "experiment", Agent: agent,
			Log: slog.New(slog.DiscardHandler), Ready: func(socket string, _ *config.Config) { ready <- socket }})
	}()
	select {
	case socket := <-ready:
		b.Client = api.Dial(socket)
		return b, nil
	case err := <-b.ended:
		stop()
		return nil, errors.Join(fmt.Errorf("the broker of the experiment: %w", err), os.RemoveAll(dir))
	}
}

// closing bounds how long the jobs that are left may take to end.
const closing = 30 * time.Second

// Close ends what still runs, then the broker, and removes its folder.
func (b *Bed) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closing)
	defer cancel()
	jobs, err := b.Client.Jobs(ctx, false)
	for i := range jobs {
		if !jobs[i].Over() {
			_, e := b.Client.Cancel(ctx, fmt.Sprint(jobs[i].ID))
			err = errors.Join(err, e)
		}
	}
	b.Client.Close()
	b.stop()
	return errors.Join(err, <-b.ended, os.RemoveAll(b.Dir))
}

// job is a job that runs a program of some size, in a folder of its own.
func (b *Bed) job(p *Program, size float64, method string) (jobfile.Job, error) {
	dir, err := p.folder(b.Dir)
	spec := job(p.Name, p.argv(size), method)
	spec.Workdir, spec.Progress = dir, p.Progress
	return spec, err
}

// job fills in what the jobs of the experiment have in common.
func job(name string, argv []string, method string) jobfile.Job {
	return jobfile.Job{Name: name, Argv: argv, Min: 1, Max: 1, Retries: jobfile.DefaultRetries, Confidence: jobfile.DefaultConfidence,
		Env:        map[string]string{"PATH": os.Getenv("PATH"), "HOME": os.Getenv("HOME")},
		Checkpoint: jobfile.Checkpoint{Method: method, Every: jobfile.Never}}
}

// submitAtHome submits a job that begins at home but may be moved: another job
// holds the only processor of the other cluster until this one is placed.
func (b *Bed) submitAtHome(ctx context.Context, spec *jobfile.Job) (j api.Job, err error) {
	holder := job("holder", []string{"sleep", "3600"}, "restart")
	holder.On = []string{Away}
	held, err := b.Client.Submit(ctx, &api.Submit{Job: holder})
	if err != nil {
		return j, err
	}
	holding := fmt.Sprint(held.IDs[0])
	defer func() {
		_, e := b.Client.Cancel(context.WithoutCancel(ctx), holding)
		err = errors.Join(err, e)
	}()
	if _, err := b.until(ctx, holding, func(j *api.Job) bool { return j.Cluster != "" }); err != nil {
		return j, err
	}
	id, err := b.submit(ctx, spec)
	if err != nil {
		return j, err
	}
	j, err = b.until(ctx, fmt.Sprint(id), func(j *api.Job) bool { return j.State == core.Running || j.Over() })
	if err == nil && j.State == core.Running && j.Cluster != Home {
		err = fmt.Errorf("the job began in %s, not in %s", j.Cluster, Home)
	}
	j.ID = id
	return j, err
}

// submit submits a job with its folder.
func (b *Bed) submit(ctx context.Context, spec *jobfile.Job) (core.JobID, error) {
	s := api.Submit{Job: *spec}
	if spec.Workdir != "" {
		tree, _, _, err := depot.Push(ctx, spec.Workdir, depot.NewClient(b.Client.HTTP, api.Base+"/v1/depot"), depot.PushOptions{})
		if err != nil {
			return 0, err
		}
		s.Work = string(tree)
	}
	ids, err := b.Client.Submit(ctx, &s)
	if err != nil {
		return 0, err
	}
	return ids.IDs[0], nil
}

// until watches a job until it is as wanted.
func (b *Bed) until(ctx context.Context, id string, ok func(*api.Job) bool) (api.Job, error) {
	var last api.Job
	err := b.Client.Watch(ctx, id, func(l *api.Live) error {
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

var errSeen = errors.New("seen")
