package cgroup

import "testing"

func TestKillsForLackOfMemoryAreReadInBothVersions(t *testing.T) {
	for text, want := range map[string]int64{
		"low 0\nhigh 0\nmax 31\noom 2\noom_kill 1\noom_group_kill 0\n": 1,
		"oom_kill_disable 0\nunder_oom 0\noom_kill 3\n":                3,
		"oom_kill_disable 0\nunder_oom 0\n":                            -1,
		"oom_kill many\n":                                              -1,
		"":                                                             -1,
	} {
		got, err := parseOOMKills(text)
		if err != nil {
			got = -1
		}
		if got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
