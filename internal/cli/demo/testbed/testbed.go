// Package testbed is two clusters on one machine, for the demo and for the experiments
// with a real broker: a core each, a broker of its own, programs that compete for a
// core, and charts of what was predicted meanwhile. It must not know what is run on it
// or how the broker decides: it asks over the same socket as everybody else.
package testbed

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

// Options are what testbeds differ in.
type Options struct {
	Clusters [2]string
	Agent    []string      // command of an agent; nil: this program
	Sample   time.Duration // how often agents look at their jobs
}

// Testbed is a broker of its own with two clusters of one core each.
type Testbed struct {
	Dir    string
	Client *api.Client
	Core   map[string]int // of each cluster
	Clock  clock.Clock

	clusters [2]string
	stop     context.CancelFunc
	ended    chan error
}

// ErrOneCore says that there cannot be two clusters here.
var ErrOneCore = errors.New("two cores are needed, one for each cluster, and this process may use one only (taskset " +
	"-pc $$ shows which)")

// TwoCores chooses the cores of the two clusters, of two physical cores where there
// are two: what one hardware thread does would slow the other down.
func TwoCores() (a, b int, err error) {
	cpus, err := local.UsableCPUs()
	if err != nil {
		return 0, 0, err
	}
	if len(cpus) < 2 {
		return 0, 0, ErrOneCore
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

// Open starts the broker. It lives until Close, also when ctx is cancelled: somebody
// has to end its jobs. Both clusters have speed 1: they are alike.
func Open(ctx context.Context, o Options) (*Testbed, error) {
	a, b, err := TwoCores()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "godwit-testbed-")
	if err != nil {
		return nil, err
	}
	t := &Testbed{Dir: dir, Core: map[string]int{o.Clusters[0]: a, o.Clusters[1]: b}, Clock: clock.RealClock(),
		clusters: o.Clusters, ended: make(chan error, 1)}
	settings := filepath.Join(dir, "config.yaml")
	text := fmt.Sprintf("clusters:\n  - {name: %s, cpus: [%d], speed: 1}\n  - {name: %s, cpus: [%d], speed: "+
		"1}\nintervals: {sample: %s}\n",
		o.Clusters[0], a, o.Clusters[1], b, o.Sample)
	if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	own, stop := context.WithCancel(context.WithoutCancel(ctx))
	t.stop = stop
	ready := make(chan string, 1)
	go func() {
		t.ended <- daemon.Run(own, daemon.Options{State: filepath.Join(dir, "state"), Config: settings, Version: "testbed",
			Agent: o.Agent,
			Log:   slog.New(slog.DiscardHandler), Ready: func(socket string, _ *config.Config) { ready <- socket }})
	}()
	select {
	case socket := <-ready:
		t.Client = api.DialBroker(socket)
		return t, nil
	case err := <-t.ended:
		stop()
		return nil, errors.Join(fmt.Errorf("starting a broker: %w", err), os.RemoveAll(dir))
	}
}

// closeTimeout bounds how long the jobs that are left may take to end.
const closeTimeout = 30 * time.Second

// Close ends what still runs, then the broker, and removes its folder.
func (t *Testbed) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	jobs, err := t.Client.ListJobs(ctx, false)
	for i := range jobs {
		if !jobs[i].IsOver() {
			err = errors.Join(err, t.CancelJob(ctx, jobs[i].ID))
		}
	}
	t.Client.Close()
	t.stop()
	if e := <-t.ended; !errors.Is(e, context.Canceled) {
		err = errors.Join(err, e)
	}
	return errors.Join(err, os.RemoveAll(t.Dir))
}

// OtherCluster is the other one of the two clusters.
func (t *Testbed) OtherCluster(cluster string) string {
	if cluster == t.clusters[0] {
		return t.clusters[1]
	}
	return t.clusters[0]
}

// NewJob fills in what jobs of testbeds have in common.
func NewJob(name string, argv []string, method string) jobfile.Job {
	return jobfile.Job{Name: name, Argv: argv, Min: 1, Max: 1, Retries: jobfile.DefaultRetries,
		Confidence: jobfile.DefaultConfidence,
		Env:        map[string]string{"PATH": os.Getenv("PATH"), "HOME": os.Getenv("HOME")},
		Checkpoint: jobfile.Checkpoint{Method: method, Every: jobfile.Never}}
}

// SubmitJob submits a job with its working directory.
func (t *Testbed) SubmitJob(ctx context.Context, spec *jobfile.Job) (core.JobID, error) {
	s := api.Submit{Job: *spec}
	if spec.Workdir != "" {
		tree, _, _, err := depot.PushFolder(ctx, spec.Workdir, depot.NewClient(t.Client.HTTP, api.Base+"/v1/depot"),
			depot.PushOptions{})
		if err != nil {
			return 0, err
		}
		s.Work = string(tree)
	}
	submitted, err := t.Client.SubmitJob(ctx, &s)
	if err != nil {
		return 0, err
	}
	return submitted.IDs[0], nil
}

// SubmitTo submits a job that starts on a cluster but may be migrated: another job
// holds the only core of the other cluster until this one runs. The job has its
// number as soon as it is submitted, also if something fails afterwards.
func (t *Testbed) SubmitTo(ctx context.Context, cluster string, spec *jobfile.Job) (j api.Job, err error) {
	holder := NewJob("holder", []string{"sleep", "3600"}, "restart")
	holder.On = []string{t.OtherCluster(cluster)}
	holding, err := t.SubmitJob(ctx, &holder)
	if err != nil {
		return j, err
	}
	defer func() { err = errors.Join(err, t.CancelJob(context.WithoutCancel(ctx), holding)) }()
	if _, err := t.AwaitJob(ctx, holding, func(j *api.Job) bool { return j.Cluster != "" || j.IsOver() }); err != nil {
		return j, err
	}
	id, err := t.SubmitJob(ctx, spec)
	if err != nil {
		return j, err
	}
	j, err = t.AwaitJob(ctx, id, func(j *api.Job) bool { return j.State == core.Running || j.IsOver() })
	j.ID = id
	if err == nil && j.State == core.Running && j.Cluster != cluster {
		err = fmt.Errorf("job %d started on %s, not on %s", id, j.Cluster, cluster)
	}
	return j, err
}

// CancelJob ends a job. One that is over already stays as it is.
func (t *Testbed) CancelJob(ctx context.Context, id core.JobID) error {
	_, err := t.Client.CancelJob(ctx, fmt.Sprint(id))
	return err
}

var errSeen = errors.New("seen")

// AwaitJob watches a job until it is as wanted.
func (t *Testbed) AwaitJob(ctx context.Context, id core.JobID, wanted func(*api.Job) bool) (api.Job, error) {
	var last api.Job
	err := t.Client.WatchJob(ctx, fmt.Sprint(id), func(l *api.Live) error {
		if last = l.Job; wanted(&last) {
			return errSeen
		}
		return nil
	})
	if errors.Is(err, errSeen) {
		err = nil
	}
	return last, err
}

// SecondsBetween is 0 if one of the moments is not known.
func SecondsBetween(from, to *api.Time) float64 {
	if from == nil || to == nil {
		return 0
	}
	return to.Sub(from.Time).Seconds()
}
