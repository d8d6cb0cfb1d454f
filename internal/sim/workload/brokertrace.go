package workload

import (
	"slices"

	"github.com/godwit-hpc/godwit/internal/format/brokerlog"
	"github.com/godwit-hpc/godwit/internal/format/swf"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// readBrokerLog makes a trace of the jobs in the exported log of a live broker. As in a trace
// of a machine, a job takes as long as it took there; the first was submitted at second 0. Jobs
// that have not ended, and those that never ran, have no run time and are left out.
func readBrokerLog(path string) (*swf.Trace, error) {
	_, jobs, err := brokerlog.ReadJobs(path)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(jobs, func(a, b brokerlog.Job) int {
		switch {
		case a.Submit < b.Submit:
			return -1
		case a.Submit > b.Submit:
			return 1
		}
		return int(a.ID - b.ID)
	})
	t := &swf.Trace{Records: make([]swf.Record, 0, len(jobs))}
	users, programs := numbering{}, numbering{}
	for i := range jobs {
		r := brokerRecord(&jobs[i])
		r.Submit -= jobs[0].Submit
		r.User, r.App = users.numberOf(jobs[i].User), programs.numberOf(jobs[i].Program)
		t.Records = append(t.Records, r)
	}
	return t, nil
}

func brokerRecord(j *brokerlog.Job) swf.Record {
	r := swf.Record{ID: int64(j.ID), Submit: j.Submit, Wait: swf.Unknown, Run: swf.Unknown, CPU: swf.Unknown,
		RequestedTime: swf.Unknown, Think: swf.Unknown, Memory: swf.Unknown, RequestedMemory: swf.Unknown,
		Preceding: swf.Unknown, Allocated: swf.Unknown, RequestedProcs: int32(j.Procs), Group: swf.Unknown,
		Queue: swf.Unknown, Partition: swf.Unknown, Status: swf.Failed}
	if j.Start > 0 && j.State.IsTerminal() {
		r.Wait, r.Run = max(0, j.Start.Sub(j.Submit)), j.Run
	}
	if j.Limit > 0 {
		r.RequestedTime = j.Limit
	}
	switch j.State {
	case core.Done:
		r.Status = swf.Completed
	case core.Cancelled:
		r.Status = swf.Cancelled
	}
	return r
}

// numbering gives names numbers, in the order in which they come.
type numbering map[string]int32

func (n numbering) numberOf(name string) int32 {
	id, known := n[name]
	if !known {
		id = int32(len(n) + 1)
		n[name] = id
	}
	return id
}
