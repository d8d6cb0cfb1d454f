// Package adaptive is the experiment of papers/004, chapter 5: a program with a
// deadline, on one of two clusters, while others begin to compute there; with the
// adaptive service and without, and what the service costs. The two clusters are
// two processors of this machine, the broker is the real one, the load is real.
// It must not know how the broker decides: it asks over the same socket as
// everybody else.
package adaptive

import (
	"context"
	"time"

	"github.com/godwit-hpc/godwit/internal/cli/demo/testbed"
	"github.com/godwit-hpc/godwit/internal/experiment/measured"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
)

// Names of the two clusters. Jobs begin in the first.
const (
	Home = "home"
	Away = "away"
)

// Bed is the testbed of the experiment.
type Bed struct{ *testbed.Testbed }

// NewBed starts a broker whose agents look every sample. agent is the command of
// an agent; nil: that of the program godwit beside this one. This machine is the
// reference host of the experiment.
func NewBed(ctx context.Context, agent []string, sample time.Duration) (*Bed, error) {
	if len(agent) == 0 {
		godwit, err := measured.FindGodwit()
		if err != nil {
			return nil, err
		}
		agent = []string{godwit, "agent"}
	}
	t, err := testbed.Open(ctx, testbed.Options{Clusters: [2]string{Home, Away}, Agent: agent, Sample: sample})
	if err != nil {
		return nil, err
	}
	return &Bed{t}, nil
}

// newJob is a job that runs a program of some size, in a folder of its own.
func (b *Bed) newJob(p *Program, size float64, method string) (jobfile.Job, error) {
	dir, err := p.makeFolder(b.Dir)
	spec := testbed.NewJob(p.Name, p.argv(size), method)
	spec.Workdir, spec.Progress = dir, p.Progress
	return spec, err
}
