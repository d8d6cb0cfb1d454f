package daemon_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// kills is how many processes the chaos test kills; GODWIT_KILLS overrides. With
// GODWIT_KILL_TIME it kills for so long instead, and a broker that takes longer than
// maxReturn to answer again is an error, as `make kills` wants it.
const (
	kills     = 100
	maxReturn = 5 * time.Second
)

// chaos is a broker in a process of its own that somebody kills all the time,
// together with its agents and sandboxes.
type chaos struct {
	*testing.T
	dir    string
	random *rand.Rand
	client *api.Client

	mu        sync.Mutex
	broker    *exec.Cmd
	ending    bool
	slowest   time.Duration           // until a broker answered again
	returns   int                     // how often one did
	returning time.Duration           // all of these together
	seen      int                     // how often a running job was seen by once
	marks     map[string]wire.Attempt // of the attempts seen so far
	back      sync.WaitGroup
}

func newChaos(t *testing.T) *chaos {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	c := &chaos{T: t, dir: t.TempDir(), random: rand.New(rand.NewPCG(seed, 1)), marks: map[string]wire.Attempt{}}
	settings := strings.ReplaceAll(twoClusters, "slots: 8", "slots: 2")
	settings = strings.ReplaceAll(settings, "intervals: {", "intervals: {retry: 0s, ")
	if err := os.WriteFile(filepath.Join(c.dir, "config.yaml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	c.client = api.DialBroker(api.SocketPath(c.state()))
	t.Cleanup(c.end)
	c.back.Go(c.keepUp)
	c.untilBack()
	return c
}

func (c *chaos) state() string { return filepath.Join(c.dir, "state") }

// keepUp starts the broker whenever it has ended, as a user's next command or an
// init system would.
func (c *chaos) keepUp() {
	for {
		log, err := os.OpenFile(filepath.Join(c.dir, "broker.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			c.Error(err)
			return
		}
		cmd := exec.Command(binary, "up", "--config", filepath.Join(c.dir, "config.yaml"))
		cmd.Env = append(os.Environ(), "GODWIT_STATE="+c.state())
		cmd.Stdout, cmd.Stderr = log, log
		c.mu.Lock()
		if c.ending {
			c.mu.Unlock()
			_ = log.Close()
			return
		}
		err = cmd.Start()
		c.broker = cmd
		c.mu.Unlock()
		_ = log.Close()
		if err != nil {
			c.Error(err)
			return
		}
		_ = cmd.Wait() // it is killed
	}
}

// untilBack waits until the broker answers.
func (c *chaos) untilBack() {
	c.Helper()
	began := time.Now()
	clocktest.WaitFor(c, "an answer of the broker", func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, err := c.client.PingBroker(ctx)
		return err == nil
	}, func() string {
		log, _ := os.ReadFile(filepath.Join(c.dir, "broker.log")) // for the message
		return string(log)
	})
	took := time.Since(began)
	c.slowest, c.returns, c.returning = max(c.slowest, took), c.returns+1, c.returning+took
}

// meanReturn is how long a broker took to answer again in the mean.
func (c *chaos) meanReturn() time.Duration { return c.returning / time.Duration(max(1, c.returns)) }

func (c *chaos) end() {
	c.mu.Lock()
	c.ending = true
	if c.broker != nil && c.broker.Process != nil {
		_ = c.broker.Process.Kill() // it may have ended
	}
	c.mu.Unlock()
	c.back.Wait()
	c.client.Close()
	checkReplay(c, c.state())
	if log, err := os.ReadFile(filepath.Join(c.dir, "broker.log")); c.Failed() && err == nil {
		c.Logf("%s", log[max(0, len(log)-2_000):])
	}
}

// again repeats a request until a broker lives long enough to answer.
func again[T any](c *chaos, f func(context.Context) (T, error)) T {
	c.Helper()
	var v T
	var err error
	clocktest.PollLoop{Pause: 50 * time.Millisecond}.WaitFor(c, "an answer", func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		v, err = f(ctx)
		return err == nil
	}, func() string { return err.Error() })
	return v
}

// process is one of ours, as /proc shows it.
type process struct {
	pid  int
	mark string // of its attempt; "" for an agent
	kind string // agent, sandbox, program
}

// processes lists the agents of our state folder and everything they started.
func (c *chaos) processes() []process {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		c.Fatal(err)
	}
	var list []process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		env, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if err != nil {
			continue // gone, or not ours
		}
		cmdline, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if err != nil || len(cmdline) == 0 {
			continue
		}
		args := strings.Split(string(bytes.TrimRight(cmdline, "\x00")), "\x00")
		switch {
		case len(args) > 2 && args[1] == "agent" && strings.HasPrefix(args[2], c.dir):
			list = append(list, process{pid: pid, kind: "agent"})
		case bytes.Contains(env, []byte("GODWIT_CHAOS="+c.dir+"\x00")):
			p := process{pid: pid, kind: "program", mark: variable(env, "GODWIT_ATTEMPT")}
			if strings.Contains(args[0], "runsc") || strings.Contains(args[0], "sandbox") {
				p.kind = "sandbox"
			}
			list = append(list, p)
		case bytes.Contains(env, []byte("GODWIT_ATTEMPT=")) && c.knows(variable(env, "GODWIT_ATTEMPT")):
			list = append(list, process{pid: pid, kind: "sandbox", mark: variable(env, "GODWIT_ATTEMPT")})
		}
	}
	return list
}

