//go:build soak

package daemon_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

// GODWIT_SOAK_JOBS is how many jobs the test of returned files runs, see make soak.
// GODWIT_SEED makes a run the same again, as far as the machine allows.

// setting is a number from the environment.
func setting(t *testing.T, name string, usual uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return usual
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// returned is a user with many jobs, each in a folder of its own. What a program has
// written it notes outside of that folder, so that it is known what has to come home.
type returned struct {
	*testing.T
	dir string
	env []string

	mu     sync.Mutex
	counts map[string]int // how jobs were treated
	files  int            // that were to come home
	lost   int            // of them, and said to be
}

func (r *returned) folder(n int) string  { return filepath.Join(r.dir, "work", strconv.Itoa(n)) }
func (r *returned) witness(n int) string { return filepath.Join(r.dir, "wrote", strconv.Itoa(n)) }

func (r *returned) count(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[what]++
}

// command is the program as its user runs it.
func (r *returned) command(n int, args ...string) *exec.Cmd {
	cmd := exec.Command(binary, args...)
	cmd.Env, cmd.Dir = r.env, r.folder(n)
	return cmd
}

// codeCancelled is what wait ends with if the job was cancelled.
const codeCancelled = 130

// godwit runs a command until it works: the broker is ended now and then.
func (r *returned) godwit(n int, args ...string) string {
	var out []byte
	var err error
	clocktest.PollLoop{Pause: 50 * time.Millisecond}.Until(func() bool {
		out, err = r.command(n, args...).Output()
		exit := new(exec.ExitError)
		if errors.As(err, &exit) && exit.ExitCode() == codeCancelled && args[0] == "wait" {
			out, err = nil, nil // its end is what was waited for
		}
		return err == nil || errors.As(err, &exit) && exit.ExitCode() == 2
	})
	if err == nil {
		return strings.TrimSpace(string(out))
	}
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		out = exit.Stderr
	}
	r.Errorf("job %d: godwit %s: %v: %s", n, strings.Join(args, " "), err, out)
	return ""
}

// program writes some files one after the other and says of each that it has.
func (r *returned) program(n, files int) string {
	return fmt.Sprintf(`i=0; while [ $i -lt %d ]; do echo %d $i > f$i && echo f$i >> %s; i=$((i+1)); sleep 0.0%d; done`,
		files, n, r.witness(n), n%10)
}

// one treats a job in one of the ways in which users do.
func (r *returned) one(n int, random *rand.Rand) {
	if err := os.MkdirAll(r.folder(n), 0o755); err != nil {
		r.Error(err)
		return
	}
	program := r.program(n, 1+random.IntN(20))
	delay := time.Duration(random.IntN(700)) * time.Millisecond
	run := []string{"run", "--checkpoint", "restart", "--name", fmt.Sprintf("j%d", n)}
	switch random.IntN(5) {
	case 0:
		r.count("run")
		r.interrupted(n, append(run, "--", "sh", "-c", program), 0)
	case 1:
		r.count("Ctrl-C")
		r.interrupted(n, append(run, "--", "sh", "-c", program), delay+time.Millisecond)
	case 2:
		r.count("submit")
		r.write(n, "job.yaml", "run: |\n  "+program+"\nworkdir: .\ncheckpoint: restart\n")
		r.godwit(n, "wait", r.godwit(n, "submit", "job.yaml"))
	case 3:
		r.count("cancel")
		id := r.godwit(n, append(run, "--detach", "--", "sh", "-c", program)...)
		time.Sleep(delay) // at any moment
		args := []string{"cancel", id}
		if random.IntN(3) == 0 {
			args = append(args, "--now")
		}
		r.godwit(n, args...)
	case 4:
		r.count("flow")
		r.write(n, "flow.yaml", fmt.Sprintf("version: 1\nname: f%d\ntasks:\n  - id: make\n    run: echo %d 0 > f0 && echo "+
			"f0 >> %s\n    outputs: [f0]\n"+
			"  - id: use\n    run: cat f0 > f1 && echo f1 >> %s\n    inputs: [f0]\n    outputs: [f1]\n", n, n, r.witness(n),
			r.witness(n)))
		r.godwit(n, "flow", "run", "flow.yaml")
	}
	r.check(n)
}

func (r *returned) write(n int, name, text string) {
	if err := os.WriteFile(filepath.Join(r.folder(n), name), []byte(text), 0o600); err != nil {
		r.Error(err)
	}
}

