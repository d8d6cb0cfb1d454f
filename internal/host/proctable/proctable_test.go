package proctable

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
)

const line = "17 (a (b) c) R 3 17 17 0 -1 4194304 1 2 3 4 250 50 7 8 20 5 4 0 99 1000 5 18446744073709551615 1 1 0 0 " +
	"0 0 0 0 0 0 0 0 17 1 0 0 0 0 0\n"

func TestAStatFileIsRead(t *testing.T) {
	p, ok := ParseStat([]byte(line), true)
	want := Process{Pid: 17, Parent: 3, Group: 17, Session: 17, Name: "a (b) c", State: 'R', CPUTime: 3 * time.Second,
		ChildTime: 15 * Tick, Nice: 5, Threads: 4, CPU: 1, Started: 99, Pages: 5}
	if !ok || p != want || p.Ticks() != 300 {
		t.Errorf("%+v %v, want %+v", p, ok, want)
	}
	for _, s := range []string{"", "17", "x (a) R 1", "17 (a R 3", "17 (a) R 3 4 5",
		strings.Replace(line, "250", "x", 1)} {
		if _, ok := ParseStat([]byte(s), true); ok {
			t.Errorf("%q is taken", s)
		}
	}
}

func TestTheTableHasUsAndOurThreads(t *testing.T) {
	all, err := AllProcesses()
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, p := range all {
		found = found || p.Pid == os.Getpid() && p.Parent == os.Getppid() && !p.IsDead() && !p.Kernel
	}
	if !found {
		t.Errorf("we are not among %d processes", len(all))
	}
	threads, err := ThreadsOf(os.Getpid())
	if err != nil || len(threads) < 2 {
		t.Errorf("%v %v", threads, err)
	}
	if _, err := ThreadsOf(1 << 30); err == nil {
		t.Error("a process that is not there has threads")
	}
	if _, err := ReadProcess(1 << 30); err == nil {
		t.Error("a process that is not there was read")
	}
	if _, err := ChildrenOf(1 << 30); err == nil {
		t.Error("a process that is not there has children")
	}
	if p, err := ReadProcess(os.Getpid()); err != nil || p.Parent != os.Getppid() || p.Threads < 2 {
		t.Errorf("we are %+v, %v", p, err)
	}
}

func TestDescendantsAreFound(t *testing.T) {
	cmd := exec.Command("sh", "-c", "sleep 60 & wait")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		all, _ := AllProcesses()
		for pid := range DescendantsOf(all, map[int]bool{cmd.Process.Pid: true}) {
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Kill()
			}
		}
		_ = in.Close()
		_ = cmd.Wait()
	}()
	var all []Process
	clocktest.WaitFor(t, "the child of the child", func() bool {
		if all, err = AllProcesses(); err != nil {
			t.Fatal(err)
		}
		return len(DescendantsOf(all, map[int]bool{cmd.Process.Pid: true})) == 2
	})
	if children, err := ChildrenOf(cmd.Process.Pid); err != nil || len(children) != 1 {
		t.Errorf("its children are %v, %v", children, err)
	}
	if DescendantsOf(all, nil)[cmd.Process.Pid] ||
		!DescendantsOf(all, map[int]bool{os.Getpid(): true})[cmd.Process.Pid] {
		t.Error("descent is wrong")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(line))
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, ok := ParseStat(data, true); ok && (p.Pid <= 0 || p.CPUTime < 0 || p.ChildTime < 0 || p.Ticks() < 0) {
			t.Errorf("%+v", p)
		}
	})
}

func BenchmarkAll(b *testing.B) {
	n := 0
	for b.Loop() {
		all, err := AllProcesses()
		if err != nil {
			b.Fatal(err)
		}
		n = len(all)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(n), "µs/process")
}