func variable(env []byte, name string) string {
	for v := range bytes.SplitSeq(env, []byte{0}) {
		if rest, ok := bytes.CutPrefix(v, []byte(name+"=")); ok {
			return string(rest)
		}
	}
	return ""
}

// attempts reads the attempts that the clusters know, by mark.
func (c *chaos) attempts() map[string]wire.Attempt {
	files, err := filepath.Glob(filepath.Join(c.state(), "clusters", "*", "*", "attempt.json"))
	if err != nil {
		c.Fatal(err)
	}
	list := map[string]wire.Attempt{}
	for _, f := range files {
		var a wire.Attempt
		if data, err := os.ReadFile(f); err == nil && json.Unmarshal(data, &a) == nil {
			list[a.Mark] = a
		}
	}
	return list
}

func (c *chaos) knows(mark string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.marks[mark]
	return ok
}

// once checks that no job runs twice: of every job at most one attempt has
// processes.
func (c *chaos) once() {
	c.mu.Lock()
	for mark, a := range c.attempts() {
		c.marks[mark] = a
	}
	c.mu.Unlock()
	running := map[core.JobID]map[core.Epoch][]int{}
	for _, p := range c.processes() {
		a, known := c.marks[p.mark]
		if p.mark == "" || !known {
			continue
		}
		if running[a.Job] == nil {
			running[a.Job] = map[core.Epoch][]int{}
		}
		running[a.Job][a.Epoch] = append(running[a.Job][a.Epoch], p.pid)
	}
	c.seen += len(running)
	for id, epochs := range running {
		if len(epochs) > 1 && c.alive(epochs[slices.Min(slices.Collect(maps.Keys(epochs)))]) {
			c.Errorf("job %d runs twice at once, by epoch: %v", id, epochs)
		}
	}
}

// alive says whether one of these processes still is: those of an earlier attempt may
// have ended while the later ones' were looked for.
func (c *chaos) alive(pids []int) bool {
	return slices.ContainsFunc(c.processes(), func(p process) bool { return slices.Contains(pids, p.pid) })
}

// kill ends one process of a random kind without warning.
func (c *chaos) kill() string {
	kind := []string{"broker", "agent", "agent", "sandbox"}[c.random.IntN(4)]
	if kind == "broker" {
		c.mu.Lock()
		_ = c.broker.Process.Kill() // it may have ended
		c.mu.Unlock()
		return kind
	}
	list := slices.DeleteFunc(c.processes(), func(p process) bool { return p.kind != kind })
	if len(list) == 0 {
		return ""
	}
	if err := syscall.Kill(list[c.random.IntN(len(list))].pid, syscall.SIGKILL); err != nil {
		return "" // it has ended
	}
	return kind
}

// steps is a program that writes numbers, slowly.
const steps = `i=0; while [ $i -lt 25 ]; do i=$((i+1)); echo "step $i"; sleep 0.04; done; echo done > result; exit 3`

func wantSteps() string {
	var b strings.Builder
	for i := range 25 {
		fmt.Fprintf(&b, "step %d\n", i+1)
	}
	return b.String()
}

func (c *chaos) job(n int) jobfile.Job {
	spec := job("/bin/sh", "-c", steps)
	spec.Retries, spec.Key = 1_000_000, fmt.Sprintf("%s %d", c.dir, n) // however often it is submitted
	spec.Env["GODWIT_CHAOS"] = c.dir
	spec.Checkpoint = jobfile.Checkpoint{Method: "sandbox", Every: 300 * time.Millisecond}
	if n%3 == 0 { // without a sandbox; whoever runs twice at once finds the file locked
		lock := filepath.Join(c.dir, fmt.Sprintf("lock%d", n))
		spec.Argv = []string{"/bin/sh", "-c", "exec 9>" + lock + "; flock -n 9 || exit 99; " + steps}
		spec.Checkpoint = jobfile.Checkpoint{Method: "restart", Every: jobfile.Never}
	}
	return spec
}

