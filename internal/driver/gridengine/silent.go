package gridengine

import (
	"context"
	"slices"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver/batch"
)

// Grid Engine keeps a job on its list whose host has died, until somebody
// deletes it by hand. So we ask now and then whether the hosts of our jobs are
// there, and count those jobs as gone whose host has not been heard of for a
// while: who asks then looks whether the agent lives after all.
const (
	hostsInterval = 15 * time.Second
	// silenceTimeout is how long a host is silent, after Grid Engine has noticed that
	// (max_unheard, usually five minutes), until it counts as dead. A qmaster that
	// has just started has heard of nobody.
	silenceTimeout = time.Minute
)

// silence is which hosts do not answer, and what became of that.
type silence struct {
	asked time.Time
	since map[string]time.Time // by host
	jobs  map[string]string    // on them: that host
}

// withoutSilent leaves out jobs whose host does not answer.
func (m *Manager) withoutSilent(ctx context.Context, list []batch.Entry) []batch.Entry {
	if !slices.ContainsFunc(list, hasBegun) {
		return list
	}
	now := m.clock()
	m.mu.Lock()
	due := now.Sub(m.silence.asked) > hostsInterval
	if due {
		m.silence.asked = now
	}
	m.mu.Unlock()
	if due {
		if out, err := m.cmd.runCommand(ctx, "qhost", "-xml"); err == nil { // else it is asked again
			if machines, err := parseHosts(out); err == nil {
				m.noteSilentHosts(machines, now)
			}
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.silence.jobs = map[string]string{}
	return slices.DeleteFunc(list, func(e batch.Entry) bool {
		if !hasBegun(e) {
			return false
		}
		since, ok := m.silence.since[e.Hosts[0]]
		if !ok || now.Sub(since) < silenceTimeout {
			return false
		}
		m.silence.jobs[e.ID] = e.Hosts[0]
		return true
	})
}

// hasBegun says that the job is on a host.
func hasBegun(e batch.Entry) bool { return e.State != batch.Pending && len(e.Hosts) > 0 }

// noteSilentHosts notes which hosts are silent: they have no load.
func (m *Manager) noteSilentHosts(machines []machine, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	since := map[string]time.Time{}
	for i := range machines {
		h := &machines[i]
		if h.Name == "global" || h.attributeValue("load_avg") != "-" {
			continue
		}
		since[h.Name] = now
		if before, ok := m.silence.since[h.Name]; ok {
			since[h.Name] = before
		}
	}
	m.silence.since = since
}
