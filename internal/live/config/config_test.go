package config

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

var four = []int{0, 1, 2, 3}

func mustRead(t *testing.T, text string) *Config {
	t.Helper()
	c, err := ReadSettings("c.yaml", []byte(text), four)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestWithoutAFileAllCPUsAreOneCluster(t *testing.T) {
	none := func(string) string { return "" }
	got, err := LoadSettings("", none, four)
	if err != nil {
		t.Fatal(err)
	}
	want := []Cluster{{Name: "local", Driver: "local", CPUs: four, Slots: 4, Quota: 1}}
	if diff := cmp.Diff(want, got.Clusters); diff != "" || got.File != "" || got.Sample != 2*time.Second {
		t.Errorf("%s %+v", diff, got)
	}
}

func TestAFileSaysEverything(t *testing.T) {
	got := mustRead(t, `
clusters:
  - {name: a, driver: local, cpus: [0, 2], slots: 16, keep_free: 3, grow_free: 2, quota: 0.5, speed: 1.25, nice: 5, memory: 4G}
  - {name: b, cpus: 1}
policy: {place: wf, approach: pra, malleable: egs, tries: 20}
intervals: {sample: 500ms, retry: 5s, stop_grace: 5m, collect_grace: 0s, shrink_grace: 20, grow_grace: 5s, claim_grace: 1h}
keep: {jobs: 7d, logs: 10M}
limits: {work: 1G, files: 1000, jobs: 500, workflows: 7, tasks: 70, pools: 8, items: 80, depot: 2G, log: 3G, memory: 4G}
`)
	want := &Config{
		File: "c.yaml",
		Clusters: []Cluster{
			{Name: "a", Driver: "local", CPUs: []int{0, 2}, Slots: 16, KeepFree: 3, GrowFree: 2, Quota: 0.5, Speed: 1.25, Nice: 5, Memory: 4 << 30},
			{Name: "b", Driver: "local", CPUs: []int{1}, Slots: 1, Quota: 1},
		},
		Policy: Policy{Place: core.WorstFit, Approach: "pra", Malleable: "egs", Tries: 20},
		Graces: Graces{Stop: after(5 * time.Minute), Collect: after(0), Shrink: after(20 * time.Second), Grow: after(5 * time.Second),
			Claim: after(time.Hour)},
		Sample: 500 * time.Millisecond,
		Retry:  5 * time.Second,
		Keep:   Keep{Jobs: 7 * 24 * time.Hour, Logs: 10 << 20},
		Limits: Limits{Work: 1 << 30, Files: 1000, Jobs: 500, Workflows: 7, Tasks: 70, Pools: 8, Items: 80, Depot: 2 << 30, Log: 3 << 30,
			Memory: 4 << 30},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func after(d time.Duration) *time.Duration { return &d }

func TestCPUsAreListedOrCounted(t *testing.T) {
	for text, want := range map[string][][]int{
		"clusters: [{name: a, cpus: [3, 1]}]":                                      {{1, 3}},
		"clusters: [{name: a, cpus: 0-2}]":                                         {{0, 1, 2}},
		`clusters: [{name: a, cpus: "0-1,3"}]`:                                     {{0, 1, 3}},
		"clusters: [{name: a, cpus: [0-1, 3]}]":                                    {{0, 1, 3}},
		"clusters: [{name: a, cpus: all}]":                                         {four},
		"clusters: [{name: a}]":                                                    {four},
		"clusters: [{name: a, cpus: 2}]":                                           {{0, 1}},
		"clusters: [{name: a, cpus: 1}, {name: b, cpus: [0]}]":                     {{1}, {0}},
		"clusters: [{name: a, cpus: 1}, {name: b, cpus: 2}, {name: c, cpus: [1]}]": {{0}, {2, 3}, {1}},
		"clusters: [{name: a, cpus: [0]}, {name: b, cpus: [0]}]":                   {{0}, {0}},
	} {
		for i, c := range mustRead(t, text).Clusters {
			if !slices.Equal(c.CPUs, want[i]) || c.Slots != len(c.CPUs) {
				t.Errorf("%s\n%s has CPUs %v and %d slots, want %v", text, c.Name, c.CPUs, c.Slots, want[i])
			}
		}
	}
}

func TestAWrongFileIsToldByLineFieldAndValue(t *testing.T) {
	in := func(fields string) string { return "clusters: [{name: a, " + fields + "}]" }
	for _, c := range []struct{ text, message string }{
		{"", ": the file is empty, expected settings of Godwit"},
		{"clusters: []", ":1: clusters: expected from 1 to 1000 clusters; there are 0"},
		{"clusters: 3", `:1: clusters "3": expected a list of clusters`},
		{"cluster: []", ":1: cluster: unknown field, did you mean clusters?"},
		{"clusters: [{cpus: 1}]", ":1: clusters[0].name: missing, expected the cluster's name"},
		{"clusters: [{name: ../x}]", `:1: clusters[0].name ../x: expected a name of letters, digits and . _ - (at most 200)`},
		{"clusters: [{name: ..}]", `:1: clusters[0].name "..": expected a name that does not begin with a dot`},
		{"clusters:\n- {name: a}\n- {name: a}",
			`:3: clusters[1].name "a": expected a name that no other cluster has; that of line 2 has it`},
		{in("drivr: local"), ":1: clusters[0].drivr: unknown field, did you mean driver?"},
		{in("driver: slrum"), `:1: clusters[0].driver "slrum": unknown driver, did you mean slurm?`},
		{in("driver: pbs"), `:1: clusters[0].driver "pbs": unknown driver, known are local, slurm, gridengine`},
		{in("driver: slurm, cpus: 1"), `:1: clusters[0].cpus: only for a part of this machine; a is none`},
		{in("ssh: -oProxyCommand=x"), `:1: clusters[0].ssh "-oProxyCommand=x": expected a host as ssh takes it, such as alice@login.example.org`},
		{in("ssh_options: [-4]"), `:1: clusters[0].ssh_options: only together with ssh`},
		{in("direct: false"), `:1: clusters[0].direct: only together with ssh`},
		{in("trusted: false"), `:1: clusters[0].trusted: only for a cluster elsewhere; a is a part of this machine`},
		{in("ssh: x, trusted: no"), `:1: clusters[0].trusted "no": expected true or false`},
		{in("ssh: x, direct: perhaps"), `:1: clusters[0].direct "perhaps": expected true or false`},
		{in("partition: p"), `:1: clusters[0].partition: only with driver slurm or gridengine`},
		{in("driver: slurm, pe: mpi"), `:1: clusters[0].pe: only with driver gridengine`},
		{in("driver: slurm, poll: 1ms"), `:1: clusters[0].poll "1ms": expected a time from 200ms to 10m`},
		{in("driver: lokal"), `:1: clusters[0].driver "lokal": unknown driver, did you mean local?`},
		{in("cpus: 0"), `:1: clusters[0].cpus "0": expected from 1 to 4 CPUs: that many may be used here (0-3)`},
		{in("cpus: 5"), `:1: clusters[0].cpus "5": expected from 1 to 4 CPUs: that many may be used here (0-3)`},
		{in("cpus: [4]"), `:1: clusters[0].cpus[0] "4": expected CPUs that may be used here: 0-3`},
		{in("cpus: 2-9"), `:1: clusters[0].cpus "2-9": expected CPUs that may be used here: 0-3`},
		{in("cpus: 3-2"), `:1: clusters[0].cpus "3-2": expected a number of CPUs, or a list of them such as [0, 1] or 0-3`},
		{in("cpus: 0-99999999"), `:1: clusters[0].cpus "0-99999999": expected a number of CPUs, or a list of them such as [0, 1] or 0-3`},
		{in("cpus: [1, 0-1]"), `:1: clusters[0].cpus[1] "0-1": expected each CPU once`},
		{in("cpus: []"), `:1: clusters[0].cpus "[…]": expected a number of CPUs, or a list of them such as [0, 1] or 0-3`},
		{in("cpus: {a: 1}"), `:1: clusters[0].cpus "{…}": expected a number of CPUs, or a list of them such as [0, 1] or 0-3`},
		{"clusters: [{name: a, cpus: 3}, {name: b, cpus: 2}]",
			`:1: clusters[1].cpus "2": expected at most 1: so many CPUs of 0-3 are not another cluster's; list CPUs to share them`},
		{in("slots: 0"), `:1: clusters[0].slots "0": expected a whole number from 1 to 1000000`},
		{in("keep_free: -1"), `:1: clusters[0].keep_free "-1": expected a whole number from 0 to 1000000`},
		{in("slots: 4, keep_free: 4"),
			`:1: clusters[0].keep_free "4": expected fewer than the 4 cores that the cluster offers`},
		{in("ssh: [x, y], slots: 2, keep_free: 4"),
			`:1: clusters[0].keep_free "4": expected fewer than the 4 cores that the cluster offers`},
		{in("slots: 4, keep_free: 1, grow_free: 4"),
			`:1: clusters[0].grow_free "4": expected at most the 3 cores that keep_free leaves`},
		{in("driver: slurm, keep_free: 1"), `:1: clusters[0].keep_free: only for clusters without a batch system: ` +
			`what waits in its queue takes any core; slots bounds what jobs get`},
		{"policy: {tries: -1}", `:1: policy.tries "-1": expected a whole number from 0 to 1000000`},
		{"policy: {tries: often}", `:1: policy.tries "often": expected a whole number from 0 to 1000000`},
		{"intervals: {stop_grace: 10ms}",
			`:1: intervals.stop_grace "10ms": expected a time from 1s to 24h, such as 10m; 0s: no limit`},
		{"intervals: {collect_grace: 2d}",
			`:1: intervals.collect_grace "2d": expected a time from 1s to 24h, such as 10m; 0s: no limit`},
		{in("quota: 1.5"), `:1: clusters[0].quota "1.5": expected a number above 0 and up to 1`},
		{in("speed: fast"), `:1: clusters[0].speed "fast": expected auto, or how many times as fast as the reference host`},
		{in("nice: -5"), `:1: clusters[0].nice "-5": expected a whole number from 0 to 19`},
		{in("memory: 0"), `:1: clusters[0].memory "0": expected a number of bytes such as 4G, 512M or 4096`},
		{"policy: {place: dedline}", `:1: policy.place "dedline": unknown placement policy, did you mean deadline?`},
		{"policy: {approach: xyz}", `:1: policy.approach "xyz": unknown approach, known are pra, pwa`},
		{"policy: {malleable: margnal}",
			`:1: policy.malleable "margnal": unknown malleability policy, did you mean marginal?`},
		{"intervals: {sample: 10ms}", `:1: intervals.sample "10ms": expected a time from 100ms to 2m`},
		{"intervals: {sample: soon}", `:1: intervals.sample "soon": expected a time such as 30s, 10m, 1h30m, 2d or a number of seconds`},
		{"keep: {jobs: x}", `:1: keep.jobs "x": expected a time such as 30s, 10m, 1h30m, 2d or a number of seconds`},
		{"weather: {probe: sometimes}",
			`:1: weather.probe "sometimes": expected on, off, or how often each way may be measured, from 1s to 24h`},
		{"weather: {probe: 10ms}", `:1: weather.probe "10ms": expected on, off, or how often each way may be measured, from 1s to 24h`},
		{"weather: {budget: 50%}", `:1: weather.budget "50%": expected a part of each link from 0.01% to 10%, such as 0.5%`},
		{"weather: {budget: none}", `:1: weather.budget "none": expected a part of each link from 0.01% to 10%, such as 0.5%`},
		{"weather: {network: ''}", `:1: weather.network: expected a file that describes the network: a bandwidth graph (JSON, CSV) or a platform (YAML, XML)`},
		{"limits: {memory: 1M}", `:1: limits.memory "1M": expected at least 32M`},
		{"limits: {files: 0}", `:1: limits.files "0": expected a whole number from 1 to 1000000000`},
	} {
		got, err := ReadSettings("c.yaml", []byte(c.text), four)
		switch {
		case err == nil:
			t.Errorf("%s\nis accepted: %+v", c.text, got)
		case !badinput.Is(err) || err.Error() != "c.yaml"+c.message:
			t.Errorf("%s\ngot  %s\nwant c.yaml%s", c.text, err, c.message)
		}
	}
}

func TestTheFileIsFoundWhereItIsNamed(t *testing.T) {
	for _, c := range []struct {
		flag  string
		env   map[string]string
		path  string
		asked bool
	}{
		{"f.yaml", map[string]string{"GODWIT_CONFIG": "g.yaml"}, "f.yaml", true},
		{"", map[string]string{"GODWIT_CONFIG": "g.yaml", "XDG_CONFIG_HOME": "/x"}, "g.yaml", true},
		{"", map[string]string{"XDG_CONFIG_HOME": "/x", "HOME": "/h"}, "/x/godwit/config.yaml", false},
		{"", map[string]string{"XDG_CONFIG_HOME": "relative", "HOME": "/h"}, "/h/.config/godwit/config.yaml", false},
		{"", map[string]string{"HOME": "/h"}, "/h/.config/godwit/config.yaml", false},
		{"", nil, "", false},
	} {
		path, asked := FindFile(c.flag, func(k string) string { return c.env[k] })
		if path != c.path || asked != c.asked {
			t.Errorf("%q %v: %q, %v; want %q, %v", c.flag, c.env, path, asked, c.path, c.asked)
		}
	}
}

func TestAFileThatIsNamedMustBeThere(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none.yaml")
	_, err := LoadSettings(missing, func(string) string { return "" }, four)
	if !badinput.Is(err) || !strings.Contains(err.Error(), "cannot read ") {
		t.Errorf("got %v", err)
	}
}

func TestTheUsersFileIsReadIfItIsThere(t *testing.T) {
	dir := t.TempDir()
	env := func(k string) string { return map[string]string{"XDG_CONFIG_HOME": dir}[k] }
	if c, err := LoadSettings("", env, four); err != nil || c.File != "" {
		t.Fatalf("%+v %v", c, err)
	}
	path := filepath.Join(dir, "godwit", "config.yaml")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("clusters: [{name: mine, cpus: 1}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := LoadSettings("", env, four)
	if err != nil || c.File != path || c.Clusters[0].Name != "mine" {
		t.Errorf("%+v %v", c, err)
	}
}

func TestThePublishedExampleIsReadAndHasTheDefaults(t *testing.T) {
	path := filepath.Join("..", "..", "..", "examples", "config", "two-clusters.yaml")
	c, err := LoadSettings(path, func(string) string { return "" }, four)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Clusters) != 2 || slices.Equal(c.Clusters[0].CPUs, c.Clusters[1].CPUs) {
		t.Errorf("%+v", c.Clusters)
	}
	// The comments of the example call its other values the usual ones.
	want := DefaultSettings(four)
	want.File, want.Clusters = c.File, c.Clusters
	if diff := cmp.Diff(want, c); diff != "" {
		t.Error(diff)
	}
}

func TestTheExampleOfACampusHasOneClusterOfEachKind(t *testing.T) {
	c, err := LoadSettings(filepath.Join("..", "..", "..", "examples", "config", "campus.yaml"),
		func(string) string { return "" }, four)
	if err != nil {
		t.Fatal(err)
	}
	type kind struct {
		driver string
		far    bool
	}
	got := map[string]kind{}
	for _, c := range c.Clusters {
		got[c.Name] = kind{c.Driver, c.SSH != ""}
	}
	want := map[string]kind{"desk": {Local, false}, "barkla": {Slurm, false}, "leeds": {Slurm, true},
		"york": {GridEngine, true}, "workstation": {Local, true}}
	if !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

func FuzzRead(f *testing.F) {
	for _, path := range []string{filepath.Join("..", "..", "..", "examples", "config", "two-clusters.yaml"),
		filepath.Join("..", "..", "..", "examples", "config", "campus.yaml")} {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("clusters: [{name: a, cpus: 0-2}, {name: b, cpus: 1, quota: 0.5, speed: 2}]\npolicy: {place: cf}\n"))
	f.Add([]byte("keep: {jobs: 1w, logs: 1M}\nlimits: {work: 1G}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ReadSettings("c.yaml", data, four)
		if err != nil {
			if !badinput.Is(err) || strings.Contains(err.Error(), "\n") {
				t.Errorf("not for users: %q", err)
			}
			return
		}
		for _, cl := range c.Clusters {
			if cl.Name == "" || cl.IsHere() && (len(cl.CPUs) == 0 || cl.Slots < 1) || cl.Quota <= 0 || cl.Quota > 1 ||
				cl.Speed < 0 || !slices.IsSorted(cl.CPUs) {
				t.Errorf("accepted %+v", cl)
			}
			for _, cpu := range cl.CPUs {
				if !slices.Contains(four, cpu) {
					t.Errorf("CPU %d", cpu)
				}
			}
		}
	})
}

func TestSeveralHostsAreOneCluster(t *testing.T) {
	got := mustRead(t, `
clusters:
  - {name: a, ssh: [alice@x1, alice@x2], slots: 2, mpi: {yield: true, network: 10.0.0.0/24}}
  - {name: b, ssh: [x3]}
`).Clusters
	want := []Cluster{
		{Name: "a", Driver: "local", Quota: 1, SSH: "alice@x1", SSHHosts: []string{"alice@x1", "alice@x2"}, Slots: 2,
			MPI: wire.MPI{Yield: true, Network: "10.0.0.0/24"}},
		{Name: "b", Driver: "local", Quota: 1, SSH: "x3"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for text, want := range map[string]string{
		"ssh: []":                       "from 1 to 1000 hosts",
		"ssh: [x, me@x]":                "each host once",
		"ssh: [x, -y]":                  "a host as ssh takes it",
		"ssh: [x, y], driver: slurm":    "one host, from where jobs are submitted",
		"ssh: x, mpi: {network: 'a b'}": "interfaces or networks",
		"ssh: x, mpi: {yield: perhaps}": "true or false",
	} {
		_, err := ReadSettings("c.yaml", []byte("clusters:\n  - {name: a, "+text+"}\n"), four)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
