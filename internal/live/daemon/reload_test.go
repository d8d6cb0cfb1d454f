package daemon

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/live/config"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
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
	now.Policy.Tries = 3
	if r, err := compareSettings(was, &now, nil); err != nil || !r.AtStart {
		t.Errorf("other tries: %+v, %v", r, err)
	}
	stop := time.Minute
	now.Policy.Tries, now.Graces.Stop = 0, &stop
	if r, err := compareSettings(was, &now, nil); err != nil || !r.AtStart {
		t.Errorf("another grace time: %+v, %v", r, err)
	}
	now.Graces.Stop = nil
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

func TestTheSettingsSayHowLongTheEngineWaits(t *testing.T) {
	cfg := config.DefaultSettings([]int{0})
	usual := engine.DefaultConfig()
	if got := engineConfig(cfg); got.StopGrace != usual.StopGrace || got.CollectGrace != usual.CollectGrace ||
		got.ShrinkGrace != usual.ShrinkGrace || got.ClaimGrace != usual.ClaimGrace {
		t.Errorf("without settings: %+v", got)
	}
	stop, collect, shrink, claim := 3*time.Minute, time.Duration(0), 5*time.Second, time.Hour
	cfg.Graces = config.Graces{Stop: &stop, Collect: &collect, Shrink: &shrink, Claim: &claim}
	if got := engineConfig(cfg); got.StopGrace != stop || got.CollectGrace != 0 || got.ShrinkGrace != shrink ||
		got.ClaimGrace != claim {
		t.Errorf("with settings: %+v", got)
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
