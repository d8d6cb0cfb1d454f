package daemon

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/live/config"
)

func TestWhatIsNewInSettings(t *testing.T) {
	was := config.DefaultSettings([]int{0, 1})
	was.Clusters = append(was.Clusters, config.Cluster{Name: "leeds", Driver: config.Slurm, SSH: "a@leeds"},
		config.Cluster{Name: "york", Driver: config.Local, SSH: "a@york"})
	now := *was
	now.Clusters = slices.Clone(was.Clusters)
	if r, err := compareSettings(was, &now, nil); err != nil || len(r.Added)+len(r.Changed)+len(r.Removed) > 0 ||
		r.AtStart {
		t.Errorf("the same: %+v, %v", r, err)
	}
	now.Clusters[1].Partition = "short"
	now.Clusters[2] = config.Cluster{Name: "hull", Driver: config.Local, SSH: "a@hull"}
	now.Sample *= 2
	r, err := compareSettings(was, &now, map[string]int{"leeds": 1, "york": 2})
	if err != nil || !slices.Equal(r.Added, []string{"hull"}) || !slices.Equal(r.Changed, []string{"leeds"}) ||
		!slices.Equal(r.Removed, []string{"york"}) ||
		r.Draining != 2 || !r.AtStart {
		t.Errorf("%+v, %v", r, err)
	}
	now.Clusters[1].SSH = "a@elsewhere"
	if _, err := compareSettings(was, &now, map[string]int{"leeds": 1}); !badinput.Is(err) ||
		!strings.Contains(err.Error(), "clusters.leeds") {
		t.Errorf("a cluster with a job in it goes elsewhere: %v", err)
	}
	if _, err := compareSettings(was, &now, nil); err != nil {
		t.Errorf("a cluster without jobs goes elsewhere: %v", err)
	}
}

func TestTheSettingsOfClustersAreRemembered(t *testing.T) {
	state := t.TempDir()
	a, b := config.Cluster{Name: "a", Driver: config.Slurm, SSH: "x@y", Env: map[string]string{"K": "v"}},
		config.Cluster{Name: "b"}
	if list, err := recallClusters(state); err != nil || list != nil {
		t.Errorf("at first: %+v, %v", list, err)
	}
	if err := rememberClusters(state, []config.Cluster{a, b, {Name: "a", SSH: "earlier"}}); err != nil {
		t.Fatal(err)
	}
	if list, err := recallClusters(state); err != nil || !reflect.DeepEqual(list, []config.Cluster{a, b}) {
		t.Errorf("%+v, %v", list, err)
	}
}
