package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// parallel is a cluster of each kind, of two hosts with two processors each.
const parallel = `
name: parallel
users: [alice]
network: {wan: {mbps: 200, ms: 2}}
clusters:
  - {name: north, manager: slurm, hosts: 2, cores: 2, cpus: 0.3}
  - {name: south, manager: gridengine, hosts: 2, cores: 2, cpus: 0.3}
  - {name: east, manager: ssh, hosts: 2, cores: 2, cpus: 0.3}
`

var parallelClusters = []string{"north", "south", "east"}

// upParallel makes the lab of a plan, with programs to run on it.
func upParallel(t *testing.T, plan string) *bed {
	t.Helper()
	if out, err := command(root, "make", "--no-print-directory", "yield"); err != nil {
		t.Fatalf("make yield: %v\n%s", err, out)
	}
	b := up(t, plan)
	for _, name := range []string{"ring", "pi"} {
		source, err := filepath.Abs(filepath.Join(root, "examples/apps", name+".c"))
		if err != nil {
			t.Fatal(err)
		}
		if out, err := command(b.work, "mpicc", "-O2", "-o", name, source, "-lm"); err != nil {
			t.Fatalf("mpicc: %v\n%s", err, out)
		}
	}
	return b
}

func TestParallelPrograms(t *testing.T) {
	b := upParallel(t, parallel)
	for _, part := range []struct {
		name string
		test func(*bed)
	}{
		{"FourRanksOnTwoHostsOfEveryKind", ranksEverywhere},
		{"EveryHostOfAJobIsHeard", everyHostIsHeard},
		{"OneProgramBelowTwoManagers", func(b *bed) { checkJoint(b, "north", "south") }},
		{"ARankThatDiesEndsTheJob", rankDies},
		{"WhateverDiesNothingIsLeft", nothingIsLeft},
		{"LAMMPSIsMovedFromSlurmToGridEngine", lammpsMoves},
	} {
		if !t.Run(part.name, func(t *testing.T) {
			in := *b
			in.t = t
			part.test(&in)
		}) {
			return
		}
	}
}

const ringJob = "workdir: .\nprocs: 4\nnum_nodes: 2\ncheckpoint: restart\n"

// started has a ring for ever in a cluster, with all ranks at work.
func started(b *bed, cluster string) (id string, hosts []string) {
	b.t.Helper()
	id = b.submit(ringJob + "run: mpirun ./ring 1000000 5\noutputs: []\non: [" + cluster + "]\n")[0]
	b.until("four ranks in "+cluster, func() bool {
		return strings.Count(b.godwit("logs", id), "rank ") == 4 || b.show(id).over()
	})
	s := b.show(id)
	if s.over() {
		b.t.Fatalf("%+v: %s", s, b.godwit("logs", id))
	}
	return id, s.Hosts
}

func ranksEverywhere(b *bed) {
	ids := map[string]string{}
	for _, c := range parallelClusters {
		ids[c] = b.submit(ringJob + "run: mpirun ./ring 20 && mpirun ./pi 1000000 20\non: [" + c + "]\n")[0]
	}
	for c, id := range ids {
		s, out := b.wait(id), ""
		out = b.godwit("logs", id)
		if s.Code == nil || *s.Code != 0 || !strings.Contains(out, "token 200 after 20 rounds of 4 ranks: right") ||
			!strings.Contains(out, "pi is 3.141592653") {
			b.t.Errorf("in %s: %+v\n%s\n%s", c, s, b.told(id), b.godwit("explain", id))
		}
		for _, host := range []string{c + "1", c + "2"} {
			if n := len(regexp.MustCompile(`rank \d of 4 on `+host+` `).FindAllString(out, -1)); n != 2 {
				b.t.Errorf("%d ranks were on %s:\n%s", n, host, out)
			}
		}
		slices.Sort(s.Hosts) // the first is that of the agent
		if strings.Join(s.Hosts, " ") != c+"1 "+c+"2" {
			b.t.Errorf("its hosts were %v", s.Hosts)
		}
	}
}

