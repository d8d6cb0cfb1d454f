package scenario

import (
	"path/filepath"
	"strings"

	"github.com/godwit-hpc/godwit/internal/format/platform"
	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
)

const maxFileBytes = 16 << 20

// Load reads the scenario file at path. What is wrong with it, or with the
// platform it names, comes back as a *badinput.Error.
func Load(path string) (*Scenario, error) { return LoadOn(path, nil) }

// LoadOn is Load with another platform in place of the one that the file
// names; nil leaves that.
func LoadOn(path string, on *platform.Platform) (*Scenario, error) {
	data, err := yamlfile.ReadFile(path, "a scenario file", maxFileBytes)
	if err != nil {
		return nil, err
	}
	return Parse(path, data, on)
}

// Parse reads a scenario from memory; name is the file as the user knows it,
// to which the paths in it are relative. With a platform given, that of the
// file is not looked at.
func Parse(name string, data []byte, on *platform.Platform) (*Scenario, error) {
	top, err := yamlfile.Parse(name, "a scenario", data)
	if err != nil {
		return nil, err
	}
	r := &reader{top: top, s: &Scenario{File: name, Platform: on, Seed: 1}}
	if r.readScenario(); r.hasFailed() {
		return nil, top.Err()
	}
	if r.s.Name == "" {
		base := filepath.Base(name)
		r.s.Name = strings.TrimSuffix(base, filepath.Ext(base))
	}
	return r.s, nil
}

// reader is a scenario while it is read.
type reader struct {
	top      yamlfile.Value
	s        *Scenario
	matrices []matrixProgram
}

func (r *reader) hasFailed() bool { return r.top.HasFailed() }

// readScenario reads the top of the file. The platform comes first whatever the
// order of the fields, because the others name its clusters.
func (r *reader) readScenario() {
	var on, policy, keepFree, growFree, workload, trace, background, failures, links, drains yamlfile.Value
	var loads, moves, sweep, expect yamlfile.Value
	found := r.top.ReadMapping(
		yamlfile.ReadField("name", func(v yamlfile.Value) { r.s.Name = v.Text("a name") }),
		yamlfile.DeferField("platform", &on),
		yamlfile.ReadField("seed", func(v yamlfile.Value) { r.s.Seed = uint64(v.WholeNumber(0, 1<<53)) }),
		yamlfile.DeferField("policy", &policy),
		yamlfile.DeferField("keep_free", &keepFree),
		yamlfile.DeferField("grow_free", &growFree),
		yamlfile.DeferField("workload", &workload),
		yamlfile.DeferField("trace", &trace),
		yamlfile.DeferField("background", &background),
		yamlfile.DeferField("failures", &failures),
		yamlfile.DeferField("links", &links),
		yamlfile.DeferField("drains", &drains),
		yamlfile.DeferField("host_load", &loads),
		yamlfile.DeferField("moves", &moves),
		yamlfile.DeferField("sweep", &sweep),
		yamlfile.DeferField("expect", &expect),
	)
	if r.hasFailed() {
		return
	}
	r.readPlatform(on, found)
	if !r.hasFailed() {
		r.readThresholds(keepFree, growFree)
	}
	for _, part := range []struct {
		v    yamlfile.Value
		read func(yamlfile.Value)
	}{
		{policy, r.readPolicy}, {workload, r.readWorkload}, {trace, r.readTrace},
		{background, r.readBackground}, {failures, r.readFailures}, {links, r.readLinks}, {drains, r.readDrains},
		{loads, r.readHostLoads}, {moves, r.readMoves}, {sweep, r.readSweep}, {expect, r.readExpect},
	} {
		if part.v.Kind() != yamlfile.Blank && !r.hasFailed() {
			part.read(part.v)
		}
	}
	if (r.s.Workload == nil) == (r.s.Trace == nil) {
		found.FailField("workload", "", "either workload or trace, to say which jobs are run")
	}
}

func (r *reader) readExpect(v yamlfile.Value) {
	add := func(v yamlfile.Value) { r.s.Expect = append(r.s.Expect, strings.TrimSpace(v.Text("a text"))) }
	if v.Kind() != yamlfile.List {
		add(v)
		return
	}
	for item := range v.EachItem("texts") {
		add(item)
	}
}

// readPlatform reads the platform that the file names or contains.
func (r *reader) readPlatform(v yamlfile.Value, found yamlfile.Found) {
	const want = "a platform file, or a platform written out"
	var err error
	switch {
	case r.s.Platform != nil:
	case v.Kind() == yamlfile.Blank:
		found.FailField("platform", "", want+"; it is missing")
	case v.Kind() == yamlfile.Mapping:
		r.s.Platform, err = platform.FromYAML(v)
	default:
		if path := v.ExistingFile(want); !r.hasFailed() {
			r.s.Platform, err = platform.Load(path)
		}
	}
	r.top.AdoptError(err)
}

// readThresholds takes what is left free in each cluster from the platform, and
// from this file where it says otherwise.
func (r *reader) readThresholds(keep, grow yamlfile.Value) {
	clusters := r.s.Platform.Clusters
	for i := range clusters {
		r.s.KeepFree = append(r.s.KeepFree, clusters[i].KeepFree)
		r.s.GrowFree = append(r.s.GrowFree, clusters[i].GrowFree)
	}
	last := make([]yamlfile.Value, len(clusters)) // word on each cluster
	r.readThreshold(keep, r.s.KeepFree, last)
	r.readThreshold(grow, r.s.GrowFree, last)
	for i, v := range last {
		if problem := clusters[i].FreeProblem(r.s.KeepFree[i], r.s.GrowFree[i]); problem != "" && v.IsGiven() {
			v.ReportWrong(problem)
		}
	}
}

func (r *reader) readThreshold(v yamlfile.Value, free []int, last []yamlfile.Value) {
	if v.Kind() == yamlfile.Blank {
		return
	}
	for name, n := range v.EachEntry("a mapping of clusters to numbers of cores") {
		if c := r.readCluster(name); !r.hasFailed() {
			free[c] = n.WholeNumber(0, r.s.Platform.Clusters[c].Procs-1)
			last[c] = n
		}
	}
}
