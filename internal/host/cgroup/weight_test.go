package cgroup

import (
	"path/filepath"
	"reflect"
	"testing"
)

func TestTheHierarchyWithTheCPUControllerIsFound(t *testing.T) {
	const v1 = "31 23 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n" +
		"33 23 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid - cgroup cgroup rw,cpu,cpuacct\n"
	const v2 = "31 23 0:27 / /sys/fs/cg\\040roup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n"
	const others = "33 23 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\nnonsense\n"
	first := folder{path: "/sys/fs/cgroup/cpu,cpuacct"}
	for text, want := range map[string]folder{
		v1: first, v2: {path: "/sys/fs/cg roup", v2: true}, others: {}, others + v1: first,
	} {
		if got := schedulerTop(parseMounts([]byte(text))); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

func TestACgroupThatTheSchedulerDoesNotKnowIsNoLevel(t *testing.T) {
	top := hierarchy(t, map[string]string{
		"a/cpu.shares": "2048", "a/b/other": "", "a/b/c/cpu.shares": "512", "two/cpu.weight": "50"})
	s := &Scheduling{top: folder{path: top}, weights: map[string]float64{}}
	for range 2 { // read, and remembered
		got := s.levelsOfPath("/a/b/c")
		if want := []Level{{"/a", 2}, {"/a/b/c", 0.5}}; !reflect.DeepEqual(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
	for _, path := range []string{"", "/", "/gone"} {
		if got := s.levelsOfPath(path); got != nil {
			t.Errorf("%q: %v", path, got)
		}
	}
	two := &Scheduling{top: folder{path: top, v2: true}, weights: map[string]float64{}}
	if got := two.levelsOfPath("/two"); !reflect.DeepEqual(got, []Level{{"/two", 0.5}}) {
		t.Errorf("version 2: %v", got)
	}
}

func TestFreeMemoryIsThatOfTheNarrowestGroup(t *testing.T) {
	top := hierarchy(t, map[string]string{
		"memory.limit_in_bytes": "100", "memory.usage_in_bytes": "99", // of all: never a limit
		"a/memory.limit_in_bytes": "1000", "a/memory.usage_in_bytes": "700",
		"a/b/memory.limit_in_bytes": "900", "a/b/memory.usage_in_bytes": "100",
		"over/memory.limit_in_bytes": "500", "over/memory.usage_in_bytes": "700",
		"c/memory.max": "max", "c/memory.current": "700", "d/memory.max": "1000", "d/memory.current": "600",
	})
	for _, c := range []struct {
		path string
		v2   bool
		want int64 // -1: no limit
	}{{"/a/b", false, 300}, {"/a", false, 300}, {"/over", false, 0}, {"/c", true, -1}, {"/d", true, 400}, {"/", false, -1},
		{"/gone", false, -1}} {
		h := &host{places: []ownHierarchy{{base: filepath.Join(top, c.path), v2: c.v2, has: []string{"memory"}}}}
		own := map[string]string{"memory": c.path}
		if c.v2 {
			own = map[string]string{"": c.path}
		}
		if left, ok := h.freeMemory(own); ok != (c.want >= 0) || ok && left != c.want {
			t.Errorf("%+v: %d %v", c, left, ok)
		}
	}
}
