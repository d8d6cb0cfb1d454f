package agent

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/predict"
)

// BenchmarkShortJob is an attempt that runs /bin/true, from the agent's start to
// its end, in a process of its own.
func BenchmarkShortJob(b *testing.B) {
	h := newHarness(b, "/bin/true")
	h.start()
	from, jobs := spentByChildren(), 0
	for b.Loop() {
		h.dir = b.TempDir()
		h.attempt.Mark += "x"
		h.write()
		if err := h.spawn().Wait(); err != nil {
			b.Fatal(err)
		}
		jobs++
	}
	used := spentByChildren().MinusEarlier(from)
	b.ReportMetric((used.User+used.Kernel).Seconds()*1e3/float64(jobs), "cpu-ms/op")
}

// BenchmarkSample is one look at a program of four processes, with all that
// follows from it.
func BenchmarkSample(b *testing.B) {
	h := newHarness(b, "/bin/sh", "-c", "sleep 1000 & sleep 1000 & sleep 1000 & wait")
	h.attempt.Need = predict.LogNormal(100, 0.1).Quantiles()
	h.attempt.Deadline = h.attempt.Now.Add(time.Hour)
	l := newLife(h.around, folder{h.dir}, h.attempt, 0)
	s, err := (&preparation{attempt: h.attempt, folder: l.folder, around: h.around, spool: l.spool,
		tell: func(f func(*life)) { f(l) }, life: b.Context()}).startProgram(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	l.program, l.watch = s, l.newWatch(s)
	l.trial = l.newTrial(s)
	for b.Loop() {
		l.onSample()
	}
	l.tearDown()
}

// BenchmarkBesideAProgram is what the agent itself uses beside a program that
// computes, at the usual interval, with and without somebody watching. Use
// -benchtime=1x: it takes half a minute.
func BenchmarkBesideAProgram(b *testing.B) {
	for _, watched := range []bool{false, true} {
		name := "alone"
		if watched {
			name = "watched"
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				beside(b, watched)
			}
		})
	}
}

func beside(b *testing.B, watched bool) {
	const long = 15 * time.Second
	h := newHarness(b, "/bin/sh", "-c", "while :; do :; done")
	h.attempt.Every.Sample = 0
	h.attempt.Need = predict.LogNormal(1000, 0.1).Quantiles()
	h.attempt.Deadline = h.attempt.Now.Add(time.Hour)
	h.start()
	h.write()
	agent := h.spawn()
	h.await(wire.Running)
	if watched {
		h.order(wire.Order{Kind: wire.Watch, Every: time.Second})
	}
	from := ownCPU(b, agent.Process.Pid)
	time.Sleep(long) // is measured
	used := ownCPU(b, agent.Process.Pid) - from
	b.ReportMetric(100*used.Seconds()/long.Seconds(), "%cpu")
	h.order(wire.Order{Kind: wire.Kill})
	_ = agent.Wait()
}

// ownCPU is what a process has used, to the nanosecond.
func ownCPU(b *testing.B, pid int) time.Duration {
	b.Helper()
	var sum time.Duration
	tasks, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	if err != nil {
		b.Fatal(err)
	}
	for _, t := range tasks {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/task/" + t.Name() + "/schedstat")
		if err == nil {
			sum += firstNumber(text)
		}
	}
	return sum
}

func firstNumber(text []byte) (n time.Duration) {
	for _, c := range text {
		if c < '0' || c > '9' {
			break
		}
		n = 10*n + time.Duration(c-'0')
	}
	return n
}
