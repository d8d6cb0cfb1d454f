package workload_test

import (
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/swf"
	"github.com/godwit-hpc/godwit/internal/recordings"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sim/workload"
)

// realTrace reads a recorded trace; where it is not at hand a generated one takes its place.
func realTrace(t testing.TB, name string) *swf.Trace {
	t.Helper()
	path := recordings.OrGenerated(t, "swf", name)
	if path == "" {
		return generated(20_000)
	}
	trace, err := swf.ReadFile(path, swf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

func TestMalleableVersionsOfRealTracesTakeTheRecordedTimes(t *testing.T) {
	for _, name := range []string{
		"KTH-SP2-1996-2.swf.gz", "LLNL-Atlas-2006-2.1-cln.swf.gz", "NASA-iPSC-1993-3.1-cln.swf.gz",
	} {
		t.Run(name, func(t *testing.T) { checkExact(t, realTrace(t, name)) })
	}
}

func TestEveryRecordOfARealTraceIsAJobOrCounted(t *testing.T) {
	for _, name := range []string{
		"CEA-Curie-2011.sample.swf.gz", "HPC2N-2002.excerpt3194.swf.gz", "lublin_256.swf.gz",
		"LLNL-Atlas-2006-2.1-cln.swf.gz",
	} {
		t.Run(name, func(t *testing.T) {
			jobs, stats := fromTrace(t, realTrace(t, name), workload.TraceOptions{MaxProcs: 128, Lenient: true})
			sum := len(jobs)
			for _, s := range stats.Skipped {
				sum += s.Count
			}
			if sum != stats.Records || stats.Jobs != len(jobs) {
				t.Errorf("%d records, but %d jobs and skipped %+v", stats.Records, stats.Jobs, stats.Skipped)
			}
			t.Logf("%+v", stats)
		})
	}
}

func BenchmarkMakingTheJobsOfATrace(b *testing.B) {
	trace := realTrace(b, "KTH-SP2-1996-2.swf.gz")
	for b.Loop() {
		s, _, err := workload.FromTrace(trace, workload.TraceOptions{Kind: core.Malleable})
		if err != nil {
			b.Fatal(err)
		}
		for j := new(workload.Job); s.NextJob(j); j = new(workload.Job) {
		}
	}
	b.ReportMetric(float64(b.N)*float64(len(trace.Records))/b.Elapsed().Seconds(), "jobs/s")
}
