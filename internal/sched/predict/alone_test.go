package predict

import (
	"math"
	"testing"
	"time"
)

// spell is a stretch of a program's time: it computes or waits.
type spell struct {
	seconds float64 // alone, on the reference host
	busy    bool
}

// watchSpells lets a program run through its spells, each sample being a tenth of a
// second, while it gets a share of one processor of this speed, until stop of its time
// alone have passed. It returns the seconds that are left then.
func watchSpells(w *Watch, spells []spell, share, speed, stop float64) float64 {
	const dt = 0.1
	var s Sample
	alone, left := 0.0, 0.0
	for _, p := range spells {
		for done := 0.0; done < p.seconds-1e-9; {
			step := dt
			cpu := 0.0
			if p.busy {
				step, cpu = dt*share*speed, dt*share
			}
			step = min(step, p.seconds-done)
			done += step
			if alone += step; alone > stop {
				if p.busy {
					left += step / (share * speed)
				} else {
					left += step
				}
				continue
			}
			s.At += seconds(dt)
			s.CPU += seconds(cpu)
			if cpu > 0 {
				s.Ran += seconds(cpu)
				s.Delayed += seconds(dt - cpu)
			}
			w.AddSample(s)
		}
	}
	return left
}

func TestWhatAProgramWaitsTakesAsLongBesideOthersAndOnAnyHost(t *testing.T) {
	mixed := []spell{{2, true}, {3, false}, {2, true}, {3, false}, {2, true}}
	for _, c := range []struct {
		name         string
		spells       []spell
		share, speed float64
		model        string
	}{
		{"it only waits", []spell{{10, false}}, 0.3, 2, "wall"},
		{"it only computes", []spell{{10, true}}, 1, 1, "cpu"},
		{"it only computes, on half a processor", []spell{{10, true}}, 0.5, 1, "cpu"},
		{"it only computes, on a fast host", []spell{{10, true}}, 1, 2, "cpu"},
		{"it computes and waits", mixed, 1, 1, "cpu"},
		{"it computes and waits, on half a processor", mixed, 0.5, 1, "cpu"},
		{"it waits first", []spell{{6, false}, {6, true}}, 1, 1, "cpu"},
		{"it waits last", []spell{{6, true}, {6, false}}, 0.4, 1, "cpu"},
		{"it mostly waits, on a slow host", []spell{{1, true}, {9, false}}, 1, 0.5, "wall"},
	} {
		alone, waits := 0.0, 0.0
		for _, p := range c.spells {
			alone += p.seconds
			if !p.busy {
				waits += p.seconds
			}
		}
		w := NewWatch(Config{Alone: LogNormal(alone, 0.02), Waiting: waits / alone, Speed: c.speed,
			Need: LogNormal(max(alone-waits, 0.01), 0.02)})
		left := watchSpells(w, c.spells, c.share, c.speed, 0.5*alone)
		d := mustRemain(t, w)
		if math.Abs(d.Median()-left) > 0.12*left || d.Quantile(0.05) > left || d.Quantile(0.95) < left {
			t.Errorf("%s: %.2f s are left, predicted %.2f (%.2f to %.2f)", c.name, left, d.Median(), d.Quantile(0.05),
				d.Quantile(0.95))
		}
		if w.ModelName() != c.model {
			t.Errorf("%s: predicted by %s", c.name, w.ModelName())
		}
		busy, idle := w.BusyAndIdle()
		if math.Abs(busy+idle-0.5*alone) > 0.3 {
			t.Errorf("%s: computed %.2f s and waited %.2f s of %.2f", c.name, busy, idle, 0.5*alone)
		}
		work, _ := w.RemainingWork()
		mustBeNear(t, c.name+": the time left alone", work.Median(), 0.5*alone, 0.1)
	}
}

func TestThreadsThatAreReadyAtOnceComputeAtOnce(t *testing.T) {
	w := NewWatch(Config{Alone: LogNormal(10, 0.02), Procs: 2})
	var s Sample
	for range 50 { // two threads, each on half a processor
		s.At += 100 * time.Millisecond
		s.CPU += 100 * time.Millisecond
		s.Ran += 100 * time.Millisecond
		s.Delayed += 100 * time.Millisecond
		w.AddSample(s)
	}
	busy, idle := w.BusyAndIdle()
	if math.Abs(busy-2.5) > 0.1 || idle > 0.1 {
		t.Errorf("computed %.2f s, waited %.2f s", busy, idle)
	}
	mustBeNear(t, "the time left", mustRemain(t, w).Median(), 15, 0.12)
}

