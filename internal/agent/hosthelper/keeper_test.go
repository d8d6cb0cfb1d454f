package hosthelper

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/host/proctable"
	"github.com/godwit-hpc/godwit/internal/host/proctree"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == Command {
		os.Exit(RunHelper(os.Args[2]))
	}
	os.Exit(m.Run())
}

// testHost is a host with processes of its own: a process namespace.
type testHost struct {
	t    *testing.T
	mark string
	init *exec.Cmd
}

func newTestHost(t *testing.T) *testHost {
	t.Helper()
	h := &testHost{t: t, mark: fmt.Sprintf("gw-test-helper-%d-%s", os.Getpid(), t.Name())}
	ready := filepath.Join(t.TempDir(), "ready")
	h.init = exec.Command("/bin/sh", "-c",
		fmt.Sprintf("mount -t proc proc /proc && touch %s && while :; do sleep 1000; done", ready))
	h.init.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
	if err := h.init.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.crash)
	h.until("the host to be there", func() bool { _, err := os.Stat(ready); return err == nil })
	return h
}

func (h *testHost) crash() {
	_ = h.init.Process.Kill()
	_ = h.init.Wait()
}

func (h *testHost) until(what string, holds func() bool) {
	h.t.Helper()
	clocktest.WaitFor(h.t, what, holds)
}

// command is one that runs on the host.
func (h *testHost) command(words ...string) []string {
	return append([]string{"nsenter", "-t", strconv.Itoa(h.init.Process.Pid), "-p", "-m", "--"}, words...)
}

// work has a rank of the attempt compute on the host, and returns what ends it.
func (h *testHost) work(rank int) (end func()) {
	h.t.Helper()
	words := h.command("/bin/sh", "-c", "while :; do :; done")
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = append(os.Environ(), proctree.Variable+"="+h.mark, "OMPI_COMM_WORLD_RANK="+strconv.Itoa(rank))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	end = func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	}
	h.t.Cleanup(end)
	return end
}

// keep has a helper on the host.
func (h *testHost) keep() *Keeper {
	self, err := os.Executable()
	if err != nil {
		h.t.Fatal(err)
	}
	k := StartKeeper(Options{Mark: h.mark, Hosts: []string{"far"}, Procs: []int{1}, Every: minInterval,
		HelperCommand: func(_ string, words []string) ([]string, error) {
			return h.command(append([]string{self}, words...)...), nil
		}})
	h.t.Cleanup(k.AwaitHelpers)
	return k
}

// helpers are the processes of this test that are helpers.
func helpers(t *testing.T) []int {
	t.Helper()
	all, err := proctable.AllProcesses()
	if err != nil {
		t.Fatal(err)
	}
	below := proctable.DescendantsOf(all, map[int]bool{os.Getpid(): true})
	var list []int
	for pid := range below {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if words := strings.Split(string(line), "\x00"); len(words) > 2 && words[1] == Command {
			list = append(list, pid)
		}
	}
	return list
}

func (h *testHost) row(k *Keeper) wire.HostUsage {
	list := k.HostUsage()
	if len(list) != 1 {
		h.t.Fatalf("hosts: %+v", list)
	}
	return list[0]
}

func TestWhatRunsOnAnotherHostIsHeard(t *testing.T) {
	h := newTestHost(t)
	end := h.work(3)
	h.work(5)
	k := h.keep()
	h.until("both ranks and what they use", func() bool {
		r := h.row(k)
		return r.Ranks == "3,5" && r.CPU > 0.05 && r.Memory > 0 && r.Share > 0
	})
	end()
	h.until("the end of one", func() bool { r := h.row(k); return r.Ranks == "5" && r.EndedRanks == 1 })
	k.AwaitHelpers()
	if left := helpers(t); len(left) > 0 {
		t.Errorf("helpers left behind: %v", left)
	}
}

