package slurm

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/batch"
)

// SurveyHosts says what hosts there are for our jobs and how long the queue is.
func (m *Manager) SurveyHosts(ctx context.Context) (*driver.Survey, error) {
	a, err := m.run(ctx, command{name: "scontrol", args: []string{"--oneliner", "show", "node"}, limit: surveyTimeout})
	if err != nil {
		return nil, classifyError(a, err)
	}
	s := &driver.Survey{Manager: m.managerVersion(ctx)}
	all := parseNodes(a.out)
	in, notes, err := m.ourPartitions(ctx)
	if err != nil {
		return nil, err
	}
	s.Notes = notes
	unusable := 0
	for i := range all {
		if len(in) == 0 || haveOverlap(all[i].Partitions, in) {
			s.Hosts = append(s.Hosts, all[i].Host)
			unusable += all[i].unusableProcs()
		}
	}
	a, err = m.run(ctx, command{name: "squeue", args: []string{"--noheader", "--format=" + usageFormat},
		limit: surveyTimeout})
	if err != nil {
		return nil, classifyError(a, err)
	}
	s.Waiting, s.Held = parseUsage(a.out, in, s.Hosts)
	s.Held[""] += unusable
	return s, nil
}

func haveOverlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}

// managerVersion is the manager with its version, for people.
func (m *Manager) managerVersion(ctx context.Context) string {
	m.mu.Lock()
	version := m.version
	m.mu.Unlock()
	if version != "" {
		return version
	}
	a, err := m.run(ctx, command{name: "scontrol", args: []string{"--version"}, limit: surveyTimeout})
	if err != nil {
		return "Slurm"
	}
	version = parseVersion(a.out)
	m.mu.Lock()
	m.version = version
	m.mu.Unlock()
	return version
}

// parseVersion makes "Slurm 22.05.8" of what the commands say of themselves.
func parseVersion(out string) string {
	words := strings.Fields(out)
	if len(words) < 2 || !strings.HasPrefix(strings.ToLower(words[0]), "slurm") {
		return "Slurm"
	}
	return "Slurm " + words[1]
}

// partition is one partition.
type partition struct {
	name  string
	usual bool          // jobs that name none go there
	time  time.Duration // of jobs that ask for none; 0: not limited
	most  time.Duration
}

// ourPartitions are the partitions that our jobs go to; none: any.
func (m *Manager) ourPartitions(ctx context.Context) (names, notes []string, err error) {
	all, err := m.partitionsNow(ctx)
	if err != nil {
		return nil, nil, err
	}
	for name := range strings.SplitSeq(m.opt.Partition, ",") {
		if name == "" {
			continue
		}
		if !slices.ContainsFunc(all, func(p partition) bool { return p.name == name }) {
			notes = append(notes, fmt.Sprintf("there is no partition %s; there are %s", name, namesOf(all)))
		}
		names = append(names, name)
	}
	if names == nil {
		for _, p := range all {
			if p.usual {
				names = append(names, p.name)
			}
		}
	}
	return names, notes, nil
}

func namesOf(all []partition) string {
	var names []string
	for _, p := range all {
		names = append(names, p.name)
	}
	return strings.Join(names, ", ")
}

// partitionsMaxAge is how long it is believed that the partitions are as they were.
const partitionsMaxAge = 5 * time.Minute

func (m *Manager) partitionsNow(ctx context.Context) ([]partition, error) {
	m.mu.Lock()
	list, at := m.partitions, m.readAt
	m.mu.Unlock()
	if !at.IsZero() && m.clock.Since(at) < partitionsMaxAge {
		return list, nil
	}
	a, err := m.run(ctx, command{name: "sinfo", args: []string{"--noheader", "--format=%P|%L|%l"}, limit: surveyTimeout})
	if err != nil {
		if list != nil {
			return list, nil // they hardly ever change
		}
		return nil, classifyError(a, err)
	}
	list = parsePartitions(a.out)
	m.mu.Lock()
	m.partitions, m.readAt = list, m.clock()
	m.mu.Unlock()
	return list, nil
}

// TimeLimits are those of the partitions that our jobs go to.
func (m *Manager) TimeLimits(ctx context.Context) (usual, most time.Duration) {
	names, _, err := m.ourPartitions(ctx)
	if err != nil {
		return 0, 0
	}
	all, err := m.partitionsNow(ctx)
	if err != nil {
		return 0, 0
	}
	for i, p := range slices.DeleteFunc(slices.Clone(all),
		func(p partition) bool { return !slices.Contains(names, p.name) }) {
		if p.time > 0 && (usual == 0 || p.time < usual) {
			usual = p.time
		}
		if i == 0 || p.most == 0 || most > 0 && p.most > most {
			most = p.most
		}
	}
	return usual, most
}

// parsePartitions reads names and time limits, of jobs that ask for none and of
// all; the usual partition has a star. One that holds different kinds of hosts has
// several lines.
func parsePartitions(out string) []partition {
	var list []partition
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimSpace(line), "|")
		if len(f) != 3 {
			continue
		}
		p := partition{name: strings.TrimSuffix(f[0], "*"), usual: strings.HasSuffix(f[0], "*"), most: parseLimit(f[2])}
		if p.time = parseLimit(f[1]); p.time == 0 {
			p.time = p.most
		}
		if !slices.Contains(list, p) && p.name != "" {
			list = append(list, p)
		}
	}
	return list
}

