package local

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/host/cgroup"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// groups makes the cgroups of attempts, as far as this machine lets us: so that
// an attempt keeps to its CPUs, its quota and its memory whatever it does, is
// ended as a whole, and what it uses is known at little cost. Without them
// attempts are plain processes with affinity and niceness.
type groups struct {
	prefix string
	can    cgroup.Ability
	quota  float64
	memory int64
	usable []int // CPUs of this process: to be confined to all of them is to be free
}

// group is the cgroup of one attempt.
type group = *ownGroup

type ownGroup struct{ *cgroup.Group }

// newGroups finds out what is allowed; notes say what is not, of what the
// options ask for.
func newGroups(o *Options) (g groups, notes []string) {
	h := fnv.New32a()
	_, _ = h.Write([]byte(o.Dir)) // cannot fail
	g = groups{prefix: fmt.Sprintf("%08x-", h.Sum32()), quota: o.Quota, memory: o.Memory}
	g.usable, _ = UsableCPUs() // without them everybody is confined
	if o.NoCgroups {
		g.can.Why = "they are not to be used"
	} else {
		g.can = cgroup.ProbeAbility()
	}
	because := ""
	if g.can.Why != "" {
		reason, _, _ := strings.Cut(g.can.Why, "; ") // all have the same
		if _, after, ok := strings.Cut(reason, ": "); ok {
			reason = after
		}
		because = " (" + reason + ")"
	}
	if o.Quota < 1 && !g.can.CPU {
		notes = append(notes, fmt.Sprintf("the quota of %g needs cgroups, which cannot be used here%s; jobs get whole CPUs",
			o.Quota, because))
		o.Quota = 1
	}
	if o.Memory > 0 && !g.can.Memory {
		notes = append(notes, "the limit on memory needs cgroups, which cannot be used here"+because+
			"; jobs keep to it only process by process")
	}
	return g, notes
}

// createGroup makes the cgroup of an attempt; nil if there is nothing it would do.
func (g *groups) createGroup(name string, w *wire.Attempt) (group, error) {
	if !g.can.IsUsable() {
		return nil, nil
	}
	made, err := cgroup.CreateGroup(g.prefix+name, g.limitsOf(w))
	if err != nil {
		return nil, fmt.Errorf("make a cgroup: %w", err)
	}
	return &ownGroup{made}, nil
}

// limitsOf are the limits of an attempt that can be kept here.
func (g *groups) limitsOf(w *wire.Attempt) cgroup.Limits {
	var l cgroup.Limits
	if g.can.CPU && g.quota < 1 {
		l.CPU = g.quota * float64(max(1, w.Procs))
	}
	if g.can.CPUs && !slices.Equal(w.CPUs, g.usable) {
		l.CPUs = w.CPUs
	}
	if g.can.Memory {
		l.Memory = g.memory
		if w.Spec.Memory > 0 {
			l.Memory = w.Spec.Memory
		}
	}
	if g.can.Pids {
		l.Pids = w.Spec.Processes
	}
	return l
}

// openGroup is the cgroup that an earlier driver made.
func (g *groups) openGroup(s string) group {
	if s == "" {
		return nil
	}
	found, err := cgroup.OpenGroup(s)
	if err != nil {
		return nil // it is gone
	}
	return &ownGroup{found}
}

// removeOrphans removes cgroups of attempts that have no folder: their driver died before
// it made one, or while it removed one. They are looked for wherever an attempt with all
// limits would have its cgroup.
func (g *groups) removeOrphans(hasFolder func(name string) bool) error {
	if !g.can.IsUsable() || len(g.usable) == 0 {
		return nil
	}
	all := g.limitsOf(&wire.Attempt{CPUs: g.usable[:1], Spec: jobfile.Job{Memory: 1 << 30, Processes: 1000}})
	return cgroup.RemoveOrphans(g.prefix, all, hasFolder)
}

// cpuUsed is the CPU time used so far; -1 if that is not known.
func (g *ownGroup) cpuUsed() time.Duration {
	d, err := g.UsedCPU()
	if err != nil {
		return -1
	}
	return d
}

// discardGroup ends what is in the group and removes it.
func (g *ownGroup) discardGroup() error {
	if err := g.KillAll(); err != nil {
		return fmt.Errorf("end a cgroup: %w", err)
	}
	return g.RemoveGroup() // which waits for the dying
}
