package broker

import (
	"sync"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// placedJobs are the jobs that have a cluster and have not ended, as of the last turn.
// Whoever wants to know how busy clusters are asks here: thousands of jobs may wait,
// and going through all of them would keep everybody waiting.
type placedJobs struct {
	mu   sync.Mutex
	jobs map[core.JobID]placedJob
}

type placedJob struct {
	*job
	cluster string
	state   core.State
}

// isPlaced reports whether a job in this state has a cluster.
func isPlaced(s core.State) bool {
	switch s {
	case core.Selected, core.Staging, core.Queued, core.Running, core.Stopping:
		return true
	}
	return false
}

// updateJob notes the state of a job.
func (p *placedJobs) updateJob(j *job) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !isPlaced(j.rec.State) {
		delete(p.jobs, j.rec.ID)
		return
	}
	if p.jobs == nil {
		p.jobs = map[core.JobID]placedJob{}
	}
	p.jobs[j.rec.ID] = placedJob{j, j.rec.Cluster, j.rec.State}
}

// jobsAt lists the jobs of a cluster, in whatever order.
func (p *placedJobs) jobsAt(cluster string) []placedJob {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []placedJob
	for _, j := range p.jobs {
		if j.cluster == cluster {
			list = append(list, j)
		}
	}
	return list
}
