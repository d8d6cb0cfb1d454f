package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
)

// usage is what clusters tells of who uses one.
type usage struct {
	Name   string `json:"name"`
	Idle   int    `json:"idle"`
	Others int    `json:"others"`
}

// othersAre waits until the broker shows that others hold so many cores of a cluster, and so many are idle.
func (b *bed) othersAre(cluster string, others, idle int) {
	b.t.Helper()
	var last usage
	b.until(fmt.Sprintf("%d cores of %s to be held by others, and %d to be idle", others, cluster, idle), func() bool {
		var list []usage
		if err := json.Unmarshal([]byte(b.godwit("clusters", "-o", "json")), &list); err != nil {
			b.t.Fatal(err)
		}
		for _, u := range list {
			if u.Name == cluster {
				last = u
			}
		}
		return last.Others == others && last.Idle == idle
	})
	b.t.Logf("%+v", last)
}

// byHand runs a command of a cluster's manager as a user who knows nothing of us, on its login node.
func (b *bed) byHand(cluster, command string) string {
	b.t.Helper()
	h, err := b.lab.FindHost(cluster + "0")
	if err != nil {
		b.t.Fatal(err)
	}
	out, err := h.CommandAs(b.t.Context(), "bob", "/bin/sh", "-c", command).CombinedOutput()
	if err != nil {
		b.t.Fatalf("%s in %s: %v\n%s", command, cluster, err, out)
	}
	return strings.TrimSpace(string(out))
}

// aroundUs has jobs submitted by hand to a Slurm and a Grid Engine of four cores each: we count them, place jobs
// elsewhere meanwhile, and use their cores once they have ended. What jobs of ours hold is not others', whoever of our
// users they are of.
func aroundUs(b *bed) {
	for _, c := range []struct{ cluster, submit, cancel string }{
		{"north", "sbatch --parsable --ntasks=1 --output=/dev/null --chdir=/ --wrap='sleep 1000'", "scancel "},
		{"south", "qsub -terse -b y -o /dev/null -e /dev/null sleep 1000", "qdel "},
	} {
		b.othersAre(c.cluster, 0, 4)
		ours := b.submit("name: long\nrun: sleep 1000\non: [" + c.cluster + "]\n")[0]
		b.runs(ours)
		var hand []string
		for n := 1; n <= 3; n++ {
			hand = append(hand, b.byHand(c.cluster, c.submit))
			b.othersAre(c.cluster, n, 3-n)
		}
		// Without them it would have most idle cores.
		elsewhere := b.submit("name: short\nrun: 'true'\nplace: wf\non: [" + c.cluster + ", east1]\n")[0]
		if s := b.wait(elsewhere); s.Cluster != "east1" || s.Code == nil || *s.Code != 0 {
			b.t.Errorf("with %s full it ended as %+v\n%s", c.cluster, s, b.godwit("explain", elsewhere))
		}
		waits := b.submit("name: waits\nrun: 'true'\non: [" + c.cluster + "]\n")[0]
		b.until("the manager to say that job "+waits+" waits", func() bool {
			return strings.Contains(b.godwit("explain", waits), "waits in the cluster's queue")
		})
		if s := b.show(waits); s.State == "RUNNING" || s.over() {
			b.t.Errorf("with %s full it is %+v", c.cluster, s)
		}
		b.byHand(c.cluster, c.cancel+strings.Join(hand, " "))
		if s := b.wait(waits); s.Cluster != c.cluster || s.Code == nil || *s.Code != 0 {
			b.t.Errorf("it ended as %+v\n%s", s, b.godwit("explain", waits))
		}
		b.othersAre(c.cluster, 0, 3)
		b.godwit("cancel", ours)
		b.wait(ours)
	}
}