func TestWhateverIsKilledEveryJobEndsOnce(t *testing.T) {
	c := newChaos(t)
	total := kills
	if n, err := strconv.Atoi(os.Getenv("GODWIT_KILLS")); err == nil {
		total = n
	}
	duration, err := time.ParseDuration(os.Getenv("GODWIT_KILL_TIME"))
	isTimed, end := err == nil, time.Now().Add(duration)
	isOver := func(done int) bool {
		if isTimed {
			return time.Now().After(end)
		}
		return done >= total
	}
	stop, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		for {
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond):
				c.once()
			}
		}
	}()
	count := map[string]int{}
	var ids []string
	done := 0
	for !isOver(done) {
		for c.live(ids) < 4 {
			spec := c.job(len(ids))
			made := again(c, func(ctx context.Context) (api.Submitted, error) {
				return c.client.SubmitJob(ctx, &api.Submit{Job: spec})
			})
			ids = append(ids, fmt.Sprint(made.IDs[0]))
		}
		time.Sleep(time.Duration(c.random.IntN(500)) * time.Millisecond) // at any moment
		if kind := c.kill(); kind != "" {
			count[kind]++
			done++
			if kind == "broker" {
				c.untilBack()
			}
		}
	}
	for _, id := range ids {
		c.check(id)
	}
	jobs := again(c, func(ctx context.Context) ([]api.Job, error) { return c.client.ListJobs(ctx, true) })
	if len(jobs) != len(ids) {
		t.Errorf("there are %d jobs, and %d were submitted", len(jobs), len(ids))
	}
	close(stop)
	<-watched
	t.Logf("%d jobs; %d kills: %v; a broker was back within %v, in the mean %v; running jobs were seen %d times",
		len(ids), done, count, c.slowest.Round(time.Millisecond), c.meanReturn().Round(time.Millisecond), c.seen)
	if isTimed && c.slowest > maxReturn {
		t.Errorf("a broker was back after %v; at most %v is wanted", c.slowest, maxReturn)
	}
	if c.seen < done {
		t.Errorf("running jobs were seen %d times only: nobody would notice one that runs twice", c.seen)
	}
	c.nothingLeft()
}

// live counts the jobs that have not ended.
func (c *chaos) live(ids []string) int {
	n := 0
	for _, id := range ids[max(0, len(ids)-8):] {
		if j := again(c, func(ctx context.Context) (api.Job, error) { return c.client.GetJob(ctx, id) }); !j.IsOver() {
			n++
		}
	}
	return n
}

// check waits for the end of a job and looks at what came out.
func (c *chaos) check(id string) {
	c.Helper()
	var j api.Job
	clocktest.WaitFor(c, "the end of job "+id, func() bool {
		j = again(c, func(ctx context.Context) (api.Job, error) { return c.client.GetJob(ctx, id) })
		return j.IsOver()
	}, func() string { return fmt.Sprintf("it is still %s: %s", j.State, j.Why) })
	if j.ExitCode == nil || *j.ExitCode != 3 {
		c.Errorf("job %s ended %s with code %v: %s", id, j.State, j.ExitCode, j.Why)
	}
	var out bytes.Buffer
	again(c, func(ctx context.Context) (int64, error) {
		out.Reset()
		return c.client.CopyLogs(ctx, id, 1, 0, false, &out)
	})
	if out.String() != wantSteps() {
		c.Errorf("job %s wrote %q", id, out.String())
	}
	ends := 0
	for _, d := range again(c, func(ctx context.Context) ([]api.Decision, error) { return c.client.ExplainJob(ctx, id) }) {
		if d.Kind == "end" {
			ends++
		}
	}
	if ends != 1 {
		c.Errorf("job %s ended %d times", id, ends)
	}
}

// nothingLeft checks that no process and no folder of an attempt is left.
func (c *chaos) nothingLeft() {
	c.Helper()
	left, folders := c.processes(), c.attempts()
	clocktest.WaitFor(c, "the end of all processes and attempts", func() bool {
		left, folders = c.processes(), c.attempts()
		return len(left) == 0 && len(folders) == 0
	}, func() string { return fmt.Sprintf("processes %v and %d attempts are left", left, len(folders)) })
}
