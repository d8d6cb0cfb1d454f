package broker_test

import (
	"maps"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
)

func TestTheEnvironmentOfTheCallerStaysWithItsAccount(t *testing.T) {
	for kind, want := range map[string]map[string]string{
		"local":          {"SEED": "7", "TOKEN": "secret", "HOME": "/home/me"},
		"slurm":          {"SEED": "7", "TOKEN": "secret", "HOME": "/home/me"},
		"ssh":            {"SEED": "7"},
		"slurm over ssh": {"SEED": "7"},
	} {
		g := newGrid(t)
		g.a.kind = kind
		g.restart()
		g.submit(jobfile.Job{On: []string{"a"}, Env: map[string]string{"SEED": "7"},
			Caller: map[string]string{"TOKEN": "secret", "HOME": "/home/me"}})
		a := g.next()
		if got := a.Spec.Env; !maps.Equal(got, want) || a.Spec.Caller != nil {
			t.Errorf("%s: it gets %v and %v, want %v", kind, got, a.Spec.Caller, want)
		}
	}
}
