package load

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const procStat = `cpu  100 200 300 4000 50 6 7 8 90 0
cpu0 10 20 30 400 5 6 7 8 9 0
cpu1 1 2 3 4 5 6 7 8
cpu3 1 2 3 4
cpux 1 2 3 4 5 6 7 8 9
intr 5
`

func TestBusyTimeIsAllButIdleAndWaiting(t *testing.T) {
	got := parseCPUTimes([]byte(procStat)).busy
	if diff := cmp.Diff(map[int]ticks{0: 10 + 20 + 30 + 6 + 7 + 8, 1: 1 + 2 + 3 + 6 + 7 + 8}, got); diff != "" {
		t.Error(diff)
	}
	real, err := readCPUTimes()
	if err != nil || len(real.busy) == 0 {
		t.Errorf("%v %v", real, err)
	}
}

func TestBusyIsAPartOfTheTimeBetween(t *testing.T) {
	before, after := cpuTimes{map[int]ticks{0: 100, 1: 100, 2: 100}}, cpuTimes{map[int]ticks{0: 150, 1: 90, 2: 900, 3: 5}}
	got := after.busySince(before, 2)
	if diff := cmp.Diff(map[int]float64{0: 0.25, 1: 0, 2: 1}, got); diff != "" {
		t.Error(diff)
	}
	for _, part := range after.busySince(before, 0) {
		t.Errorf("%v of no time", part)
	}
}

func TestTheHierarchyWithTheCPUControllerIsFound(t *testing.T) {
	const v1 = "31 23 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n" +
		"33 23 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid - cgroup cgroup rw,cpu,cpuacct\n"
	const v2 = "31 23 0:27 / /sys/fs/cg\\040roup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n"
	const others = "33 23 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\nnonsense\n"
	for text, want := range map[string]struct {
		dir string
		v2  bool
	}{
		v1: {"/sys/fs/cgroup/cpu,cpuacct", false}, v2: {"/sys/fs/cg roup", true}, others: {}, others +
			v1: {"/sys/fs/cgroup/cpu,cpuacct", false},
	} {
		if dir, v2 := parseMounts(text); dir != want.dir || v2 != want.v2 {
			t.Errorf("%s: %q %v", text, dir, v2)
		}
	}
}

func TestAProcessIsInACgroupAndASession(t *testing.T) {
	const own = "4:memory:/m\n1:cpu,cpuacct:/a/b\n0::/u\n"
	if got := parseCgroup(own, false); got != "/a/b" {
		t.Errorf("%q", got)
	}
	if got := parseCgroup(own, true); got != "/u" {
		t.Errorf("%q", got)
	}
	if got := parseCgroup("", true); got != "/" {
		t.Errorf("%q", got)
	}
	if key, nice, ok := parseAutogroup([]byte("/autogroup-17 nice -5\n")); key != "/autogroup-17" || nice != -5 || !ok {
		t.Errorf("%q %d %v", key, nice, ok)
	}
	for _, s := range []string{"", "/autogroup-17", "x nice 0", "/autogroup-1 nice 40", "/autogroup-1 nice x"} {
		if _, _, ok := parseAutogroup([]byte(s)); ok {
			t.Errorf("%q is taken", s)
		}
	}
}

func TestACgroupThatTheSchedulerDoesNotKnowIsNoLevel(t *testing.T) {
	g := &groups{mount: t.TempDir(), weights: map[string]float64{"/a": 2, "/a/b": 0, "/a/b/c": 0.5}}
	if diff := cmp.Diff([]node{{"/a", 2}, {"/a/b/c", 0.5}}, g.cgroupLevels("/a/b/c"),
		cmp.AllowUnexported(node{})); diff != "" {
		t.Error(diff)
	}
	if got := g.cgroupLevels("/"); got != nil {
		t.Errorf("%v", got)
	}
	if got := g.cgroupLevels("/gone"); got != nil {
		t.Errorf("%v", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(procStat)
	f.Add("31 23 0:27 / /x rw - cgroup2 cgroup2 rw\n1:cpu:/a\n/autogroup-1 nice 3")
	f.Fuzz(func(t *testing.T, s string) {
		for cpu, busy := range parseCPUTimes([]byte(s)).busySince(cpuTimes{map[int]ticks{0: 1}}, 1) {
			if cpu < 0 || busy < 0 || busy > 1 || math.IsNaN(busy) {
				t.Errorf("CPU %d was busy for %v", cpu, busy)
			}
		}
		parseMounts(s)
		parseAutogroup([]byte(s))
		g := &groups{mount: "/nonexistent", weights: map[string]float64{}}
		g.cgroupLevels(parseCgroup(s, true))
	})
}
