package cgroup

import (
	"slices"
	"testing"
)

// With cgroups of version 2 limits hold for all jobs of a user together, and those are
// named; with version 1 they hold for each.
func TestLimitsThatHoldForAUserTogetherAreNamed(t *testing.T) {
	limits := Limits{CPU: 0.5, Memory: 1 << 20}
	for what, c := range map[string]struct {
		folders []folder
		want    []string
	}{
		"version 2":        {[]folder{{v2: true, has: []string{"cpu", "memory", "pids"}}}, []string{"cpu", "memory"}},
		"memory in 2 only": {[]folder{{v2: true, has: []string{"memory"}}, {has: []string{"cpu"}}}, []string{"memory"}},
		"version 1":        {[]folder{{has: []string{"cpu"}}, {has: []string{"memory"}}}, nil},
	} {
		got := (&Group{folders: c.folders}).UndividedControllers(limits)
		if slices.Sort(got); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", what, got, c.want)
		}
	}
}