// interrupted follows a job and, after a while, presses Ctrl-C; 0: never.
func (r *returned) interrupted(n int, args []string, after time.Duration) {
	cmd := r.command(n, args...)
	if err := cmd.Start(); err != nil {
		r.Error(err)
		return
	}
	if after > 0 {
		time.Sleep(after)                      // at any moment
		_ = cmd.Process.Signal(syscall.SIGINT) // it may have ended
	}
	limit := time.AfterFunc(3*time.Minute, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait() // the codes are many
	if !limit.Stop() {
		r.Errorf("job %d: it was not over within three minutes", n)
	}
}

// check compares what a program wrote with what is at home.
func (r *returned) check(n int) {
	text, err := os.ReadFile(r.witness(n))
	if errors.Is(err, os.ErrNotExist) {
		return // it was ended before it began
	}
	if err != nil {
		r.Error(err)
		return
	}
	missing := r.missing(n, strings.Fields(string(text)))
	if len(missing) > 0 { // Ctrl-C may come before the command knows of its job, which then runs on
		r.awaitEnd(n)
		missing = r.missing(n, strings.Fields(string(text)))
	}
	r.mu.Lock()
	r.files += len(strings.Fields(string(text)))
	r.mu.Unlock()
	if len(missing) > 0 && !r.saysLost(n) {
		r.Errorf("job %d: %s did not come home, and nobody says so\n%s", n, strings.Join(missing, ", "), r.story(n))
	}
}

func (r *returned) missing(n int, files []string) []string {
	var missing []string
	for _, name := range files {
		want := fmt.Sprintf("%d %s\n", n, strings.TrimPrefix(name, "f"))
		text, err := os.ReadFile(filepath.Join(r.folder(n), name))
		if name == "f1" && err == nil && string(text) == fmt.Sprintf("%d 0\n", n) {
			continue // of a workflow
		}
		if err != nil || string(text) != want {
			missing = append(missing, name)
		}
	}
	return missing
}

// awaitEnd waits for the end of a job that nobody follows.
func (r *returned) awaitEnd(n int) {
	var jobs []api.Job
	if err := json.Unmarshal([]byte(r.godwit(n, "ps", "--all", "-o", "json")), &jobs); err != nil {
		r.Error(err)
	}
	for i := range jobs {
		if jobs[i].Name == fmt.Sprintf("j%d", n) {
			r.godwit(n, "wait", fmt.Sprint(jobs[i].ID))
		}
	}
}

// story is what the broker knows of a job, for whoever looks for what became of its files.
func (r *returned) story(n int) string {
	name := fmt.Sprintf("j%d", n)
	return r.godwit(n, "show", name) + "\n" + r.godwit(n, "explain", name)
}

// saysLost says whether the job says that its files are lost.
func (r *returned) saysLost(n int) bool {
	var jobs []api.Job
	if err := json.Unmarshal([]byte(r.godwit(n, "ps", "--all", "-o", "json")), &jobs); err != nil {
		r.Error(err)
	}
	for i := range jobs {
		if jobs[i].Name == fmt.Sprintf("j%d", n) && (jobs[i].FilesLost || jobs[i].Unreturned != "") {
			r.mu.Lock()
			r.lost++
			r.mu.Unlock()
			return true
		}
	}
	return false
}

// Whatever becomes of jobs and of the broker: a file that a program wrote before its
// end is at home afterwards, or the job says that it is lost.
func TestEveryFileThatAProgramWroteComesHome(t *testing.T) {
	seed, jobs := setting(t, "GODWIT_SEED", uint64(time.Now().UnixNano())), int(setting(t, "GODWIT_SOAK_JOBS", 40)) // few
	t.Logf("seed %d, %d jobs", seed, jobs)
	r := &returned{T: t, dir: t.TempDir(), counts: map[string]int{}}
	r.env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(r.dir, "state"), "XDG_CONFIG_HOME="+
		filepath.Join(r.dir, "config"), "XDG_RUNTIME_DIR="+filepath.Join(r.dir, "run"))
	for _, dir := range []string{"wrote", "work/0", "run"} {
		if err := os.MkdirAll(filepath.Join(r.dir, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = r.command(0, "up", "--stop").Run() }) // it may have ended by itself
	ctx, done := context.WithCancel(context.Background())
	var restarts sync.WaitGroup
	stops := 0
	restarts.Go(func() {
		random := rand.New(rand.NewPCG(seed, 1))
		for ctx.Err() == nil { // at any moment
			time.Sleep(time.Second + time.Duration(random.IntN(2000))*time.Millisecond)
			_ = r.command(0, "up", "--stop").Run() // perhaps none runs
			stops++
		}
	})
	next := make(chan int)
	var users sync.WaitGroup
	for u := range 4 {
		users.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(u)+2)) // few
			for n := range next {
				r.one(n, random)
			}
		})
	}
	for n := range jobs {
		next <- n
	}
	close(next)
	users.Wait()
	done()
	restarts.Wait()
	t.Logf("%v; %d files, %d jobs said that theirs are lost; the broker was ended %d times", r.counts, r.files, r.lost,
		stops)
}