func TestThreadsThatShareOneProcessorAreNotDelayedByOthers(t *testing.T) {
	w := NewWatch(Config{Alone: LogNormal(10, 0.02)})
	var s Sample
	for range 50 { // two threads by turns on the one processor that was asked for
		s.At += 100 * time.Millisecond
		s.CPU += 100 * time.Millisecond
		s.Ran += 100 * time.Millisecond
		s.Delayed += 100 * time.Millisecond
		w.AddSample(s)
	}
	if busy, idle := w.BusyAndIdle(); math.Abs(busy-5) > 0.1 || idle > 0.1 {
		t.Errorf("computed %.2f s, waited %.2f s", busy, idle)
	}
}

func TestADemandElsewhereWaitsAsLong(t *testing.T) {
	d := Demand{Work: Point(100), Waiting: 0.6}
	mustBeNear(t, "half a processor of a fast host", d.RuntimeElsewhere(2, 1, Point(0.5), Dist{}).Median(), 100, 0.05)
	mustBeNear(t, "a slow host", d.RuntimeElsewhere(0.5, 1, Point(1), Dist{}).Median(), 60+80, 0.05)
	mustBeNear(t, "one that only waits",
		Demand{Work: Point(100), Waiting: 1}.RuntimeElsewhere(0.1, 1, Point(0.1), Point(5)).Median(), 105, 0.001)
}

// Where the share never changed in earlier runs it is expected to stay: the band is
// narrower than where nothing is known, and wider where it often changed.
func TestEarlierRunsTellHowOftenTheShareChanges(t *testing.T) {
	width := func(s Steadiness) float64 {
		w := NewWatch(Config{Alone: LogNormal(100, 0.01), Steady: s})
		watchSpells(w, []spell{{100, true}}, 0.8, 1, 50)
		d := mustRemain(t, w)
		return (d.Quantile(0.95) - d.Quantile(0.05)) / d.Median()
	}
	unknown, steady, restless := width(Steadiness{}), width(Steadiness{Seconds: 1000}),
		width(Steadiness{Changes: 50, Seconds: 1000})
	if !(steady < 0.6*unknown && restless > unknown) {
		t.Errorf("the band is %.2f wide if nothing is known, %.2f where it is steady, %.2f where it is not", unknown, steady,
			restless)
	}
}

// What is kept of a run is what it took; how slow its processor was is told beside, and
// must not count twice.
func TestASlowProcessorCountsOnceInWhatIsKept(t *testing.T) {
	w := NewWatch(Config{Alone: LogNormal(10, 0.02)})
	var s Sample
	for range 50 {
		s.At += 100 * time.Millisecond
		s.CPU += 100 * time.Millisecond
		s.Ran, s.Slow = s.CPU, 2
		w.AddSample(s)
	}
	if busy, _ := w.BusyAndIdle(); math.Abs(busy-5) > 0.1 {
		t.Errorf("computed %.2f s", busy)
	}
	work, _ := w.RemainingWork()
	mustBeNear(t, "the work left", work.Median(), 7.5, 0.1)
}

// A program that hardly computes tells little of the share; that is not to make its end
// uncertain.
func TestTheShareMattersLittleToWhoRarelyComputes(t *testing.T) {
	w := NewWatch(Config{Alone: LogNormal(4, 0.01), Waiting: 0.995})
	var s Sample
	for i := range 20 {
		s.At += 100 * time.Millisecond
		if i%4 == 0 {
			s.CPU += time.Millisecond
			s.Ran += time.Millisecond
			s.Delayed += 60 * time.Millisecond
		}
		w.AddSample(s)
	}
	d := mustRemain(t, w)
	// It was delayed for 0.3 of the 2 s, and so it may be of the rest.
	if d.Median() < 2.2 || d.Median() > 2.7 || d.Quantile(0.95) > 3 {
		t.Errorf("about 2.5 s are left, predicted %.2f (%.2f to %.2f)", d.Median(), d.Quantile(0.05), d.Quantile(0.95))
	}
}
