package daemon_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

// The tasks of this workflow write into a diary, outside of all folders that travel,
// when they begin and when they end.
const diaryFlow = `
version: 1
name: diary
tasks:
  - {id: first, run: "echo begin first >> $DIARY; sleep 0.2; echo x > a; echo end first >> $DIARY", outputs: a}
  - id: part
    sweep: {i: 1-8}
    run: echo begin part-{i} >> $DIARY; sleep 0.4; cat a > b.{i}; echo end part-{i} >> $DIARY
    inputs: a
    outputs: "b.{i}"
  - {id: last, run: "echo begin last >> $DIARY; cat b.* > c; echo end last >> $DIARY", inputs: "b.*", outputs: c}
`

// flowBed runs a workflow with a broker that is started by whoever needs it.
type flowBed struct {
	*testing.T
	dir, diary string
	client     *api.Client
}

func newFlowBed(t *testing.T) *flowBed {
	b := &flowBed{T: t, dir: t.TempDir()}
	b.diary = filepath.Join(b.dir, "diary")
	for name, text := range map[string]string{"config.yaml": twoClusters,
		"work/flow.yaml": strings.ReplaceAll(diaryFlow, "$DIARY", b.diary)} {
		path := filepath.Join(b.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b.client = api.DialBroker(api.SocketPath(filepath.Join(b.dir, "state")))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		ping, _ := b.client.PingBroker(ctx)
		_, _ = b.client.ShutdownBroker(ctx)
		if ping.PID > 0 {
			clocktest.WaitFor(t, "the end of the broker", func() bool { return syscall.Kill(ping.PID, 0) != nil })
		}
		b.client.Close()
		checkReplay(t, filepath.Join(b.dir, "state"))
	})
	return b
}

// flowProcess is godwit flow run.
type flowProcess struct {
	*exec.Cmd
	said  bytes.Buffer
	ended chan struct{}
	err   error // valid once it has ended
}

// run starts the workflow, or goes on with it.
func (b *flowBed) run() *flowProcess {
	b.Helper()
	return b.start("run", filepath.Join(b.dir, "work", "flow.yaml"))
}

// start starts godwit flow.
func (b *flowBed) start(args ...string) *flowProcess {
	b.Helper()
	p := &flowProcess{ended: make(chan struct{})}
	cmd := exec.Command(binary, append([]string{"flow"}, args...)...)
	cmd.Env = append(os.Environ(), "GODWIT_STATE="+filepath.Join(b.dir, "state"), "GODWIT_CONFIG="+
		filepath.Join(b.dir, "config.yaml"))
	cmd.Stdout, cmd.Stderr = &p.said, &p.said
	// A broker that it starts outlives it; only what it says itself is waited for.
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	p.Cmd = cmd
	go func() {
		defer close(p.ended)
		p.err = cmd.Wait()
	}()
	return p
}

// wait returns when it has ended, and how.
func (p *flowProcess) wait() error {
	<-p.ended
	return p.err
}

// flow runs godwit flow to its end and returns what it printed.
func (b *flowBed) flow(args ...string) string {
	b.Helper()
	p := b.start(args...)
	if err := p.wait(); err != nil {
		b.Fatalf("godwit flow %v: %v\n%s", args, err, &p.said)
	}
	return p.said.String()
}

// killBroker ends the broker as a loss of power would.
func (b *flowBed) killBroker() bool {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	ping, err := b.client.PingBroker(ctx)
	if err != nil || ping.PID <= 1 {
		return false // it is just being started
	}
	return syscall.Kill(ping.PID, syscall.SIGKILL) == nil
}