func TestAHelperThatDiesIsReplacedAndNothingIsCountedTwice(t *testing.T) {
	h := newTestHost(t)
	h.work(0)
	k := h.keep()
	for range 3 {
		before := time.Duration(0)
		h.until("more to be used", func() bool { before = k.Usage().CPU; return before > 0 })
		old := helpers(t)
		for _, pid := range old {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		h.until("another helper to be heard", func() bool {
			now := k.Usage().CPU
			if now < before {
				t.Fatalf("the CPU time fell from %v to %v", before, now)
			}
			young := helpers(t)
			return now > before && len(young) > 0 && !slices.Contains(old, young[0])
		})
	}
	for _, c := range k.TakeChanges() {
		t.Errorf("a helper that was replaced at once is told of: %+v", c)
	}
}

func TestTheRanksOfADeadHostAreNamed(t *testing.T) {
	h := newTestHost(t)
	h.work(1)
	h.work(2)
	k := h.keep()
	h.until("the ranks", func() bool { return h.row(k).Ranks == "1-2" })
	used := k.Usage().CPU
	h.crash()
	var seen []Change
	h.until("the host to be missed", func() bool { seen = append(seen, k.TakeChanges()...); return len(seen) > 0 })
	if c := seen[0]; c.Host != "far" || c.Away == "" || !c.Known || !slices.Equal(c.Ranks, []int{1, 2}) {
		t.Errorf("told %+v", c)
	}
	if k.Usage().CPU < used {
		t.Error("what was used there is forgotten")
	}
	if !slices.Equal(k.RanksOn("far"), []int{1, 2}) {
		t.Errorf("ranks that were there: %v", k.RanksOn("far"))
	}
}

// Some clusters have several names for one machine.
func TestAMachineIsCountedOnce(t *testing.T) {
	h := newTestHost(t)
	h.work(0)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	k := StartKeeper(Options{Mark: h.mark, Hosts: []string{"here", "far", "again"}, Procs: []int{1, 1, 1},
		Every: minInterval, HelperCommand: func(host string, words []string) ([]string, error) {
			words = append([]string{self}, words...)
			if host == "here" {
				return words, nil
			}
			return h.command(words...), nil
		}})
	t.Cleanup(k.AwaitHelpers)
	h.until("all to be heard", func() bool {
		return !slices.ContainsFunc(k.hosts, func(r *remoteHost) bool {
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.total.CPU < 20*time.Millisecond
		})
	})
	if list := k.HostUsage(); len(list) != 1 || list[0].Host != "far" {
		t.Errorf("counted: %+v", list)
	}
}

// Whoever knows the mark can speak for the attempt.
func TestTheMarkIsNotInTheCommandLineOfAHelper(t *testing.T) {
	h := newTestHost(t)
	h.work(0)
	k := h.keep()
	h.until("the helper", func() bool { return k.Usage().CPU > 0 })
	for _, pid := range helpers(t) {
		for _, file := range []string{"cmdline", "environ"} {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
			if err != nil || len(text) == 0 || strings.Contains(string(text), h.mark) {
				t.Errorf("%s of the helper has the mark, or cannot be read: %v", file, err)
			}
		}
	}
}

func TestAHelperEndsWithTheAgent(t *testing.T) {
	h := newTestHost(t)
	words := h.command(os.Args[0], Command, "1h")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintln(in, h.mark); err != nil {
		t.Fatal(err)
	}
	h.until("the helper", func() bool { return len(helpers(t)) > 0 })
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func FuzzParseReading(f *testing.F) {
	f.Add([]byte(`{"table":"a-1","usage":{"CPU":12},"ranks":[0,1]}`))
	f.Add([]byte(`{"table":"a","usage":{"CPU":-1}}`))
	f.Add([]byte(`{"table":"","ranks":[-1]}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := ParseReading(line)
		if err == nil && (r.Usage.CPU < 0 || r.Usage.Memory < 0 || r.Table == "") {
			t.Errorf("%+v was taken", r)
		}
	})
}
