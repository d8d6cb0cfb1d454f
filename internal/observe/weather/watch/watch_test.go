package watch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/observe/weather"
	"github.com/godwit-hpc/godwit/internal/protocol/rendezvous"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/probeplan"
)

// puppet is a sensor that does as it is told.
type puppet struct {
	name   string
	closed bool // nobody gets in
	err    error
	asked  []string
}

func (p *puppet) MeasureHosts(_ context.Context, q driver.Sensing) (driver.Sensed, error) {
	if p.err != nil {
		return driver.Sensed{}, p.err
	}
	switch {
	case q.Listen != nil:
		p.asked = append(p.asked, "listen")
		token := p.name
		if p.closed {
			token = ""
		}
		return driver.Sensed{Listens: &rendezvous.Rendezvous{Token: token}}, nil
	case q.Probe != nil:
		p.asked = append(p.asked, "probe")
		if q.Probe.To.Token == "" {
			return driver.Sensed{}, errors.New("there is a wall")
		}
		return driver.Sensed{Way: &driver.LinkMeasurement{Latency: 5 * time.Millisecond,
			There: driver.Flow{Mbps: 10, Bytes: 1000}, Back: driver.Flow{Mbps: 20, Bytes: 1000}}}, nil
	}
	return driver.Sensed{Machine: &driver.Machine{Load: driver.Load{Share: 0.25}, Memory: 4e9}}, nil
}

// two is a watch over two hosts, and what it is measuring.
func two(a, b *puppet) (*Watch, probeplan.Probe) {
	a.name, b.name = "a", "b"
	now := core.Time(0)
	w := New(Options{Book: weather.NewBook(), Now: func() core.Time { now += core.Time(time.Minute); return now },
		Hosts: []Host{{Name: "a", Site: "x", Sensor: a, Machine: true}, {Name: "b", Site: "y", Sensor: b}}})
	p, _ := w.plan.NextProbe(now)
	return w, p
}

func all(w *Watch) string {
	var list []string
	for _, s := range w.Book.AllSeries(w.Now(), 0) {
		list = append(list, fmt.Sprintf("%s %s %s %g", s.What, s.From, s.To, s.Last))
	}
	return strings.Join(list, ", ")
}

func TestBothDirectionsAreNotedWhoeverComes(t *testing.T) {
	a, b := &puppet{}, &puppet{}
	w, p := two(a, b)
	w.measureProbe(t.Context(), p)
	if got := all(w); got != "mbps a b 10, mbps b a 20, ms a b 5" || strings.Join(a.asked, " ") != "probe" {
		t.Errorf("%s; a was asked to %v", got, a.asked)
	}
	// Where b cannot be reached it comes to a, and next time at once.
	a, b = &puppet{}, &puppet{closed: true}
	w, p = two(a, b)
	w.measureProbe(t.Context(), p)
	if got := all(w); got != "mbps a b 20, mbps b a 10, ms a b 5" || strings.Join(a.asked, " ") != "probe listen" {
		t.Errorf("%s; a was asked to %v", got, a.asked)
	}
	if p, ok := w.plan.NextProbe(w.Now().Add(time.Hour)); ok {
		w.measureProbe(t.Context(), p)
	}
	if got := strings.Join(a.asked, " "); got != "probe listen listen" {
		t.Errorf("a was asked to %v", got)
	}
}

func TestWhatCannotBeMeasuredIsLeftAlone(t *testing.T) {
	for _, c := range []struct {
		err   error
		again time.Duration // until it is tried again, at least
	}{{errors.New("broken"), 25 * time.Second}, {fmt.Errorf("no: %w", driver.ErrAway), 10 * time.Second}} {
		w, p := two(&puppet{}, &puppet{err: c.err})
		w.measureProbe(t.Context(), p)
		now := w.Now().Add(-time.Minute) // when it failed
		if _, ok := w.plan.NextProbe(now.Add(c.again)); ok || all(w) != "" {
			t.Errorf("%v: it is tried again at once, and %s is known", c.err, all(w))
		}
		if _, ok := w.plan.NextProbe(now.Add(time.Minute)); !ok {
			t.Errorf("%v: it is never tried again", c.err)
		}
	}
}

func TestMachinesAreLookedAt(t *testing.T) {
	w, _ := two(&puppet{}, &puppet{})
	w.LookAt(t.Context(), 0)
	if got := all(w); got != "cpu a  0.25, mb a  4000" {
		t.Error(got)
	}
}

// lookedAt is a sensor that tells when its machine is looked at.
type lookedAt struct {
	puppet
	now func()
}

func (l *lookedAt) MeasureHosts(ctx context.Context, q driver.Sensing) (driver.Sensed, error) {
	if q == (driver.Sensing{}) {
		l.now()
	}
	return l.puppet.MeasureHosts(ctx, q)
}

func TestMachinesAreLookedAtAlsoWhereNoWayIsProbed(t *testing.T) {
	for name, hosts := range map[string]int{"one host": 1, "two hosts": 2} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			a, b := &lookedAt{now: cancel}, &puppet{name: "b"}
			w := New(Options{Book: weather.NewBook(), Now: func() core.Time { return core.AtSecond(1) }, Unprobed: hosts > 1,
				Hosts: []Host{{Name: "a", Site: "x", Sensor: a, Machine: true}, {Name: "b", Site: "y", Sensor: b}}[:hosts]})
			w.Run(ctx)
			if got := all(w); got != "cpu a  0.25, mb a  4000" || len(a.asked)+len(b.asked) > 0 {
				t.Errorf("%q is known; a was asked to %v, b to %v", got, a.asked, b.asked)
			}
		})
	}
}

func TestATransferTellsAsMuchAsAProbe(t *testing.T) {
	w, p := two(&puppet{}, &puppet{})
	w.plan.ProbeDone(w.Now(), p.Way, probeplan.Result{OK: true, Mbps: 1e5, Bytes: 1000})
	w.PathMeasured("b", "a", 70)
	now := w.Now().Add(-time.Minute) // when that was
	if _, ok := w.plan.NextProbe(now.Add(29 * time.Second)); ok {
		t.Error("what was just seen is probed")
	}
	if _, ok := w.plan.NextProbe(now.Add(31 * time.Second)); !ok {
		t.Error("it is not probed any more")
	}
}

func TestAHostIsReachedOrNotOrThatCannotBeTried(t *testing.T) {
	away := fmt.Errorf("no: %w", driver.ErrAway)
	for _, c := range []struct {
		a, b    *puppet
		reached bool
		fails   bool
	}{
		{&puppet{}, &puppet{}, true, false},
		{&puppet{}, &puppet{closed: true}, false, false},
		{&puppet{closed: true}, &puppet{}, true, false}, // the way back is another question
		{&puppet{err: away}, &puppet{}, false, true},
		{&puppet{}, &puppet{err: away}, false, true},
		{&puppet{}, &puppet{err: errors.New("broken")}, false, true},
	} {
		w, _ := two(c.a, c.b)
		if reached, err := w.TryReach(t.Context(), 0, 1); reached != c.reached || (err != nil) != c.fails {
			t.Errorf("%+v to %+v: %v, %v", c.a, c.b, reached, err)
		}
	}
}
