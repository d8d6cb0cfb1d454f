package adaptive

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/experiment/calibration"
	"github.com/godwit-hpc/godwit/internal/experiment/loads"
	"github.com/godwit-hpc/godwit/internal/experiment/measured"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// LivePlan says how predictions are calibrated with real runs (e).
type LivePlan struct {
	Runs     int
	AtOnce   int           // 1: beside an idle processor; 2: one on each
	Length   time.Duration // of a program alone
	Sample   time.Duration // how often it is looked at; loads change as fast as it says
	Learn    int           // runs alone before, from which it is known what a program needs
	Programs []string
	Choosing bool     // use the loads for choosing the constants of the predictor, not those for checking it
	Records  string   // the folder with the recorded loads
	File     string   // each run is kept here when it is over
	Continue bool     // make those runs only that are not there
	Spinner  []string `json:"-"` // command of a program that takes part of a processor; nil: this program
}

// LiveRun is one of the real runs.
type LiveRun struct {
	N       int
	Load    string
	Program string
	Argv    []string
	CPU     int     // processor that it ran on
	Steps   bool    // it was also predicted from the progress that it reports
	Took    float64 // seconds from its start to its end
	Used    float64 // CPU seconds
	Others  float64 // CPU seconds of those that competed
	Foreign float64 // CPU seconds of whoever else was there
	Steal   float64 // seconds that the hypervisor took
	Points  []LivePoint
}

// LivePoint is a prediction in a live run, all in seconds since its start.
type LivePoint struct {
	At, CPU, Share   float64
	Early, Mid, Late float64
	Need             float64 // CPU seconds of the whole, the median
	Slowness         float64 // of its processor in the mean so far, see api.Job
}

// JudgedPredictions is what its predictions are worth, by the same rule as simulated ones.
func (r *LiveRun) JudgedPredictions() []calibration.Judged {
	var list []calibration.Judged
	due := calibration.Due{End: r.Took}
	for _, p := range r.Points {
		if m, ok := due.MomentAt(p.At); ok {
			list = append(list, calibration.Judged{Run: liveRuns + uint64(r.N), Load: r.Load, Moment: m, Actual: r.Took - p.At,
				AsNow: max(p.Need-p.CPU, 0) / max(p.Share, 0.01), Low: p.Early - p.At, Mid: p.Mid - p.At, High: p.Late - p.At})
		}
	}
	return list
}

// NeedKnown judges the run as if what it needed had been known before.
func (r *LiveRun) NeedKnown() []calibration.Judged {
	var at, cpu []float64
	for _, p := range r.Points {
		at, cpu = append(at, p.At), append(cpu, p.CPU)
	}
	list := calibration.ReplayRun(r.Used, 0.005, r.Took, at, cpu)
	for i := range list {
		list[i].Run, list[i].Load = liveRuns+uint64(r.N), r.Load
	}
	return list
}

// liveRuns is the number of the first live run among all runs that are judged: far
// from the seeds of the simulated ones.
const liveRuns = 1 << 40

// LiveResults are the real runs of the calibration and where they were made.
type LiveResults struct {
	Plan    LivePlan
	Machine measured.Machine
	Runs    []LiveRun
}

// changingLoads are the kinds of load under which the share changes.
func changingLoads(kinds []loads.Kind) []loads.Kind {
	var list []loads.Kind
	for _, k := range kinds {
		if k.Name != loads.Alone {
			list = append(list, k)
		}
	}
	return list
}

// inTurn says which kind run n has, so that at any time there were as many of each
// as their parts of the whole ask for.
func inTurn(kinds []loads.Kind, n int) int {
	total := 0
	for _, k := range kinds {
		total += k.Runs
	}
	counts := make([]int, len(kinds))
	next := 0
	for i := range n + 1 {
		least := 0.0
		next = 0
		for k := range kinds {
			if behind := float64(kinds[k].Runs*(i+1))/float64(total) - float64(counts[k]); behind > least {
				next, least = k, behind
			}
		}
		counts[next]++
	}
	return next
}

// liveBed is what the runs of (e) share.
type liveBed struct {
	*Bed
	plan  *Plan
	kinds []loads.Kind
	seed  uint64
	names []string
	jobs  []jobfile.Job // one for each name
	file  *liveFile

	mu   sync.Mutex
	done int
}

