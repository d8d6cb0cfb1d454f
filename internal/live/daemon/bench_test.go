package daemon_test

import (
	"context"
	"fmt"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

const shortJobs = `
clusters:
  - {name: local, cpus: [0, 1], slots: 16}
`

// BenchmarkShortJobs is jobs that do nothing, through one broker, from submission
// until all are known to have ended; durable all the way.
func BenchmarkShortJobs(b *testing.B) {
	bed := up(b, shortJobs)
	const jobs = 1000
	before := usedSoFar(b)
	for b.Loop() {
		spec := job("/bin/true")
		spec.Checkpoint.Method = "restart"
		spec.Array = jobfile.ArrayRange{First: 1, Last: jobs, Step: 1}
		ids, err := bed.client.SubmitJob(context.Background(), &api.Submit{Job: spec})
		if err != nil {
			b.Fatal(err)
		}
		for _, id := range ids.IDs {
			if j := bed.end(fmt.Sprint(id)); j.ExitCode == nil || *j.ExitCode != 0 {
				b.Fatalf("job %d is %s: %s", id, j.State, j.Why)
			}
		}
	}
	b.ReportMetric(float64(jobs*b.N)/b.Elapsed().Seconds(), "jobs/s")
	bed.down() // what agents used that still wait is known when they are gone
	after := usedSoFar(b)
	perJob := func(d time.Duration) float64 { return d.Seconds() * 1e3 / float64(jobs*b.N) }
	b.ReportMetric(perJob(after.own-before.own), "broker-CPU-ms/job")
	b.ReportMetric(perJob(after.children-before.children), "agents-CPU-ms/job") // with their programs
	b.ReportMetric(perJob(after.own-before.own+after.children-before.children), "CPU-ms/job")
}

// used is CPU time, of this process and of those it has waited for.
type used struct{ own, children time.Duration }

func usedSoFar(b *testing.B) (u used) {
	b.Helper()
	for who, into := range map[int]*time.Duration{syscall.RUSAGE_SELF: &u.own, syscall.RUSAGE_CHILDREN: &u.children} {
		var ru syscall.Rusage
		if err := syscall.Getrusage(who, &ru); err != nil {
			b.Fatal(err)
		}
		*into = time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
	}
	return u
}

// BenchmarkStart is one job that does nothing, from asking for it to knowing its
// end, against the same program executed plainly.
func BenchmarkStart(b *testing.B) {
	bed := up(b, shortJobs)
	spec := job("/bin/true")
	spec.Checkpoint.Method = "restart"
	b.Run("job", func(b *testing.B) {
		for b.Loop() {
			bed.end(bed.submit(spec))
		}
	})
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
