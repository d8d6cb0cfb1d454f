package batch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/attemptdir"
)

var _ driver.Extender = (*Driver)(nil)

const (
	// holdersFolder, in that of an attempt, has a file for each job that holds a processor for it: the number of the
	// manager's job, once that is known. The job ends by itself when its file is gone.
	holdersFolder = "holders"
	// holderMark stands in the name of such a job between that of the attempt's own and its number.
	holderMark = "-x"
	// holderMemory is what such a job asks for: managers that share out memory give all of a host to who asks for none.
	holderMemory = 16 << 20
)

// CanExtend: every manager takes further jobs.
func (d *Driver) CanExtend() bool { return true }

// ExtendAttempt has small jobs hold processors for the attempt, one each, on the host of its agent. They wait in the
// manager's queue like any other, and are given back one by one.
func (d *Driver) ExtendAttempt(ctx context.Context, id driver.ID, procs int) (int, error) {
	has, err := d.extendAttempt(ctx, id, procs)
	if err != nil {
		return has, fmt.Errorf("extend job %d, attempt %d, on %s: %w", id.Job, id.Epoch, d.opt.Cluster, err)
	}
	return has, nil
}

func (d *Driver) extendAttempt(ctx context.Context, id driver.ID, procs int) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, submitTimeout)
	defer cancel()
	a := d.attemptRecord(id)
	if a == nil {
		return 0, errClosed
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.released || d.folders.WasReleased(id) || attemptdir.HasFile(a.dir, attemptdir.FenceFile) {
		return 0, attemptdir.ErrReleased
	}
	w, err := attemptdir.ReadAttempt(a.dir)
	if err != nil {
		return 0, err
	}
	l, err := d.queryQueue(ctx)
	if err != nil {
		return 0, err
	}
	host := hostOf(l.jobs[a.name])
	if host == "" {
		return 0, fmt.Errorf("%w: its job does not run", driver.ErrRefused)
	}
	own := max(1, w.Procs)
	wanted := max(0, procs-own)
	d.mu.Lock()
	a.holders = wanted
	d.mu.Unlock()
	e := extension{d: d, a: a, host: host, limit: d.wallTime(w.Spec.Time), queue: l.holders[a.name]}
	running, err := e.adjustHolders(ctx, wanted)
	return own + running, err
}

// hostOf is the first host of the job that runs; "": none does.
func hostOf(jobs []Entry) string {
	for i := range jobs {
		if jobs[i].State == Running && len(jobs[i].Hosts) > 0 {
			return jobs[i].Hosts[0]
		}
	}
	return ""
}

// extension is what is done about the processors that an attempt has beside those of its own job.
type extension struct {
	d     *Driver
	a     *attempt
	host  string
	limit time.Duration
	queue []Entry // of the jobs that hold them
	last  int     // the highest number that such a job has had
}

// holder is a job that holds a processor for an attempt.
type holder struct {
	number int
	job    string // the manager's name for it; "": not known
	state  State
	queued bool // the manager has it
}

// adjustHolders makes so many of them, or ends some, and returns how many of them run.
func (e *extension) adjustHolders(ctx context.Context, wanted int) (running int, err error) {
	list, err := e.readHolders()
	if err != nil {
		return 0, err
	}
	var surplus []string
	for len(list) > wanted {
		h := list[len(list)-1]
		list = list[:len(list)-1]
		if err := e.dropHolder(h); err != nil {
			return 0, err
		}
		if h.queued {
			surplus = append(surplus, h.job)
		}
	}
	err = e.d.cancelJobs(ctx, append(surplus, e.strays(list)...))
	for i := range list {
		h := &list[i]
		if !h.queued { // whether the manager took it was not heard
			err = errors.Join(err, e.submitHolder(ctx, h.number))
		} else if h.state == Running {
			running++
		}
	}
	for n := len(list); n < wanted && err == nil; n++ {
		e.last++
		err = e.submitHolder(ctx, e.last)
	}
	return running, err
}

