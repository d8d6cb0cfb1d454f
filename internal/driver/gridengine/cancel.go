package gridengine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

// forceAfter is how long a deletion may take before it is looked whether the host is
// there at all.
const forceAfter = 20 * time.Second

// maxJobsPerCommand is how many jobs one command names: there is a limit to its length.
const maxJobsPerCommand = 1000

// CancelJobs deletes jobs. A job on a host that is gone stays in the queue for ever;
// if it is to be deleted again after a while, the deletion is forced, where the
// site allows that.
func (m *Manager) CancelJobs(ctx context.Context, ids []string) error {
	var errs []error
	for some := range slices.Chunk(validJobs(ids), maxJobsPerCommand) {
		errs = append(errs, m.runQdel(ctx, some))
		if late := m.overdueDeletions(some); len(late) > 0 {
			errs = append(errs, m.forceDeletion(ctx, late))
		}
	}
	return errors.Join(errs...)
}

// validJobs are those that can be jobs of Grid Engine.
func validJobs(ids []string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !jobNumber().MatchString(id) })
}

func (m *Manager) runQdel(ctx context.Context, ids []string) error {
	_, err := m.cmd.runCommand(ctx, "qdel", strings.Join(ids, ","))
	if err == nil || onlyFinishedJobs(err) {
		return nil
	}
	return classifyError(err)
}

// onlyFinishedJobs says that all that qdel complained of is jobs that are over, or will
// be.
func onlyFinishedJobs(err error) bool {
	var f *failure
	if !errors.As(err, &f) || f.Code < 0 || f.Says == "" {
		return false
	}
	for _, line := range f.Lines {
		switch {
		case strings.TrimSpace(line) == "", strings.Contains(line, " has deleted job "),
			strings.Contains(line, " has registered the job "),
			strings.Contains(line, "does not exist"), strings.Contains(line, "is already in deletion"),
			strings.Contains(line, "unable to sync state with remote execd"): // it will be deleted when that is back
		default:
			return false
		}
	}
	return true
}

// overdueDeletions are those whose deletion was first asked for a while ago. Those asked for
// long ago are forgotten.
func (m *Manager) overdueDeletions(ids []string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock()
	for id, when := range m.asked {
		if now.Sub(when) > time.Hour {
			delete(m.asked, id)
		}
	}
	var list []string
	for _, id := range ids {
		when, ok := m.asked[id]
		switch {
		case !ok:
			m.asked[id] = now
		case now.Sub(when) > forceAfter:
			list = append(list, id)
		}
	}
	return list
}

// forceDeletion deletes jobs whose hosts do not answer. What runs there runs on, if the
// host lives: whoever asks looks for that by himself. Many sites leave it to
// their administrators (ENABLE_FORCED_QDEL), which is no error: the job stays in
// the queue as before.
func (m *Manager) forceDeletion(ctx context.Context, ids []string) error {
	gone, err := m.onGoneHosts(ctx, ids)
	if err != nil || len(gone) == 0 {
		return err
	}
	_, err = m.cmd.runCommand(ctx, "qdel", "-f", strings.Join(gone, ","))
	m.log.Info("jobs on hosts that do not answer were deleted by force", "jobs", gone, "err", err)
	return nil
}

// onGoneHosts are those jobs whose queue Grid Engine does not hear of (u).
func (m *Manager) onGoneHosts(ctx context.Context, ids []string) ([]string, error) {
	out, err := m.cmd.runCommand(ctx, "qstat", "-f", "-xml", "-u", m.user)
	if err != nil {
		return nil, err
	}
	s, err := parseStatus(out)
	if err != nil {
		return nil, err
	}
	var gone []string
	for _, q := range s.Instances {
		for _, j := range q.Jobs {
			if id := strings.TrimSpace(j.ID); strings.Contains(q.State, "u") && j.Owner == m.user && slices.Contains(ids, id) {
				gone = append(gone, id)
			}
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(gone))), nil
}
