package daemon_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/driver/remote/sshdtest"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// fixedSizes is a cluster where sizes change only because somebody says so.
const fixedSizes = `
clusters:
  - {name: a, cpus: [0, 1], slots: 6}
policy: {malleable: none}
intervals: {sample: 200ms, shrink_grace: 20s}
`

// crowd is a job that changes its size.
func crowd(t *testing.T, blocks, low, high int) jobfile.Job {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal(err)
	}
	spec := job(python, filepath.Join(root, "examples/jobs/crowd.py"), fmt.Sprint(blocks))
	spec.Kind, spec.Min, spec.Max = core.Malleable, low, high
	spec.Checkpoint.Method = "restart"
	spec.Env["PYTHONPATH"], spec.Env["PYTHONDONTWRITEBYTECODE"] = filepath.Join(root, "program/python"), "1"
	return spec
}

// plainly runs the program of a job without a broker and returns what it prints.
func plainly(t *testing.T, spec jobfile.Job) string {
	t.Helper()
	cmd := exec.Command(spec.Argv[0], spec.Argv[1:]...)
	for name, value := range spec.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// resize asks for a size and wants it to be had.
func (b *bed) resize(id string, cores int) {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	done, err := b.client.ResizeJob(ctx, id, api.Resize{Cores: cores})
	if err != nil || !strings.Contains(done.Text, fmt.Sprintf(" %d cores", cores)) {
		b.Fatalf("to %d cores: %q, %v\n%v", cores, done.Text, err, b.explained(id, "resize", ""))
	}
}

// workers is how many processes the program says it has.
func (b *bed) workers(id string) (n int) {
	b.Helper()
	lines := strings.Split(strings.TrimSpace(b.output(id, 1)), "\n")
	_, _ = fmt.Sscanf(lines[len(lines)-1], "processes: %d", &n)
	return n
}

// A program that runs is given more and fewer cores, uses them, and what it computes does not change.
func TestARunningJobIsGivenMoreAndFewerCores(t *testing.T) {
	spec := crowd(t, 300, 1, 6)
	want := plainly(t, spec)
	file := filepath.Join(t.TempDir(), "end")
	spec.Argv = append(spec.Argv, "2000", file) // it stays until all is tried
	b := up(t, fixedSizes)
	id := b.submit(spec)
	b.until(id, running)
	clocktest.WaitFor(t, "the program to begin", func() bool { return b.workers(id) > 0 })
	random := rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))
	size, changes := b.workers(id), 0
	for changes < 12 {
		next := 1 + random.IntN(6)
		if next == size {
			continue
		}
		b.resize(id, next)
		size = next
		changes++
		if !(clocktest.PollLoop{Limit: time.Minute}).Until(func() bool { return b.workers(id) == size }) {
			t.Fatalf("it has not %d processes:\n%s\n%s\n%+v", size, b.output(id, 1), b.output(id, 2),
				b.explained(id, "resize", ""))
		}
		if j, err := b.client.GetJob(context.Background(), id); err != nil || j.Procs != size {
			t.Errorf("it is shown with %d cores, not %d: %v", j.Procs, size, err)
		}
	}
	for _, wrong := range []int{0, 7} {
		if done, err := b.client.ResizeJob(context.Background(), id, api.Resize{Cores: wrong}); err == nil {
			t.Errorf("to %d cores: %q", wrong, done.Text)
		}
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if j := b.end(id); j.State != core.Done {
		t.Fatalf("it ended %s: %s", j.State, j.Why)
	}
	out := b.output(id, 1)
	value := func(text string) (v string) {
		_, v, _ = strings.Cut(text, "primes: ")
		v, _, _ = strings.Cut(v, " ")
		return v
	}
	if value(out) != value(want) || value(out) == "" {
		t.Errorf("it printed %q, want %q", out, want)
	}
}

// allowedCPUs is on how many CPUs each process of a job may run; 0 if they differ.
func (b *bed) allowedCPUs(id string) (n int) {
	b.Helper()
	for pid := range b.inside(id) {
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(pid, &set); err != nil {
			continue // it has ended
		}
		if n != 0 && n != set.Count() {
			return 0
		}
		n = set.Count()
	}
	return n
}

// Where a core is a CPU the processes of a job keep to those that it has, also those that run already.
// The size that its user wants it to have stays until the user leaves that to the policy.
func TestAJobKeepsToTheCPUsThatItHas(t *testing.T) {
	b := up(t, strings.NewReplacer(", slots: 6", "", "policy: {malleable: none}\n", "").Replace(fixedSizes))
	keepsToCPUs(t, b, crowd(t, 100_000, 1, 2))
}

// On a machine that is reached by SSH it is the same.
func TestAJobOnAnotherMachineKeepsToTheCPUsThatItHas(t *testing.T) {
	s := sshdtest.Start(t)
	b := up(t, nearAndFar(t, s, "")).reached()
	b.far = filepath.Join(s.Dir, "far")
	spec := crowd(t, 100_000, 1, 2)
	spec.On = []string{"far"}
	keepsToCPUs(t, b, spec)
}

