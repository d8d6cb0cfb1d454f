// Package load senses how busy some CPUs of this machine are with the work of
// others, and tells what part of a CPU a newcomer would get. The sum of what the
// CPUs do costs next to nothing to read; only when others do use them are the
// busy and the new processes looked at one by one, and all of them as rarely as
// keeps it below a thousandth of a CPU. It must not know what our own processes are for.
package load

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/host/cgroup"
)

// Config says what to sense.
type Config struct {
	CPUs  []int
	Nice  int                  // of a newcomer
	Quota float64              // most that a newcomer may use of a CPU
	Every time.Duration        // how often
	Own   func() []OwnAttempt  // what runs here for us
	Spent func() time.Duration // CPU time of all of ours that have ended
	// Bounds are the quotas that we live under, with what was used of them so far;
	// nil: there are none.
	Bounds func() []cgroup.Bound
	Clock  clock.Clock
}

// OwnAttempt is an attempt of ours. It is no competitor.
type OwnAttempt struct {
	Agent int   // its agent's process
	Name  any   // tells it from others that the same process served; nil: the process does
	CPUs  []int // that it was given
	// Used is the CPU time it has used so far, -1 if only looking at all
	// processes tells. nil: the same.
	Used func() time.Duration
}

func (o *OwnAttempt) ownName() any {
	if o.Name == nil {
		return o.Agent
	}
	return o.Name
}

// Meter senses in the background from the first EstimateShare on.
type Meter struct {
	cfg   Config
	stop  chan struct{}
	tasks sync.WaitGroup

	mu      sync.Mutex
	started bool
	closed  bool
	last    *view      // the newest look
	census  census     // who is there
	recent  []estimate // newest last
}

// view is one look at the sums.
type view struct {
	at     time.Time
	times  cpuTimes
	own    map[any]time.Duration // used so far by those that live
	spent  time.Duration         // by those that ended
	self   time.Duration         // by this process
	bounds []cgroup.Bound
}

// estimate is what one look gave.
type estimate struct {
	share, spread float64
	blind         bool // made without knowing what was used since when
	why           string
}

// NewMeter makes a meter; it costs nothing until it is asked.
func NewMeter(c Config) *Meter { return &Meter{cfg: c, stop: make(chan struct{})} }

// Close stops sensing.
func (m *Meter) Close() {
	m.mu.Lock()
	if !m.closed {
		m.closed = true
		close(m.stop)
	}
	m.mu.Unlock()
	m.tasks.Wait()
}

// EstimateShare answers at once. The first answer rests on one look only and says
// so by its uncertainty.
func (m *Meter) EstimateShare() (driver.Load, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.started && !m.closed {
		if err := m.takeSample(); err != nil {
			return driver.Load{}, err
		}
		m.started = true
		m.tasks.Go(m.sampleLoop)
	}
	return m.summarizeRecent(), nil
}

// sampleLoop samples until Close; soon after the first time, so that the first answer
// is not the last word for long.
func (m *Meter) sampleLoop() {
	wait := min(200*time.Millisecond, m.cfg.Every)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		select {
		case <-m.stop:
			return
		case <-timer.C:
		}
		m.mu.Lock()
		_ = m.takeSample() // the next one may succeed; until then the old ones stand
		m.mu.Unlock()
		wait = min(2*wait, m.cfg.Every)
		timer.Reset(wait)
	}
}

// takeSample takes one look. m.mu is held.
func (m *Meter) takeSample() error {
	own := m.cfg.Own()
	v, err := m.readSums(own)
	if err != nil {
		return err
	}
	before := m.last
	m.last = v
	var busy map[int]float64
	ownUse, whole, bounds := 0.0, false, v.boundsSince(nil, 0)
	if before != nil {
		seconds := v.at.Sub(before.at).Seconds()
		busy = v.times.busySince(before.times, seconds)
		ownUse, whole = m.ownBetween(before, v, seconds)
		bounds = v.boundsSince(before, seconds)
	}
	tasks := []task(nil)
	if !m.isUnused(busy, ownUse) || anyExhausted(bounds) {
		if err := m.scanProcesses(v.at, busy, ownUse, own, bounds); err != nil {
			return err
		}
		tasks = m.census.result.tasks
		if !whole {
			ownUse += m.census.result.own
		}
	}
	e := m.judgeShare(busy, ownUse, own)
	for _, b := range bounds {
		e = b.limitEstimate(e, ownUse, tasks)
	}
	m.recordEstimate(e)
	return nil
}

