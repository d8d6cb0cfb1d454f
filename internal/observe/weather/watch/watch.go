// Package watch has a set of sensors measure what the plan says, when it says
// so, and puts what they measured into the book. It decides who listens and who
// comes; it must not know how sensors are reached, nor what the book is for.
package watch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/observe/weather"
	"github.com/godwit-hpc/godwit/internal/observe/weather/measured"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/probeplan"
)

// Host is where a sensor is.
type Host struct {
	Name    string
	Site    string
	Reach   string // the name by which others reach it; "": not known
	Sensor  driver.Sensor
	Machine bool // what it has to offer is of interest, not only the ways to it
}

// Options say what to measure.
type Options struct {
	Hosts []Host // the broker's own first: it comes to others, who may not be able to come to it
	Book  *weather.Book
	Plan  probeplan.Config
	// Unprobed says that no way is to be measured: machines are looked at only.
	Unprobed bool
	// Every is how often machines are looked at; 0: 30 s. Negative: never.
	Every time.Duration
	Now   func() core.Time
	Log   *slog.Logger
}

const (
	usualEvery = 30 * time.Second
	firstLook  = 5 * time.Second // within which all machines are looked at for the first time
	lookEvery  = time.Second
	toListen   = 10 * time.Second
	toProbe    = 25 * time.Second
	toSense    = 10 * time.Second
)

// Watch measures.
type Watch struct {
	Options
	number map[string]int // of hosts

	mu     sync.Mutex
	plan   *probeplan.Plan
	turned map[[2]int]bool // pairs whose second comes to the first
	said   map[[2]int]string
}

