//go:build soak

package daemon_test

import (
	"context"
	"fmt"
	"io/fs"
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
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

// What alice may expect while bob does what he can.
const (
	maxAnswer       = 2 * time.Second
	maxBrokerMemory = 512 << 20 // limits.memory, where it is not set
)

// proberRole is a process of alice that asks for her jobs again and again, and writes
// down how long each answer took.
const proberRole = "prober"

func proberMain() int {
	for end := time.Now().Add(attackTime()); time.Now().Before(end); time.Sleep(100 * time.Millisecond) { // her pace
		c := api.DialBroker(os.Getenv("GODWIT_SOCKET"))
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		begin := time.Now()
		_, err := c.ListJobs(ctx, false)
		fmt.Println(time.Since(begin).Microseconds(), err == nil, begin.UTC().Format(time.StampMilli))
		cancel()
		c.Close()
	}
	return 0
}

// open is this program where users can run it.
func (b *shared) open() string {
	b.Helper()
	self, err := os.ReadFile(os.Args[0])
	b.must(err)
	path := filepath.Join(b.dir, "test")
	if _, err := os.Stat(path); err != nil {
		b.must(os.WriteFile(path, self, 0o755))
	}
	return path
}

// role starts a process of a user that is this program in a role.
func (b *shared) role(p person, role string, seed uint64) (*exec.Cmd, string) {
	b.Helper()
	file := filepath.Join(b.dir, role+".out")
	out, err := os.Create(file)
	b.must(err)
	defer func() { _ = out.Close() }()
	cmd := exec.Command(b.open())
	cmd.Dir, cmd.Stdout, cmd.Stderr = b.home(p), out, out
	cmd.Env = []string{"HOME=" + b.home(p), "USER=" + p.Name, "PATH=/usr/bin:/bin", "GODWIT_SOCKET=" + b.socket(),
		"GODWIT_TEST_ROLE=" + role, "GODWIT_TEST_BINARY=" + binary,
		"GODWIT_TEST_VICTIM=" + b.home(alice), "GODWIT_ATTACK_TIME=" + attackTime().String(), "GODWIT_SEED=" +
			strconv.FormatUint(seed, 10)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(p.ID), Gid: uint32(p.ID)}}
	b.must(cmd.Start())
	return cmd, file
}

// endAll ends the processes of users that know the test's folder: without it what bob
// started would go on.
func (b *shared) endAll() {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil || !slices.Contains([]int{alice.ID, bob.ID}, int(info.Sys().(*syscall.Stat_t).Uid)) {
			continue
		}
		environ, _ := os.ReadFile(f)
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(f), "cmdline"))
		if strings.Contains(string(environ)+string(line), b.dir) {
			if pid, err := strconv.Atoi(strings.Split(f, "/")[2]); err == nil {
				_ = syscall.Kill(pid, syscall.SIGKILL) // it may just have gone
			}
		}
	}
}

// figures are what was measured.
type figures struct {
	mu      sync.Mutex
	right   int
	wrong   []string
	answers []time.Duration
	memory  int64

	quarterly [4]int64 // memory
}

// watchMemory notes the most that the broker has resident, until it is told to end.
func (b *shared) watchMemory(f *figures, done <-chan struct{}) {
	began := time.Now()
	for {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", b.broker.Process.Pid))
		if err != nil {
			return
		}
		for line := range strings.Lines(string(text)) {
			if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "VmRSS:" {
				kib, _ := strconv.ParseInt(fields[1], 10, 64)
				f.memory = max(f.memory, kib<<10)
				q := &f.quarterly[min(3, int(4*time.Since(began)/attackTime()))]
				*q = max(*q, kib<<10)
			}
		}
		select {
		case <-done:
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// oneOfHers runs a job of alice's and looks whether it ended right.
func (b *shared) oneOfHers(n int) string {
	secret := fmt.Sprintf("%s%d-%x", victimSecret, n, rand.Uint64())
	dir := filepath.Join(b.home(alice), "work", strconv.Itoa(n))
	b.must(os.MkdirAll(dir, 0o700))
	input := filepath.Join(dir, "input")
	b.must(os.WriteFile(input, []byte(secret), 0o600))
	for _, path := range []string{filepath.Dir(dir), dir, input} {
		b.must(os.Chown(path, alice.ID, alice.ID))
	}
	out, err := b.as(alice, "run", "--detach", "--name", secret, "--workdir", dir, "--", "sh", "-c",
		"cat input; echo; rev input > result")
	id := strings.TrimSpace(out)
	if err != nil {
		return fmt.Sprintf("job %d is not taken: %v", n, err)
	}
	if out, err := b.as(alice, "wait", id); err != nil {
		return fmt.Sprintf("job %s does not end well: %v %s", id, err, out)
	}
	if log, err := b.as(alice, "logs", id); err != nil || log != secret+"\n" {
		return fmt.Sprintf("job %s wrote %q, %v", id, log, err)
	}
	want := []byte(secret)
	slices.Reverse(want)
	var got []byte
	if (clocktest.PollLoop{Limit: time.Minute}).Until(func() bool {
		got, err = os.ReadFile(filepath.Join(dir, "result"))
		return err == nil && strings.TrimSpace(string(got)) == string(want)
	}) {
		return ""
	}
	return fmt.Sprintf("the result of job %s is %q, %v", id, got, err)
}

// searched looks for what is alice's in what is bob's.
func (b *shared) searched() {
	b.Helper()
	for _, top := range []string{b.home(bob), filepath.Join(b.dir, "state", "users", strconv.Itoa(bob.ID)),
		filepath.Join(b.dir, attackerRole+".out")} {
		_ = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil // it may just have gone
			}
			if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), victimSecret) {
				b.Errorf("%s holds what is alice's", path)
			}
			return nil
		})
	}
}

