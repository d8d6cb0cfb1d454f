package gridengine

import (
	"cmp"
	"context"
	"encoding/xml"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/batch"
)

// machine is a host as qhost -xml describes it.
type machine struct {
	Name   string `xml:"name,attr"`
	Values []struct {
		Name string `xml:"name,attr"`
		Text string `xml:",chardata"`
	} `xml:"hostvalue"`
}

func (h *machine) attributeValue(name string) string {
	for _, v := range h.Values {
		if v.Name == name {
			return strings.TrimSpace(v.Text)
		}
	}
	return ""
}

// parseHosts reads what qhost -xml prints.
func parseHosts(data []byte) ([]machine, error) {
	var doc struct {
		XMLName xml.Name
		Hosts   []machine `xml:"host"`
	}
	err := parseXML(data, "qhost", &doc)
	return doc.Hosts, err
}

// parseSize reads a size as Grid Engine prints it, such as 3.8G.
func parseSize(text string) int64 {
	units := map[byte]float64{'K': 1 << 10, 'M': 1 << 20, 'G': 1 << 30, 'T': 1 << 40, 'P': 1 << 50}
	unit := 1.0
	if text != "" && units[text[len(text)-1]] != 0 {
		unit, text = units[text[len(text)-1]], text[:len(text)-1]
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || !(x >= 0 && x*unit < 1<<62) { // also false for what is no number
		return 0
	}
	return int64(x * unit)
}

// unusable are the states in which a queue takes no jobs for long: unknown,
// error, disabled, suspended, orphaned, ambiguous.
const unusable = "uEdDsSCoc"

// overloaded are those in which it takes none just now.
const overloaded = "aA"

// share is what the queues of one host offer together.
type share struct {
	procs, used, largest int
	closed               bool // none takes a job now
	down                 bool
	states, queues       []string
}

// hostShares sums the queues up by host. Of queues for which jobs wait that want no
// particular one all count that run batch or parallel jobs.
func hostShares(s *status, queue string) map[string]*share {
	hosts := map[string]*share{}
	for i := range s.Instances {
		q := &s.Instances[i]
		name, host, ok := q.isOffered(queue)
		if !ok {
			continue
		}
		h := hosts[host]
		if h == nil {
			h = &share{closed: true, down: true}
			hosts[host] = h
		}
		if q.State != "" {
			h.states = append(h.states, name+": "+q.State)
		}
		if strings.ContainsAny(q.State, unusable) {
			continue
		}
		h.down = false
		h.closed = h.closed && strings.ContainsAny(q.State, overloaded)
		h.procs += max(q.Total, 0)
		h.largest = max(h.largest, q.Total)
		h.used += max(q.Used+q.Reserved, 0)
		h.queues = append(h.queues, name)
	}
	return hosts
}

// isOffered says whether our jobs may run in a queue, and what it and its host are called.
func (q *instance) isOffered(setting string) (name, host string, ok bool) {
	name, host, ok = strings.Cut(strings.TrimSpace(q.Name), "@")
	return name, host, ok && (setting == "" || matchesQueue(setting, name, host)) && strings.ContainsAny(q.Type, "BP")
}

// heldSlots counts the slots of the hosts that jobs hold. Whatever is neither free nor held by a driver like ours is
// somebody else's, or nobody's to have.
func heldSlots(s *status, hosts []driver.Host, queue string) driver.Held {
	held := driver.Held{}
	busy := 0
	for i := range hosts {
		busy += hosts[i].Procs - hosts[i].Free
	}
	for i := range s.Instances {
		q := &s.Instances[i]
		if _, _, ok := q.isOffered(queue); !ok || strings.ContainsAny(q.State, unusable) {
			continue
		}
		for k := range q.Jobs {
			j := &q.Jobs[k]
			whose := batch.DriverPrefix(cmp.Or(j.FullName, j.Name))
			if n := min(max(j.Slots, 0), busy); whose != "" && n > 0 {
				held[whose] += n
				busy -= n
			}
		}
	}
	held[""] = busy
	return held
}

// matchesQueue says whether a setting such as all.q or all.q@host means a queue.
func matchesQueue(setting, name, host string) bool {
	q, h, both := strings.Cut(setting, "@")
	return q == name && (!both || h == host)
}

// hostsOf puts together what qstat and qhost say.
func hostsOf(s *status, machines []machine, queue string) []driver.Host {
	byName := map[string]*machine{}
	for i := range machines {
		byName[machines[i].Name] = &machines[i]
	}
	found := hostShares(s, queue)
	var list []driver.Host
	for _, name := range slices.Sorted(maps.Keys(found)) {
		h := found[name]
		host := driver.Host{Name: name, Procs: h.procs, Down: h.down, State: strings.Join(h.states, ", "),
			Partitions: h.queues}
		if m := byName[name]; m != nil {
			host.Memory = parseSize(m.attributeValue("mem_total"))
			// Several queues usually share the processors of a host.
			if n, err := strconv.Atoi(m.attributeValue("num_proc")); err == nil && n > 0 && len(h.queues) > 1 {
				host.Procs = min(host.Procs, max(n, h.largest))
			}
		}
		if !h.closed {
			host.Free = max(0, host.Procs-h.used)
		}
		list = append(list, host)
	}
	return list
}

// countPending counts the jobs that wait for processors, and for nothing else.
func countPending(s *status) int {
	n := 0
	for _, j := range s.Pending {
		if strings.TrimSpace(j.State) == "qw" {
			n++
		}
	}
	return n
}

// Jobs that are asked for.
const (
	pendingJobs = "p"
	allJobs     = "prs" // pending, running, suspended
)

// queryQueues asks for all queues, and for jobs of everybody.
func (m *Manager) queryQueues(ctx context.Context, jobs string) (*status, error) {
	out, err := m.cmd.runCommand(ctx, "qstat", "-f", "-xml", "-s", jobs, "-u", "*")
	if err != nil {
		return nil, classifyError(err)
	}
	return parseStatus(out)
}

// SurveyHosts says what the cell consists of.
func (m *Manager) SurveyHosts(ctx context.Context) (*driver.Survey, error) {
	s, err := m.queryQueues(ctx, allJobs)
	if err != nil {
		return nil, err
	}
	out, err := m.cmd.runCommand(ctx, "qhost", "-xml")
	if err != nil {
		return nil, classifyError(err)
	}
	machines, err := parseHosts(out)
	if err != nil {
		return nil, err
	}
	survey := &driver.Survey{Manager: m.managerVersion(ctx), Hosts: hostsOf(s, machines, m.opt.Queue),
		Waiting: countPending(s)}
	survey.Held = heldSlots(s, survey.Hosts, m.opt.Queue)
	if m.opt.Queue != "" && len(survey.Hosts) == 0 {
		survey.Notes = append(survey.Notes, fmt.Sprintf("there is no queue %s", m.opt.Queue))
	}
	if note := m.checkParallelEnvironment(ctx); note != "" {
		survey.Notes = append(survey.Notes, note)
	}
	return survey, nil
}

// managerVersion is what this Grid Engine calls itself. Its help begins with it.
func (m *Manager) managerVersion(ctx context.Context) string {
	m.mu.Lock()
	name := m.version
	m.mu.Unlock()
	if name != "" {
		return name
	}
	out, _ := m.cmd.runCommand(ctx, "qstat", "-help") // some end it with an error
	name = versionFromHelp(out)
	m.mu.Lock()
	m.version = name
	m.mu.Unlock()
	return name
}

// versionFromHelp finds the version in the help of a command, such as "SGE 8.1.9".
func versionFromHelp(help []byte) string {
	first, _, _ := strings.Cut(string(help), "\n")
	_, version, ok := strings.Cut(strings.TrimSpace(first), " ")
	if !ok || version == "" || version[0] < '0' || version[0] > '9' || len(version) > 40 {
		return "Grid Engine"
	}
	return "Grid Engine " + oneLine(version)
}

// How a parallel environment spreads slots: all on one host.
const oneHost = "$pe_slots"

// checkParallelEnvironment looks at the parallel environment, and says what is wrong with it.
func (m *Manager) checkParallelEnvironment(ctx context.Context) string {
	if m.opt.PE == "" {
		return "without a parallel environment (pe) jobs have one core each"
	}
	out, err := m.cmd.runCommand(ctx, "qconf", "-sp", m.opt.PE)
	if err != nil {
		return fmt.Sprintf("the parallel environment %s: %v", m.opt.PE, err)
	}
	rule := allocationRule(out)
	m.mu.Lock()
	m.rule = rule
	m.mu.Unlock()
	if rule != oneHost {
		return fmt.Sprintf("the parallel environment %s may spread a job over hosts (allocation_rule %s), of which a "+
			"program with threads uses one", m.opt.PE, rule)
	}
	return ""
}

// allocationRule finds the rule in what qconf -sp prints.
func allocationRule(text []byte) string {
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "allocation_rule" {
			return f[1]
		}
	}
	return ""
}

// EstimateWait knows only one answer: there is room and nobody waits. Grid Engine gives
// no forecast.
func (m *Manager) EstimateWait(ctx context.Context, n driver.Need) (driver.Wait, error) {
	s, err := m.queryQueues(ctx, pendingJobs)
	if err != nil {
		return driver.Wait{}, err
	}
	if k := countPending(s); k > 0 {
		return driver.Wait{Why: fmt.Sprintf("%d jobs wait already, and Grid Engine gives no forecast", k)}, nil
	}
	m.mu.Lock()
	together := m.rule == oneHost || n.Nodes == 1
	m.mu.Unlock()
	free, largest := 0, 0
	for _, h := range hostsOf(s, nil, m.opt.Queue) {
		free += h.Free
		largest = max(largest, h.Free)
	}
	if room := free; n.Procs > room || together && n.Procs > largest {
		return driver.Wait{Why: fmt.Sprintf("%d slots are free, and Grid Engine gives no forecast", free)}, nil
	}
	return driver.Wait{Known: true, Why: fmt.Sprintf("%d slots are free and nobody waits", free)}, nil
}
