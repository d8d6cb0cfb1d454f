package programs

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/experiment/adaptive"
	"github.com/godwit-hpc/godwit/internal/experiment/calibration"
	"github.com/godwit-hpc/godwit/internal/experiment/loads"
	"github.com/godwit-hpc/godwit/internal/experiment/measured"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Plan says which runs are made.
type Plan struct {
	Runs     int // of each program that are judged
	Learn    int // of each program before them, alone
	AtOnce   int // runs at the same time, each on its own core: 1 or 2; 0: 2, as it once was
	Scale    float64
	Sample   time.Duration
	Examples string // the folder of examples
	Records  string // the folder of recorded loads
	File     string // each run is kept here when it is over
	Limit    time.Duration
	Agent    []string  `json:"-"`
	Spinner  []string  `json:"-"`
	Out      io.Writer `json:"-"`
}

// Run is one run of a program.
type Run struct {
	N       int // 0 and up; negative: it was made to learn from
	Program string
	Load    string
	Took    float64 // seconds from its start to its end
	CPU     float64
	Points  []Point
	Machine string // what the load average of the machine was when it began
}

// Point is a prediction, all in seconds since the start.
type Point struct{ At, Early, Mid, Late float64 }

// Results are the runs and where they were made.
type Results struct {
	Plan    Plan
	Machine measured.Machine
	Runs    []Run
	Missing []string // programs that could not be run here, and why
}

// JudgedPredictions are the predictions of a run at the moments that count.
func (r *Run) JudgedPredictions() []calibration.Judged {
	var list []calibration.Judged
	due := calibration.Due{End: r.Took}
	for _, p := range r.Points {
		if m, ok := due.MomentAt(p.At); ok {
			list = append(list, calibration.Judged{Run: uint64(r.N), Load: r.Load, Moment: m, Actual: r.Took - p.At,
				Low: p.Early - p.At, Mid: p.Mid - p.At, High: p.Late - p.At})
		}
	}
	return list
}

// bench is what all runs share.
type bench struct {
	*adaptive.Bed
	plan  *Plan
	clock clock.Clock
	kinds []loads.Kind
	seed  uint64

	mu   sync.Mutex
	file *os.File
	runs map[int]bool
}

// nothing is the load of a run that has its processor for itself, as far as we know.
const nothing = "none of ours"

// task is a run that is to be made.
type task struct {
	n       int
	program *Program
	spec    jobfile.Job
	kind    *loads.Kind // nil: nothing
}

// MeasureRuns makes the runs that the file does not have yet, as long as the limit allows.
// Programs learn anew each time it is called: the broker is new.
func (p *Plan) MeasureRuns(ctx context.Context) (err error) {
	old, err := Read(p.File)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	b := &bench{plan: p, clock: clock.RealClock(), runs: map[int]bool{}}
	if b.file, err = p.openFile(old); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.file.Close()) }()
	if old != nil {
		for i := range old.Runs {
			b.runs[old.Runs[i].N] = true
		}
	}
	kinds, seed, _ := loads.CalibrationLoads(p.Records, true)
	b.kinds, b.seed = slices.DeleteFunc(kinds, func(k loads.Kind) bool { return k.Name == loads.Alone }), seed
	if b.Bed, err = adaptive.NewBed(ctx, p.Agent, p.Sample); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	if p.Limit > 0 {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, p.Limit)
		defer cancel()
	}
	learn, judged, err := b.planTasks()
	if err != nil || len(judged) == 0 {
		return err
	}
	for _, list := range [][]task{learn, judged} {
		if err = b.runAll(ctx, list); err != nil {
			break
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return nil // the rest is for the next time
	}
	return err
}

// openFile opens the file for more runs.
func (p *Plan) openFile(old *Results) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(p.File), 0o777); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(p.File, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil || old != nil {
		return f, err
	}
	head := Results{Plan: *p, Machine: measured.ThisMachine(clock.RealClock())}
	for _, prog := range AllPrograms() {
		if why := prog.missingTools(p.Examples); why != "" {
			head.Missing = append(head.Missing, prog.Name+": "+why)
		}
	}
	return f, errors.Join(err, writeLine(f, head))
}

func writeLine(f *os.File, v any) error {
	line, err := json.Marshal(v)
	if err == nil {
		_, err = f.Write(append(line, '\n'))
	}
	return err
}

// planTasks are the runs to learn from and those to be judged, in the order in which they
// are made: every second with its processor for itself.
func (b *bench) planTasks() (learn, judged []task, err error) {
	p := b.plan
	all := AllPrograms()
	var here []task
	for i := range all {
		prog := &all[i]
		if prog.missingTools(p.Examples) != "" {
			continue
		}
		dir, err := prog.makeFolder(b.Dir, p.Examples)
		if err != nil {
			return nil, nil, err
		}
		here = append(here, task{program: prog,
			spec: jobfile.Job{Name: prog.Name, Argv: prog.argv(p.Scale), Min: 1, Max: 1, Workdir: dir,
				Retries: jobfile.DefaultRetries, Confidence: jobfile.DefaultConfidence, Adapt: jobfile.AdaptOff,
				Env:        map[string]string{"PATH": os.Getenv("PATH"), "HOME": os.Getenv("HOME")},
				Checkpoint: jobfile.Checkpoint{Method: "restart", Every: jobfile.Never}}})
	}
	for i := range p.Learn {
		for k, t := range here {
			t.n = -1 - i*len(here) - k
			learn = append(learn, t)
		}
	}
	for i := range p.Runs {
		for k, t := range here {
			if t.n = i*len(here) + k; b.runs[t.n] {
				continue
			}
			if (i+k)%2 == 1 {
				t.kind = &b.kinds[(i+k)/2%len(b.kinds)]
			}
			judged = append(judged, t)
		}
	}
	return learn, judged, nil
}

