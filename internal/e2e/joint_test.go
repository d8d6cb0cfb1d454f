package e2e

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

// twoSites is two clusters, each of two machines with two processors, that see each other over a slower network.
const twoSites = `
name: two
users: [alice]
network: {wan: {mbps: 200, ms: 2}}
clusters:
  - {name: east, manager: ssh, hosts: 2, cores: 2, cpus: 0.3}
  - {name: west, manager: ssh, hosts: 2, cores: 2, cpus: 0.3}
`

func TestOneMPIProgramOnTwoClusters(t *testing.T) {
	b := upParallel(t, twoSites)
	for _, part := range []struct {
		name string
		test func(*bed)
	}{
		{"WhereHostsDoNotReachEachOtherItIsRefused", refusedApart},
		{"EightRanksOnFourHosts", ranksOnBoth},
		{"ARankThatDiesEndsBothParts", rankDiesFar},
		{"CancelledNothingIsLeft", cancelsBoth},
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

// jointJob is one program on all hosts of two clusters.
func jointJob(run, one, other string) string {
	return fmt.Sprintf("workdir: .\nrun: %s\noutputs: []\nmpi: true\ncomponents:\n"+
		"  - {procs: 4, num_nodes: 2, on: [%s]}\n  - {procs: 4, num_nodes: 2, on: [%s]}\n", run, one, other)
}

// checkJoint runs a ring over all hosts of two clusters, twice, and looks at what came of it.
func checkJoint(b *bed, one, other string) {
	b.t.Helper()
	id := b.submit(jointJob("mpirun ./ring 100 && mpirun ./pi 1000000 20", one, other))[0]
	s := b.wait(id)
	out := b.godwit("logs", id)
	if s.Code == nil || *s.Code != 0 || !strings.Contains(out, "token 3600 after 100 rounds of 8 ranks: right") ||
		!strings.Contains(out, "pi is 3.141592653") {
		b.t.Errorf("%+v\n%s\n%s", s, b.told(id), b.godwit("explain", id))
	}
	for _, c := range []string{one, other} {
		for _, host := range []string{c + "1", c + "2"} {
			if n := len(regexp.MustCompile(`rank \d of 8 on `+host+` `).FindAllString(out, -1)); n != 2 {
				b.t.Errorf("%d ranks were on %s:\n%s", n, host, out)
			}
		}
	}
	b.t.Logf("%s and %s:\n%s", one, other, out)
}

func ranksOnBoth(b *bed) {
	checkJoint(b, "east", "west")
	bothGone(b, time.Now())
}

// bothGone waits until nothing of a job is left on either cluster and all cores are idle.
func bothGone(b *bed, since time.Time) {
	b.t.Helper()
	gone(b, "east", since)
	gone(b, "west", since)
	b.until("all cores to be idle", func() bool {
		var list []struct {
			Procs int `json:"procs"`
			Idle  int `json:"idle"`
		}
		if err := json.Unmarshal([]byte(b.godwit("clusters", "-o", "json")), &list); err != nil {
			b.t.Fatal(err)
		}
		for _, c := range list {
			if c.Idle != c.Procs {
				return false
			}
		}
		return len(list) == 2
	})
}

// ringForEver is such a job whose ranks are all at work.
func ringForEver(b *bed) string {
	b.t.Helper()
	id := b.submit(jointJob("mpirun ./ring 1000000 5", "east", "west"))[0]
	b.until("eight ranks", func() bool {
		return strings.Count(b.godwit("logs", id), "rank ") == 8 || b.show(id).over()
	})
	if s := b.show(id); s.over() {
		b.t.Fatalf("%+v: %s", s, b.told(id))
	}
	return id
}

func rankDiesFar(b *bed) {
	id := ringForEver(b)
	since := time.Now()
	b.on("west2", "pkill -9 -o -x ring")
	if s := b.wait(id); s.State != "FAILED" || s.Code == nil || *s.Code == 0 {
		b.t.Errorf("%+v", s)
	}
	bothGone(b, since)
}

func cancelsBoth(b *bed) {
	id := ringForEver(b)
	since := time.Now()
	b.godwit("cancel", id)
	if s := b.wait(id); s.State != "CANCELLED" {
		b.t.Errorf("%+v", s)
	}
	bothGone(b, since)
}

// setApart takes away or gives back the way between the hosts of the two clusters. Both are reached as before.
func setApart(b *bed, verb string) {
	b.t.Helper()
	for _, host := range []string{"west1", "west2"} {
		address := strings.Fields(b.on("east1", "getent ahostsv4 "+host))[0]
		for _, from := range []string{"east1", "east2"} {
			b.on(from, "ip route "+verb+" prohibit "+address)
		}
	}
}

func refusedApart(b *bed) {
	bothGone(b, time.Now()) // both are within reach of the broker
	setApart(b, "add")
	job := b.file("apart.yaml", jointJob("mpirun ./ring 20", "east", "west"))
	before := len(b.all())
	_, err := b.try("submit", job)
	const want = "mpi: it is one MPI program (mpi: true), and hosts of east and west cannot reach each other"
	if err == nil || !strings.Contains(err.Error(), want) {
		b.t.Errorf("it is told: %v", err)
	}
	b.t.Logf("%v", err)
	if n := len(b.all()); n != before {
		b.t.Errorf("there are %d jobs instead of %d", n, before)
	}
	bothGone(b, time.Now())
	// Several programs need not reach each other.
	id := b.submit(strings.Replace(jointJob("hostname", "east", "west"), "mpi: true\n", "", 1))[0]
	if s := b.wait(id); s.State != "DONE" {
		b.t.Errorf("%+v", s)
	}
	setApart(b, "del")
	b.until("it to be taken", func() bool {
		_, err := b.try("submit", job)
		if err != nil && !strings.Contains(err.Error(), want) {
			b.t.Fatal(err)
		}
		return err == nil
	})
}