func keepsToCPUs(t *testing.T, b *bed, spec jobfile.Job) {
	t.Helper()
	id := b.submit(spec)
	b.until(id, running)
	clocktest.WaitFor(t, "the program to begin", func() bool { return b.workers(id) == 2 })
	for _, size := range []int{1, 2, 1} {
		b.resize(id, size)
		clocktest.WaitFor(t, fmt.Sprintf("processes on %d CPUs", size), func() bool {
			return b.workers(id) == size && b.allowedCPUs(id) == size
		})
	}
	if done, err := b.client.ResizeJob(context.Background(), id, api.Resize{Auto: true}); err != nil {
		t.Fatal(done, err)
	}
	clocktest.WaitFor(t, "the idle core to be offered", func() bool { return b.workers(id) == 2 })
	if _, err := b.client.CancelJob(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	b.end(id)
}

// A program that does not give back what it must is stopped when its time is over, and begins again with less.
func TestAProgramThatKeepsCoresItMustGiveBackIsStopped(t *testing.T) {
	spec := job("sh", "-c", "echo $GODWIT_PROCS; sleep 600")
	spec.Kind, spec.Min, spec.Max = core.Malleable, 1, 6
	b := up(t, strings.Replace(fixedSizes, "shrink_grace: 20s", "shrink_grace: 1s", 1))
	id := b.submit(spec)
	b.until(id, func(*api.Job) bool { return b.output(id, 1) == "6\n" })
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if done, err := b.client.ResizeJob(ctx, id, api.Resize{Cores: 2}); err == nil {
		t.Errorf("it has given cores back: %q", done.Text)
	}
	b.until(id, func(j *api.Job) bool {
		return j.State == core.Running && j.Attempts == 2 && b.output(id, 1) == "2\n"
	})
	if _, err := b.client.CancelJob(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	b.end(id)
}

// A broker that ends while a size changes: the next one and the program agree.
func TestASizeChangesThoughTheBrokerEndsMeanwhile(t *testing.T) {
	spec := crowd(t, 4000, 1, 6)
	b := up(t, fixedSizes)
	id := b.submit(spec)
	b.until(id, running)
	clocktest.WaitFor(t, "the program to begin", func() bool { return b.workers(id) > 0 })
	for i, size := range []int{2, 5, 1, 6, 3} {
		go func() { // the broker is gone before it can answer
			_, _ = b.client.ResizeJob(context.Background(), id, api.Resize{Cores: size})
		}()
		time.Sleep(time.Duration(i*15) * time.Millisecond) // at different moments of the change
		b.down()
		b.start()
		b.until(id, running)
		var j api.Job
		clocktest.WaitFor(t, "broker and program to agree", func() bool {
			var err error
			j, err = b.client.GetJob(context.Background(), id)
			return err == nil && j.Procs == b.workers(id)
		})
		t.Logf("%d were asked for, it has %d", size, j.Procs)
	}
	if _, err := b.client.CancelJob(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	b.end(id)
}

// A job that waits gets the cores of one that can do with fewer, which gets them back later, except for those that
// growing leaves free.
func TestAWaitingJobStartsByShrinkingOthers(t *testing.T) {
	spec := crowd(t, 100_000, 1, 6)
	b := up(t, strings.NewReplacer("malleable: none", "malleable: egs, approach: pwa", "slots: 6", "slots: 6, grow_free: 1").
		Replace(fixedSizes))
	id := b.submit(spec)
	b.until(id, running)
	clocktest.WaitFor(t, "it to have all cores", func() bool { return b.workers(id) == 6 })
	rigid := job("true")
	rigid.Min, rigid.Max = 4, 4
	begin := time.Now()
	if j := b.end(b.submit(rigid)); j.State != core.Done {
		t.Fatalf("the other ended %s: %s", j.State, j.Why)
	}
	t.Logf("the other had ended after %v", time.Since(begin).Round(time.Millisecond))
	clocktest.WaitFor(t, "it to have all cores but one again", func() bool { return b.workers(id) == 5 })
	if j, err := b.client.GetJob(context.Background(), id); err != nil || j.State != core.Running || j.Migrations > 0 {
		t.Errorf("it is %s after %d migrations: %v", j.State, j.Migrations, err)
	}
	if _, err := b.client.CancelJob(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	b.end(id)
}

// selfSaving counts, saves itself when it is told to, and says with how many cores it began and from where.
const selfSaving = `
n=$(cat state 2>/dev/null || echo 0)
trap 'echo $((n+1)) > state; exit 0' USR1
echo "begins with $GODWIT_PROCS at $n"
while [ ! -e "$1" ]; do sleep 0.05 & wait $!; n=$((n+1)); done
`

// A job that only saves itself is saved and begins again with the size that its user wants, also if it is stopped later
// by somebody else.
func TestAJobThatSavesItselfBeginsAgainWithTheSizeThatItsUserWants(t *testing.T) {
	end := filepath.Join(t.TempDir(), "end")
	spec := job("bash", "-c", selfSaving, "counter", end)
	spec.Kind, spec.Min, spec.Max = core.Moldable, 1, 6
	spec.Checkpoint = jobfile.Checkpoint{Method: "signal", Signal: "USR1", Files: []string{"state"}}
	b := up(t, strings.Replace(fixedSizes, "policy: {malleable: none}\n", "", 1))
	id := b.submit(spec)
	begins := func(times int) []string {
		var lines []string
		clocktest.WaitFor(t, "the program to begin", func() bool {
			lines = strings.Split(strings.TrimSpace(b.output(id, 1)), "\n")
			return len(lines) == times && lines[0] != ""
		})
		return lines
	}
	begins(1)
	for i, size := range []int{2, 5} {
		b.resize(id, size)
		var from int
		line := begins(i + 2)[i+1]
		if _, err := fmt.Sscanf(line, fmt.Sprintf("begins with %d at %%d", size), &from); err != nil || from == 0 {
			t.Errorf("to %d cores: %q, %v", size, line, err)
		}
	}
	if done, err := b.client.ResizeJob(context.Background(), id, api.Resize{Cores: 5}); err != nil {
		t.Errorf("%q, %v", done.Text, err)
	}
	if err := os.WriteFile(end, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if j := b.end(id); j.State != core.Done || j.Attempts != 3 || j.Procs != 5 {
		t.Errorf("it ended %s with %d cores after %d attempts: %s", j.State, j.Procs, j.Attempts, j.Why)
	}
}