// runAll makes runs on one processor or on both.
func (b *bench) runAll(ctx context.Context, list []task) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan task, len(list))
	for _, t := range list {
		next <- t
	}
	close(next)
	var all sync.WaitGroup
	places := []string{adaptive.Home, adaptive.Away}
	if b.plan.AtOnce == 1 {
		places = places[:1]
	}
	for _, place := range places {
		all.Go(func() {
			for t := range next {
				t.spec.On = []string{place}
				if err := b.runTask(ctx, &t, place); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// runTask makes one run and keeps it.
func (b *bench) runTask(ctx context.Context, t *task, place string) error {
	r := &Run{N: t.n, Program: t.program.Name, Load: nothing, Machine: measured.LoadAverage()}
	var others []*exec.Cmd
	var inputs []io.WriteCloser
	if t.kind != nil {
		r.Load = t.kind.Name
		random := rand.New(rand.NewPCG(b.seed+uint64(t.n), 91))
		samples := 4 * b.plan.Scale / b.plan.Sample.Seconds()
		for _, d := range t.kind.ProgramDemands(t.kind.Make(random, samples), int(30*samples)) {
			c, in, err := b.startSpinner(loads.Order{CPU: b.Core[place], Every: b.plan.Sample, Demands: d})
			if err != nil {
				return err
			}
			others, inputs = append(others, c), append(inputs, in)
		}
	}
	defer func() {
		for i, c := range others {
			_ = inputs[i].Close()
			_ = c.Process.Kill() // it may have ended already
			_ = c.Wait()         // it was killed
		}
	}()
	if err := b.followJob(ctx, &t.spec, r, inputs); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	v := calibration.SumUp(r.JudgedPredictions())
	if b.plan.Out != nil {
		// it is only told
		_, _ = fmt.Fprintf(b.plan.Out, "%4d %-8s %-22s %5.1f s, %4.2f s CPU, median error %5.1f %%, %.0f of %d bands held\n",
			r.N, r.Program, r.Load, r.Took, r.CPU, 100*v.Middle, v.Holds*float64(v.N), v.N)
	}
	return writeLine(b.file, r)
}

// startSpinner starts a program that waits until it may take from a processor what it is
// told. It ends with its input.
func (b *bench) startSpinner(o loads.Order) (*exec.Cmd, io.WriteCloser, error) {
	argv := b.plan.Spinner
	if argv == nil {
		self, err := os.Executable()
		if err != nil {
			return nil, nil, err
		}
		argv = []string{self, "spinner"}
	}
	line, err := json.Marshal(o)
	if err != nil {
		return nil, nil, err
	}
	c := exec.Command(argv[0], argv[1:]...)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err := c.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := c.Start(); err != nil {
		return nil, nil, err
	}
	_, err = in.Write(append(line, '\n'))
	return c, in, err
}

// followJob submits a job and notes what is predicted of it until it has ended.
func (b *bench) followJob(ctx context.Context, spec *jobfile.Job, r *Run, others []io.WriteCloser) error {
	tree, _, _, err := depot.PushFolder(ctx, spec.Workdir, depot.NewClient(b.Client.HTTP, api.Base+"/v1/depot"),
		depot.PushOptions{})
	if err != nil {
		return err
	}
	ids, err := b.Client.SubmitJob(ctx, &api.Submit{Job: *spec, Work: string(tree)})
	if err != nil {
		return err
	}
	id := fmt.Sprint(ids.IDs[0])
	var final api.Job
	var last time.Time
	begun := false
	err = b.Client.WatchJob(ctx, id, func(l *api.Live) error {
		final = l.Job
		if final.State != core.Running || final.Started == nil {
			return nil
		}
		if !begun {
			begun = true
			for _, in := range others {
				if _, err := in.Write([]byte("\n")); err != nil {
					return fmt.Errorf("a program that was to compete has ended: %w", err)
				}
			}
		}
		if e := final.PredictedEnd; e != nil && !e.Equal(last) {
			last = e.Time
			since := func(t *api.Time) float64 { return t.Sub(final.Started.Time).Seconds() }
			r.Points = append(r.Points, Point{At: b.clock.Since(final.Started.Time).Seconds(), Early: since(final.EndEarly),
				Mid: since(e), Late: since(final.EndLate)})
		}
		return nil
	})
	if err != nil {
		_, e := b.Client.CancelJob(context.WithoutCancel(ctx), id)
		return errors.Join(context.Cause(ctx), err, e)
	}
	if final.ExitCode == nil || *final.ExitCode != 0 || final.Started == nil || final.Ended == nil {
		return fmt.Errorf("%s: job %s is %s: %s", spec.Name, id, final.State, final.Why)
	}
	r.Took, r.CPU = final.Ended.Sub(final.Started.Time).Seconds(), final.CPUS
	return nil
}

// Read reads the runs of a file. A last line that was only begun is left out.
func Read(path string) (*Results, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	var r *Results
	for lines := bufio.NewReader(f); ; {
		line, err := lines.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF) && r != nil:
			return r, nil
		case err != nil:
			return nil, &badinput.Error{File: path, Want: "runs that godwit-experiments predictions made", Err: err}
		}
		if r == nil {
			r = &Results{}
			err = json.Unmarshal(line, r)
		} else {
			var run Run
			if err = json.Unmarshal(line, &run); err == nil && run.Took > 0 && run.N >= 0 {
				r.Runs = append(r.Runs, run)
			}
		}
		if err != nil {
			return nil, &badinput.Error{File: path, Want: "runs that godwit-experiments predictions made", Err: err}
		}
	}
}