// calibrateLive makes the real runs that the file of the plan does not have yet.
func (p *Plan) calibrateLive(ctx context.Context, programs []Program, home int) (err error) {
	file, had, err := openLive(&p.Live)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	var missing []int
	for n := range p.Live.Runs {
		if !had[n] {
			missing = append(missing, n)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	b := &liveBed{plan: p, file: file, done: p.Live.Runs - len(missing)}
	var without []error
	b.kinds, b.seed, without = loads.CalibrationLoads(p.Live.Records, !p.Live.Choosing)
	b.kinds = changingLoads(b.kinds)
	for _, err := range without {
		p.sayLine("a generated load stands for a recorded one: %v", err)
	}
	if b.Bed, err = NewBed(ctx, p.Agent, p.Live.Sample); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	for i := range programs {
		if err := b.learnNeed(ctx, &programs[i], home); err != nil {
			return err
		}
	}
	if err := b.runAll(ctx, missing); err != nil {
		return fmt.Errorf("%d of %d runs are kept in %s: %w", b.done, p.Live.Runs, p.Live.File, err)
	}
	return nil
}

// learnNeed runs a program alone, so that it is known what it needs.
func (b *liveBed) learnNeed(ctx context.Context, prog *Program, home int) error {
	unit, err := prog.measureUnit(ctx, home)
	if err != nil {
		return err
	}
	spec, err := b.newJob(prog, b.plan.Live.Length.Seconds()/unit.CPU, "restart")
	if err != nil {
		return err
	}
	spec.Adapt = jobfile.AdaptOff
	for i := range b.plan.Live.Learn {
		r, err := b.runOne(ctx, &LiveRun{CPU: home}, spec, nil)
		if err != nil {
			return err
		}
		b.plan.sayLine("learning what %s needs, run %d of %d: %.2f s of CPU time in %.2f s", prog.Name, i+1,
			b.plan.Live.Learn, r.Used, r.Took)
	}
	b.names, b.jobs = append(b.names, prog.Name), append(b.jobs, spec)
	return nil
}

// runAll makes runs, as many at once as the plan says.
func (b *liveBed) runAll(ctx context.Context, missing []int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int, len(missing))
	for _, n := range missing {
		next <- n
	}
	close(next)
	places := []string{Home, Away}[:min(max(b.plan.Live.AtOnce, 1), 2)]
	var all sync.WaitGroup
	for _, place := range places {
		all.Go(func() {
			for n := range next {
				if err := b.runNumbered(ctx, n, place); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// runNumbered makes run n and keeps it.
func (b *liveBed) runNumbered(ctx context.Context, n int, place string) error {
	l := &b.plan.Live
	k := &b.kinds[inTurn(b.kinds, n)]
	random := rand.New(rand.NewPCG(b.seed+uint64(n), liveStream))
	which := random.IntN(len(b.jobs))
	r := &LiveRun{N: n, Load: k.Name, CPU: b.Core[place], Program: b.names[which], Steps: random.IntN(2) == 1}
	samples := l.Length.Seconds() / l.Sample.Seconds()
	demands := k.ProgramDemands(k.Make(random, samples), int(longest*samples))
	spec := b.jobs[which]
	spec.On = []string{place}
	if r.Steps {
		spec.Progress = reported
	}
	r, err := b.runOne(ctx, r, spec, demands)
	if err == nil {
		err = b.file.addRun(r)
	}
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done++
	v := calibration.SumUp(r.JudgedPredictions())
	b.plan.sayLine("run %d of %d, %s under %s: %.1f s, error %.1f %%, %.0f of %d bands held, need %.2f s, %.1f %% stolen",
		b.done, l.Runs, r.Program, r.Load,
		r.Took, 100*v.Middle, v.Holds*float64(v.N), v.N, r.Used, 100*r.Steal/r.Took)
	return nil
}

const (
	// reported is the pattern of the progress of the programs, as in their job files.
	reported   = `step (\d+)/(\d+)`
	liveStream = 77 // of random numbers: other than that of the simulated runs
	longest    = 30 // times as long as alone a load is prepared for
)

// runOne runs a job while others take from its processor what they are told.
func (b *liveBed) runOne(ctx context.Context, r *LiveRun, spec jobfile.Job,
	demands [][]float64) (_ *LiveRun, err error) {
	others, err := b.plan.startSpinners(r.CPU, b.plan.Live.Sample, demands)
	if err != nil {
		return nil, err
	}
	defer func() {
		_, e := others.stopAll()
		err = errors.Join(err, e)
	}()
	id, err := b.SubmitJob(ctx, &spec)
	if err != nil {
		return nil, err
	}
	r.Argv = shortCommand(spec.Argv)
	before, err := processorTimes(r.CPU)
	var final api.Job
	var last time.Time
	if err == nil {
		err = b.Client.WatchJob(ctx, fmt.Sprint(id), func(l *api.Live) error {
			final = l.Job
			if final.State == core.Running && !others.begun {
				if err := others.beginComputing(); err != nil {
					return err
				}
			}
			if e := final.PredictedEnd; final.State == core.Running && e != nil && !e.Equal(last) {
				last = e.Time
				r.addPrediction(&final, b.Clock())
			}
			return nil
		})
	}
	if err != nil {
		_, e := b.Client.CancelJob(context.WithoutCancel(ctx), fmt.Sprint(id))
		return nil, errors.Join(err, e)
	}
	after, err := processorTimes(r.CPU)
	if err != nil {
		return nil, err
	}
	if r.Others, err = others.stopAll(); err != nil {
		return nil, err
	}
	if code := final.ExitCode; code == nil || *code != 0 {
		return nil, fmt.Errorf("%s: job %d is %s: %s", spec.Name, id, final.State, final.Why)
	}
	r.Took, r.Used = secondsBetween(final.Started, final.Ended), final.CPUS
	r.Steal = after.steal - before.steal
	r.Foreign = max(0, after.busy-before.busy-r.Used-r.Others)
	return r, nil
}

// addPrediction adds what is predicted now.
func (r *LiveRun) addPrediction(j *api.Job, now time.Time) {
	if j.Started == nil || j.Share == nil || j.Progress == nil || *j.Progress <= 0 {
		return
	}
	slowness := 0.0
	if j.Slowness != nil {
		slowness = *j.Slowness
	}
	r.Points = append(r.Points, LivePoint{Slowness: slowness, At: now.Sub(j.Started.Time).Seconds(), CPU: j.CPUS,
		Share: *j.Share, Need: j.CPUS / *j.Progress,
		Early: secondsBetween(j.Started, j.EndEarly), Mid: secondsBetween(j.Started, j.PredictedEnd),
		Late: secondsBetween(j.Started, j.EndLate)})
}
