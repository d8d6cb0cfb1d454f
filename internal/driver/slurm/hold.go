package slurm

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/batch"
)

var (
	_ batch.Holder   = (*Manager)(nil)
	_ batch.Shrinker = (*Manager)(nil)
)

// maxReservation bounds reservations of jobs that say no time.
const maxReservation = 24 * time.Hour

// HoldHosts makes an advance reservation, for which Slurm wants an operator. One that
// nobody uses goes by itself.
func (m *Manager) HoldHosts(ctx context.Context, name string, from time.Time, n driver.Need) error {
	me, err := user.Current()
	if err != nil {
		return err
	}
	start := "now"
	if from.After(m.clock()) {
		start = from.UTC().Format("2006-01-02T15:04:05")
	}
	length := n.Time
	if length <= 0 {
		length = maxReservation
	}
	args := []string{"create", "reservation", "ReservationName=" + name, "Users=" + me.Username, "StartTime=" + start,
		"Duration=" + strconv.FormatInt(int64((length+time.Minute-1)/time.Minute), 10)}
	if n.Nodes > 0 {
		args = append(args, "NodeCnt="+strconv.Itoa(n.Nodes))
	} else {
		args = append(args, "CoreCnt="+strconv.Itoa(n.Procs))
	}
	if m.opt.Partition != "" {
		args = append(args, "PartitionName="+m.opt.Partition)
	}
	a, err := m.run(ctx, command{name: "scontrol", args: args, limit: submitTimeout, submits: true, utc: true})
	if err == nil || m.hasReservation(ctx, name) {
		return nil
	}
	return classifyError(a, err)
}

// hasReservation says whether there is a reservation of that name.
func (m *Manager) hasReservation(ctx context.Context, name string) bool {
	a, err := m.run(ctx, command{name: "scontrol", args: []string{"--oneliner", "show", "reservation", name},
		limit: commandTimeout})
	return err == nil && keyValues(a.out)["ReservationName"] == name
}

// DropHold deletes a reservation.
func (m *Manager) DropHold(ctx context.Context, name string) error {
	a, err := m.run(ctx, command{name: "scontrol", args: []string{"delete", "ReservationName=" + name},
		limit: submitTimeout, submits: true})
	if err == nil || strings.Contains(a.said, "reservation is invalid") {
		return nil
	}
	return classifyError(a, err)
}

// ShrinkJob takes hosts away. Slurm keeps the first ones, on which the script runs.
// scontrol leaves a script in the folder in which it runs, for shells whose job
// has shrunk; nobody wants that.
func (m *Manager) ShrinkJob(ctx context.Context, job string, hosts int) error {
	if !isNumber(job) {
		return fmt.Errorf("%w: %q is no job", driver.ErrRefused, job)
	}
	dir, err := os.MkdirTemp("", "godwit-resize")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is small
	a, err := m.run(ctx, command{name: "scontrol",
		args: []string{"update", "JobId=" + job, "NumNodes=" + strconv.Itoa(hosts)}, limit: submitTimeout, submits: true,
		dir: dir})
	if err != nil {
		return classifyError(a, err)
	}
	return nil
}
