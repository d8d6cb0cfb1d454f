package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/agent/output"
	"github.com/godwit-hpc/godwit/internal/agent/parallel"
	"github.com/godwit-hpc/godwit/internal/agent/report"
	"github.com/godwit-hpc/godwit/internal/agent/watch"
	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
	"github.com/godwit-hpc/godwit/internal/host/checkpoint/sandbox"
	"github.com/godwit-hpc/godwit/internal/protocol/poolwork"
	"github.com/godwit-hpc/godwit/internal/protocol/selfreport"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/checkpointing"
)

// preparation brings the work folder and starts the program, in a goroutine of
// its own.
type preparation struct {
	attempt *wire.Attempt
	folder  folder
	around  *hostServices
	spool   *output.Spool
	report  *report.Folder
	depot   brokerDepot
	plain   bool // the sandbox has been tried and is not to be used
	carried wire.Carried
	came    time.Time // when the last of that did

	begin    <-chan []wire.Contact // says when all parts are ready
	contacts []wire.Contact        // where they are; nil: not known yet, or there is one
	meeting  *parallel.Meeting     // where the others reach this one; nil: they need not
	joint    jointProgram

	tell func(func(*life)) // has the owner call it, and waits until it has
	life context.Context   // of the agent: a program that is being started is not given up before
}

// started is a program that runs.
type started struct {
	run     checkpoint.Run
	method  checkpoint.Method
	program *checkpoint.Program
	pipes   *output.Pipes
	choice  checkpointing.MethodChoice
	saved   *wire.Saved // that it continues; nil: from the beginning
	tree    *depot.Tree // of the work folder; nil: it was empty
	carried wire.Carried
	// exported are variables that the setup line left, for who continues.
	exported []string
}

// outcome ends an attempt whose program never ran, or not for long.
type outcome struct{ message wire.Message }

func (o *outcome) Error() string { return o.message.Why }

func lostOutcome(format string, args ...any) error {
	return &outcome{wire.Message{Kind: wire.Lost, Why: fmt.Sprintf(format, args...)}}
}

func failedOutcome(code int, why string) error {
	return &outcome{wire.Message{Kind: wire.Ended, Code: code, Why: why}}
}

// startProgram starts the program from the newest checkpoint that is sound, or else
// from the beginning.
func (p *preparation) startProgram(ctx context.Context) (*started, error) {
	if err := os.MkdirAll(p.folder.workDir(), 0o700); err != nil {
		return nil, lostOutcome("%v", err)
	}
	for i := range p.attempt.Saved {
		s, err := p.continueFrom(ctx, &p.attempt.Saved[i])
		if err == nil || ctx.Err() != nil {
			return s, err
		}
		if o := new(outcome); errors.As(err, &o) {
			return nil, err
		}
		p.noteBadCheckpoint(p.attempt.Saved[i].N, i+1, err)
	}
	return p.startFromBeginning(ctx)
}

// noteBadCheckpoint tells that a checkpoint could not be used.
func (p *preparation) noteBadCheckpoint(n, next int, err error) {
	instead := "from the beginning"
	if next < len(p.attempt.Saved) {
		instead = fmt.Sprintf("with checkpoint %d", p.attempt.Saved[next].N)
	}
	p.tell(func(l *life) {
		l.sendNote("checkpoint", "not continued with checkpoint "+fmt.Sprint(n)+" but "+instead, err.Error(), nil)
	})
}