func TestAWorkflowGoesOnWhoeverIsKilledAndNoTaskRunsTwiceAfterSuccess(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	b := newFlowBed(t)
	brokers, runs := 0, 0
	run := b.run()
	over := false
	for round := 0; round < 5 && !over; round++ {
		b.untilWritten(run, 1+4*round+random.IntN(3))                  // of 20 lines
		time.Sleep(time.Duration(random.IntN(200)) * time.Millisecond) // at any moment
		who := random.IntN(3)
		if who != 1 && b.killBroker() {
			brokers++
		}
		if who != 0 {
			_ = run.Process.Kill()
			if over = run.wait() == nil; over {
				break // it had ended before it was killed
			}
			runs++
			// The workflow is the broker's and may be over by now: another run would begin anew.
			run = b.start("attach", "1")
		}
	}
	if !over {
		if err := run.wait(); err != nil {
			t.Fatalf("%v\n%s", err, &run.said)
		}
	}
	t.Logf("killed %d brokers and %d runs\n%s", brokers, runs, &run.said)
	b.checkDiary()
	if out, err := os.ReadFile(filepath.Join(b.dir, "work", "c")); err != nil || strings.Count(string(out), "x") != 8 {
		t.Errorf("the result is %q, %v", out, err)
	}
}

// A workflow that was submitted is the broker's: nobody who asked for it need be there.
func TestASubmittedWorkflowGoesOnAfterTwoBrokersWereKilledAndEveryTaskRunsOnce(t *testing.T) {
	b := newFlowBed(t)
	submitted := b.flow("submit", filepath.Join(b.dir, "work", "flow.yaml"))
	if !strings.HasSuffix(submitted, "\n1\n") {
		t.Fatalf("submitted as %q", submitted)
	}
	for _, lines := range []int{1, 7} { // while the first task runs, and between those of the sweep
		b.untilWritten(&flowProcess{}, lines)
		if !b.killBroker() {
			t.Fatal("no broker to kill")
		}
		b.flow("ps") // starts another, which goes on
	}
	if said := b.flow("attach", "1"); !strings.Contains(said, "diary: 10 of 10 tasks done") {
		t.Errorf("attached: %s", said)
	}
	b.checkDiary()
	data, _ := os.ReadFile(b.diary)
	if n := bytes.Count(data, []byte("begin ")); n != 10 {
		t.Errorf("%d tasks were begun\n%s", n, data)
	}
	if out, err := os.ReadFile(filepath.Join(b.dir, "work", "c")); err != nil || strings.Count(string(out), "x") != 8 {
		t.Errorf("the result is %q, %v", out, err)
	}
	if told := b.flow("explain", "last"); strings.Count(told, "goes on with what is stored") != 2 ||
		strings.Count(told, "task ended: ") != 10 {
		t.Error(told)
	}
}

