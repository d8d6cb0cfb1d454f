package pool

import (
	"errors"
	"fmt"
	"testing"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func TestAnAttemptIsWhereItsProcessorsAre(t *testing.T) {
	d, err := New("c", []Member{{Name: "a", Procs: 2}, {Name: "b", Procs: 2}, {Name: "c", Procs: 4}})
	if err != nil {
		t.Fatal(err)
	}
	set := func(r ...int32) (s core.ProcSet) {
		for i := 0; i < len(r); i += 2 {
			s = append(s, core.Range{Lo: r[i], Hi: r[i+1]})
		}
		return s
	}
	for _, c := range []struct {
		held   core.ProcSet
		procs  int
		nodes  int
		script bool
		want   string
	}{
		{set(0, 1), 1, 0, false, "0 [{a 1}] 0"},
		{set(3, 4), 1, 0, false, "1 [{b 1}] 1"},
		{set(4, 8), 4, 0, false, "2 [{c 4}] 0-3"},
		{set(5, 6, 7, 8), 2, 0, false, "2 [{c 2}] 1,3"},
		{set(1, 3), 2, 0, false, "0 [{a 2}] "},             // one host is large enough
		{set(0, 4), 4, 0, false, "0 [{a 2} {b 2}] "},       // none of those is
		{set(1, 7), 6, 0, false, "2 [{c 3} {a 1} {b 2}] "}, // the agent is where most is
		{set(0, 2), 2, 2, false, "0 [{a 1} {b 1}] "},       // further than it lies
		{set(4, 8), 4, 3, false, "2 [{c 1} {a 1} {b 2}] "}, // and around the end
		{set(0, 4), 4, 1, false, "0 [{a 4}] "},             // it is to be on one
		{set(0, 8), 8, 2, false, "2 [{c 4} {a 2} {b 2}] "}, // more than asked for cannot be helped
		{set(0, 8), 8, 7, true, "2 [{c 4} {a 2} {b 2}] "},  // a script that knew other hosts
		{nil, 1, 0, false, "1 [{b 1}] "},                   // by its number, 7
		{nil, 8, 0, false, "2 [{c 4} {a 2} {b 2}] "},
	} {
		a := &wire.Attempt{Job: 7, Epoch: 1, Procs: c.procs, Held: c.held, Spec: jobfile.Job{Nodes: c.nodes}}
		if c.script {
			a.Spec.Manager.Kind = jobfile.Slurm
		}
		p, err := d.placeAttempt(a)
		if got := fmt.Sprint(p.first, " ", p.hosts, " ", p.held); err != nil || got != c.want {
			t.Errorf("%v, %d on %d: %s, want %s (%v)", c.held, c.procs, c.nodes, got, c.want, err)
		}
	}
	if _, err := d.placeAttempt(&wire.Attempt{Job: 1, Epoch: 1, Procs: 8, Held: set(0, 8),
		Spec: jobfile.Job{Nodes: 4}}); !errors.Is(err, driver.ErrRefused) {
		t.Errorf("four hosts of three: %v", err)
	}
}

func TestAnAttemptIsSpreadInTheOrderThatSuitsIt(t *testing.T) {
	d, err := New("c", []Member{{Name: "a", Procs: 1}, {Name: "b", Procs: 1}, {Name: "c", Procs: 1},
		{Name: "d", Procs: 1}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		order []string
		want  string
	}{
		{[]string{"d", "a", "b"}, "3 [{d 1} {a 1} {b 1}]"},
		{[]string{"a", "d"}, "0 [{a 1} {b 1} {d 1}]"},
		{[]string{"a", "d", "c"}, "0 [{a 1} {b 1} {d 1}]"},
		{[]string{"a", "a", "d"}, "0 [{a 1} {b 1} {d 1}]"},
		{[]string{"a", "x", "d"}, "0 [{a 1} {b 1} {d 1}]"},
	} {
		a := &wire.Attempt{Job: 7, Epoch: 1, Procs: 3, Held: core.ProcSet{{Lo: 0, Hi: 2}, {Lo: 3, Hi: 4}},
			Spec: jobfile.Job{Nodes: 3}, Order: c.order}
		p, err := d.placeAttempt(a)
		if got := fmt.Sprint(p.first, " ", p.hosts); err != nil || got != c.want {
			t.Errorf("%v: %s, %v, want %s", c.order, got, err, c.want)
		}
	}
}
