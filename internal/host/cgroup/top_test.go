package cgroup

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

var topControllers = []string{"cpu", "cpuacct", "cpuset", "memory", "freezer"}

func TestHierarchiesAreFoundEachOnceAndVersion2First(t *testing.T) {
	const mixed = `
24 1 0:22 / /proc rw - proc proc rw
30 1 0:25 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
31 30 0:26 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
32 30 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
33 30 0:28 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd
34 30 0:29 / /sys/fs/cgroup/devices rw - cgroup cgroup rw,devices
37 30 0:31 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer
35 30 0:30 / /nowhere/unified rw - cgroup2 cgroup2 rw
36 30 0:27 / /elsewhere/memory rw - cgroup cgroup rw,memory
nonsense
`
	got := topFolders(parseMounts([]byte(mixed)), topControllers)
	want := []string{"/nowhere/unified", "/sys/fs/cgroup/freezer", "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/memory"}
	var tops []string
	for _, f := range got {
		tops = append(tops, f.path)
	}
	if !slices.Equal(tops, want) || !got[0].v2 || !slices.Equal(got[2].has, []string{"cpu", "cpuacct"}) {
		t.Errorf("found %+v", got)
	}
	if got := topFolders(nil, topControllers); len(got) > 0 {
		t.Errorf("found %+v in nothing", got)
	}
}

func FuzzTopFolders(f *testing.F) {
	f.Add([]byte("31 30 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, f := range topFolders(parseMounts(text), topControllers) {
			if f.path == "" || !f.v2 && len(f.has) == 0 {
				t.Fatalf("%+v", f)
			}
		}
	})
}

// controlFiles checks what was written into the files of a hierarchy that is a folder here.
func controlFiles(t *testing.T, top string, want map[string]string) {
	t.Helper()
	for name, text := range want {
		if got, err := os.ReadFile(filepath.Join(top, name)); err != nil || string(got) != text {
			t.Errorf("%s is %q, %v, want %q", name, got, err, text)
		}
	}
}

func TestAGroupOfVersion1IsMadeLimitedAndFrozen(t *testing.T) {
	top := hierarchy(t, map[string]string{
		"cpuset/cpuset.cpus": "0-3", "cpuset/cpuset.mems": "0",
		"cpuset/lab/cpuset.cpus": "", "cpuset/lab/cpuset.mems": "",
		"cpu/lab/cpu.cfs_quota_us": "", "cpu/lab/cpu.cfs_period_us": "", "cpu/lab/cpu.shares": "",
		"freezer/lab/freezer.state": "", "freezer/lab/cgroup.procs": "", "freezer/lab/load/cgroup.procs": "",
		"cpu/lab/cgroup.procs": "", "cpuset/lab/cgroup.procs": "",
	})
	var tops Group
	for _, c := range []string{"freezer", "cpu", "cpuset"} {
		tops.folders = append(tops.folders, folder{path: filepath.Join(top, c), has: []string{c}})
	}
	g := tops.Subgroup("lab")
	for _, err := range []error{g.MakeGroup(Limits{}), g.SetCPUShare(0.5), g.SetFrozen(true), g.AddProcess(7),
		g.AddProcessWithin("load", 9)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	controlFiles(t, top, map[string]string{
		"cpuset/lab/cpuset.cpus": "0-3", "cpuset/lab/cpuset.mems": "0", "cpu/lab/cpu.shares": "512",
		"cpu/lab/cpu.cfs_quota_us": "10000", "cpu/lab/cpu.cfs_period_us": "20000",
		"freezer/lab/freezer.state": "FROZEN", "freezer/lab/cgroup.procs": "7",
		"freezer/lab/load/cgroup.procs": "9", "cpu/lab/cgroup.procs": "9",
	})
}

func TestAGroupOfVersion2IsMadeLimitedAndFrozen(t *testing.T) {
	top := hierarchy(t, map[string]string{
		"cgroup.controllers": "cpu memory hugetlb", "cgroup.subtree_control": "", "lab/cgroup.subtree_control": "",
		"lab/cpu.weight": "", "lab/memory.max": "", "lab/memory.swap.max": "", "lab/host/cpu.max": "",
		"lab/host/cpu.weight": "", "lab/host/memory.max": "", "lab/host/memory.swap.max": "", "lab/host/cgroup.freeze": "",
	})
	tops := Group{folders: topFolders([]mount{{point: top, v2: true}}, topControllers)}
	g := tops.Subgroup("lab")
	g.HandDown()
	host := g.Subgroup("host")
	for _, err := range []error{g.MakeGroup(Limits{}), g.PreferGroup(), host.MakeGroup(Limits{Memory: 1 << 20}),
		host.SetCPUShare(0), host.SetFrozen(true), host.SetFrozen(false)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	controlFiles(t, top, map[string]string{
		"cgroup.subtree_control": "+memory", "lab/cgroup.subtree_control": "+memory", "lab/cpu.weight": "10000",
		"lab/host/cpu.max": "max 20000", "lab/host/cpu.weight": "100", "lab/host/memory.max": "1048576",
		"lab/host/memory.swap.max": "0", "lab/host/cgroup.freeze": "0", "lab/memory.max": "\n",
	})
	if got := g.ExistingFolders(); !slices.Equal(got, []string{filepath.Join(top, "lab")}) {
		t.Errorf("there are %v", got)
	}
	if got := tops.Subgroup("other").ExistingFolders(); len(got) > 0 {
		t.Errorf("there are %v", got)
	}
}
