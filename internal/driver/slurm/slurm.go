// Package slurm is the dialect of Slurm: how its commands are called, without a
// shell and in an environment of their own, and what their answers mean, from
// versions old and new, with accounting or without. It must not know what is
// submitted nor why.
package slurm

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/driver/batch"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
)

// Options say how a cluster's Slurm is reached.
type Options struct {
	Commands  string            // folder of its commands; "": $PATH
	Env       map[string]string // for its commands, such as SLURM_CONF
	Partition string            // where jobs go; "": the default one
	Options   []string          // for sbatch, as they are
	Clock     clock.Clock       // nil: the machine's
	Log       *slog.Logger      // nil: nowhere
}

// Manager speaks to one Slurm.
type Manager struct {
	opt   Options
	clock clock.Clock
	log   *slog.Logger
	run   runner

	mu         sync.Mutex
	noMe       bool      // this squeue is too old for --me
	version    string    // once it is known
	noSacct    time.Time // when it was found that there is no accounting
	partitions []partition
	readAt     time.Time // of partitions
}

var (
	_ batch.Manager  = (*Manager)(nil)
	_ batch.Prefacer = (*Manager)(nil)
	_ batch.Limiter  = (*Manager)(nil)
)

// New asks nothing yet.
func New(o Options) *Manager {
	if o.Clock == nil {
		o.Clock = clock.RealClock()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	m := &Manager{opt: o, clock: o.Clock, log: o.Log}
	m.run = commands{dir: o.Commands, env: commandEnvironment(o.Env)}.runCommand
	return m
}

// KindName is Slurm.
func (m *Manager) KindName() string { return jobfile.Slurm }

// sbatchOptions are the options of sbatch that say what is needed. Those of the
// script come after ours and those of the cluster's settings last, so that they
// prevail. Each is one word: no value can be taken for another option.
func (m *Manager) sbatchOptions(r *batch.Request) []string {
	threads := max(1, r.Threads)
	tasks := max(1, r.Procs/threads)
	args := []string{
		"--job-name=" + r.Name,
		"--ntasks=" + strconv.Itoa(tasks),
		"--cpus-per-task=" + strconv.Itoa(threads),
	}
	if r.Nodes > 0 {
		args = append(args, "--nodes="+strconv.Itoa(r.Nodes))
		switch {
		case r.PerNode > 0:
			args = append(args, "--ntasks-per-node="+strconv.Itoa(r.PerNode))
		case r.Nodes > 1 && tasks%r.Nodes == 0: // evenly, also where hosts are large
			args = append(args, "--ntasks-per-node="+strconv.Itoa(tasks/r.Nodes))
		}
	}
	told, each := scriptOptions(r)
	if r.Memory > 0 && !each {
		const mega = 1 << 20
		args = append(args, "--mem="+strconv.FormatInt((r.Memory+mega-1)/mega, 10)+"M")
	}
	if r.Time > 0 {
		args = append(args, "--time="+strconv.FormatInt(int64((r.Time+time.Minute-1)/time.Minute), 10))
	}
	args = append(args, told...)
	if m.opt.Partition != "" {
		args = append(args, "--partition="+m.opt.Partition)
	}
	if r.Host != "" {
		args = append(args, "--nodelist="+r.Host)
	}
	if r.Reservation != "" {
		args = append(args, "--reservation="+r.Reservation)
	}
	return append(args, m.opt.Options...)
}

// scriptOptions are the words of the script. Memory of each processor is told if it is
// what the job's memory was made of, and nobody has asked for another since.
func scriptOptions(r *batch.Request) (words []string, memoryEach bool) {
	for _, o := range r.Told {
		if o.Name == "mem-per-cpu" {
			kilos, err := strconv.ParseInt(strings.TrimSuffix(o.Value, "K"), 10, 64)
			hosts := max(1, r.Nodes)
			if err != nil || kilos <= 0 || r.Memory>>10 != kilos*int64((r.Procs+hosts-1)/hosts) {
				continue
			}
			memoryEach = true
		}
		word := "--" + o.Name
		if o.Value != "" {
			word += "=" + o.Value
		}
		words = append(words, word)
	}
	return words, memoryEach
}

// ScriptPreface frees what runs inside a job of how the job itself was submitted: else
// srun would give nothing of its environment to the programs it starts.
func (m *Manager) ScriptPreface() string { return "unset SLURM_EXPORT_ENV SLURM_GET_USER_ENV\n" }

// SubmitJob hands a script to sbatch.
func (m *Manager) SubmitJob(ctx context.Context, r *batch.Request) (string, error) {
	args := slices.Concat([]string{
		"--parsable",
		"--no-requeue",  // an attempt runs once
		"--export=NONE", // what is around us is not the job's
		"-D", "/",       // whose long name depends on the version
		"--input=/dev/null",
		"--open-mode=append",
		"--output=" + strings.ReplaceAll(r.Output, "%", "%%"),
	}, m.sbatchOptions(r), []string{r.Script})
	a, err := m.run(ctx, command{name: "sbatch", args: args, limit: submitTimeout, submits: true})
	if err != nil {
		return "", classifyError(a, err)
	}
	return parseSubmitted(a.out)
}

// parseSubmitted reads what sbatch --parsable says: the number of the job, and
// perhaps the name of a cluster.
func parseSubmitted(out string) (string, error) {
	for line := range strings.Lines(out) {
		id, _, _ := strings.Cut(strings.TrimSpace(line), ";")
		if isNumber(id) {
			return id, nil
		}
	}
	return "", errors.New("sbatch did not say which job it is: " + shortLine(out))
}

func isNumber(s string) bool {
	return s != "" && len(s) < 20 && strings.Trim(s, "0123456789") == ""
}

// CancelJobs ends jobs.
func (m *Manager) CancelJobs(ctx context.Context, ids []string) error {
	const most = 200 // on one command line
	var errs []error
	for part := range slices.Chunk(ids, most) {
		a, err := m.run(ctx, command{name: "scancel", args: part, limit: submitTimeout, submits: true})
		if err != nil && !onlyFinishedJobs(a.said) {
			errs = append(errs, classifyError(a, err))
		}
	}
	return errors.Join(errs...)
}

// onlyFinishedJobs says that scancel complained of nothing but jobs that are over.
func onlyFinishedJobs(said string) bool {
	some := false
	for line := range strings.Lines(said) {
		switch line = strings.TrimSpace(line); {
		case line == "":
		case strings.Contains(line, "Invalid job id"), strings.Contains(line, "already completing or completed"),
			strings.Contains(line, "Job/step already"):
			some = true
		default:
			return false
		}
	}
	return some
}
