package daemon

import (
	"fmt"
	"hash/fnv"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver/local"
	"github.com/godwit-hpc/godwit/internal/host/account"
	"github.com/godwit-hpc/godwit/internal/host/cgroup"
	"github.com/godwit-hpc/godwit/internal/live/config"
)

// userGroup is the cgroup of everything that one user runs on a cluster of this
// machine. An outpost of the user could make none by itself; inside this one it makes
// those of attempts. Its limits are root's, so that whatever a program does to the
// cgroup of its own attempt, the user has no more than the cluster has.
type userGroup struct {
	name   string
	limits cgroup.Limits
	user   *account.User
	log    *slog.Logger
}

// hasUserGroups says whether users' programs on a cluster are processes of this machine
// that nobody else limits.
func hasUserGroups(c *config.Cluster) bool { return c.SSH == "" && c.Driver == config.Local }

func (g *grid) userGroup(c *config.Cluster, as *account.User) *userGroup {
	limits, _ := clusterLimits(c) // of the others the cluster tells
	return &userGroup{name: g.userGroupNames(c) + strconv.FormatUint(uint64(as.ID), 10), limits: limits, user: as,
		log: g.Log.With("cluster", c.Name, "user", as.Name)}
}

// userGroupNames is how the names of cgroups of a cluster's users begin: others may have
// brokers below the same cgroup.
func (g *grid) userGroupNames(c *config.Cluster) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(g.State)) // cannot fail
	return fmt.Sprintf("%08x-%s-", h.Sum32(), c.Name)
}

// clusterLimits are what a cluster of this machine has in all, as far as cgroups can keep
// it; missing are the settings that they cannot.
func clusterLimits(c *config.Cluster) (l cgroup.Limits, missing []string) {
	can := cgroup.ProbeAbility()
	slots := max(1, c.Slots)
	if usable, err := local.UsableCPUs(); err != nil || !slices.Equal(usable, c.CPUs) {
		l.CPUs = c.CPUs
	}
	if c.Quota > 0 && c.Quota < 1 {
		l.CPU = c.Quota * float64(slots)
	}
	l.Memory = c.Memory * int64(slots)
	if len(l.CPUs) > 0 && !can.CPUs {
		l.CPUs, missing = nil, append(missing, "cpus")
	}
	if l.CPU > 0 && !can.CPU {
		l.CPU, missing = 0, append(missing, "quota")
	}
	if l.Memory > 0 && !can.Memory {
		l.Memory, missing = 0, append(missing, "memory")
	}
	return l, missing
}

// placeOutpost puts an outpost of the user, and with it all that it starts, into the cgroup.
func (u *userGroup) placeOutpost(pid int) {
	group, err := cgroup.DelegateGroup(u.name, u.limits, int(u.user.ID), int(u.user.Group))
	if err == nil {
		err = group.AddProcess(pid)
	}
	if err != nil {
		u.log.Error("limits of the settings do not hold for this user", "error", err)
	}
}

// userGroups removes the cgroups of users of a cluster in which nothing is left.
type userGroups struct {
	beginning string // of their names
	log       *slog.Logger
}

// How long Close waits for what is about to end.
const (
	removeTries = 40
	removePause = 25 * time.Millisecond
)

// Close is called when the users' outposts have ended. Attempts run on, in their cgroups:
// the next broker finds these.
func (u *userGroups) Close() error {
	for range removeTries {
		if !u.removeEmpty() {
			break
		}
		time.Sleep(removePause)
	}
	return nil
}

// removeEmpty reports whether there are some in which nothing but processes is left.
func (u *userGroups) removeEmpty() bool {
	ending, err := cgroup.RemoveDelegated(u.beginning)
	if err != nil {
		u.log.Warn("not removed", "error", err)
	}
	return ending && err == nil
}

// userLimitNotes say which limits of a cluster's settings do not hold for users, one
// line each for them. It is found out by trying.
func (g *grid) userLimitNotes(c *config.Cluster) []string {
	limits, missing := clusterLimits(c)
	var notes []string
	if len(missing) > 0 {
		notes = append(notes, fmt.Sprintf("limits of the settings that do not hold for jobs of users: %s (they need "+
			"cgroups, which cannot be used here)",
			strings.Join(missing, ", ")))
	}
	group, err := cgroup.DelegateGroup(fmt.Sprintf("try-%d-%s", os.Getpid(), c.Name), limits, 0, 0)
	if err != nil {
		if len(limits.CPUs) > 0 || limits.CPU > 0 || limits.Memory > 0 {
			notes = append(notes, fmt.Sprintf("limits of the settings do not hold for jobs of users: %v", err))
		}
		return notes
	}
	if names := group.UndividedControllers(cgroup.Limits{CPU: limits.CPU, Memory: limits.Memory}); len(names) > 0 {
		notes = append(notes, fmt.Sprintf("limits of the settings (%s) hold for all jobs of a user together, not for each: "+
			"cgroups of version 2 are not divided further", strings.Join(names, ", ")))
	}
	if err := group.RemoveGroup(); err != nil {
		g.Log.Warn("not removed", "cluster", c.Name, "error", err)
	}
	return notes
}
