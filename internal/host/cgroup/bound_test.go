package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// hierarchy makes folders with files as a kernel shows them.
func hierarchy(t *testing.T, files map[string]string) string {
	t.Helper()
	top := t.TempDir()
	for name, text := range files {
		path := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return top
}

func TestQuotasOfAllCgroupsAboveAreInForce(t *testing.T) {
	top := hierarchy(t, map[string]string{
		"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000",
		"cpu/a/cpu.cfs_quota_us": "150000", "cpu/a/cpu.cfs_period_us": "100000",
		"cpu/a/b/cpu.cfs_quota_us": "-1", "cpu/a/b/cpu.cfs_period_us": "100000",
		"cpu/a/b/c/cpu.cfs_quota_us": "10000", "cpu/a/b/c/cpu.cfs_period_us": "20000",
		"acct/a/cpuacct.usage": "3000000000", "acct/a/b/cpuacct.usage": "1",
		"two/x/cpu.max": "50000 100000", "two/x/cpu.stat": "usage_usec 7\nuser_usec 5",
		"two/x/y/cpu.max": "max 100000",
	})
	v1 := &host{places: []ownHierarchy{
		{base: filepath.Join(top, "cpu/a/b/c"), has: []string{"cpu"}},
		{base: filepath.Join(top, "acct/a/b"), has: []string{"cpuacct"}},
	}}
	got := v1.quotaBounds(map[string]string{"cpu": "/a/b/c", "cpuacct": "/a/b"})
	if want := []Bound{{"/a/b/c", 0.5, -1}, {"/a", 1.5, 3 * time.Second}}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("version 1: %v, want %v", got, want)
	}
	v2 := &host{places: []ownHierarchy{{base: filepath.Join(top, "two/x/y"), v2: true}}}
	got = v2.quotaBounds(map[string]string{"": "/x/y"})
	if want := []Bound{{"/x", 0.5, 7 * time.Microsecond}}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("version 2: %v, want %v", got, want)
	}
	// As a container sees it that has a namespace of its own.
	inside := &host{places: []ownHierarchy{{base: filepath.Join(top, "two/x"), v2: true}}}
	if got := inside.quotaBounds(map[string]string{"": "/"}); len(got) != 1 || got[0].CPUs != 0.5 ||
		got[0].Used != 7*time.Microsecond {
		t.Errorf("in a container: %v", got)
	}
}

func TestAsManyProcessorsAreOfferedAsTheTightestQuotaHasTimeFor(t *testing.T) {
	for _, c := range []struct {
		n, want int
		quotas  []float64
	}{{4, 4, nil}, {4, 1, []float64{0.2}}, {4, 2, []float64{1.5, 3}}, {4, 3, []float64{3}}, {2, 2, []float64{64}},
		{8, 1, []float64{0.001}}} {
		var bounds []Bound
		for _, q := range c.quotas {
			bounds = append(bounds, Bound{CPUs: q})
		}
		if got := UsableProcessors(c.n, bounds); got != c.want {
			t.Errorf("%d under %v: %d, want %d", c.n, c.quotas, got, c.want)
		}
	}
}

func FuzzRatio(f *testing.F) {
	f.Add("max", "100000")
	f.Add("-1", "100000")
	f.Add("9223372036854775807", "1")
	f.Fuzz(func(t *testing.T, quota, every string) {
		if r := quotaRatio(quota, every); r < 0 || r != r {
			t.Errorf("%q of %q is %v", quota, every, r)
		}
	})
}
