package cgroup

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

const hybridMounts = `24 1 0:22 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
25 24 0:23 / /sys/fs/cgroup/unified rw,nosuid - cgroup2 cgroup rw
26 24 0:24 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct
27 24 0:25 /box /sys/fs/cgroup/odd\040name rw - cgroup cgroup rw,pids
28 24 0:26 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd
nonsense
29 24 0:26
`

func TestOwnCgroupsAreFoundInEveryHierarchy(t *testing.T) {
	own := parseOwn([]byte("5:cpu,cpuacct:/a/b\n4:pids:/box/c\n3:memory:/elsewhere\n1:name=systemd:/init\n0::/slice\nbad\n"))
	got := ownPlaces(parseMounts([]byte(hybridMounts)), own)
	want := []ownHierarchy{
		{base: "/sys/fs/cgroup/unified/slice", v2: true},
		{base: "/sys/fs/cgroup/cpu,cpuacct/a/b", has: []string{"cpu", "cpuacct"}},
		{base: "/sys/fs/cgroup/odd name/c", has: []string{"pids"}},
		{base: "/sys/fs/cgroup/systemd/init", has: []string{"name=systemd"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("places\n%+v, want\n%+v", got, want)
	}
}

// As in a container that shows only part of the hierarchy.
func TestAHierarchyThatDoesNotShowOurCgroupIsNotUsed(t *testing.T) {
	own := parseOwn([]byte("4:pids:/other\n0::/../up\n"))
	if got := ownPlaces(parseMounts([]byte(hybridMounts)), own); len(got) != 0 {
		t.Errorf("places %+v", got)
	}
}

// This machine has both versions side by side; a system with version 2 alone
// is a folder here.
func TestVersion2AloneKeepsTheLimitsThatAreHandedDown(t *testing.T) {
	base := t.TempDir()
	group := filepath.Join(base, prefix+"a")
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"cpu.max", "cpuset.cpus", "memory.max", "pids.max", "cgroup.procs", "cgroup.kill",
		"cpu.stat"} {
		if err := os.WriteFile(filepath.Join(group, file), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	h := &host{places: []ownHierarchy{{base: base, v2: true, has: []string{"cpu", "memory", "pids"}}}}
	if _, err := h.createGroup("a", Limits{CPUs: []int{0}}); err == nil || !strings.Contains(err.Error(), "cpuset") {
		t.Errorf("a limit without its controller: %v", err)
	}
	g, err := h.createGroup("a", Limits{CPU: 1.5, Memory: 1 << 20, Pids: 7})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.AddProcess(42); err != nil {
		t.Error(err)
	}
	if err := g.KillAll(); err != nil {
		t.Error(err)
	}
	for file, want := range map[string]string{
		"cpu.max": "30000 20000", "memory.max": "1048576", "pids.max": "7", "cgroup.procs": "42", "cgroup.kill": "1",
	} {
		if got, err := os.ReadFile(filepath.Join(group, file)); err != nil || string(got) != want {
			t.Errorf("%s is %q, %v, want %q", file, got, err, want)
		}
	}
	a := h.probeAbility()
	if !a.CPU || !a.Memory || !a.Pids || !a.Usage || !a.Kill || a.CPUs || !strings.Contains(a.Why, "choice of cores") {
		t.Errorf("available %+v", a)
	}
}

func TestProcessorTimeOfVersion2(t *testing.T) {
	got, err := parseCPUStat("usage_usec 1234567\nuser_usec 1\n")
	if err != nil || got != 1234567*time.Microsecond {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "user_usec 5\n", "usage_usec x\n", "usage_usec -1\n",
		"usage_usec 9223372036854775807\n"} {
		if got, err := parseCPUStat(bad); err == nil {
			t.Errorf("%q is %v", bad, got)
		}
	}
}

func FuzzCgroupFiles(f *testing.F) {
	f.Add([]byte(hybridMounts), []byte("5:cpu,cpuacct:/a/b\n4:pids:/box/c\n0::/slice\n"),
		"2,cpu=/sys/fs/cgroup/godwit-a:pids=/x/godwit-a")
	f.Add([]byte("27 24 0:25 /box\\04 /a\\400 rw - cgroup cgroup rw,pids"), []byte("0::/\n0::\n:::\n"), "usage_usec 12\n")
	f.Fuzz(func(t *testing.T, mounts, own []byte, text string) {
		for _, p := range ownPlaces(parseMounts(mounts), parseOwn(own)) {
			if !filepath.IsAbs(p.base) || p.base != filepath.Clean(p.base) {
				t.Errorf("place %q", p.base)
			}
		}
		if g, err := parseGroup(text); err == nil {
			for _, f := range g.folders {
				if !strings.HasPrefix(filepath.Base(f.path), prefix) || !filepath.IsAbs(f.path) {
					t.Errorf("%q gives the folder %q", text, f.path)
				}
			}
			if again, err := parseGroup(g.String()); err != nil || again.String() != g.String() {
				t.Errorf("%q is read back as %v, %v", g, again, err)
			}
		}
		nowhere := &Scheduling{top: folder{path: "/nonexistent"}, weights: map[string]float64{}}
		if levels := nowhere.levelsOfPath(parseOwn(own)["cpu"]); len(levels) > 0 {
			t.Errorf("%q has the levels %v", own, levels)
		}
		if d, err := parseCPUStat(text); err == nil && d < 0 {
			t.Errorf("%q is %v", text, d)
		}
		if pids, err := parsePids(text); err == nil {
			for _, pid := range pids {
				if pid <= 0 {
					t.Errorf("%q names process %d", text, pid)
				}
			}
		}
	})
}
