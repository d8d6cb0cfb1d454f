package engine

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// Retrial decides anew what a log says was decided: an engine on a world of its own is told
// the same inputs at the same times. What it is given may come from a file that somebody
// changed; it returns errors where an engine would not go on.
type Retrial struct {
	w *world.World
	e *Engine
}

// NewRetrial begins with the state of a snapshot; nil: with no cluster and no job.
func NewRetrial(policy core.PlacePolicy, snapshot []byte) (*Retrial, error) {
	spec := world.Spec{DefaultPlace: policy}
	if snapshot == nil {
		return &Retrial{w: world.New(spec)}, nil
	}
	var err error
	if spec.Clusters, err = world.SnapshotClusters(snapshot); err != nil {
		return nil, err
	}
	procs := 0
	for i := range spec.Clusters {
		if procs += spec.Clusters[i].TotalProcs(); procs > maxRetrialProcs {
			return nil, fmt.Errorf("a grid of more than %d cores", maxRetrialProcs)
		}
	}
	w, err := world.RestoreSnapshot(spec, snapshot)
	return &Retrial{w: w}, err
}

// maxRetrialProcs is more than all clusters have: a damaged number must not fill the memory.
const maxRetrialProcs = 10_000_000

// checkGrid refuses clusters that cannot be.
func checkGrid(spec *core.ClusterSpec) error {
	if spec != nil && (!spec.IsValid() || spec.TotalProcs() > maxRetrialProcs) {
		return fmt.Errorf("cluster %q has %d cores", spec.Name, spec.TotalProcs())
	}
	return nil
}

// ApplyEvent takes an event over of which it is not known what it came of.
func (r *Retrial) ApplyEvent(ev *core.Event) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	if err := checkGrid(ev.Grid); err != nil {
		return err
	}
	now := *ev
	now.Modernize()
	return r.w.ApplyEvent(&now)
}

// BeginEngine makes an engine with these settings, as a broker does that begins; with
// unsettled it goes on from what another one had left.
func (r *Retrial) BeginEngine(cfg Config, unsettled *Unsettled) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	r.e = New(cfg, r.w)
	if unsettled != nil {
		return r.e.resumeFrom(unsettled)
	}
	return nil
}

// IsBegun reports whether there is an engine that can be told something.
func (r *Retrial) IsBegun() bool { return r.e != nil }

// Difference is the first thing that is decided otherwise than a log says.
type Difference struct {
	Job     core.JobID // 0: it is about no job
	At      core.Time
	Logged  string // what was decided then, as the log has it; nothing: no more than before it
	Decided string // what is decided now
}

// CheckStep tells the engine an input, and compares what it decides with the events and
// commands that the log has. An error means that the input cannot have been given.
func (r *Retrial) CheckStep(now core.Time, in *core.Input, events []core.Event,
	commands []core.Command) (*Difference, error) {
	if err := checkGrid(in.Grid); err != nil {
		return nil, err
	}
	out, err := r.stepEngine(now, in)
	if err != nil {
		return nil, err
	}
	for i := range max(len(events), len(out.Events)) {
		logged, was := describeAt(events, i, func(ev *core.Event) core.JobID { return ev.Job })
		decided, is := describeAt(out.Events, i, func(ev *core.Event) core.JobID { return ev.Job })
		if logged != decided {
			return &Difference{cmp.Or(was, is), now, logged, decided}, nil
		}
	}
	for i := range max(len(commands), len(out.Commands)) {
		logged, was := describeAt(commands, i, func(c *core.Command) core.JobID { return c.Job })
		decided, is := describeAt(out.Commands, i, func(c *core.Command) core.JobID { return c.Job })
		if logged != decided {
			return &Difference{cmp.Or(was, is), now, logged, decided}, nil
		}
	}
	return nil, nil
}

// describeAt is an element of a list as a log has it, so that what a log cannot tell apart,
// as no list and an empty one, is the same.
func describeAt[T any](list []T, i int, jobOf func(*T) core.JobID) (string, core.JobID) {
	if i >= len(list) {
		return "nothing", 0
	}
	text, err := json.Marshal(&list[i])
	if err != nil {
		return err.Error(), jobOf(&list[i])
	}
	return string(text), jobOf(&list[i])
}

func (r *Retrial) stepEngine(now core.Time, in *core.Input) (out *Output, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	return r.e.Step(now, in), nil
}