func TestAWorkflowIsCancelledAndGoneOnWith(t *testing.T) {
	b := newFlowBed(t)
	text := "version: 1\nname: gate\ntasks:\n  - {id: first, run: \"echo ran >> " + b.diary +
		"; echo x > a\", outputs: a}\n" +
		"  - {id: second, run: \"echo waits >> " + b.diary + "; test -e " + b.dir +
		"/open || sleep 600; cp a b\", inputs: a, outputs: b}\n"
	if err := os.WriteFile(filepath.Join(b.dir, "work", "flow.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	b.flow("submit", filepath.Join(b.dir, "work", "flow.yaml"))
	b.untilWritten(&flowProcess{}, 2)
	// The one that is under way is the same.
	if again := b.flow("submit", filepath.Join(b.dir, "work", "flow.yaml")); !strings.HasSuffix(again, "\n1\n") {
		t.Errorf("submitted again as %q", again)
	}
	if said := b.flow("cancel", "gate"); !strings.Contains(said, "workflow 1 cancelled, 1 of 2 tasks done") {
		t.Errorf("cancelled: %s", said)
	}
	if said := b.flow("ps"); !strings.Contains(said, "cancelled") {
		t.Errorf("listed: %s", said)
	}
	if err := os.WriteFile(filepath.Join(b.dir, "open"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if said := b.flow("run", filepath.Join(b.dir, "work", "flow.yaml")); !strings.Contains(said,
		"gate: 2 of 2 tasks done") {
		t.Errorf("gone on with: %s", said)
	}
	data, _ := os.ReadFile(b.diary)
	if strings.Count(string(data), "ran") != 1 || strings.Count(string(data), "waits") != 2 {
		t.Errorf("the tasks wrote %q", data)
	}
	if out, err := os.ReadFile(filepath.Join(b.dir, "work", "b")); err != nil || string(out) != "x\n" {
		t.Errorf("the result is %q, %v", out, err)
	}
}

// untilWritten waits until the tasks have written so many lines, or the run is over.
func (b *flowBed) untilWritten(run *flowProcess, lines int) {
	b.Helper()
	if (clocktest.PollLoop{}).Until(func() bool {
		data, _ := os.ReadFile(b.diary)
		select {
		case <-run.ended:
			return true
		default:
			return bytes.Count(data, []byte("\n")) >= lines
		}
	}) {
		return
	}
	if run.Cmd != nil {
		_ = run.Process.Kill()
		_ = run.wait()
	}
	data, _ := os.ReadFile(b.diary)
	b.Fatalf("the workflow does not go on:\n%s\n%s\n%s", data, &run.said, b.told(""))
}

// checkDiary wants every task to have ended once, and not to have begun after that.
func (b *flowBed) checkDiary() {
	b.Helper()
	data, err := os.ReadFile(b.diary)
	if err != nil {
		b.Fatal(err)
	}
	ended := map[string]int{}
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		what, task, _ := strings.Cut(line, " ")
		if ended[task] > 0 {
			b.Errorf("%s after its end: %s", task, line)
		}
		if what == "end" {
			ended[task]++
		}
	}
	tasks := []string{"first", "last"}
	for i := range 8 {
		tasks = append(tasks, fmt.Sprintf("part-%d", i+1))
	}
	for _, task := range tasks {
		if ended[task] != 1 {
			b.Errorf("%s ended %d times\n%s", task, ended[task], b.told("diary."+task))
		}
	}
}

// told is what was decided for the jobs of a task.
func (b *flowBed) told(name string) string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	jobs, err := b.client.ListJobs(ctx, true)
	text := fmt.Sprintln(err)
	for _, j := range jobs {
		if name != "" && j.Name != name {
			continue
		}
		list, err := b.client.ExplainJob(ctx, fmt.Sprint(j.ID))
		text += fmt.Sprintln(j.ID, j.State, j.Why, err)
		for _, d := range list {
			text += fmt.Sprintf("  %7.2f %s: %s: %s\n", d.SinceS, d.Kind, d.Choice, d.Why)
		}
	}
	return text
}

func TestAWorkflowThatFailsNamesTheTaskAndFinishesTheOthers(t *testing.T) {
	b := newFlowBed(t)
	text := `
version: 1
tasks:
  - {id: bad, run: "echo tried >> ` + b.diary + `; echo no such luck >&2; exit 3", outputs: x, retry: {max: 1, on: failed}}
  - {id: behind, run: "true", inputs: x}
  - {id: other, run: "echo fine > y", outputs: y}
`
	if err := os.WriteFile(filepath.Join(b.dir, "work", "flow.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run := b.run()
	err := run.wait()
	if said := run.said.String(); run.ProcessState.ExitCode() != 1 || !strings.Contains(said, "task bad failed") ||
		!strings.Contains(said, "no such luck") {
		t.Errorf("ended with %v:\n%s", err, said)
	}
	tries, _ := os.ReadFile(b.diary)
	if n := strings.Count(string(tries), "tried"); n != 2 {
		t.Errorf("the task that fails was tried %d times, want 2", n)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "work", "y")); err != nil {
		t.Error(err)
	}
}

func TestAJobWithAKeyIsTakenInOnceAlsoByTheNextBroker(t *testing.T) {
	b := up(t, twoClusters)
	spec := job("true")
	spec.Key = "run/task/1"
	first := b.submit(spec)
	b.end(first)
	if again := b.submit(spec); again != first {
		t.Errorf("the second time it is job %s, the first time it was %s", again, first)
	}
	b.down()
	b.start()
	if again := b.submit(spec); again != first {
		t.Errorf("the next broker makes job %s of it, the first made %s", again, first)
	}
	if j, err := b.client.GetJob(context.Background(), "key:run/task/1"); err != nil || fmt.Sprint(j.ID) != first {
		t.Errorf("by its key it is %v, %v", j.ID, err)
	}
	spec.Key = "run/task/2"
	if other := b.submit(spec); other == first {
		t.Error("another key gave the same job")
	} else {
		b.end(other)
	}
}
