package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/agent/save"
	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
	"github.com/godwit-hpc/godwit/internal/host/proctree"
	"github.com/godwit-hpc/godwit/internal/protocol/selfreport"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/checkpointing"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// The test binary is also the agent that tests kill: run with this variable
// set to an attempt's folder it attends to that.
const asAgent = "GODWIT_TEST_AGENT"

// withSteps set means that the method exit85 is stepsMethod.
const withSteps = "GODWIT_TEST_STEPS"

// withLog set to a file means that the agent writes its log there.
const withLog = "GODWIT_TEST_LOG"

// asGuard set to an attempt's folder makes it the guard of that.
const asGuard = "GODWIT_TEST_GUARD"

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "agent" { // below a guard
		if _, err := testAround(toldToLeave()).serveFolder(folder{os.Args[2]}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if dir := os.Getenv(asGuard); dir != "" {
		os.Exit(RunGuard(dir))
	}
	if dir := os.Getenv(asAgent); dir != "" {
		ar := testAround(nil)
		if os.Getenv(withSteps) != "" {
			ar.methods = stepsMethods
		}
		if name := os.Getenv(withLog); name != "" {
			file, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			ar.log = slog.New(slog.NewTextHandler(file, nil))
		}
		if _, err := ar.serveFolder(folder{dir}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("os/signal.loop"),
		goleak.IgnoreTopFunction("os/signal.signal_recv"),
		goleak.IgnoreAnyFunction("github.com/godwit-hpc/godwit/internal/host/proctree.reapForever"))
}

func toldToLeave() <-chan os.Signal {
	leave := make(chan os.Signal, 1)
	signal.Notify(leave, unix.SIGTERM)
	return leave
}

// testAround is the machine with methods of the test's own.
func testAround(signals <-chan os.Signal) *hostServices {
	return &hostServices{
		clock: clock.RealClock(), log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		methods: testMethods, depot: depotOf, signals: signals,
		usage:        func(mark string) proctree.Usage { return proctree.TreeOf(mark).ReadUsage() },
		kill:         proctree.KillLeftovers,
		sentry:       sentryTime,
		pulse:        pulseOf,
		free:         save.FreeSpace,
		held:         func(mark string) int64 { return proctree.TreeOf(mark).ProportionalMemory() },
		spent:        spentByChildren,
		adopt:        func(mark string, pid int) error { return proctree.TreeOf(mark).AdoptChild(pid) },
		confine:      proctree.ConfineMarked,
		memory:       selfreport.MemoryFolder,
		spoolSegment: 32 << 10, spoolLimit: 1 << 20,
		firstTry: time.Millisecond, longestTry: 20 * time.Millisecond, grace: 10 * time.Second,
	}
}

func testMethods(name string) (checkpoint.Method, error) {
	switch name {
	case checkpointing.MethodRestart:
		return plainMethod{}, nil
	}
	return nil, fmt.Errorf("the tests have no method %s", name)
}

func stepsMethods(name string) (checkpoint.Method, error) {
	if name == checkpointing.MethodExit85 {
		return stepsMethod{}, nil
	}
	return testMethods(name)
}

// harness is a broker and one attempt.
type harness struct {
	*fakeBroker
	attempt *wire.Attempt
	around  *hostServices
	dir     string
	signals chan os.Signal
	over    chan error
	samples chan struct{} // one for each sample of the program, see countSamples
}

var marks atomic.Int64

func newHarness(t testing.TB, argv ...string) *harness {
	t.Helper()
	b := newFakeBroker(t)
	signals := make(chan os.Signal, 1)
	h := &harness{fakeBroker: b, around: testAround(signals), dir: t.TempDir(), signals: signals}
	h.attempt = &wire.Attempt{
		Job: 7, Epoch: 1, Mark: fmt.Sprintf("test-%d-%d", os.Getpid(), marks.Add(1)), Cluster: "here",
		Spec: jobfile.Job{Argv: argv, Min: 1, Max: 1,
			Checkpoint: jobfile.Checkpoint{Method: checkpointing.MethodRestart, Every: -1}},
		Procs: 1, Speed: 1, Broker: b.socket, Every: wire.Every{Sample: 100 * time.Millisecond}, Now: core.AtSecond(1000),
	}
	t.Cleanup(func() {
		left, err := proctree.MarkedProcesses(h.attempt.Mark)
		if err != nil || len(left) > 0 {
			t.Errorf("processes left behind: %v, %v", left, err)
			_, _ = proctree.KillLeftovers(context.Background(), h.attempt.Mark)
		}
		proctree.TreeOf(h.attempt.Mark).Close()
	})
	return h
}

// receiveSignal waits for what a channel tells.
func receiveSignal(t testing.TB, what string, from <-chan struct{}) {
	t.Helper()
	select {
	case <-from:
	case <-time.After(patience):
		t.Fatalf("waited in vain for %s", what)
	}
}

// countSamples has awaitSamples learn of every look at what the program uses.
func (h *harness) countSamples() {
	usage := h.around.usage
	h.samples = make(chan struct{}, 1000)
	h.around.usage = func(mark string) proctree.Usage {
		select {
		case h.samples <- struct{}{}:
		default: // nobody counts
		}
		return usage(mark)
	}
}

// awaitSamples waits until the program was looked at so many times more.
func (h *harness) awaitSamples(n int) {
	h.t.Helper()
	for len(h.samples) > 0 {
		<-h.samples
	}
	for range n {
		receiveSignal(h.t, "a sample of the program", h.samples)
	}
}

// next is an attempt after this one, on the same broker, in a folder of its own.
func (h *harness) next(saved ...wire.Saved) {
	h.t.Helper()
	a := *h.attempt
	a.Epoch++
	a.Mark = fmt.Sprintf("test-%d-%d", os.Getpid(), marks.Add(1))
	a.Saved = saved
	h.attempt, h.dir = &a, h.t.TempDir()
}

// begin runs the attempt's agent in this process.
func (h *harness) begin() {
	h.t.Helper()
	h.write()
	h.over = make(chan error, 1)
	go func(ar *hostServices, dir string) {
		_, err := ar.serveFolder(folder{dir})
		h.over <- err
	}(h.around, h.dir)
}

func (h *harness) write() {
	h.t.Helper()
	text, err := json.Marshal(h.attempt)
	if err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.dir, "attempt.json"), text, 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// wait waits until the agent is done.
func (h *harness) wait() {
	h.t.Helper()
	select {
	case err := <-h.over:
		if err != nil {
			h.t.Fatal(err)
		}
	case <-time.After(patience):
		h.mu.Lock()
		defer h.mu.Unlock()
		h.t.Fatalf("the agent does not end; messages: %s", kinds(h.messages))
	}
}

// run runs the attempt from its begin to its end.
func (h *harness) run() {
	h.t.Helper()
	h.start()
	h.begin()
	h.wait()
}

// spawn runs the attempt's agent in a process of its own.
func (h *harness) spawn() *exec.Cmd {
	h.t.Helper()
	self, err := os.Executable()
	if err != nil {
		h.t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), asAgent+"="+h.dir)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	return cmd
}

// ended is the one message that says how the attempt ended.
func (h *harness) ended() wire.Message {
	h.t.Helper()
	list := h.endings()
	if len(list) != 1 {
		h.t.Fatalf("the end was told %d times: %s", len(list), kinds(list))
	}
	return list[0]
}

// plainMethod starts a program as it is.
type plainMethod struct{}

func (plainMethod) Name() string { return checkpointing.MethodRestart }

func (plainMethod) StartProgram(_ context.Context, p *checkpoint.Program, image string) (checkpoint.Run, error) {
	tree := proctree.TreeOf(p.Mark)
	first, err := tree.Start(proctree.Spec{Argv: p.Argv, Env: p.Env, Dir: p.Dir, Stdout: p.Stdout, Stderr: p.Stderr,
		CPUs: p.CPUs, Limits: p.Limits})
	if err != nil {
		return nil, err
	}
	r := &plainRun{first: first, tree: tree, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		<-first.Done()
		_ = tree.KillAll(context.Background(), 0)
	}()
	return r, nil
}

type plainRun struct {
	first *proctree.Process
	tree  *proctree.Tree
	done  chan struct{}
}

func (r *plainRun) RootPID() int { return r.first.Pid }
func (r *plainRun) SaveImage(context.Context, string, bool, func() error) error {
	return checkpoint.ErrNothingToSave
}
func (r *plainRun) KillProgram() { _ = r.tree.KillAll(context.Background(), 0); <-r.done }
func (r *plainRun) TerminateProgram(grace time.Duration) {
	_ = r.tree.KillAll(context.Background(), grace)
	<-r.done
}
func (r *plainRun) Done() <-chan struct{} { return r.done }
func (r *plainRun) Result() checkpoint.Result {
	e := r.first.ExitStatus()
	return checkpoint.Result{Code: e.Code, Signal: e.Signal, CPU: e.CPU}
}

// stepsMethod runs a program that is a goroutine: it counts to Argv[1], writing
// a line each step to both streams and to the file "log" of its work folder. Its
// image is the step it has reached. Argv[2], if given, is a pause between steps.
type stepsMethod struct{}

func (stepsMethod) Name() string { return "steps" }

// Failures that a test may order. They are taken by the next save.
var stepsTrouble struct {
	sync.Mutex
	beforeFreeze, afterFreeze error
	frozen                    func() // called while the program stands still
	start                     error
	hold                      int // the step that none goes beyond, unless it is 0
}

// holdAt keeps programs from going on beyond a step, so that they do not end before
// the test has done what it has to; 0 lets them go on.
func (h *harness) holdAt(step int) {
	hold := func(step int) {
		stepsTrouble.Lock()
		defer stepsTrouble.Unlock()
		stepsTrouble.hold = step
	}
	hold(step)
	h.t.Cleanup(func() { hold(0) })
}

func (stepsMethod) StartProgram(_ context.Context, p *checkpoint.Program, image string) (checkpoint.Run, error) {
	stepsTrouble.Lock()
	err := stepsTrouble.start
	stepsTrouble.Unlock()
	if err != nil {
		return nil, err
	}
	r := &stepsRun{p: p, orders: make(chan func() bool), done: make(chan struct{})}
	r.to, _ = strconv.Atoi(p.Argv[1])
	if len(p.Argv) > 2 {
		r.pause, _ = time.ParseDuration(p.Argv[2])
	}
	if image != "" {
		text, err := os.ReadFile(filepath.Join(image, "step"))
		if err != nil {
			return nil, err
		}
		if r.step, err = strconv.Atoi(string(text)); err != nil {
			return nil, err
		}
	}
	go r.live()
	return r, nil
}

type stepsRun struct {
	p        *checkpoint.Program
	step, to int
	pause    time.Duration
	orders   chan func() bool // true: end
	done     chan struct{}
	result   checkpoint.Result
}

func (r *stepsRun) live() {
	defer close(r.done)
	for r.step < r.to {
		select {
		case f := <-r.orders:
			if f() {
				return
			}
		case <-time.After(r.pause):
			if !r.held() {
				r.step++
				r.write()
			}
		}
	}
	r.result.Code = 5
}

func (r *stepsRun) held() bool {
	stepsTrouble.Lock()
	defer stepsTrouble.Unlock()
	return stepsTrouble.hold > 0 && r.step >= stepsTrouble.hold
}

func (r *stepsRun) write() {
	fmt.Fprintf(r.p.Stdout, "step %d/%d\n", r.step, r.to)
	fmt.Fprintf(r.p.Stderr, "err %d\n", r.step)
	f, err := os.OpenFile(filepath.Join(r.p.Dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(f, "line %d\n", r.step)
	f.Close()
}

func (r *stepsRun) RootPID() int { return os.Getpid() }

func (r *stepsRun) SaveImage(ctx context.Context, dir string, stop bool, frozen func() error) error {
	answer := make(chan error, 1)
	order := func() bool {
		err := r.save(dir, frozen)
		r.result.Saved = err == nil && stop
		answer <- err
		return r.result.Saved
	}
	select {
	case r.orders <- order:
		err := <-answer
		if r.result.Saved {
			<-r.done
		}
		return err
	case <-r.done:
		return os.ErrProcessDone
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *stepsRun) save(dir string, frozen func() error) error {
	stepsTrouble.Lock()
	before, after, during := stepsTrouble.beforeFreeze, stepsTrouble.afterFreeze, stepsTrouble.frozen
	stepsTrouble.beforeFreeze, stepsTrouble.afterFreeze, stepsTrouble.frozen = nil, nil, nil
	stepsTrouble.Unlock()
	if before != nil {
		return before
	}
	if during != nil {
		during()
	}
	if err := frozen(); err != nil {
		return err
	}
	if after != nil {
		return after
	}
	return os.WriteFile(filepath.Join(dir, "step"), []byte(strconv.Itoa(r.step)), 0o600)
}

func (r *stepsRun) KillProgram() {
	select {
	case r.orders <- func() bool { r.result = checkpoint.Result{Code: 137, Signal: 9}; return true }:
	case <-r.done:
	}
	<-r.done
}
func (r *stepsRun) TerminateProgram(time.Duration) { r.KillProgram() }
func (r *stepsRun) Done() <-chan struct{}          { return r.done }
func (r *stepsRun) Result() checkpoint.Result      { return r.result }
