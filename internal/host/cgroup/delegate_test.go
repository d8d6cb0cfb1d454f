package cgroup

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const guestMemory, hostMemory = 32 << 20, 64 << 20

// guest makes a group inside the one that it is in, and tries to have more than that.
func guest() {
	can := ProbeAbility()
	if !can.IsUsable() {
		fmt.Println("no group can be made:", can.Why)
		return
	}
	limits := Limits{}
	if can.Memory {
		limits.Memory = guestMemory
	}
	g, err := CreateGroup("inner", limits)
	if err != nil {
		fmt.Println(err)
		return
	}
	if !hasGroups(above(g).folders[0].path) {
		fmt.Println("the group inside is not seen")
	}
	sleep := exec.Command("sleep", "1000")
	if err := sleep.Start(); err != nil {
		fmt.Println(err)
		return
	}
	if err := g.AddProcess(sleep.Process.Pid); err != nil {
		fmt.Println("a process cannot be moved:", err)
	}
	for _, host := range above(g).folders {
		for _, file := range []string{"memory.limit_in_bytes", "memory.max", "cpu.max", "cpuset.cpus", "pids.max"} {
			value, err := host.readControl(file)
			if err == nil && host.writeControl(file, value) == nil {
				fmt.Println("the guest may change", file, "of its host")
			}
		}
		// Out of the group is nowhere.
		if outer := (folder{path: filepath.Dir(host.path)}); outer.writeControl("cgroup.procs",
			fmt.Sprint(os.Getpid())) == nil {
			fmt.Println("the guest leaves", host.path)
		}
	}
	if err := g.KillAll(); err != nil {
		fmt.Println(err)
	}
	_ = sleep.Wait() // it was killed
	if err := g.RemoveGroup(); err != nil {
		fmt.Println(err)
	}
	fmt.Println("done")
}

// above is the group that a group is in.
func above(g *Group) *Group {
	up := &Group{}
	for _, f := range g.folders {
		up.folders = append(up.folders, folder{path: filepath.Dir(f.path), v2: f.v2, has: f.has})
	}
	return up
}

func TestAUserDividesTheirGroupWithinLimitsThatStayOurs(t *testing.T) {
	can := ProbeAbility()
	if os.Geteuid() != 0 || !can.Memory {
		t.Skip("needs root and cgroups that limit memory: ", can.Why)
	}
	name := fmt.Sprintf("test-%d", os.Getpid())
	g, err := DelegateGroup(name, Limits{Memory: hostMemory}, 65534, 65534)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.RemoveGroup(); err != nil {
			t.Error(err)
		}
	})
	cmd, begin := again(t, "guest")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := g.AddProcess(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if ending, err := RemoveDelegated(name); err != nil || !ending || !pathExists(g.folders[0].path) {
		t.Errorf("a group with a process in it is removed: %v, %v", ending, err)
	}
	begin()
	if err := cmd.Wait(); err != nil || strings.TrimSpace(out.String()) != "done" {
		t.Errorf("the guest: %v: %s", err, out.String())
	}
	// The same again, as the next broker makes it.
	if _, err := DelegateGroup(name, Limits{Memory: 2 * hostMemory}, 65534, 65534); err != nil {
		t.Error(err)
	}
	if ending, err := RemoveDelegated(name); err != nil || ending {
		t.Errorf("an empty group: %v, %v", ending, err)
	}
	for _, f := range g.folders {
		if pathExists(f.path) {
			t.Errorf("%s is left", f.path)
		}
	}
}

func TestAQuotaOfAUsersGroupIsNoQuotaOfTheMachine(t *testing.T) {
	top := hierarchy(t, map[string]string{
		"cpu/a/cpu.cfs_quota_us": "150000", "cpu/a/cpu.cfs_period_us": "100000",
		"cpu/a/godwit-user-x/cpu.cfs_quota_us": "10000", "cpu/a/godwit-user-x/cpu.cfs_period_us": "20000",
	})
	h := &host{places: []ownHierarchy{{base: filepath.Join(top, "cpu/a/godwit-user-x"), has: []string{"cpu"}}}}
	if got := h.quotaBounds(map[string]string{"cpu": "/a/godwit-user-x"}); len(got) != 1 || got[0].CPUs != 1.5 {
		t.Errorf("the quotas are %v", got)
	}
}
