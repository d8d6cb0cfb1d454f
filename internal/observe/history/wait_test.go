package history

import (
	"cmp"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/swf"
	"github.com/godwit-hpc/godwit/internal/recordings"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func TestWithFewWaitsNoBoundIsGiven(t *testing.T) {
	w := &Waits{}
	for i := range 29 {
		if _, known := w.UpperBound(0.9, 0.95); known || w.Count() != i {
			t.Fatalf("a bound on the 0.9 quantile after %d waits", i)
		}
		w.AddWait(float64(i))
	}
	if bound, known := w.UpperBound(0.9, 0.95); !known || bound != 28 {
		t.Errorf("after 29 waits the bound is %g, %v", bound, known)
	}
	w.AddWait(math.NaN())
	w.AddWait(-1)
	if bound, known := w.UpperBound(0.5, 0.95); !known || bound < 14 || bound > 20 || w.Mean() != 14 || w.Count() != 29 {
		t.Errorf("the bound on the median is %g, mean %g", bound, w.Mean())
	}
	q := w.Quantiles()
	if len(q) != NLevels || !slices.IsSorted(q) || q[6] < 14 || q[12] > 28 || (&Waits{}).Quantiles() != nil {
		t.Errorf("quantiles %v", q)
	}
}

func TestWaitsAreTakenInTheOrderInWhichTheyBecameKnown(t *testing.T) {
	rows := []Run{
		{Requested: core.AtSecond(5), Started: core.AtSecond(50)}, {Requested: core.AtSecond(10), Started: core.AtSecond(12)},
		{Requested: core.AtSecond(20)}, // never started
	}
	if w := ClassedWaitsOf(rows).AllWaits(); !slices.Equal(w.recent, []float64{2, 45}) {
		t.Errorf("waits %v", w.recent)
	}
}

func TestABoundFollowsAQueueThatGrowsAndOneThatHasLongBeenShort(t *testing.T) {
	w := &Waits{}
	add := func(n int, level float64) float64 {
		for i := range n {
			w.AddWait(level + float64(i%10))
		}
		bound, _ := w.UpperBound(0.9, 0.95)
		return bound
	}
	if bound := add(3000, 10); bound > 20 {
		t.Errorf("a short queue has bound %g", bound)
	}
	if bound := add(15, 1000); bound < 1000 {
		t.Errorf("15 long waits later the bound is %g", bound)
	}
	if bound := add(20000, 10); bound > 20 {
		t.Errorf("long after, the bound is still %g", bound)
	}
}

func TestBoundsOfWaitsWhoseQuantileIsKnownHold(t *testing.T) {
	for name, correlation := range map[string]float64{"independent": 0, "in streaks": 0.5} {
		held := map[float64]int{}
		asked := 0
		for seed := range uint64(12) {
			random := rand.New(rand.NewPCG(seed, 8))
			w, x := &Waits{}, 0.0
			for i := range 1500 {
				x = correlation*x + math.Sqrt(1-correlation*correlation)*random.NormFloat64()
				w.AddWait(math.Exp(4 + 1.5*x))
				if i < 60 || i%7 != 0 {
					continue
				}
				asked++
				for quantile, z := range map[float64]float64{0.5: 0, 0.9: 1.2815516} {
					if bound, _ := w.UpperBound(quantile, 0.95); bound >= math.Exp(4+1.5*z) {
						held[quantile]++
					}
				}
			}
		}
		for _, quantile := range []float64{0.5, 0.9} {
			if share := float64(held[quantile]) / float64(asked); share < 0.95 {
				t.Errorf("%s: 95 %% bounds of the %g quantile hold %.1f %% of the time", name, quantile, 100*share)
			}
		}
	}
}

// queued is a job's wait: when it was submitted, how long it waited, and of which
// class it is.
type queued struct {
	at, wait float64
	class    WaitClass
}

// traces are the waits of real traces by name, or generated ones where the data
// are not at hand.
func traces(t *testing.T) map[string][]queued {
	t.Helper()
	all := map[string][]queued{}
	for _, name := range []string{"ANL-Theta-2022", "CEA-Curie-2011.sample", "HPC2N-2002.excerpt3194", "KTH-SP2-1996-2",
		"pyss_easy_reference/KTH-SP2.EASY"} {
		path := recordings.OrGenerated(t, "swf", filepath.FromSlash(name)+".swf.gz")
		if path == "" {
			all[name] = generated(uint64(len(name)))
			continue
		}
		trace, err := swf.ReadFile(path, swf.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range trace.Records {
			r := &trace.Records[i]
			if usable, _ := r.IsUsable(); usable && r.Wait >= 0 {
				all[name] = append(all[name], queued{r.Submit.Seconds(), r.Wait.Seconds(),
					WaitClassOf(r.Submit, r.RequestedTime.Seconds(), r.NeededProcs())})
			}
		}
	}
	return all
}

// generated is waits in a queue whose length wanders by the hour. Half of the
// jobs find a gap at once, as in real queues.
func generated(seed uint64) []queued {
	random := rand.New(rand.NewPCG(seed, 9))
	var list []queued
	level := 0.0
	for i := range 10000 {
		if i%50 == 0 {
			level = 0.9*level + 0.15*random.NormFloat64()
		}
		wait := math.Exp(5 + level + 1.2*random.NormFloat64())
		if random.IntN(2) == 0 {
			wait = 5 * random.Float64()
		}
		at := float64(i) * (10 * time.Minute).Seconds()
		list = append(list, queued{at, wait, WaitClassOf(core.AtSecond(at), 600*random.Float64(), 1+random.IntN(20))})
	}
	return list
}

// replayed is how a bound did over a trace. What a job waited is known when it
// starts, not before.
type replayed struct {
	jobs, within   int
	windows, held  int
	bound, threeSd float64 // sums
	withinThreeSd  int
	tighter        int
	without        float64 // sum of bounds without classes
	classed        int     // jobs whose class was believed
	inside         []bool
}

// replayWaits asks for bounds on the wait of each job of a trace.
func replayWaits(list []queued, quantiles []float64) []replayed {
	all := make([]replayed, len(quantiles))
	slices.SortStableFunc(list, func(a, b queued) int { return cmp.Compare(a.at, b.at) })
	started := slices.Clone(list)
	slices.SortStableFunc(started, func(a, b queued) int { return cmp.Compare(a.at+a.wait, b.at+b.wait) })
	w := &ClassedWaits{}
	next, squares := 0, 0.0
	for _, q := range list {
		for ; next < len(started) && started[next].at+started[next].wait <= q.at; next++ {
			w.AddWait(started[next].class, started[next].wait)
			squares += started[next].wait * started[next].wait
		}
		for i, quantile := range quantiles {
			all[i].ask(w, &q, quantile, squares)
		}
	}
	for i, quantile := range quantiles {
		all[i].stretch(quantile)
	}
	return all
}

// ask takes the sum of the squares of all waits for the bound of mean and deviation.
func (r *replayed) ask(w *ClassedWaits, q *queued, quantile, squares float64) {
	bound, known := w.UpperBound(q.class, quantile, 0.95)
	if !known {
		return
	}
	coarse := w.AllWaits()
	without, _ := coarse.UpperBound(quantile, 0.95)
	n, mean := float64(coarse.Count()), coarse.Mean()
	three := mean + 3*math.Sqrt(max(0, squares-n*mean*mean)/(n-1))
	r.jobs++
	r.bound += bound
	r.without += without
	r.threeSd += three
	r.inside = append(r.inside, q.wait <= bound)
	if _, why := w.WaitsLike(q.class); why != "" {
		r.classed++
	}
	if q.wait <= bound {
		r.within++
	}
	if q.wait <= three {
		r.withinThreeSd++
	}
	if bound < three {
		r.tighter++
	}
}

// stretch counts the stretches of jobs over which the bound held.
func (r *replayed) stretch(quantile float64) {
	const window = 1000
	for at := 0; at+window <= len(r.inside); at += window / 2 {
		n := 0
		for _, in := range r.inside[at : at+window] {
			if in {
				n++
			}
		}
		r.windows++
		if float64(n) >= quantile*window {
			r.held++
		}
	}
}

// A bound on the 0.9 quantile holds over a stretch of jobs if at least nine of
// ten waited no longer than they were told.
func TestBoundsOfRealQueueWaitsHoldAndAreTighterThanThreeDeviations(t *testing.T) {
	quantiles := []float64{0.5, 0.9}
	all := make([]replayed, len(quantiles))
	isRecorded := recordings.OrGenerated(t, "swf") != "" // generated waits promise no more than that bounds hold
	for name, list := range traces(t) {
		for i, r := range replayWaits(list, quantiles) {
			quantile := quantiles[i]
			t.Logf("%s, %g quantile: %d jobs, %.1f %% within their bound (%.1f %% within mean + 3 sd), held in %d of %d "+
				"stretches; bounds are %.2f of mean + 3 sd, tighter for %.0f %%, %.2f of those without classes, which %.0f %% had",
				name, quantile, r.jobs, 100*ratio(r.within, r.jobs), 100*ratio(r.withinThreeSd, r.jobs), r.held, r.windows,
				r.bound/r.threeSd, 100*ratio(r.tighter, r.jobs), r.bound/r.without, 100*ratio(r.classed, r.jobs))
			if ratio(r.within, r.jobs) < quantile {
				t.Errorf("%s: only %.1f %% of the jobs are within a bound on the %g quantile", name, 100*ratio(r.within, r.jobs),
					quantile)
			}
			if r.bound >= r.threeSd && isRecorded {
				t.Errorf("%s: bounds on the %g quantile are %.2f times mean + 3 sd", name, quantile, r.bound/r.threeSd)
			}
			if quantile == 0.9 && r.bound > r.without && isRecorded {
				t.Errorf("%s: bounds on the %g quantile are %.2f times those without classes", name, quantile, r.bound/r.without)
			}
			a := &all[i]
			a.jobs, a.within, a.windows, a.held = a.jobs+r.jobs, a.within+r.within, a.windows+r.windows, a.held+r.held
		}
	}
	for i, r := range all {
		t.Logf("%g quantile, all: %.1f %% of the jobs, %.1f %% of the stretches", quantiles[i], 100*ratio(r.within, r.jobs),
			100*ratio(r.held, r.windows))
		if ratio(r.held, r.windows) < 0.95 {
			t.Errorf("95 %% bounds on the %g quantile hold in %.1f %% of the stretches", quantiles[i],
				100*ratio(r.held, r.windows))
		}
	}
}

func TestAQueueIsAskedForWhatIsMostLikeTheJob(t *testing.T) {
	w := &ClassedWaits{}
	short, long := WaitClassOf(core.AtSecond(3600), 30, 1), WaitClassOf(core.AtSecond(8*3600), 50000, 100)
	if like, why := w.WaitsLike(short); like.Count() != 0 || why != "" {
		t.Errorf("of nothing: %v, %q", like, why)
	}
	for i := range 300 {
		w.AddWait(short, float64(i%10))
		if i < 50 {
			w.AddWait(long, 1000+float64(i))
		}
	}
	if like, why := w.WaitsLike(short); like.Count() != 300 || why != short.String() {
		t.Errorf("%v, %q", like, why)
	}
	if bound, known := w.UpperBound(short, 0.9, 0.95); !known || bound > 9 {
		t.Errorf("a short job may wait %g s, %v", bound, known)
	}
	if like, why := w.WaitsLike(long); like.Count() != 350 || why != "" { // there are too few of its own
		t.Errorf("%v, %q", like, why)
	}
	later := short
	later.Quarter = 3
	if like, why := w.WaitsLike(later); like.Count() != 300 || why != "of up to a minute with one core" {
		t.Errorf("%v, %q", like, why)
	}
	for i := range 10 { // it changes: the class is not believed until it has learnt that
		w.AddWait(short, 500+100*float64(i))
	}
	if like, why := w.WaitsLike(short); why != "" {
		t.Errorf("%v, %q", like, why)
	}
	if got := long.String(); got != "of more than 8 h with 65 to 512 cores handed over between 06 and 12 h UTC" {
		t.Error(got)
	}
}

func ratio(a, b int) float64 { return float64(a) / float64(max(1, b)) }
