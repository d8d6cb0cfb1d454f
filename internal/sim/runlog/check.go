package runlog

import (
	"errors"
	"fmt"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Limits far above any real grid: a damaged number must not fill the memory.
const (
	maxClusters   = 10_000
	maxProcs      = 10_000_000
	maxFiles      = 1_000_000
	maxSize       = 1 << 30
	maxComponents = 256
)

// checkHeader says what is wrong with a header that is well-formed JSON.
func (l *headerLine) checkHeader() error {
	switch {
	case l.Format != format:
		return fmt.Errorf("the first line must say that this is a %s", format)
	case l.Version != version:
		return fmt.Errorf("version %d of the format, this program reads version %d", l.Version, version)
	case len(l.World.Clusters) == 0 || len(l.World.Clusters) > maxClusters:
		return fmt.Errorf("%d clusters, there must be from 1 to %d", len(l.World.Clusters), maxClusters)
	case len(l.World.Files) > maxFiles:
		return fmt.Errorf("%d files, at most %d", len(l.World.Files), maxFiles)
	case l.World.MaxTries < 0:
		return fmt.Errorf("max_tries %d is below 0", l.World.MaxTries)
	}
	if err := l.World.checkClusters(); err != nil {
		return err
	}
	return l.World.checkNetwork()
}

func (w *worldLine) checkClusters() error {
	left := maxProcs
	for _, c := range w.Clusters {
		procs := 0
		for _, run := range c.Hosts {
			if run.Count < 1 || run.Procs < 1 || run.Procs > left || run.Count > left/run.Procs {
				return fmt.Errorf("cluster %q: hosts of %d times %d cores", c.Name, run.Count, run.Procs)
			}
			if !(run.Speed > 0 && run.Speed < 1e9) {
				return fmt.Errorf("cluster %q: speed %g", c.Name, run.Speed)
			}
			procs += run.Count * run.Procs
			left -= run.Count * run.Procs
		}
		if procs == 0 || c.Depth < 0 || c.KeepFree < 0 || c.KeepFree > procs || c.GrowFree < 0 || c.GrowFree > maxProcs {
			return fmt.Errorf("cluster %q: %d cores, %d kept free, %d not grown into", c.Name, procs, c.KeepFree, c.GrowFree)
		}
	}
	return nil
}

func (w *worldLine) checkNetwork() error {
	n := len(w.Clusters)
	for _, f := range w.Files {
		for _, at := range f.At {
			if at < 0 || int(at) >= n {
				return fmt.Errorf("file %q is at cluster %d, which is not there", f.Name, at)
			}
		}
	}
	if w.Paths != nil && len(w.Paths) != n {
		return fmt.Errorf("paths of %d clusters, there are %d", len(w.Paths), n)
	}
	for i, row := range w.Paths {
		if len(row) != n {
			return fmt.Errorf("%d paths from cluster %d, there are %d clusters", len(row), i, n)
		}
	}
	return nil
}

// checkSpec says what is wrong with a submitted job. Jobs are numbered from 1
// in the order of their submission.
func (r *Replay) checkSpec(j *core.Job) error {
	switch {
	case j == nil:
		return errors.New("a submission without a job description")
	case int64(j.ID) != r.submitted+1:
		return fmt.Errorf("job %d is submitted where job %d is due", j.ID, r.submitted+1)
	case len(j.Components) == 0 || len(j.Components) > maxComponents:
		return fmt.Errorf("job %d has %d components, there must be from 1 to %d", j.ID, len(j.Components), maxComponents)
	case j.MaxTries < 0 || j.Retries < 0 || j.Estimate < 0:
		return fmt.Errorf("job %d has a number below 0", j.ID)
	}
	for _, c := range j.Components {
		odd := c.Initial != 0 && (c.Initial < c.Min || c.Initial > c.Max)
		if c.Min < 1 || c.Max < c.Min || c.Max > maxSize/len(j.Components) || odd || j.Kind == core.Rigid && c.Min != c.Max {
			return fmt.Errorf("job %d has a component of %d to %d cores, %d at first", j.ID, c.Min, c.Max, c.Initial)
		}
		for _, f := range c.Inputs {
			if f < 0 {
				return fmt.Errorf("job %d needs file %d", j.ID, f)
			}
		}
		for _, at := range c.Clusters {
			if at < 0 || int(at) >= len(r.header.World.Clusters) {
				return fmt.Errorf("job %d may run in cluster %d, which is not there", j.ID, at)
			}
		}
	}
	return nil
}
