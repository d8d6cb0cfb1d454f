package lab

import (
	"strings"
	"testing"

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
