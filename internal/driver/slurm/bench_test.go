package slurm_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver/batch"
	"github.com/godwit-hpc/godwit/internal/driver/batch/batchtest"
	"github.com/godwit-hpc/godwit/internal/driver/drivertest"
	"github.com/godwit-hpc/godwit/internal/driver/slurm"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// How many jobs a second the driver submits, with many starting at once, beside
// sbatch called in the same way by nobody but itself; and what a driver costs that
// watches a thousand jobs.
func BenchmarkOnARealSlurm(b *testing.B) {
	if !batchtest.IsInside() {
		b.Log(onACluster(b, 2, 4, []string{"-test.run=^$", "-test.bench=^BenchmarkOnARealSlurm$", "-test.benchtime=" + "1x"},
			"MaxJobCount=20000"))
		return
	}
	b.Run("Submit", benchSubmit)
	b.Run("Watch", benchWatch)
}

const jobs = 400

// held keeps jobs in the queue: it is submitting that is measured.
var held = []string{"--hold"}

func benchSubmit(b *testing.B) {
	script := filepath.Join(b.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nexec true\n"), 0o700); err != nil {
		b.Fatal(err)
	}
	alone := func(atOnce int) float64 {
		start := time.Now()
		each(jobs, atOnce, func(int) {
			out, err := exec.Command("sbatch", "--parsable", "--no-requeue", "--export=NONE", "-D", "/", "--output=/dev/null",
				"--job-name=alone", "--ntasks=1", "--hold", script).CombinedOutput()
			if err != nil {
				b.Errorf("%v: %s", err, out)
			}
		})
		defer cancelAll(b)
		return jobs / time.Since(start).Seconds()
	}
	driven := func(atOnce int) float64 {
		w := newWorld(b, slurm.Options{Options: held}, func(o *batch.Options) { o.Poll, o.Log = 5*time.Second, nil })
		d := w.OpenBatch()
		var list []*wire.Attempt
		for range jobs + 1 {
			list = append(list, w.AttemptFor(drivertest.Ends))
		}
		if err := d.StartAttempt(b.Context(), list[jobs]); err != nil { // which brings the agent's binary
			b.Fatal(err)
		}
		start := time.Now()
		each(jobs, atOnce, func(i int) {
			if err := d.StartAttempt(b.Context(), list[i]); err != nil {
				b.Error(err)
			}
		})
		took := time.Since(start)
		start = time.Now()
		each(jobs, jobs, func(i int) {
			if err := d.ReleaseAttempt(b.Context(), batchtest.AttemptID(list[i])); err != nil {
				b.Error(err)
			}
		})
		b.ReportMetric(jobs/time.Since(start).Seconds(), "releases/s")
		return jobs / took.Seconds()
	}
	for range 2 {
		b.Logf("sbatch alone: %.0f/s in sequence, %.0f/s eight at once; driver: %.0f/s in sequence, %.0f/s many at once",
			alone(1), alone(8), driven(1), driven(jobs))
	}
}

// each calls f for every number below n, some at once.
func each(n, atOnce int, f func(int)) {
	var all sync.WaitGroup
	next := make(chan int)
	for range min(n, atOnce) {
		all.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	all.Wait()
}

func cancelAll(b *testing.B) {
	if out, err := exec.Command("scancel", "--user=alice").CombinedOutput(); err != nil {
		b.Errorf("%v: %s", err, out)
	}
}

func benchWatch(b *testing.B) {
	w := newWorld(b, slurm.Options{Options: held}, func(o *batch.Options) { o.Poll, o.Log = 5*time.Second, nil })
	d := w.OpenBatch()
	const many = 1000
	var list []*wire.Attempt
	for range many {
		list = append(list, w.AttemptFor(drivertest.Ends))
	}
	each(many, 16, func(i int) {
		if err := d.StartAttempt(b.Context(), list[i]); err != nil {
			b.Error(err)
		}
	})
	waiting := func() bool {
		why, err := d.ExplainWait(b.Context(), batchtest.AttemptID(list[0]))
		return err == nil && strings.Contains(why, "waits")
	}
	w.WaitUntil("the queue to be seen", waiting)
	self, children := spent(b, syscall.RUSAGE_SELF), spent(b, syscall.RUSAGE_CHILDREN)
	start := time.Now()
	time.Sleep(30 * time.Second) // this long is measured
	took := time.Since(start)
	b.ReportMetric(100*float64(spent(b, syscall.RUSAGE_SELF)-self)/float64(took), "%driver")
	b.ReportMetric(100*float64(spent(b, syscall.RUSAGE_CHILDREN)-children)/float64(took), "%squeue")
}

func spent(b *testing.B, who int) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
