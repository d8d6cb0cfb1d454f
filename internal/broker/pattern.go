package broker

import (
	"fmt"
	"strings"

	"github.com/godwit-hpc/godwit/internal/agent/wire"
	"github.com/godwit-hpc/godwit/internal/policy/place"
)

// order says on which of its hosts each node of a job's pattern is to run. It is
// asked when an attempt is handed over; one that is handed over again keeps what it
// was told first, as its driver has it.
func (t *turn) order(j *job, c *cluster, a *wire.Attempt) {
	if j.spec.Pattern == nil {
		return
	}
	hosts, mbps := place.Hosts(t.b.eng.World().Cluster(c.id), j.spec.Pattern, a.Held)
	if hosts == nil || len(c.HostNames) != t.b.eng.World().Cluster(c.id).Hosts() {
		t.explain(j, "hosts", "as they come", "nothing is known of the network between the hosts of "+c.Name, nil)
		return
	}
	for _, h := range hosts {
		a.Order = append(a.Order, c.HostNames[h])
	}
	t.explain(j, "hosts", strings.Join(a.Order, " "),
		fmt.Sprintf("they suit the pattern %s best: its slowest pair has %.3g Mbit/s", j.spec.Pattern.Name, mbps), map[string]any{"mbps": mbps})
}
