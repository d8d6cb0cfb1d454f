package broker_test

import (
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
)

func TestItIsExplainedWhatAScriptSaysToBatchSystems(t *testing.T) {
	for kind, want := range map[string]string{
		"slurm": "Slurm of a is told: partition batch, qos high; the cluster's settings prevail|left out in " +
			"a: bbf: clusters are not told it",
		"slurm over ssh": "Slurm of a is told: partition batch, qos high; the cluster's settings prevail|left out in " +
			"a: bbf: clusters are not told it",
		"gridengine over ssh": "left out in a: bbf, partition, qos: they are for clusters of Slurm, and this is one of " +
			"Grid Engine",
		"local": "left out in a: bbf, partition, qos: the cluster has no batch system",
	} {
		t.Run(kind, func(t *testing.T) {
			g := newGrid(t)
			g.kill()
			g.a.kind = kind
			g.up()
			id := g.submit(jobfile.Job{On: []string{"a"}, Manager: jobfile.Manager{Kind: jobfile.Slurm,
				Options: map[string][]string{"partition": {"batch"}, "qos": {"high"}, "bbf": {"/etc/passwd"}}}})
			g.next()
			var got []string
			for _, e := range g.explained(id, "script") {
				got = append(got, e.Choice+": "+e.Why)
			}
			if strings.Join(got, "|") != want {
				t.Errorf("got %q", got)
			}
		})
	}
}
