package lab

import (
	"slices"
	"testing"
)

func TestHierarchiesAreFoundEachOnceAndVersion2First(t *testing.T) {
	const mixed = `
24 1 0:22 / /proc rw - proc proc rw
30 1 0:25 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
31 30 0:26 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
32 30 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
33 30 0:28 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd
34 30 0:29 / /sys/fs/cgroup/devices rw - cgroup cgroup rw,devices
35 30 0:30 / /nowhere/unified rw - cgroup2 cgroup2 rw
36 30 0:27 / /elsewhere/memory rw - cgroup cgroup rw,memory
nonsense
`
	got := parseTrees(mixed)
	want := []string{"/nowhere/unified", "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/memory"}
	var tops []string
	for _, t := range got {
		tops = append(tops, t.top)
	}
	if !slices.Equal(tops, want) || !got[0].v2 || !slices.Equal(got[1].has, []string{"cpu", "cpuacct"}) {
		t.Errorf("found %+v", got)
	}
	if got := parseTrees(""); len(got) > 0 {
		t.Errorf("found %+v in nothing", got)
	}
}

func FuzzTrees(f *testing.F) {
	f.Add("31 30 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu")
	f.Fuzz(func(t *testing.T, text string) {
		for _, tree := range parseTrees(text) {
			if tree.top == "" || !tree.v2 && len(tree.has) == 0 {
				t.Fatalf("%+v", tree)
			}
		}
	})
}

func TestTheNameOfCgroupsSaysOfWhichLabTheyAre(t *testing.T) {
	for _, name := range []string{"tiny", "three-managers", "x-1"} {
		for _, base := range []string{defaultBase, "/a", "/b"} {
			for _, asked := range []string{defaultBase, "/a", "/b"} {
				want := ""
				if asked == base {
					want = name
				}
				if got := labForGroup(asked, groupName(base, name)); got != want {
					t.Errorf("%s in %s is taken in %s for %q", name, base, asked, got)
				}
			}
		}
	}
	for _, other := range []string{"", "tiny", "system.slice", groupPrefix} {
		if got := labForGroup(defaultBase, other) + labForGroup("/a", other); got != "" {
			t.Errorf("%q is taken for %q", other, got)
		}
	}
}
