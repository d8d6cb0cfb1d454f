package local

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/driver/attemptdir"
	"github.com/godwit-hpc/godwit/internal/driver/drivertest"
	"github.com/godwit-hpc/godwit/internal/host/cgroup"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func TestProcessorsStandForCPUs(t *testing.T) {
	cpus := []int{2, 3, 6, 7}
	for _, c := range []struct {
		held  core.ProcSet
		slots int
		want  []int // nil: an error
	}{
		{core.ProcSet{{Lo: 0, Hi: 1}}, 4, []int{2}},
		{core.ProcSet{{Lo: 1, Hi: 3}}, 4, []int{3, 6}},
		{core.ProcSet{{Lo: 0, Hi: 1}, {Lo: 3, Hi: 4}}, 4, []int{2, 7}},
		{nil, 4, cpus},
		{core.ProcSet{{Lo: 9, Hi: 10}}, 16, cpus},
		{core.ProcSet{{Lo: 0, Hi: 2}}, 2, []int{2, 3}},
		{core.ProcSet{{Lo: 3, Hi: 5}}, 4, nil},
		{core.ProcSet{{Lo: 2, Hi: 2}}, 4, nil},
	} {
		got, err := cpusFor(c.held, c.slots, cpus)
		if !slices.Equal(got, c.want) || (err == nil) != (c.want != nil) {
			t.Errorf("%v of %d: %v, %v; want %v", c.held, c.slots, got, err, c.want)
		}
	}
}

func TestAnAttemptIsToldItsCPUsNicenessAndCgroup(t *testing.T) {
	usable, err := UsableCPUs()
	if err != nil {
		t.Fatal(err)
	}
	last := usable[len(usable)-1]
	w := newWorld(t, func(o *Options) { o.Nice = 5; o.Quota = 0.5; o.Memory = 1 << 30; o.Slots = len(usable) })
	d, a := w.open(), w.AttemptFor(drivertest.Stays)
	n := int32(len(usable))
	a.Held = core.ProcSet{{Lo: n - 1, Hi: n}}
	if err := d.StartAttempt(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	got, err := attemptdir.ReadAttempt(w.folder(a))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.CPUs, []int{last}) || got.Nice != 5 || got.Mark != a.Mark || a.CPUs != nil {
		t.Errorf("%+v", got)
	}
	can := cgroup.ProbeAbility()
	if (got.Cgroup != "") != can.IsUsable() || (len(d.UserNotes()) == 0) != (can.CPU && can.Memory) {
		t.Errorf("cgroup %q, notes %v, where %+v can be had", got.Cgroup, d.UserNotes(), can)
	}
	if can.CPU {
		checkQuota(t, got.Cgroup)
	}
	clocktest.WaitFor(t, "the program to begin", func() bool { return w.StartCount(a) == 1 })
}

func TestAProgramRunsOnItsCPUsInItsCgroup(t *testing.T) {
	usable, err := UsableCPUs()
	if err != nil {
		t.Fatal(err)
	}
	for i, cpu := range usable[:min(len(usable), 4)] {
		w := newWorld(t, withRealAgent)
		a := w.AttemptFromLine(`echo began >> "$NOTES"; grep Cpus_allowed_list /proc/self/status >> "$NOTES"; cat /proc/self/cgroup >> "$NOTES"`)
		a.Held = core.ProcSet{{Lo: int32(i), Hi: int32(i) + 1}}
		d := w.open()
		if err := d.StartAttempt(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		clocktest.WaitFor(t, "the end to be heard", func() bool { return heard(w, a, wire.Ended) == 1 })
		notes := strings.Join(w.ReadNotes(a), " ")
		if !strings.Contains(notes, "Cpus_allowed_list: "+strconv.Itoa(cpu)+" ") {
			t.Errorf("on CPU %d: %s", cpu, notes)
		}
		g, _ := newGroups(&w.opt)
		if can := cgroup.ProbeAbility(); can.IsUsable() != strings.Contains(notes, "godwit-"+g.prefix+
			attemptdir.FolderName(idOf(a))) {
			t.Errorf("%+v can be had, and the program was in %s", can, notes)
		}
	}
}

// checkQuota looks whether one of the folders of a cgroup has half a CPU.
func checkQuota(t *testing.T, s string) {
	t.Helper()
	for part := range strings.SplitSeq(s, ":") {
		_, dir, _ := strings.Cut(part, "=")
		quota, err1 := os.ReadFile(filepath.Join(dir, "cpu.cfs_quota_us"))
		period, err2 := os.ReadFile(filepath.Join(dir, "cpu.cfs_period_us"))
		if err1 != nil || err2 != nil {
			both, err := os.ReadFile(filepath.Join(dir, "cpu.max"))
			if err != nil {
				continue
			}
			f := strings.Fields(string(both))
			quota, period = []byte(f[0]), []byte(f[1])
		}
		q, _ := strconv.ParseFloat(strings.TrimSpace(string(quota)), 64)
		p, _ := strconv.ParseFloat(strings.TrimSpace(string(period)), 64)
		if q/p < 0.49 || q/p > 0.51 {
			t.Errorf("%s: a quota of %v in %v", dir, q, p)
		}
		return
	}
	t.Errorf("%s has no quota", s)
}

func TestWhatIsNotAllowedIsSaid(t *testing.T) {
	o := Options{Cluster: "c", Dir: t.TempDir(), Quota: 0.5, Memory: 1 << 30, NoCgroups: true}
	d, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if n := d.UserNotes(); len(n) != 2 || !strings.Contains(n[0], "quota") || !strings.Contains(n[1], "memory") {
		t.Errorf("%q", n)
	}
	if _, err := New(Options{Cluster: "c", Dir: t.TempDir(), CPUs: []int{1 << 12}}); err == nil ||
		!strings.Contains(err.Error(), "4096") {
		t.Errorf("a CPU that is not there: %v", err)
	}
	if _, err := New(Options{Cluster: "c", Dir: t.TempDir(), Agent: []string{"/nonexistent/agent"}}); err == nil {
		t.Error("an agent that is not there is accepted")
	}
}