// continueFrom brings one checkpoint and starts from it. An outcome ends the
// attempt; any other error means that this checkpoint is of no use.
func (p *preparation) continueFrom(ctx context.Context, saved *wire.Saved) (*started, error) {
	method, err := p.around.methods(saved.Method)
	if err != nil {
		return nil, fmt.Errorf("it needs method %s, which cannot be used here: %w", saved.Method, err)
	}
	tree, err := p.fetchTree(ctx, saved.Work, p.folder.workDir())
	if err != nil {
		return nil, err
	}
	if err := p.placeInputs(ctx, true); err != nil {
		return nil, err
	}
	image := filepath.Join(p.folder.scratchDir(), fmt.Sprintf("restore.%d", saved.N))
	if err := os.MkdirAll(image, 0o700); err != nil {
		return nil, lostOutcome("%v", err)
	}
	if _, err := p.fetchTree(ctx, saved.Image, image); err != nil {
		return nil, err
	}
	s := &started{method: method, saved: saved, tree: tree,
		choice: checkpointing.MethodChoice{Method: saved.Method, Why: fmt.Sprintf("continues checkpoint %d", saved.N)}}
	if err := p.openOutput(s, saved.Out, saved.Err); err != nil {
		return nil, err
	}
	s.exported = saved.Exported
	s.program.Env = setEnvironment(s.program.Env, s.exported)
	p.report.SetSize(max(p.attempt.Procs, 1), 0)
	p.report.SetSteps(selfreport.Report{Done: saved.StepsDone, All: saved.StepsAll})
	if err := p.launchProgram(ctx, s, image); err != nil {
		return nil, err
	}
	return s, nil
}

func (p *preparation) startFromBeginning(ctx context.Context) (*started, error) {
	tree, err := p.fetchWork(ctx)
	if err != nil {
		return nil, err
	}
	if err := p.placeInputs(ctx, false); err != nil {
		return nil, err
	}
	pick, err := p.pickMethod()
	if err != nil {
		return nil, failedOutcome(126, err.Error())
	}
	method, err := p.around.methods(pick.Method)
	if err != nil {
		return nil, failedOutcome(126, fmt.Sprintf("checkpoint method %s cannot be used here: %v", pick.Method, err))
	}
	if err := p.awaitOthers(ctx); err != nil {
		return nil, err
	}
	s := &started{method: method, choice: pick, tree: tree}
	if err := p.openOutput(s, 0, 0); err != nil {
		return nil, err
	}
	err = p.buildOrReuse(ctx, s)
	if err == nil {
		err = p.setUp(ctx, s)
	}
	if err != nil {
		s.pipes.FinishReading()
		return nil, err
	}
	p.report.SetSize(max(p.attempt.Procs, 1), 0)
	p.report.SetSteps(selfreport.Report{}) // of one that ran before in a sandbox
	if err := p.launchProgram(ctx, s, ""); err != nil {
		if p.mayDropSandbox(ctx, s, err) {
			return p.startFromBeginning(ctx)
		}
		return nil, err
	}
	return s, nil
}

// fetchWork brings the work folder as it was submitted. What the depot does not have,
// or has damaged, it will not have for the next attempt either; it is asked twice, so
// that what only the way here did to it is not taken for that.
func (p *preparation) fetchWork(ctx context.Context) (*depot.Tree, error) {
	tree, err := p.fetchTree(ctx, p.attempt.Work, p.folder.workDir())
	if isGone(err) {
		tree, err = p.fetchTree(ctx, p.attempt.Work, p.folder.workDir())
	}
	if o := new(outcome); err == nil || errors.As(err, &o) || ctx.Err() != nil {
		return tree, err
	}
	if isGone(err) {
		return nil, &outcome{wire.Message{Kind: wire.Lost, Cause: wire.WorkDamaged,
			Why: fmt.Sprintf("its working directory is damaged in the broker's depot, submit it again (%v)", err)}}
	}
	return nil, lostOutcome("the working directory: %v", err)
}

// isGone says whether an error means that the depot does not have what was asked for.
func isGone(err error) bool {
	return errors.Is(err, depot.ErrMissing) || errors.Is(err, depot.ErrDamaged)
}

// mayDropSandbox says whether a sandbox that did not start, and that nobody asked
// for, is to be done without.
func (p *preparation) mayDropSandbox(ctx context.Context, s *started, err error) bool {
	m := p.attempt.Spec.Checkpoint.Method
	if o := new(outcome); ctx.Err() != nil || s.choice.Method != checkpointing.MethodSandbox ||
		m == checkpointing.MethodSandbox ||
		errors.As(err, &o) && o.message.Kind == wire.Ended {
		return false
	}
	p.plain = true
	p.tell(func(l *life) {
		l.sendNote("method", checkpointing.MethodRestart, "the sandbox did not start: "+err.Error(), nil)
	})
	return true
}

