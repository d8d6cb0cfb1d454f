package slurm

import (
	"context"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver/batch"
	"github.com/godwit-hpc/godwit/internal/format/hostlist"
)

// queueFormat: the name comes last, as it alone may hold the delimiter.
const queueFormat = "%i|%T|%S|%N|%r|%j"

// ListQueue lists our jobs that wait or run.
func (m *Manager) ListQueue(ctx context.Context, prefix string) ([]batch.Entry, error) {
	m.mu.Lock()
	noMe := m.noMe
	m.mu.Unlock()
	who := []string{"--me"}
	if noMe {
		who = []string{"--user=" + strconv.Itoa(os.Getuid())}
	}
	a, err := m.run(ctx, command{name: "squeue", args: append(who, "--noheader", "--format="+queueFormat),
		limit: commandTimeout})
	if err != nil {
		if !noMe && strings.Contains(a.said, "unrecognized option") {
			m.mu.Lock()
			m.noMe = true
			m.mu.Unlock()
			return m.ListQueue(ctx, prefix)
		}
		return nil, classifyError(a, err)
	}
	return parseQueue(a.out, prefix), nil
}

// parseQueue reads lines of squeue in queueFormat; others are passed over.
func parseQueue(out, prefix string) []batch.Entry {
	var list []batch.Entry
	for line := range strings.Lines(out) {
		f := strings.SplitN(strings.TrimRight(line, "\r\n"), "|", 6)
		if len(f) != 6 || !strings.HasPrefix(f[5], prefix) || f[0] == "" {
			continue
		}
		state, waits := stateOf(f[1])
		if state == jobGone {
			continue
		}
		e := batch.Entry{ID: f[0], Name: strings.TrimRight(f[5], " "), State: state, Hosts: hostlist.ExpandList(f[3]),
			Start: parseTime(f[2])}
		if waits && f[4] != "None" {
			e.Why, e.Hopeless = f[4], state == batch.Pending && isHopeless(f[4])
		}
		list = append(list, e)
	}
	return list
}

// jobGone is the state of a job that has left the queue.
const jobGone batch.State = -1

// stateOf reads a state of Slurm; it says whether it is one with a reason for
// waiting. What is new to us is a job that is there.
func stateOf(s string) (state batch.State, waits bool) {
	switch strings.TrimSuffix(s, "+") {
	case "PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD",
		"POWER_UP_NODE":
		return batch.Pending, true
	case "RUNNING", "SIGNALING", "RESIZING", "STAGE_OUT":
		return batch.Running, false
	case "SUSPENDED", "STOPPED":
		return batch.Running, true
	case "COMPLETING":
		return batch.Leaving, false
	}
	if isOver(s) {
		return jobGone, false
	}
	return batch.Running, false
}

// isOver says that a job in this state will never run again.
func isOver(s string) bool {
	word, _, _ := strings.Cut(s, " ") // CANCELLED by 0
	switch strings.TrimSuffix(word, "+") {
	case "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "LAUNCH_FAILED", "NODE_FAIL", "OUT_OF_MEMORY",
		"PREEMPTED", "RECONFIG_FAIL", "REVOKED", "TIMEOUT":
		return true
	}
	return false
}

// isHopeless says that a job which waits for this reason waits until somebody
// changes the job or the cluster.
func isHopeless(reason string) bool {
	switch reason {
	case "PartitionConfig", "PartitionNodeLimit", "PartitionTimeLimit", "BadConstraints", "InvalidAccount", "InvalidQOS",
		"AccountNotAllowed", "QOSNotAllowed", "DependencyNeverSatisfied", "ReservationDeleted":
		return true
	}
	// AssocMaxCpuPerJobLimit and the like: of one job, not of all that run now.
	return strings.Contains(reason, "Max") &&
		(strings.HasSuffix(reason, "PerJobLimit") || strings.HasSuffix(reason, "PerJob"))
}

// parseTime reads a time of Slurm, in UTC as we ask for it; zero if it is none.
func parseTime(s string) time.Time {
	t, err := time.Parse("2006-01-02T15:04:05", strings.TrimSpace(s))
	if err != nil {
		return time.Time{}
	}
	return t
}