// New makes a watch; Run has it measure.
func New(o Options) *Watch {
	if o.Every == 0 {
		o.Every = usualEvery
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	w := &Watch{Options: o, number: map[string]int{}, turned: map[[2]int]bool{}, said: map[[2]int]string{}}
	var hosts []probeplan.Host
	for i, h := range o.Hosts {
		w.number[h.Name] = i
		if !o.Unprobed {
			hosts = append(hosts, probeplan.Host{Name: h.Name, Site: h.Site})
		}
	}
	w.plan = probeplan.New(o.Plan, hosts, o.Now())
	return w
}

// Run measures until ctx ends.
func (w *Watch) Run(ctx context.Context) {
	var tasks sync.WaitGroup
	defer tasks.Wait()
	if w.Every > 0 {
		for i := range w.Hosts {
			if w.Hosts[i].Machine {
				tasks.Go(func() { w.lookAt(ctx, i) })
			}
		}
	}
	if w.plan.CountPaths() == 0 { // there is nothing to wait for
		return
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		for {
			w.mu.Lock()
			p, ok := w.plan.NextProbe(w.Now())
			w.mu.Unlock()
			if !ok {
				break
			}
			tasks.Go(func() { w.measureProbe(ctx, p) })
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// lookAt looks at a machine again and again; not at all of them at once.
func (w *Watch) lookAt(ctx context.Context, host int) {
	wait := time.Duration(float64(min(w.Every, firstLook)) * math.Mod(float64(host)*0.618, 1))
	for clock.SleepContext(ctx, wait) {
		wait = w.Every
		w.LookAt(ctx, host)
	}
}

// LookAt looks at a machine once.
func (w *Watch) LookAt(ctx context.Context, host int) {
	ctx, cancel := context.WithTimeout(ctx, toSense)
	defer cancel()
	h := &w.Hosts[host]
	a, err := h.Sensor.MeasureHosts(ctx, driver.Sensing{})
	if err != nil || a.Machine == nil {
		return // it is looked at again
	}
	now := w.Now()
	w.Book.AddValue(weather.Key{What: measured.CPU, From: h.Name}, now, min(1, max(0, a.Machine.Load.Share)))
	if a.Machine.Memory > 0 {
		w.Book.AddValue(weather.Key{What: measured.MB, From: h.Name}, now, float64(a.Machine.Memory)/1e6)
	}
}

// measureProbe carries a probe out.
func (w *Watch) measureProbe(ctx context.Context, p probeplan.Probe) {
	pair := [2]int{p.A, p.B}
	w.mu.Lock()
	turned := w.turned[pair]
	w.mu.Unlock()
	way, err := w.probePair(ctx, p, turned)
	if err != nil && ctx.Err() == nil && !errors.Is(err, driver.ErrAway) { // perhaps only the other can come
		if way, err = w.probePair(ctx, p, !turned); err == nil {
			turned = !turned
		}
	}
	now := w.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turned[pair] = turned
	a, b := &w.Hosts[p.A], &w.Hosts[p.B]
	if err != nil {
		away := errors.Is(err, driver.ErrAway)
		w.plan.ProbeDone(now, p.Way, probeplan.Result{Away: away})
		if text := err.Error(); ctx.Err() == nil && !away && w.said[pair] != text {
			w.said[pair] = text
			w.Log.Info("the way between two hosts cannot be measured; that is tried more and more rarely", "from", a.Name, "to",
				b.Name, "error", err)
		}
		return
	}
	delete(w.said, pair)
	if turned {
		way.There, way.Back = way.Back, way.There
	}
	w.Book.AddValue(weather.Key{What: measured.Mbps, From: a.Name, To: b.Name}, now, way.There.Mbps)
	w.Book.AddValue(weather.Key{What: measured.Mbps, From: b.Name, To: a.Name}, now, way.Back.Mbps)
	w.Book.AddValue(weather.Key{What: measured.Ms, From: a.Name, To: b.Name}, now, way.Latency.Seconds()*1e3)
	w.plan.ProbeDone(now, p.Way, probeplan.Result{OK: true, Mbps: max(way.There.Mbps, way.Back.Mbps),
		Bytes: max(way.There.Bytes, way.Back.Bytes)})
	w.updateUncertainty(p.Way, a.Name, b.Name, now)
}

// updateUncertainty tells the plan how good the forecast of a way is.
func (w *Watch) updateUncertainty(way int, a, b string, now core.Time) {
	worst := 0.0
	for _, k := range []weather.Key{{What: measured.Mbps, From: a, To: b}, {What: measured.Mbps, From: b, To: a}} {
		if s, ok := w.Book.FindSeries(k, now, 0); ok {
			worst = max(worst, s.Uncertainty())
		}
	}
	w.plan.SetUncertainty(way, worst)
}

// reachBytes is what is sent to see whether a host is reached.
const reachBytes = 96 << 10

// TryReach has one host come to another, by their numbers, and reports whether it gets there. An error says why that
// could not be tried.
func (w *Watch) TryReach(ctx context.Context, from, to int) (bool, error) {
	_, err := w.probePair(ctx, probeplan.Probe{A: from, B: to, Bytes: reachBytes}, false)
	if errors.Is(err, errNotReached) && !errors.Is(err, driver.ErrAway) && ctx.Err() == nil {
		return false, nil
	}
	return err == nil, err
}

// errNotReached says that a host was to come to another that listened, and did not.
var errNotReached = errors.New("not reached")

// probePair has one host listen and the other come to it.
func (w *Watch) probePair(ctx context.Context, p probeplan.Probe, turned bool) (*driver.LinkMeasurement, error) {
	comes, listens := &w.Hosts[p.A], &w.Hosts[p.B]
	if turned {
		comes, listens = listens, comes
	}
	lctx, cancel := context.WithTimeout(ctx, toListen)
	defer cancel()
	at, err := listens.Sensor.MeasureHosts(lctx, driver.Sensing{Listen: &driver.Listening{Name: listens.Reach}})
	if err != nil || at.Listens == nil {
		return nil, fmt.Errorf("%s does not listen: %w", listens.Name, orEmpty(err))
	}
	pctx, cancel := context.WithTimeout(ctx, toProbe)
	defer cancel()
	got, err := comes.Sensor.MeasureHosts(pctx, driver.Sensing{Probe: &driver.Probe{To: *at.Listens, Bytes: p.Bytes}})
	if err != nil || got.Way == nil {
		return nil, fmt.Errorf("%s does not get to %s (%w): %w", comes.Name, listens.Name, errNotReached, orEmpty(err))
	}
	return got.Way, nil
}

func orEmpty(err error) error {
	if err == nil {
		err = errors.New("its answer is empty")
	}
	return err
}

// PathMeasured says that something else, such as a transfer, has just told how fast the
// way between two hosts is: it need not be probed for a while.
func (w *Watch) PathMeasured(from, to string, mbps float64) {
	now := w.Now()
	a, known := w.number[from]
	b, alsoKnown := w.number[to]
	if known && alsoKnown {
		w.mu.Lock()
		w.plan.PathMeasured(now, a, b, mbps)
		w.mu.Unlock()
	}
}
