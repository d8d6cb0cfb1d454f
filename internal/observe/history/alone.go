package history

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Alone is what is expected of a job that has the processors of the reference host
// for itself.
type Alone struct {
	// Quantiles at Levels of its wall seconds; nil if the program never finished.
	Quantiles []float64
	// Waiting is the part of them in which it waits for something else than a
	// processor: disks, the network, a clock. That part takes as long on a faster host,
	// and beside others.
	Waiting float64
	Why     string
	Runs    int
}

// aloneSpread is what is believed of how much the time alone varies with the same
// arguments: that of a program that only waits hardly does.
func aloneSpread(waiting float64) spread {
	return spread{df: 2, sd: 0.005 + 0.045*(1-waiting)}
}

// AloneOf estimates the wall time of a job alone on the reference host, on so many
// processors, from how the runs of its program spent their time. It looks for runs as
// Need does.
func AloneOf(rows []Run, program string, args []string, procs int) Alone {
	pace := PaceOf(rows, program)
	cost := 1.0
	if c, ok := SandboxCost(rows, program); ok {
		cost = max(1, c.Ratio)
	}
	gaps := leastGaps(rows, program)
	done := make([]finishedRun, 0, len(rows))
	var near, any waitingMean
	for i := range rows {
		r := &rows[i]
		if r.Program != program || r.Outcome != Finished {
			continue
		}
		busy, idle, ok := r.spentSeconds(gaps)
		if !ok {
			continue
		}
		busy *= float64(max(r.Procs, 1)) / float64(max(procs, 1)) / pace.SlowFactor(r.Slowness)
		if r.Method == sandbox {
			busy /= cost
		}
		done = append(done, finishedRun{r, busy + idle})
		any.addRun(busy, idle)
		if slices.Equal(r.Args, args) {
			near.addRun(busy, idle)
		}
	}
	a := Alone{Waiting: any.waitingPart()}
	if near.all > 0 {
		a.Waiting = near.waitingPart()
	}
	a.Quantiles, a.Why, a.Runs = expectNeed(done, program, args, aloneSpread(a.Waiting))
	if a.Quantiles == nil {
		return Alone{Why: a.Why}
	}
	if a.Waiting >= tellWaiting {
		a.Why += fmt.Sprintf("; it waits %.0f %% of its time", 100*a.Waiting)
	}
	return a
}

// tellWaiting is the part of its time that a program must wait to be worth a word.
const tellWaiting = 0.1

// waitingMean is the part of their time that runs wait.
type waitingMean struct{ idle, all float64 }

func (m *waitingMean) addRun(busy, idle float64) { m.idle, m.all = m.idle+idle, m.all+busy+idle }

func (m *waitingMean) waitingPart() float64 {
	if !(m.all > 0) {
		return 0
	}
	return m.idle / m.all
}

// spentSeconds is how the job of a run spent its time: computing on the reference host, and
// waiting. Of runs of which that was not measured, it waited as long as the least that
// any like it had no processor for: the rest may have been taken by others.
func (r *Run) spentSeconds(gaps map[string]float64) (busy, idle float64, ok bool) {
	busy, idle = r.Busy, r.Idle
	if busy+idle == 0 {
		gap, known := gaps[strings.Join(r.Args, "\x00")]
		if !known || r.Migrated || !(r.Need > 0) {
			return 0, 0, false
		}
		busy, idle = r.Need/float64(max(r.Procs, 1)), gap
	}
	sum := busy + idle
	return busy, idle, busy >= 0 && idle >= 0 && sum > 0 && !math.IsInf(sum, 0)
}

// leastGaps is, by arguments, the least wall time without CPU time of the runs of
// which it was not measured how they spent their time.
func leastGaps(rows []Run, program string) map[string]float64 {
	// Less is what starting and ending take.
	const leastPart, least = 0.1, 0.2
	gaps := map[string]float64{}
	for i := range rows {
		r := &rows[i]
		if r.Program != program || r.Outcome != Finished || r.Busy+r.Idle > 0 || r.Started == 0 || r.Migrated {
			continue
		}
		gap := r.WallSeconds() - r.CPU/float64(max(r.Procs, 1))
		if gap < max(leastPart*r.WallSeconds(), least) {
			gap = 0
		}
		key := strings.Join(r.Args, "\x00")
		if was, known := gaps[key]; !known || gap < was {
			gaps[key] = gap
		}
	}
	return gaps
}

// ShareChanges is how often the share of its processors changed in runs of a cluster,
// in how many seconds.
func ShareChanges(rows []Run, cluster string) (changes, seconds float64) {
	for i := range rows {
		if r := &rows[i]; r.Cluster == cluster && r.Outcome == Finished && r.Busy > 0 {
			changes += float64(r.Changes)
			seconds += r.WallSeconds()
		}
	}
	return changes, seconds
}