// readSums reads the sums.
func (m *Meter) readSums(own []OwnAttempt) (*view, error) {
	times, err := readCPUTimes()
	if err != nil {
		return nil, err
	}
	v := &view{at: m.cfg.Clock(), times: times, own: make(map[any]time.Duration, len(own)), spent: m.cfg.Spent(),
		self: selfTime()}
	if m.cfg.Bounds != nil {
		v.bounds = m.cfg.Bounds()
	}
	for _, o := range own {
		used := time.Duration(-1)
		if o.Used != nil {
			used = o.Used()
		}
		v.own[o.ownName()] = used
	}
	return v, nil
}

// ownBetween is how many CPUs' worth our own used of the cluster between two
// looks. whole is false if some of those that live cannot tell: then they are
// left out. This process counts for its part: it is on all CPUs of the machine.
func (m *Meter) ownBetween(before, v *view, seconds float64) (use float64, whole bool) {
	if seconds <= 0 {
		return 0, false
	}
	sum := v.spent - before.spent
	whole = true
	for agent, now := range v.own {
		if now < 0 {
			whole = false
			continue
		}
		sum += now - max(0, before.own[agent])
	}
	for agent, was := range before.own {
		if _, lives := v.own[agent]; !lives && v.spent > before.spent {
			sum -= max(0, was) // it is in spent as a whole
		}
	}
	self := (v.self - before.self).Seconds() * float64(len(m.cfg.CPUs)) / float64(max(1, len(v.times.busy)))
	return (max(0, sum.Seconds()) + self) / seconds, whole
}

// selfTime is the CPU time of this process.
func selfTime() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts) // 0 if there is no such clock
	return time.Duration(ts.Nano())
}

// isUnused says that nobody but us uses the CPUs.
func (m *Meter) isUnused(busy map[int]float64, own float64) bool {
	return busy != nil && m.othersUse(busy, own) < littleUse*float64(len(m.cfg.CPUs)+1)
}

// mayScanAll keeps the cost of looking at all processes below a thousandth of a
// CPU; below a hundredth for once if somebody is at work whom we do not know.
func (m *Meter) mayScanAll(now time.Time, unknown float64) bool {
	often := 1000 * m.census.cost
	if unknown > 0.2 && m.census.whole.Equal(m.census.at) {
		often /= 10
	}
	return now.Sub(m.census.whole) >= often
}

// scanProcesses finds out who uses the CPUs.
func (m *Meter) scanProcesses(now time.Time, busy map[int]float64, own float64, owns []OwnAttempt,
	bounds []bound) error {
	roots := make(map[int]bool, len(owns))
	for _, o := range owns {
		roots[o.Agent] = true
	}
	unknown := m.othersUse(busy, own) - foundOn(m.census.result.tasks, m.cfg.CPUs, true)
	return m.census.updateCensus(now, roots, m.mayScanAll(now, unknown), func(cpu int, path []node) bool {
		return busy[cpu] > 0.95 || slices.ContainsFunc(bounds,
			func(b bound) bool { return b.isExhausted() && b.appliesTo(path) })
	})
}

// othersUse is how many CPUs' worth others use.
func (m *Meter) othersUse(busy map[int]float64, own float64) float64 {
	sum := -own
	for _, cpu := range m.cfg.CPUs {
		sum += busy[cpu]
	}
	return max(0, sum)
}

// judgeShare says what a newcomer would get, from the sums and the newest scan.
func (m *Meter) judgeShare(busy map[int]float64, own float64, owns []OwnAttempt) estimate {
	if m.isUnused(busy, own) {
		return estimate{share: m.cfg.Quota, why: "nobody else uses these CPUs"}
	}
	s := &m.census.result
	others := m.othersUse(busy, own)
	tasks := s.tasks
	if busy != nil {
		tasks = append(slices.Clone(tasks), unattributedTasks(others-foundOn(s.tasks, m.cfg.CPUs, false), m.cfg.CPUs)...)
	}
	n := newGroups().newcomerGroups(m.cfg.Nice, m.cfg.Quota < 1)
	cpus := slices.Sorted(maps.Keys(m.last.times.busy))
	var shares []float64
	for _, cpu := range m.freeCPUs(owns) {
		shares = append(shares, min(m.cfg.Quota, shareOn(cpu, n, tasks, cpus)))
	}
	mean, sd := meanAndSd(shares)
	return estimate{mean, sd, busy == nil || s.blind, explainOthers(others, len(m.cfg.CPUs), s.names)}
}