// left are the processes of parallel programs on a cluster's hosts.
func left(b *bed, cluster string) string {
	b.t.Helper()
	var all strings.Builder
	for _, host := range []string{cluster + "1", cluster + "2"} {
		for line := range strings.Lines(b.on(host, "ps -eo pid,args")) {
			if regexp.MustCompile(`mpirun|orted|\./ring|godwit (limb|launch|lead-parts|serve-ranks|host-helper)`).MatchString(line) {
				all.WriteString(host + ": " + line)
			}
		}
	}
	return all.String()
}

// gone waits until nothing of a job is left in a cluster, for 10 s of the machine's
// or longer if it has much else to do.
func gone(b *bed, cluster string, since time.Time) {
	b.t.Helper()
	b.until("nothing to be left in "+cluster, func() bool { return left(b, cluster) == "" })
	b.t.Logf("%s: nothing is left after %v", cluster, time.Since(since).Round(100*time.Millisecond))
}

// everyHostIsHeard has ranks on two hosts, and what they use known of both, also when the helper on the second dies.
func everyHostIsHeard(b *bed) {
	for _, c := range []string{"north", "east"} {
		id, hosts := started(b, c)
		usage := func() map[string]hostUsage {
			on := map[string]hostUsage{}
			for _, u := range b.show(id).HostUsage {
				on[u.Host] = u
			}
			return on
		}
		heard := func(since float64) func() bool {
			return func() bool {
				u := usage()
				return u[hosts[0]].Ranks != "" && u[hosts[1]].Ranks != "" && u[hosts[0]].CPU > 0 && u[hosts[1]].CPU > since
			}
		}
		b.until("both hosts in "+c+" to be heard", heard(0))
		u := usage()
		if ranks := u[hosts[0]].Ranks + "," + u[hosts[1]].Ranks; ranks != "0-1,2-3" && ranks != "2-3,0-1" {
			b.t.Errorf("in %s: ranks %s", c, ranks)
		}
		b.on(hosts[1], "pkill -9 -f '[g]odwit host-helper'")
		b.until("another helper in "+c, heard(u[hosts[1]].CPU))
		b.t.Logf("%s:\n%s", c, b.godwit("show", id))
		since := time.Now()
		b.godwit("cancel", id)
		gone(b, c, since)
	}
}

func rankDies(b *bed) {
	for _, c := range parallelClusters {
		id, _ := started(b, c)
		since := time.Now()
		b.on(c+"2", "pkill -9 -o -x ring")
		if s := b.wait(id); s.State != "FAILED" || s.Code == nil || *s.Code == 0 {
			b.t.Errorf("in %s: %+v", c, s)
		}
		gone(b, c, since)
	}
}

func nothingIsLeft(b *bed) {
	for _, c := range []struct {
		what string
		do   func(id string)
	}{
		{"the job is cancelled", func(id string) { b.godwit("cancel", id) }},
		{"mpirun dies", func(string) { b.on("east1", "pkill -9 -x mpirun") }},
		{"the launcher dies", func(string) { b.on("east1", "pkill -9 -f '[g]odwit launch'") }},
		{"the connection to a host is lost", func(id string) { // which is no fault of the program
			b.on("east1", "pkill -9 -x ssh")
			b.until("it to be started again",
				func() bool { return strings.Contains(b.godwit("explain", id), "the connection to east2 was lost") })
			b.godwit("cancel", id)
		}},
		{"the agent dies, and there is no other", func(id string) {
			b.on("east1", "pkill -9 -f '[g]odwit agent'")
			b.godwit("cancel", id)
		}},
	} {
		id, _ := started(b, "east")
		since := time.Now()
		c.do(id)
		b.until("job "+id+" to end", func() bool { return b.show(id).over() })
		gone(b, "east", since)
		b.t.Logf("%s: %s", c.what, b.show(id).Reason)
	}
}

// copyOf copies a file of the repository to where jobs are submitted from.
func (b *bed) copyOf(name string) {
	b.t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		b.t.Fatal(err)
	}
	b.file(filepath.Base(name), string(text))
}