// readHolders lists those that are wanted, first those that run, of equals the older: the last are ended first. One
// that the manager had and has no more is not among them.
func (e *extension) readHolders() ([]holder, error) {
	files, err := os.ReadDir(e.folder())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for i := range e.queue {
		_, number, _ := strings.Cut(e.queue[i].Name, holderMark)
		n, _ := strconv.Atoi(number)
		e.last = max(e.last, n)
	}
	var list []holder
	for _, f := range files {
		number, err := strconv.Atoi(strings.TrimSuffix(f.Name(), heldSuffix))
		if err != nil {
			continue
		}
		e.last = max(e.last, number)
		if f.IsDir() {
			continue
		}
		h := holder{number: number}
		job, err := os.ReadFile(e.fileOf(number))
		if err != nil {
			return nil, err
		}
		h.job = string(job)
		for i := range e.queue {
			if e.queue[i].Name == e.jobName(number) && e.queue[i].State != Leaving {
				h.job, h.state, h.queued = e.queue[i].ID, e.queue[i].State, true
			}
		}
		if h.job != "" && !h.queued { // ended, by somebody else
			if err := e.dropHolder(h); err != nil {
				return nil, err
			}
			continue
		}
		list = append(list, h)
	}
	slices.SortFunc(list, func(x, y holder) int {
		return cmp.Or(-cmp.Compare(x.rank(), y.rank()), cmp.Compare(x.number, y.number))
	})
	return list, nil
}

// rank is higher for one that is sooner of use.
func (h *holder) rank() int {
	switch {
	case !h.queued:
		return 0
	case h.state != Running:
		return 1
	}
	return 2
}

// strays are jobs in the queue that hold processors which nobody wants.
func (e *extension) strays(wanted []holder) []string {
	var list []string
	for i := range e.queue {
		q := &e.queue[i]
		if q.State != Leaving && !slices.ContainsFunc(wanted, func(h holder) bool { return h.job == q.ID }) {
			list = append(list, q.ID)
		}
	}
	return list
}

// endHolders has all jobs that hold processors for an attempt end by themselves. Their folder goes in one step: a job
// that begins meanwhile could put something into one that is emptied.
func endHolders(dir string) error {
	folder := filepath.Join(dir, holdersFolder)
	aside := folder + "-ended"
	if err := os.RemoveAll(aside); err != nil {
		return err
	}
	if err := os.Rename(folder, aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (e *extension) folder() string { return filepath.Join(e.a.dir, holdersFolder) }

func (e *extension) fileOf(number int) string {
	return filepath.Join(e.folder(), strconv.Itoa(number))
}

func (e *extension) jobName(number int) string { return e.a.name + holderMark + strconv.Itoa(number) }

func (e *extension) dropHolder(h holder) error {
	if err := os.Remove(e.fileOf(h.number)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// submitHolder asks the manager for a job that holds a processor.
func (e *extension) submitHolder(ctx context.Context, number int) error {
	if err := os.MkdirAll(e.folder(), 0o700); err != nil {
		return err
	}
	script := filepath.Join(e.a.dir, "holder-"+strconv.Itoa(number))
	if err := os.WriteFile(script, e.holderScript(number), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(e.fileOf(number), nil, 0o600); err != nil {
		return err
	}
	r := Request{Name: e.jobName(number), Script: script, Output: filepath.Join(e.a.dir, outputFile), Host: e.host,
		Need: e.d.completeNeed(ctx, driver.Need{Procs: 1, Nodes: 1, Memory: holderMemory, Time: e.limit})}
	s := submission{d: e.d, a: e.a, request: r}
	job, err := s.submitOnce(ctx)
	switch {
	case err == nil:
		return attemptdir.ReplaceFile(e.folder(), strconv.Itoa(number), []byte(job))
	case errors.Is(err, driver.ErrRefused), errors.Is(err, driver.ErrAway): // certainly none was made
		return errors.Join(err, e.dropHolder(holder{number: number}))
	}
	return err
}

// heldSuffix is that of the folder which the job that holds a processor makes when it begins.
const heldSuffix = ".held"

// holderScript keeps a processor as long as its file is there and the agent of the attempt lives, which is on the same
// host. A second job of the same number, after a submission whose answer was lost, ends at once.
func (e *extension) holderScript(number int) []byte {
	alive := ""
	if pid := attemptdir.LockHolder(e.a.dir); pid > 1 {
		alive = fmt.Sprintf(" && kill -0 %d 2>/dev/null", pid)
	}
	file := shellQuote(e.fileOf(number))
	return fmt.Appendf(nil, "#!/bin/sh\nmkdir %s%s || exit 0\nwhile [ -e %s ]%s; do sleep 1; done\n", file, heldSuffix,
		file, alive)
}