// foundOn is what the known competitors, and ours with them, use of some CPUs.
func foundOn(tasks []task, cpus cpuset, ours bool) float64 {
	sum := 0.0
	for i := range tasks {
		if t := &tasks[i]; (ours || !t.ours) && cpus.containsCPU(t.at) {
			sum += t.used
		}
	}
	return sum
}

// unattributedTasks stands for processes that were too short to be seen: as if one
// ran on each CPU.
func unattributedTasks(use float64, cpus []int) []task {
	each := use / float64(len(cpus))
	if each < littleUse {
		return nil
	}
	if each = min(1, each); each >= allUse {
		each = 1
	}
	tasks := make([]task, len(cpus))
	for i, cpu := range cpus {
		tasks[i] = task{path: []node{{fmt.Sprintf("short ones on %d", cpu), 1}}, weight: 1, want: each, at: cpu,
			may: cpuset{cpu}}
	}
	return tasks
}

// freeCPUs are those on which a newcomer would be put: not ours already, unless
// all are.
func (m *Meter) freeCPUs(own []OwnAttempt) []int {
	taken := map[int]bool{}
	for _, o := range own {
		if len(o.CPUs) < len(m.cfg.CPUs) {
			for _, cpu := range o.CPUs {
				taken[cpu] = true
			}
		}
	}
	free := slices.DeleteFunc(slices.Clone(m.cfg.CPUs), func(cpu int) bool { return taken[cpu] })
	if len(free) == 0 {
		return m.cfg.CPUs
	}
	return free
}

func explainOthers(others float64, cpus int, names []string) string {
	text := fmt.Sprintf("others use %.1f of %d CPUs", others, cpus)
	switch {
	case others < 0.005*float64(cpus) && len(names) > 0:
		text = "others begin to compute" // seen at the first look, which has not lasted long enough
	case cpus == 1:
		text = fmt.Sprintf("others use %.0f %% of the CPU", 100*others)
	}
	var seen []string
	for _, name := range names {
		if !slices.Contains(seen, name) {
			seen = append(seen, name)
		}
	}
	const enough = 3
	switch {
	case len(seen) > enough:
		text += fmt.Sprintf(" (%s and %d more)", strings.Join(seen[:enough], ", "), len(seen)-enough)
	case len(seen) > 0:
		text += " (" + strings.Join(seen, ", ") + ")"
	}
	return text
}

// maxRecentSamples is how many looks count; each half as much as the next.
const maxRecentSamples = 5

func (m *Meter) recordEstimate(e estimate) {
	// What was guessed blindly is worth nothing once something is known.
	m.recent = slices.DeleteFunc(m.recent, func(old estimate) bool { return old.blind && !e.blind })
	m.recent = append(m.recent, e)
	if len(m.recent) > maxRecentSamples {
		m.recent = slices.Delete(m.recent, 0, 1)
	}
}

// summarizeRecent is what the recent looks say together. Its uncertainty is made of
// how much they differ, how much the CPUs differ, and, as long as there are
// few, of what may come.
func (m *Meter) summarizeRecent() driver.Load {
	if len(m.recent) == 0 {
		return driver.Load{Share: m.cfg.Quota, Sd: 0.3, Why: "not yet known"}
	}
	weight, sum, mean, spread := 1.0, 0.0, 0.0, 0.0
	for _, e := range slices.Backward(m.recent) {
		sum += weight
		mean += weight * e.share
		spread += weight * e.spread * e.spread
		weight /= 2
	}
	mean, spread, weight = mean/sum, spread/sum, 1.0
	between := 0.0
	for _, e := range slices.Backward(m.recent) {
		between += weight / sum * (e.share - mean) * (e.share - mean)
		weight /= 2
	}
	newest := m.recent[len(m.recent)-1]
	fresh := 0.15 / float64(len(m.recent)) // few looks
	if newest.blind {
		fresh = 0.25
	}
	const floor = 0.02
	return driver.Load{Share: mean, Sd: math.Sqrt(between + spread + fresh*fresh + floor*floor), Why: newest.why}
}

func meanAndSd(x []float64) (mean, sd float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		sd += (v - mean) * (v - mean) / float64(len(x))
	}
	return mean, math.Sqrt(sd)
}
