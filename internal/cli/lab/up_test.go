package lab

import (
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/lab"
	"github.com/godwit-hpc/godwit/internal/lab/managers"
	"github.com/godwit-hpc/godwit/internal/live/config"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

func TestALabIsUpWhenAllItsClustersAnswer(t *testing.T) {
	list := []api.Cluster{{Name: "a", State: "up", Procs: 2}, {Name: "b", State: "down", Procs: 2, Why: "no answer"},
		{Name: "c", State: "up"},
		{Name: "d", State: "up", Procs: 2, Asking: true}}
	if got := silentClusters(list); len(got) != 3 || !strings.Contains(got[0], "b") ||
		!strings.Contains(got[0], "no answer") {
		t.Errorf("silent are %q", got)
	}
	if got := silentClusters(list[:1]); got != nil {
		t.Errorf("silent are %q", got)
	}
}

func TestTheBrokerOfALabIsToldWhatTheScenarioWants(t *testing.T) {
	managers.RegisterAll()
	host := &lab.Host{Name: "east1"}
	l := &lab.Lab{Dir: t.TempDir(), Clusters: []*lab.Cluster{{Name: "east", Manager: lab.None, Cores: 8,
		Share: lab.Share{KeepFree: 5, GrowFree: 3}, Hosts: []*lab.Host{host}}}}
	data, err := labSettings(l, "", brokerWishes{policy: map[string]string{"approach": "pra", "malleable": "fpsma"}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.ReadSettings("broker.yaml", data, []int{0})
	if err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	if east := c.Clusters[0]; c.Policy.Approach != "pra" || c.Policy.Malleable != "fpsma" || east.Name != "east1" ||
		east.Slots != 8 || east.KeepFree != 5 || east.GrowFree != 3 {
		t.Errorf("the settings are %s", data)
	}
}

func TestAPolicyThatNoBrokerKnowsIsRefusedBeforeTheLabIsMade(t *testing.T) {
	for policy, want := range map[string]string{"egs": "", "eggs": `s.yaml: policy.malleable "eggs"`} {
		err := checkPolicy(&lab.Scenario{File: "s.yaml", Policy: map[string]string{"malleable": policy}})
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", policy, err)
		}
	}
	if err := checkPolicy(&lab.Scenario{File: "s.yaml"}); err != nil {
		t.Error(err)
	}
}