// openOutput opens the pipes of a program whose output begins at these offsets.
func (p *preparation) openOutput(s *started, out, err int64) error {
	again := p.attempt.Epoch > 1 || p.plain
	p.tell(func(l *life) { l.outputBegins(out, err, again) })
	pipes, e := output.OpenPipes(p.spool)
	if e != nil {
		return lostOutcome("%v", e)
	}
	s.pipes, s.program = pipes, p.buildProgram(pipes, s.choice.Method)
	return nil
}

// launchProgram starts the program.
func (p *preparation) launchProgram(ctx context.Context, s *started, image string) error {
	run, err := p.runMethod(ctx, s, image)
	if err == nil {
		s.run = run
		return nil
	}
	s.pipes.FinishReading()
	if le := new(checkpoint.LaunchError); errors.As(err, &le) {
		return failedOutcome(le.Code, le.Why)
	}
	if image == "" && ctx.Err() == nil {
		return lostOutcome("the program could not be started: %v", err)
	}
	return err
}

func (p *preparation) runMethod(ctx context.Context, s *started, image string) (checkpoint.Run, error) {
	if s.choice.Method != checkpointing.MethodRestart { // which keeps nothing anywhere
		if err := os.MkdirAll(s.program.Scratch, 0o700); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := p.report.SetConfined(s.choice.Method == checkpointing.MethodSandbox); err != nil {
		return nil, err
	}
	return s.method.StartProgram(p.life, s.program, image)
}

// pickMethod chooses the checkpoint method.
func (p *preparation) pickMethod() (checkpointing.MethodChoice, error) {
	a := p.attempt
	w := checkpointing.MethodInputs{Method: a.Spec.Checkpoint.Method, Signal: a.Spec.Checkpoint.Signal,
		Files:       a.Spec.Checkpoint.Files,
		SandboxCost: a.SandboxCost, HasDeadline: a.Deadline > 0 && a.Spec.Adapt == "", IsPredictable: len(a.Need) > 0 ||
			a.Spec.Progress != "",
		ExpectedRun: watch.ExpectedRunTime(a)}
	if p.plain {
		return checkpointing.MethodChoice{Method: checkpointing.MethodRestart,
			Why: "the sandbox was tried and is not for this program"}, nil
	}
	w.WhyNoSandbox = func() string {
		if len(parallel.HostsOf(a)) > 1 {
			return "it is spread over several hosts"
		}
		if _, err := p.around.methods(checkpointing.MethodSandbox); err != nil {
			return err.Error()
		}
		return whyGPUsCannotBeSaved(p.visibleGPUs())
	}
	return checkpointing.ChooseMethod(w)
}

// buildProgram is the program as the job describes it.
func (p *preparation) buildProgram(pipes *output.Pipes, method string) *checkpoint.Program {
	a, ours := p.attempt, ownEnvironment()
	more := map[string]string{}
	maps.Copy(more, wire.PartVariables(a.Part, p.contacts))
	if method != checkpointing.MethodSandbox { // from where neither our files nor other hosts are seen
		maps.Copy(more, parallel.MPIVariables(a, p.folder.filePath("hosts"), p.folder.lostHost(), ours))
	}
	if dir := p.report.Path(); dir != "" {
		more[selfreport.FolderVariable] = dir
	}
	argv, isWorker := workerCommand(a.Spec.Argv)
	if isWorker {
		more[poolwork.BrokerVariable] = a.Broker
	}
	maps.Copy(more, p.joint.variables)
	argv = p.joint.command(argv)
	stderr := pipes.Writers[1]
	if a.Spec.Merge {
		stderr = pipes.Writers[0]
	}
	env := programEnvironment(a, p.folder.workDir(), ours, more)
	return &checkpoint.Program{
		Argv: argv, Restart: a.Spec.Checkpoint.Restart, Env: env, GPUs: visibleGPUs(env, sandbox.DeviceFiles()),
		Stdin: stdinOf(a), Dir: p.folder.workDir(), Scratch: p.folder.scratchDir(), Stdout: pipes.Writers[0], Stderr: stderr,
		Mark: a.Mark, CPUs: a.CPUs, Cgroup: a.Cgroup, Report: p.report.Path(),
		Limits: checkpoint.Limits{Processes: a.Spec.Processes},
		Signal: a.Spec.Checkpoint.Signal, Files: a.Spec.Checkpoint.Files, CPUFeatures: a.CPUFeatures,
	}
}

// visibleGPUs are the device files of this host's GPUs if the program may use any.
func (p *preparation) visibleGPUs() []string {
	return visibleGPUs(programEnvironment(p.attempt, p.folder.workDir(), ownEnvironment(), nil), sandbox.DeviceFiles())
}

// workerCommand is the command of a job; if that is to be a worker of a pool, our own binary is
// put in its place.
func workerCommand(argv []string) ([]string, bool) {
	self, err := os.Executable()
	if len(argv) == 0 || argv[0] != poolwork.Program || err != nil {
		return argv, false
	}
	return append([]string{self, poolwork.Subcommand}, argv[1:]...), true
}

// stdinOf is the file that the program reads as its standard input; "": none.
func stdinOf(a *wire.Attempt) string {
	if a.Spec.Stdin {
		return jobfile.StdinFile
	}
	return ""
}

// fetchTree makes dir hold a tree of the depot, trying as long as the broker cannot
// be reached. That the tree is damaged is an error to go on from; that it cannot
// be written here is an outcome.
func (p *preparation) fetchTree(ctx context.Context, id, dir string) (*depot.Tree, error) {
	if id == "" {
		if err := emptyFolder(dir); err != nil {
			return nil, lostOutcome("%v", err)
		}
		return nil, nil
	}
	var tree *depot.Tree
	before, tries := p.depot.Traffic(), 0
	err := p.around.retryAway(ctx, func() (err error) {
		tries++
		tree, err = depot.FetchTree(ctx, p.depot, depot.ID(id), dir)
		return err
	})
	switch {
	case err == nil:
		if tries == 1 { // else it tells how long nobody was there
			came := p.depot.Traffic().Since(before)
			p.carried.Bytes, p.carried.Took = p.carried.Bytes+came.Received, p.carried.Took+came.Busy
			p.came = p.around.clock()
		}
		return tree, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT), errors.Is(err, unix.EROFS),
		errors.Is(err, fs.ErrPermission):
		return nil, lostOutcome("bringing the files: %v", err)
	}
	return nil, err
}

