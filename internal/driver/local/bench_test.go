package local

import (
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// How many attempts a second one driver starts, hears the end of, and releases,
// with the simplest agent there can be: this is the folder protocol and the
// start of two processes each; and the same with the real agent. Sixteen are under way at a time.
func BenchmarkAttempts(b *testing.B) {
	for _, c := range []struct {
		name   string
		change func(*Options)
	}{
		{"cgroups", func(*Options) {}},
		{"plain", func(o *Options) { o.NoCgroups = true }},
		{"real-agent", withRealAgent},
	} {
		b.Run(c.name, func(b *testing.B) {
			w := newWorld(b, func(o *Options) { o.Slots = 16; o.Log = nil; c.change(o) })
			d := w.open()
			var next atomic.Int64
			jobs := make(chan struct{})
			var workers sync.WaitGroup
			for range 16 {
				workers.Go(func() {
					for range jobs {
						a := &wire.Attempt{Job: core.JobID(next.Add(1)), Epoch: 1, Mark: "bench", Broker: w.Broker.Socket, Procs: 1,
							Spec: jobfile.Job{Argv: []string{"/bin/true"}, Checkpoint: jobfile.Checkpoint{Method: "restart"}}}
						if err := d.StartAttempt(b.Context(), a); err != nil {
							b.Error(err)
							return
						}
						record := d.attemptRecord(idOf(a), false)
						<-record.agent.done
						if err := d.ReleaseAttempt(b.Context(), idOf(a)); err != nil {
							b.Error(err)
						}
					}
				})
			}
			before, beforeAgents := cpuTime(b, syscall.RUSAGE_SELF), cpuTime(b, syscall.RUSAGE_CHILDREN)
			for b.Loop() {
				jobs <- struct{}{}
			}
			close(jobs)
			workers.Wait()
			used := cpuTime(b, syscall.RUSAGE_SELF) - before
			b.ReportMetric(float64(used.Microseconds())/float64(b.N), "driver-µs/op")
			used = cpuTime(b, syscall.RUSAGE_CHILDREN) - beforeAgents
			b.ReportMetric(float64(used.Microseconds())/float64(b.N), "agents-µs/op")
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "attempts/s")
		})
	}
}

func cpuTime(b *testing.B, who int) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
