package gridengine

import (
	"context"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver/batch"
)

// reasons are why jobs wait, as it was said last.
type reasons struct {
	at  time.Time
	why map[string]string
}

// How often, and of how many jobs, it is asked why they wait: that takes a
// command of its own, and the answer only serves people.
const (
	explainInterval = 15 * time.Second
	maxExplained    = 50
)

// explainPending fills in why jobs wait.
func (m *Manager) explainPending(ctx context.Context, list []batch.Entry) {
	var ids []string
	for _, e := range list {
		if e.State == batch.Pending && len(ids) < maxExplained {
			ids = append(ids, e.ID)
		}
	}
	if len(ids) == 0 {
		return
	}
	now := m.clock()
	m.mu.Lock()
	r := m.reasons
	due := now.Sub(r.at) > explainInterval
	if due {
		m.reasons.at = now
	}
	m.mu.Unlock()
	if due {
		out, err := m.cmd.runCommand(ctx, "qstat", "-j", strings.Join(ids, ","))
		if err == nil { // else those known before will do
			r = reasons{now, schedulingInfo(out)}
			m.mu.Lock()
			m.reasons = r
			m.mu.Unlock()
		}
	}
	for i := range list {
		if list[i].State == batch.Pending {
			list[i].Why = r.why[list[i].ID]
		}
	}
}

// schedulingInfo finds, in what qstat -j prints, what the scheduler says of each
// job.
func schedulingInfo(text []byte) map[string]string {
	why := map[string]string{}
	id, inside := "", false
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, ":")
		switch {
		case key == "job_number":
			id, inside = strings.TrimSpace(value), false
		case key == "scheduling info":
			inside = true
			line = value
		case strings.TrimLeft(line, " ") == line:
			inside = false
		}
		words := oneLine(line)
		if !inside || id == "" || words == "" ||
			strings.HasPrefix(words, "(Collecting of scheduler job information is turned off") {
			continue
		}
		if why[id] != "" {
			words = why[id] + "; " + words
		}
		why[id] = oneLine(words)
	}
	return why
}
