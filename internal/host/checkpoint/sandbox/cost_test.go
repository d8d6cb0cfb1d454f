package sandbox_test

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// plain runs the program cost outside a sandbox, for comparison.
func plain(t testing.TB, args ...string) (wall, cpu time.Duration) {
	t.Helper()
	cmd := exec.Command(filepath.Join(programs(t), "cost"), args...)
	cmd.Dir = t.TempDir()
	start := time.Now()
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return time.Since(start), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// BenchmarkCost runs kinds of work in the sandbox and outside, in turn, and
// reports how many times longer they take: on the clock, and in processor time
// of everything that belongs to the sandbox, without its start.
func BenchmarkCost(b *testing.B) {
	for _, c := range []struct{ kind, amount string }{
		{"compute", "3000"}, {"memory", "150"}, {"syscall", "200"}, {"read", "100"}, {"files", "5"}, {"fork", "200"},
		{"threads", "5000"}, {"pipe", "10"},
	} {
		b.Run(c.kind, func(b *testing.B) {
			work := folder(b)
			var inWall, inCPU, outWall, outCPU time.Duration
			for b.Loop() {
				wall, cpu := plain(b, c.kind, c.amount)
				outWall, outCPU = outWall+wall, outCPU+cpu
				a := begin(b, work, "", "./cost", c.kind, c.amount)
				before := used(a.run.RootPID())
				start := time.Now()
				_, res := a.end()
				inWall, inCPU = inWall+time.Since(start), inCPU+res.CPU-before
			}
			b.ReportMetric(inWall.Seconds()/outWall.Seconds(), "x-wall")
			b.ReportMetric(inCPU.Seconds()/outCPU.Seconds(), "x-cpu")
		})
	}
}

// used is the processor time of a process and all that it and they started.
func used(root int) time.Duration {
	var sum time.Duration
	for _, pid := range descendants(root) {
		sum += ticks(pid)
	}
	return sum
}

// heapMB is the heap of the program that is saved and continued in benchmarks.
const heapMB = "200"

func BenchmarkStart(b *testing.B) {
	work := folder(b)
	for b.Loop() {
		a := begin(b, work, "", "sleep", "1000")
		a.run.KillProgram()
	}
}

// BenchmarkSave saves a program of 200 MB that runs on. Saving a larger one takes longer,
// as its memory is larger.
func BenchmarkSave(b *testing.B) {
	a := begin(b, folder(b), "", "./heap", heapMB, "1000000")
	a.awaitLines(1)
	for b.Loop() {
		image := a.save(false, nil)
		b.StopTimer()
		remove(b, image)
		b.StartTimer()
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/2, "s/100MB")
}

func BenchmarkContinue(b *testing.B) {
	work := folder(b)
	a := begin(b, work, "", "./heap", heapMB, "1000000")
	a.awaitLines(1)
	image := a.save(true, nil)
	for b.Loop() {
		a := begin(b, work, image, "./heap", heapMB, "1000000")
		b.StopTimer()
		a.run.KillProgram()
		b.StartTimer()
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/2, "s/100MB")
}
