package gridengine

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver/batch"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
)

// JobEndings says how jobs ended that are no longer listed. Grid Engine writes that
// down some seconds late, and nothing at all of jobs that were deleted before
// they ran.
func (m *Manager) JobEndings(ctx context.Context, ids []string) (map[string]batch.Ending, error) {
	ends, wanted := map[string]batch.Ending{}, map[string]bool{}
	m.mu.Lock()
	for _, id := range ids {
		reason, broken := m.broken[id]
		host, silent := m.silence.jobs[id]
		switch {
		case broken:
			ends[id] = batch.Ending{How: "could not be started: " + reason}
		case silent:
			ends[id] = batch.Ending{How: "its host " + host + " does not answer", Cause: jobfile.NodeFail}
		case jobNumber().MatchString(id):
			wanted[id] = true
		}
	}
	m.mu.Unlock()
	if len(wanted) == 0 {
		return ends, nil
	}
	records, err := readAccounting(m.accountingFile(), wanted)
	if err != nil {
		records = m.runQacct(ctx, wanted)
	}
	for id, r := range records {
		if r.Owner == m.user {
			ends[id] = r.toEnding()
		}
	}
	return ends, m.settleUnrecorded(ctx, wanted, ends)
}

// settleUnrecorded sees to jobs of which nothing is written down: those that had not
// begun were deleted; of the others it may be written soon, so that it is worth
// asking again. Nobody waits for others longer than that takes.
func (m *Manager) settleUnrecorded(ctx context.Context, wanted map[string]bool, ends map[string]batch.Ending) error {
	flush := m.flushTime(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock()
	maps.DeleteFunc(m.sought, func(_ string, when time.Time) bool { return now.Sub(when) > time.Hour })
	early, enough := "", false
	for id := range wanted {
		if _, ok := m.sought[id]; !ok {
			m.sought[id] = now
		}
		enough = enough || now.Sub(m.sought[id]) >= flush
		if _, ok := ends[id]; ok {
			continue
		}
		if m.waited[id] {
			ends[id] = batch.Ending{How: "it was deleted before it began", Cause: jobfile.Preempted}
			continue
		}
		early = id
	}
	if early != "" && !enough {
		return fmt.Errorf("how job %s ended is not written down yet", early)
	}
	return nil
}

// maxFlushTime bounds how long we wait to hear how a job ended.
const maxFlushTime = 30 * time.Second

// flushTime is how long after its end Grid Engine writes down how a job ended.
func (m *Manager) flushTime(ctx context.Context) time.Duration {
	m.mu.Lock()
	known := m.flush
	m.mu.Unlock()
	if known > 0 {
		return known
	}
	out, err := m.cmd.runCommand(ctx, "qconf", "-sconf", "global")
	if err != nil {
		return maxFlushTime
	}
	flush := min(parseFlushTime(out)+3*time.Second, maxFlushTime) // it is not exact
	m.mu.Lock()
	m.flush = flush
	m.mu.Unlock()
	return flush
}

// parseFlushTime finds it in what qconf -sconf prints.
func parseFlushTime(text []byte) time.Duration {
	const usual = 15 * time.Second
	whole := strings.ReplaceAll(string(text), "\\\n", " ")
	flush := usual
	for _, word := range strings.Fields(whole) {
		key, value, _ := strings.Cut(word, "=")
		if key != "flush_time" && key != "accounting_flush_time" {
			continue
		}
		seconds := 0
		for part := range strings.SplitSeq(value, ":") {
			n, err := strconv.Atoi(part)
			if err != nil || n < 0 || n > 1e6 || seconds > 1e6 {
				return usual
			}
			seconds = 60*seconds + n
		}
		flush = time.Duration(seconds) * time.Second
		if key == "accounting_flush_time" {
			return flush // which counts for this file
		}
	}
	return flush
}

func (m *Manager) accountingFile() string {
	cell := m.cmd.getVariable("SGE_CELL")
	if cell == "" {
		cell = "default"
	}
	return filepath.Join(m.cmd.getVariable("SGE_ROOT"), cell, "common", "accounting")
}

// maxQacctCalls bounds how many jobs qacct is asked for, one by one: it reads the
// whole file each time.
const maxQacctCalls = 20

// runQacct asks where the file cannot be read. What it does not know it calls an
// error.
func (m *Manager) runQacct(ctx context.Context, wanted map[string]bool) map[string]record {
	found := map[string]record{}
	for id := range wanted {
		if len(found) >= maxQacctCalls || ctx.Err() != nil {
			break
		}
		out, err := m.cmd.runCommand(ctx, "qacct", "-j", id)
		if err != nil {
			continue
		}
		if r, ok := parseQacct(out); ok && r.Job == id {
			found[id] = r
		}
	}
	return found
}

// parseQacct reads what qacct -j prints; of several records the last.
func parseQacct(text []byte) (r record, ok bool) {
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "=====") {
			r = record{}
			continue
		}
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		value = strings.TrimSpace(value)
		first, _, _ := strings.Cut(value, " ")
		switch key {
		case "hostname":
			r.Host = value
		case "owner":
			r.Owner = value
		case "jobnumber":
			r.Job = value
		case "failed":
			r.Failed, _ = strconv.Atoi(first) // 0 if it is nothing we know
		case "exit_status":
			r.Exit, _ = strconv.Atoi(first)
		case "ru_wallclock":
			r.Wall, _ = strconv.ParseFloat(strings.TrimSuffix(first, "s"), 64)
		case "category":
			r.Limit = limitOf(value)
		}
	}
	return r, jobNumber().MatchString(r.Job)
}
