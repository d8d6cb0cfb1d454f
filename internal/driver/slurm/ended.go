package slurm

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver/batch"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
)

const (
	// accountingRetryInterval is how long it is believed that there is no accounting.
	accountingRetryInterval = time.Hour
	// maxSingleQueries is how many jobs are asked for one at a time; if they are more, all
	// jobs that the controller knows are listed.
	maxSingleQueries = 8
)

// JobEndings says how jobs ended: by the accounting, which says most and for longest;
// those that are not in it, or if there is none, by the controller, which knows
// them for some minutes.
func (m *Manager) JobEndings(ctx context.Context, ids []string) (map[string]batch.Ending, error) {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !isNumber(id) })
	endings := m.endingsFromAccounting(ctx, ids)
	left := slices.DeleteFunc(ids, func(id string) bool { _, ok := endings[id]; return ok })
	if len(left) == 0 {
		return endings, nil
	}
	for _, args := range scontrolQueries(left) {
		a, err := m.run(ctx, command{name: "scontrol", args: args, limit: commandTimeout})
		if err != nil {
			if strings.Contains(a.said, "Invalid job id") {
				continue // it is forgotten
			}
			return nil, classifyError(a, err)
		}
		for id, e := range parseJobs(a.out) {
			if slices.Contains(left, id) {
				endings[id] = e
			}
		}
	}
	return endings, nil
}

func scontrolQueries(ids []string) [][]string {
	all := []string{"--oneliner", "show", "job"}
	if len(ids) > maxSingleQueries {
		return [][]string{all}
	}
	var list [][]string
	for _, id := range ids {
		list = append(list, append(slices.Clone(all), id))
	}
	return list
}

// endingsFromAccounting asks the accounting. If there is none, or it does not answer, that is
// not for long a reason to ask.
func (m *Manager) endingsFromAccounting(ctx context.Context, ids []string) map[string]batch.Ending {
	endings := map[string]batch.Ending{}
	m.mu.Lock()
	none := !m.noSacct.IsZero() && m.clock.Since(m.noSacct) < accountingRetryInterval
	m.mu.Unlock()
	if none {
		return endings
	}
	const most = 500 // on one command line
	for part := range slices.Chunk(ids, most) {
		a, err := m.run(ctx, command{name: "sacct", limit: commandTimeout,
			// Not as JSON: there, what failed has the return code 0.
			args: []string{"--parsable2", "--noheader", "--allocations", "--format=JobIDRaw,State,ExitCode", "--jobs=" +
				strings.Join(part, ",")}})
		if err != nil {
			if strings.Contains(a.said, "disabled") {
				m.mu.Lock()
				m.noSacct = m.clock()
				m.mu.Unlock()
			}
			m.log.Debug("the accounting does not answer", "err", classifyError(a, err))
			return endings
		}
		for id, e := range parseAccounts(a.out) {
			endings[id] = e
		}
	}
	return endings
}

// parseAccounts reads lines of sacct: number, state, exit code and signal.
func parseAccounts(out string) map[string]batch.Ending {
	endings := map[string]batch.Ending{}
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimRight(line, "\r\n"), "|")
		if len(f) < 2 || !isNumber(f[0]) || !isOver(f[1]) {
			continue
		}
		e := batch.Ending{How: f[1], Cause: causeOf(f[1])}
		if len(f) > 2 {
			e.Code, e.Signal = parseExit(f[2])
		}
		endings[f[0]] = e
	}
	return endings
}

// parseJobs reads lines of scontrol --oneliner show job: those that have ended.
func parseJobs(out string) map[string]batch.Ending {
	endings := map[string]batch.Ending{}
	for line := range strings.Lines(out) {
		f := keyValues(line)
		id, state := f["JobId"], f["JobState"]
		if !isNumber(id) || !isOver(state) {
			continue
		}
		e := batch.Ending{How: state, Cause: causeOf(state)}
		e.Code, e.Signal = parseExit(f["ExitCode"])
		if why := f["Reason"]; why != "" && why != "None" && state != "CANCELLED" { // there it is why it waited
			e.How += ", " + why
		}
		endings[id] = e
	}
	return endings
}

// causeOf says what took a job that ended in this state away from its user. One
// that an administrator cancels was taken away as well; its user does so through
// us.
func causeOf(state string) string {
	word, _, _ := strings.Cut(state, " ") // CANCELLED by 0
	switch strings.TrimSuffix(word, "+") {
	case "NODE_FAIL", "BOOT_FAIL", "LAUNCH_FAILED", "RECONFIG_FAIL":
		return jobfile.NodeFail
	case "PREEMPTED", "REVOKED", "CANCELLED":
		return jobfile.Preempted
	}
	return ""
}

// keyValues are the words of the form key=value of a line, the first of each key. A
// value with spaces ends at the first of them.
func keyValues(line string) map[string]string {
	f := map[string]string{}
	for word := range strings.FieldsSeq(line) {
		if key, value, ok := strings.Cut(word, "="); ok {
			if _, twice := f[key]; !twice {
				f[key] = value
			}
		}
	}
	return f
}

// parseExit reads an exit code and a signal, such as 0:9.
func parseExit(s string) (code, signal int) {
	c, g, _ := strings.Cut(s, ":")
	code, _ = strconv.Atoi(c)
	signal, _ = strconv.Atoi(g)
	return code, signal
}