// GODWIT_ATTACK_TIME and GODWIT_ATTACK_JOBS say how long and with how many jobs of the
// other user, see make attack. GODWIT_SEED makes the attacks the same again.
func TestAnAttackerHarmsNobodyElse(t *testing.T) {
	// few
	seed, jobs := setting(t, "GODWIT_SEED", uint64(time.Now().UnixNano())), int(setting(t, "GODWIT_ATTACK_JOBS", 50))
	t.Logf("seed %d, %d jobs, %v", seed, jobs, attackTime())
	b := upShared(t, "clusters:\n  - {name: a, cpus: [0], slots: 4, speed: 1, memory: 200M}\n  - {name: b, cpus: [1], "+
		"slots: 4, speed: 1, memory: 200M}\n")
	t.Cleanup(func() { // before the broker ends, or it could start something anew
		_, _ = b.as(bob, "cancel", "--now", "--all") // perhaps there is nothing
		b.endAll()
	})
	precious := filepath.Join(b.home(alice), "precious")
	b.must(os.WriteFile(precious, []byte(victimSecret+"file"), 0o600))
	b.must(os.Chown(precious, alice.ID, alice.ID))
	passwd, err := os.ReadFile("/etc/passwd")
	b.must(err)
	var f figures
	done := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() { b.watchMemory(&f, done) })
	attack, said := b.role(bob, attackerRole, seed)
	prober, times := b.role(alice, proberRole, seed)
	next := make(chan int)
	var users sync.WaitGroup
	for range 4 {
		users.Go(func() {
			for n := range next {
				wrong := b.oneOfHers(n)
				f.mu.Lock()
				if wrong == "" {
					f.right++
				} else {
					f.wrong = append(f.wrong, wrong)
				}
				f.mu.Unlock()
			}
		})
	}
	pause := time.NewTicker(attackTime() / time.Duration(jobs))
	for n := range jobs {
		next <- n
		<-pause.C
	}
	pause.Stop()
	close(next)
	users.Wait()
	for _, cmd := range []*exec.Cmd{prober, attack} {
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", cmd.Env, err)
		}
	}
	close(done)
	watch.Wait()
	if err := b.broker.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the broker has ended: %v", err)
	}
	b.searched()
	for file, want := range map[string]string{precious: victimSecret + "file", "/etc/passwd": string(passwd)} {
		if text, err := os.ReadFile(file); err != nil || string(text) != want {
			t.Errorf("%s is changed: %v", file, err)
		}
	}
	log, _ := os.ReadFile(filepath.Join(b.dir, "log")) // for the message
	for line := range strings.Lines(string(log)) {
		if strings.Contains(line, "kept others waiting") {
			t.Log(line)
		}
	}
	f.report(t, times, said, jobs)
}

// report prints the figures and judges them.
func (f *figures) report(t *testing.T, times, said string, jobs int) {
	t.Helper()
	text, err := os.ReadFile(times)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var us int64
		var ok bool
		if n, _ := fmt.Sscan(line, &us, &ok); n != 2 || !ok {
			t.Errorf("an answer to alice: %s", line)
			continue
		}
		took := time.Duration(us) * time.Microsecond
		if f.answers = append(f.answers, took); took > maxAnswer/2 {
			t.Logf("a slow answer: %s", line)
		}
	}
	for q := range 4 { // does it get slower, or larger, with time?
		if part := f.answers[q*len(f.answers)/4 : (q+1)*len(f.answers)/4]; len(part) > 0 {
			t.Logf("quarter %d: slowest answer %v, memory at most %d MB", q+1, slices.Max(part), f.quarterly[q]>>20)
		}
	}
	slices.Sort(f.answers)
	if len(f.answers) == 0 {
		t.Fatal("alice got no answer at all")
	}
	part := func(p float64) time.Duration { return f.answers[min(len(f.answers)-1, int(p*float64(len(f.answers))))] }
	did, _ := os.ReadFile(said)
	t.Logf("what bob did:\n%s", did)
	t.Logf("answers to alice: %d; median %v, 99 %% %v, slowest %v", len(f.answers), part(0.5), part(0.99), part(1))
	t.Logf("the broker's memory: at most %d MB", f.memory>>20)
	t.Logf("alice's jobs: %d of %d ended right", f.right, jobs)
	for _, w := range f.wrong {
		t.Error(w)
	}
	if part(1) > maxAnswer {
		t.Errorf("the slowest answer took %v, more than %v", part(1), maxAnswer)
	}
	if f.memory > maxBrokerMemory {
		t.Errorf("the broker had %d MB, more than %d", f.memory>>20, int64(maxBrokerMemory)>>20)
	}
}
