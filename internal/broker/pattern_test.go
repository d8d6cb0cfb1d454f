package broker

import (
	"reflect"
	"testing"

	"github.com/godwit-hpc/godwit/internal/core"
	"github.com/godwit-hpc/godwit/internal/jobfile"
	"github.com/godwit-hpc/godwit/internal/netgraph"
)

func TestTrialsOnOurHostsAreToldToTheEngineTheFastestFirst(t *testing.T) {
	b := &Broker{clusters: []*cluster{
		{Cluster: Cluster{Name: "batch", HostNames: []string{"n1", "n2", "n3"}, Managed: true}, id: 0},
		{Cluster: Cluster{Name: "n", HostNames: []string{"n1", "n2", "n3"}}, id: 1},
	}}
	spec := &jobfile.Job{Pattern: &core.Pattern{Name: "x", Nodes: 2}, Trials: []netgraph.Trial{
		{Hosts: []string{"n3", "n1"}, Seconds: 3}, {Hosts: []string{"n1", "elsewhere"}, Seconds: 1}, {Hosts: []string{"n2", "n3"}, Seconds: 2}}}
	want := []core.Trial{{Cluster: 1, Hosts: []int{1, 2}, Seconds: 2}, {Cluster: 1, Hosts: []int{2, 0}, Seconds: 3}}
	if got := b.trials(spec); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
