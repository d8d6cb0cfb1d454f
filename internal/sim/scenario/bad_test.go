package scenario_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/sim/scenario"
)

// good is a workload on which the mistakes below are made; the marks are
// replaced.
const good = `name: x
workload:
  jobs: 10
  every: 30s
  apps:
    - {name: a, min: 2, max: 8, time: {2: 60}}
`

func TestMistakesAreExplainedInOneLineWithFileLineFieldAndValue(t *testing.T) {
	swap := func(old, new string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("%q is not in the good scenario", old)
		}
		return strings.Replace(good, old, new, 1)
	}
	for _, c := range []struct{ text, want string }{
		{"", `bad.yaml: the file is empty, expected a scenario`},
		{"# nothing\n", `bad.yaml: the file is empty, expected a scenario`},
		{"a: [", `bad.yaml:1: not valid YAML: did not find expected node content`},
		{good + "---\nname: y\n", `bad.yaml:7: a second YAML document begins here, expected one`},
		{"[1, 2]", `bad.yaml:1: "[…]": expected a mapping of name, platform, seed, policy, keep_free, grow_free, workload, trace, background, failures, links, drains, host_load, moves, sweep, expect`},
		{swap("workload", "worklod"), `bad.yaml:2: worklod: unknown field, did you mean workload?`},
		{swap("name: x", "colour: red"),
			`bad.yaml:1: colour: unknown field, known are name, platform, seed, policy, keep_free, grow_free, workload, trace, background, failures, links, drains, host_load, moves, sweep, expect`},
		{swap("name: x", "name: x\nname: y"), `bad.yaml:2: name: not twice: the field stands in line 1 already`},
		{swap("name: x", "seed: -1"), `bad.yaml:1: seed "-1": expected a whole number from 0 to 9007199254740992`},
		{"name: x\n", `bad.yaml:1: workload: either workload or trace, to say which jobs are run`},
		{good + "trace: {file: testdata/small.swf}\n",
			`bad.yaml:2: workload: either workload or trace, to say which jobs are run`},
		{swap("jobs: 10", "jobs: ten"), `bad.yaml:3: workload.jobs "ten": expected a whole number from 1 to 100000000`},
		{swap("  jobs: 10\n", ""), `bad.yaml:3: workload.jobs: missing, expected the number of jobs`},
		{swap("every: 30s", "every: 30x"),
			`bad.yaml:4: workload.every "30x": expected a time such as 30s, 10m, 1h30m, 2d or a number of seconds`},
		{swap("every: 30s", "every: 1h30"),
			`bad.yaml:4: workload.every "1h30": expected a time such as 30s, 10m, 1h30m, 2d or a number of seconds`},
		{swap("every: 30s", "every: 0"), `bad.yaml:4: workload.every "0": expected a time above 0, such as 30s`},
		{swap("every: 30s", "every: 30s\n  poisson: 30s"),
			`bad.yaml:3: workload.every: either every or poisson, above 0, says how jobs arrive`},
		{swap("apps:\n    - {name: a, min: 2, max: 8, time: {2: 60}}", "apps: []"),
			`bad.yaml:3: workload.apps "0": expected from 1 to 1000 applications`},
		{swap("max: 8", "max: 1"), `bad.yaml:6: workload.apps[0].max "1": expected a whole number from min 2 to 1073741824`},
		{swap("min: 2", "min: 9"), `bad.yaml:6: workload.apps[0].min "9": expected at most 8 cores, what the largest cluster it may run on has`},
		{swap("min: 2, ", ""), `bad.yaml:6: workload.apps[0].min: missing, expected a number of cores`},
		{swap("min: 2", "min: 3, accept: powers-of-two"),
			`bad.yaml:6: workload.apps[0].min "3": expected a size that it accepts: powers-of-two`},
		{swap("name: a, ", ""), `bad.yaml:6: workload.apps[0].name: the application's name; it is missing`},
		{swap("time: {2: 60}", "accept: even, time: {2: 60}"),
			`bad.yaml:6: workload.apps[0].accept "even": expected any or powers-of-two`},
		{swap("time: {2: 60}", "work: 60"),
			`bad.yaml:6: workload.apps[0] "a": expected time: {SIZE: SECONDS, …}, or work and speedup, to say how long it runs`},
		{swap("time: {2: 60}", "work: 60, speedup: fast"),
			`bad.yaml:6: workload.apps[0].speedup "fast": expected linear, amdahl:SERIAL, downey:A=64,sigma=1 or table:2=600,4=420`},
		{swap("time: {2: 60}", "time: {2: 60}, work: 60"),
			`bad.yaml:6: workload.apps[0].time: either time, or work and speedup; both are given`},
		{swap("{2: 60}", "{2: -60}"), `bad.yaml:6: workload.apps[0].time.2 "-60": expected a time such as 30s, 10m, 1h30m, 2d or a number of seconds`},
		{swap("{2: 60}", "{two: 60}"),
			`bad.yaml:6: workload.apps[0].time "two": expected run times by number of cores, such as {2: 600, 4: 420}`},
		{swap("{2: 60}", "{2: 60, 02: 50}"),
			`bad.yaml:6: workload.apps[0].time: expected run times by number of cores, such as {2: 600, 4: 420}: size 2 is given twice`},
		{swap("time:", "inputs: [sky.dot], time:"),
			`bad.yaml:6: workload.apps[0].inputs[0] "sky.dot": unknown file of the platform, did you mean sky.dat?`},
		{swap("time:", "clusters: [utrecht], time:"),
			`bad.yaml:6: workload.apps[0].clusters[0] "utrecht": unknown cluster, known are vu, delft, leiden`},
		{swap("min: 2", "components: [{min: 1, max: 2}], min: 2"),
			`bad.yaml:6: workload.apps[0].min: within the components, since there are some`},
		{swap("every: 30s", "every: 30s\n  kinds: {rigid: 0}"),
			`bad.yaml:5: workload.kinds: expected shares of malleable, moldable and rigid jobs, not all 0`},
		{swap("every: 30s", "every: 30s\n  rigid_size: 9"),
			`bad.yaml:7: workload.apps[0].rigid_size "9": expected a size from min 2 to max 8`},
		{swap("every: 30s", "every: 30s\n  estimate: [2, 1]"),
			`bad.yaml:5: workload.estimate "[2, 1]": expected the smaller number first`},
		{swap("every: 30s", "every: 30s\n  estimate: [2, 1, 3]"),
			`bad.yaml:5: workload.estimate "[…]": expected a number, or two of them: [LOW, HIGH]`},
		{good + "policy: {place: best}", `bad.yaml:7: policy.place "best": expected one of wf, cf, cm, fcm, deadline`},
		{good + "policy: {malleable: esg}",
			`bad.yaml:7: policy.malleable "esg": expected one of fpsma, egs, equi, fold, marginal, none`},
		{good + "policy: {aproach: pra}", `bad.yaml:7: policy.aproach: unknown field, did you mean approach?`},
		{good + "keep_free: {vuu: 3}", `bad.yaml:7: keep_free "vuu": unknown cluster, did you mean vu?`},
		{good + "keep_free: {vu: 9}", `bad.yaml:7: keep_free.vu "9": expected a whole number from 0 to 7`},
		{good + "keep_free: {vu: 1,\n  vu: 2}", `bad.yaml:8: keep_free "vu": not twice: the key stands in line 7 already`},
		{good + "keep_free: 3", `bad.yaml:7: keep_free "3": expected a mapping of clusters to numbers of cores`},
		{good + "grow_free: {vu: -1}", `bad.yaml:7: grow_free.vu "-1": expected a whole number from 0 to 7`},
		{good + "grow_free: {vu: 7}", `bad.yaml:7: grow_free.vu "7": expected keep_free and grow_free together below the 8 cores of the cluster, not 8`},
		{good + "grow_free: {vu: 4}\nkeep_free: {vu: 4}",
			`bad.yaml:7: grow_free.vu "4": expected keep_free and grow_free together below the 8 cores of the cluster, not 8`},
		{good + "keep_free: {delft: 6}",
			`bad.yaml:7: keep_free.delft "6": expected keep_free and grow_free together below the 8 cores of the cluster, not 8`},
		{good + "background:\n  - {cluster: vu, every: 5m, procs: 2}", `bad.yaml:8: background[0].run: missing`},
		{good + "background:\n  - {cluster: vu, every: 5m, procs: [1, 9], run: 1m}",
			`bad.yaml:8: background[0].procs[1] "9": expected a whole number from 1 to 8`},
		{good + "background:\n  - {cluster: vu, procs: [1, 8], run: 1m}",
			`bad.yaml:8: background[0].every: either every or poisson says how often a job comes`},
		{good + "background:\n  - {cluster: vu, every: 1m, procs: 1, run: [2m, 1m]}",
			`bad.yaml:8: background[0].run "[2m0s, 1m0s]": expected the shorter time first`},
		{good + "background:\n  - {cluster: vu, every: 1m, procs: 1, run: 1m, until: 0}",
			`bad.yaml:8: background[0].until "0s": expected later than from`},
		{good + "failures: [{cluster: vu, hosts: [delft1], at: 0}]",
			`bad.yaml:7: failures[0].hosts[0] "delft1": expected a host of cluster vu, such as vu1`},
		{good + "drains: [{cluster: vu}]", `bad.yaml:7: drains[0].at: missing`},
		{good + "drains: [{cluster: vu, at: 1h, for: 2h}, {cluster: vu, at: 2h}]",
			`bad.yaml:7: drains[1]: expected a time in which the cluster is not drained already`},
		{good + "failures: [{cluster: vu}]",
			`bad.yaml:7: failures[0]: either at and for (once), or mtbf and repair (at random)`},
		{good + "failures: [{cluster: vu, mtbf: 1d}]", `bad.yaml:7: failures[0].repair: missing`},
		{good + "links: [{a: vu, b: leiden, at: 0, mbps: 1}]",
			`bad.yaml:7: links[0]: expected two clusters that one link joins`},
		{good + "links: [{a: vu, b: delft, at: 0, mbps: 0}]",
			`bad.yaml:7: links[0].mbps "0": expected a number from 0.000001 to 1000000000000`},
		{"trace: {}", `bad.yaml:1: trace.file: missing, expected an SWF trace, plain or gzip`},
		{"trace: {file: testdata/none.swf}",
			`bad.yaml:1: trace.file "testdata/none.swf": no such file or directory, expected an SWF trace, plain or gzip`},
		{"trace: {file: testdata/small.swf, kind: elastic}",
			`bad.yaml:1: trace.kind "elastic": expected one of rigid, moldable, malleable`},
		{"trace: {file: testdata/small.swf, share: 0}",
			`bad.yaml:1: trace.share "0": expected a number from 0.000000001 to 1`},
		{"trace: {file: testdata/small.swf, estimates: good}", `bad.yaml:1: trace.estimates "good": expected user or exact`},
		{"trace: {file: testdata/small.swf, overrun: die}", `bad.yaml:1: trace.overrun "die": expected run or kill`},
		{"a: &a {b: c}\n<<: *a\n", `bad.yaml:1: a: unknown field, known are name, platform, seed, policy, keep_free, grow_free, workload, trace, background, failures, links, drains, host_load, moves, sweep, expect`},
	} {
		_, err := scenario.Parse("bad.yaml", []byte(c.text), grid(t))
		if err == nil {
			t.Errorf("accepted, want %s", c.want)
		} else if !badinput.Is(err) || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

func TestMistakesInThePlatformAreReportedWhereTheyStand(t *testing.T) {
	const rest = "trace: {file: testdata/small.swf}\n"
	for _, c := range []struct{ text, want string }{
		{rest, `bad.yaml:1: platform: a platform file, or a platform written out; it is missing`},
		{rest + "platform: none.yaml",
			`bad.yaml:2: platform "none.yaml": no such file or directory, expected a platform file, or a platform written out`},
		{rest + "platform: [a]", `bad.yaml:2: platform "[…]": expected a platform file, or a platform written out`},
		{"platform: testdata/small.swf\n" + rest, `testdata/small.swf:2: not valid YAML: could not find expected ':'`},
		{"platform:\n  clusters:\n    - {name: vu, hosts: many}\n" + rest, `bad.yaml:3: platform.clusters[0].hosts "many": `},
		{rest + "platform: {clusters: [\n  {name: vu, host: 3}]}\n",
			`bad.yaml:3: platform.clusters[0].host: unknown field, did you mean hosts?`},
		{"{platform: {clusters: [\n{name: vu, host: 3}]}, trace: {file: testdata/small.swf}}",
			`bad.yaml:2: platform.clusters[0].host: unknown field, did you mean hosts?`},
		{rest + "platform:\n  name: x", `bad.yaml:3: platform.clusters: missing, expected a list of clusters`},
		{rest + "platform:\n  clusters:\n    - name: vu\n      hosts: 3\n    - name: vu1\n      hosts: 1\n    - name: vu\n " +
			"     hosts: 11",
			`bad.yaml:8: platform.clusters[2].name "vu": expected a name that no other cluster has; that of line 4 has it`},
	} {
		_, err := scenario.Parse("bad.yaml", []byte(c.text), nil)
		if !badinput.Is(err) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

func TestAScenarioThatCannotBeReadIsNamed(t *testing.T) {
	_, err := scenario.Load("nowhere.yaml")
	if want := "cannot read nowhere.yaml: no such file or directory"; !badinput.Is(err) || err.Error() != want {
		t.Errorf("got %v", err)
	}
	large := filepath.Join(t.TempDir(), "large.yaml")
	if err := os.WriteFile(large, make([]byte, 17<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = scenario.Load(large)
	if want := large + ": too large for a scenario file: more than 16 MB"; !badinput.Is(err) || err.Error() != want {
		t.Errorf("got %v", err)
	}
}