// parseLimit reads a time such as 2-03:00:00 or 30:00; 0 if it is none, such as
// infinite.
func parseLimit(s string) time.Duration {
	days, rest, withDays := strings.Cut(s, "-")
	if !withDays {
		days, rest = "0", s
	}
	d, err := strconv.Atoi(days)
	parts := strings.Split(rest, ":")
	if err != nil || d < 0 || d > 36500 || len(parts) > 3 {
		return 0
	}
	seconds := 0
	for _, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 || n > 1<<20 {
			return 0
		}
		seconds = seconds*60 + n
	}
	switch {
	case withDays && len(parts) == 1: // hours
		seconds *= 3600
	case withDays && len(parts) == 2, !withDays && len(parts) == 1: // hours and minutes; minutes
		seconds *= 60
	}
	return time.Duration(d)*24*time.Hour + time.Duration(seconds)*time.Second
}

// node is a host with what Slurm has given out of it.
type node struct {
	driver.Host
	allocated int // processors
}

// unusableProcs counts the processors that nobody can have although no job holds them.
func (n *node) unusableProcs() int {
	if !n.Down {
		return 0
	}
	return max(0, n.Procs-n.allocated)
}

// parseNodes reads lines of scontrol --oneliner show node.
func parseNodes(out string) []node {
	var list []node
	for line := range strings.Lines(out) {
		f := keyValues(line)
		name := f["NodeName"]
		if name == "" {
			continue
		}
		h := node{Host: driver.Host{Name: name, Procs: parseCount(f["CPUTot"]), State: f["State"],
			Partitions: splitList(f["Partitions"])}, allocated: parseCount(f["CPUAlloc"])}
		if cpus, ok := f["CPUEfctv"]; ok && parseCount(cpus) > 0 {
			h.Procs = parseCount(cpus) // without those kept for the system
		}
		h.Memory = int64(parseCount(f["RealMemory"])) << 20
		for _, key := range []string{"AvailableFeatures", "Features"} {
			if h.Features == nil {
				h.Features = splitList(f[key])
			}
		}
		h.Down = isDown(h.State)
		if !h.Down {
			h.Free = max(0, h.Procs-h.allocated)
		}
		list = append(list, h)
	}
	return list
}

// isDown says that a host in this state takes no jobs: MIXED+DRAIN and the like,
// DOWN*, which does not answer.
func isDown(state string) bool {
	for word := range strings.SplitSeq(strings.ToUpper(state), "+") {
		if strings.HasSuffix(word, "*") {
			return true
		}
		switch strings.TrimRight(word, "~#!%$@^-") {
		case "DOWN", "DRAIN", "DRAINED", "DRAINING", "FAIL", "FAILING", "ERROR", "MAINT", "NOT_RESPONDING", "POWERING_DOWN",
			"INVAL", "INVALID_REG", "UNKNOWN", "FUTURE", "NO_RESPOND", "REBOOT_ISSUED", "BLOCKED":
			return true
		}
	}
	return state == ""
}

func parseCount(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > 1<<40 {
		return 0
	}
	return n
}

// splitList are those of a list with commas; (null) is none.
func splitList(s string) []string {
	if s == "" || s == "(null)" {
		return nil
	}
	return strings.Split(s, ",")
}

// EstimateWait asks Slurm when such a job would begin.
func (m *Manager) EstimateWait(ctx context.Context, n driver.Need) (driver.Wait, error) {
	args := slices.Concat([]string{"--test-only"}, m.sbatchOptions(&batch.Request{Name: "godwit", Need: n}),
		[]string{"--wrap=true"})
	a, err := m.run(ctx, command{name: "sbatch", args: args, limit: surveyTimeout})
	if err != nil {
		return driver.Wait{}, classifyError(a, err)
	}
	start, where, ok := parseTest(a.said + a.out)
	if !ok {
		return driver.Wait{Why: "Slurm does not say when it would begin: " + errorText(a.said)}, nil
	}
	seconds := min(max(0, start.Sub(m.clock()).Seconds()), year)
	why := "Slurm would begin it at once"
	switch {
	case seconds >= year:
		return driver.Wait{Known: true, Seconds: year,
			Why: "Slurm foresees no end of the jobs before it: some have no time limit"}, nil
	case seconds >= 1:
		why = fmt.Sprintf("Slurm would begin it at %s", start.Local().Format(time.DateTime))
	}
	if where != "" {
		why += " on " + where
	}
	return driver.Wait{Known: true, Seconds: seconds, Why: why}, nil
}

// year, in seconds, is as long as a wait can be. Slurm counts on a year for each
// job without a limit.
const year = 365 * 24 * 3600

// parseTest reads what sbatch --test-only says: "Job 7 to start at
// 2026-11-15T10:00:00 using 4 processors on nodes n1 in partition batch".
func parseTest(said string) (start time.Time, where string, ok bool) {
	_, rest, found := strings.Cut(said, "to start at ")
	if !found {
		return start, "", false
	}
	f := strings.Fields(rest)
	if len(f) == 0 {
		return start, "", false
	}
	start = parseTime(f[0])
	for i, word := range f {
		if (word == "nodes" || word == "on") && i+1 < len(f) && f[i+1] != "nodes" {
			where = f[i+1]
			break
		}
	}
	return start, where, !start.IsZero()
}
