package workload_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/brokerlog"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sim/workload"
)

// writeLog writes an exported log with these jobs alone.
func writeLog(t *testing.T, jobs []brokerlog.Job) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "live.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := brokerlog.NewWriter(json.NewEncoder(f).Encode, brokerlog.Header{})
	for i := range jobs {
		err = errors.Join(err, w.WriteLine(&brokerlog.Line{Job: &jobs[i]}))
	}
	if err := errors.Join(err, w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTheJobsOfABrokerAreATrace(t *testing.T) {
	at := func(s float64) core.Time { return core.AtSecond(1.7e9 + s) }
	path := writeLog(t, []brokerlog.Job{
		{ID: 4, User: "ann", Program: "pi", State: core.Done, Submit: at(10), Start: at(12), End: at(42), Procs: 2,
			Run: 29 * time.Second, Limit: time.Minute},
		{ID: 3, User: "bob", Program: "ft", State: core.Failed, Submit: at(0), Start: at(1), End: at(2), Procs: 1,
			Run: time.Second},
		{ID: 5, User: "ann", Program: "pi", State: core.Running, Submit: at(20), Start: at(22), Procs: 2},
		{ID: 6, User: "ann", Program: "pi", State: core.Cancelled, Submit: at(30), End: at(31), Procs: 2}})
	source, stats, err := workload.ReadTrace(workload.TraceOptions{File: path})
	if err != nil {
		t.Fatal(err)
	}
	if stats.Records != 4 || stats.Jobs != 2 || len(stats.Skipped) != 1 || stats.Skipped[0].Count != 2 {
		t.Errorf("%+v", stats)
	}
	var jobs []workload.Job
	var j workload.Job
	for source.NextJob(&j) {
		j.Spec.Components = append([]core.Component(nil), j.Spec.Components...)
		jobs = append(jobs, j)
	}
	if len(jobs) != 2 || jobs[0].Label != 3 || jobs[1].Label != 4 || jobs[0].Submit != 0 ||
		jobs[1].Submit != core.AtSecond(10) || jobs[1].Run != 29*time.Second || jobs[1].Spec.Estimate != time.Minute ||
		jobs[0].Spec.Estimate != time.Second || jobs[1].Spec.Components[0].Min != 2 || jobs[0].Spec.User == jobs[1].Spec.User ||
		jobs[0].Spec.App == jobs[1].Spec.App {
		t.Errorf("%+v", jobs)
	}
}