// emptyFolder empties a folder: an earlier try may have put something there.
func emptyFolder(dir string) error {
	list, err := os.ReadDir(dir)
	for _, e := range list {
		if err == nil {
			err = os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
	return err
}

// programEnvironment is ours, with what the job sets, and a few variables that tell the
// program where it is.
func programEnvironment(a *wire.Attempt, dir string, ours []string, more map[string]string) []string {
	set := map[string]string{
		"PWD": dir, "GODWIT_JOB": fmt.Sprint(a.Job), "GODWIT_PROCS": fmt.Sprint(max(a.Procs, 1)), "GODWIT_ATTEMPT": a.Mark,
	}
	if a.Spec.Array != (jobfile.ArrayRange{}) {
		set["GODWIT_INDEX"] = fmt.Sprint(a.Index)
	}
	maps.Copy(set, more)
	maps.Copy(set, parallel.ManagerVariables(a, dir, ours))
	maps.Copy(set, a.Spec.Env)
	set["GODWIT_ATTEMPT"] = a.Mark
	// Who submits a job from within another one sends that one's environment along.
	if delete(set, selfreport.FolderVariable); more[selfreport.FolderVariable] != "" {
		set[selfreport.FolderVariable] = more[selfreport.FolderVariable]
	}
	env := make([]string, 0, len(ours)+len(set))
	for _, v := range ours {
		name, _, _ := strings.Cut(v, "=")
		if _, ok := set[name]; !ok && !strings.HasPrefix(name, "GODWIT_") {
			env = append(env, v)
		}
	}
	return append(env, sortedEnv(set)...)
}
