package sim

import (
	"fmt"
	"path/filepath"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/brokerlog"
	"github.com/godwit-hpc/godwit/internal/format/platform"
	"github.com/godwit-hpc/godwit/internal/format/swf"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
	"github.com/godwit-hpc/godwit/internal/sim/runlog"
	"github.com/godwit-hpc/godwit/internal/sim/scenario"
	"github.com/godwit-hpc/godwit/internal/sim/trial"
	"github.com/godwit-hpc/godwit/internal/sim/workload"
)

// checkFlags finds flags that do not go together.
func (f *simFlags) checkFlags() error {
	given := 0
	for _, file := range []string{f.trace, f.scenario, f.replay} {
		if file != "" {
			given++
		}
	}
	switch {
	case given == 0:
		return usageError("--trace", "what to run is missing: --trace FILE, --scenario FILE, or --replay FILE")
	case given > 1:
		return usageError("--trace", "only one of --trace, --scenario and --replay")
	case f.processors > 0 && (f.trace == "" || f.platform != ""):
		return usageError("--processors", "only with --trace and without --platform, which says how many there are")
	case f.compare != nil && f.changed("malleable"):
		return usageError("--malleable", "not together with --compare, which names the policies")
	case f.compare != nil && f.jobsOut != "":
		return usageError("--jobs-out", "not together with --compare: it is about one run")
	case f.compare != nil && f.log != "":
		return usageError("--log", "not together with --compare: it is about one run")
	}
	if f.replay != "" {
		return f.checkReplay()
	}
	return nil
}

// checkReplay refuses flags about things that the log has decided.
func (f *simFlags) checkReplay() error {
	for _, name := range append(f.traceOnly(), "platform", "seed", "local", "easy-rules", "place", "approach", "malleable",
		"compare", "keep-free", "grow-free", "max-tries", "scan-every", "log") {
		if f.changed(name) {
			return usageError("--"+name, "not together with --replay, which takes everything from the log")
		}
	}
	return nil
}

func usageError(flag, want string) error { return &badinput.Error{Field: flag, Want: want} }

// trialSetups are the runs that the flags ask for: one, or one for each policy to
// compare.
func (f *simFlags) trialSetups() ([]*trial.Setup, error) {
	base, err := f.baseSetup()
	if err != nil {
		return nil, err
	}
	if err := f.applyFlags(base); err != nil {
		return nil, err
	}
	var list []*trial.Setup
	for _, t := range base.Variants() {
		if f.compare == nil {
			list = append(list, t)
			continue
		}
		for _, p := range f.compare {
			one := *t
			switch {
			case p.mode != "":
				one.Policy.Gain.Mode = p.mode
			case p.approach != "":
				one.Policy.Approach = approachOf(p.approach)
				fallthrough
			default:
				one.Policy.Malleable = p.malleable
			}
			list = append(list, &one)
		}
	}
	if len(list) > 1 && (f.jobsOut != "" || f.log != "") {
		return nil, usageError("--scenario", "--jobs-out and --log are about one run, this file has a sweep of "+
			fmt.Sprint(len(list)))
	}
	return list, nil
}

// baseSetup is the run without what flags say of its policy.
func (f *simFlags) baseSetup() (*trial.Setup, error) {
	var on *platform.Platform
	var err error
	if f.platform != "" {
		if on, err = platform.Load(f.platform); err != nil {
			return nil, err
		}
	}
	if f.scenario != "" {
		s, err := scenario.LoadOn(f.scenario, on)
		if err != nil {
			return nil, err
		}
		return trial.FromScenario(s), nil
	}
	if on == nil {
		if on, err = f.tracePlatform(); err != nil {
			return nil, err
		}
	}
	t := &trial.Setup{Title: filepath.Base(f.trace), Platform: on, Seed: 1, Policy: trial.DefaultPolicy()}
	t.Policy.Malleable = runlog.None
	t.Trace = &workload.TraceOptions{File: f.trace}
	return t, nil
}

// tracePlatform is the platform of a trace that is simulated without a platform file.
func (f *simFlags) tracePlatform() (*platform.Platform, error) {
	if f.processors == 0 && brokerlog.IsFile(f.trace) {
		return brokerPlatform(f.trace)
	}
	return f.oneCluster()
}

// brokerPlatform is the clusters of the broker whose log is the trace. One with a manager has
// its queue simulated.
func brokerPlatform(path string) (*platform.Platform, error) {
	h, _, err := brokerlog.ReadJobs(path)
	if err != nil {
		return nil, err
	}
	text := []byte("clusters:\n")
	count := 0
	for i := range h.Clusters {
		c := &h.Clusters[i]
		if c.Removed || c.TotalProcs() == 0 {
			continue
		}
		count++
		local := "none"
		if c.Managed {
			local = "easy"
		}
		text = fmt.Appendf(text, "  - {name: %q, local: %s, hosts: [", c.Name, local)
		for n, host := range c.Hosts {
			if host.Procs > 0 {
				speed := host.Speed
				if speed == 0 {
					speed = 1
				}
				text = fmt.Appendf(text, "{name: %q, cores: %d, speed: %g},", fmt.Sprintf("%s-%d", c.Name, n+1), host.Procs, speed)
			}
		}
		text = append(text, "]}\n"...)
	}
	if count == 0 {
		return nil, &badinput.Error{File: path, Field: "clusters",
			Want: "clusters that have said what they consist of; --processors N or --platform FILE says it instead"}
	}
	on, err := platform.Parse("the clusters of "+filepath.Base(path), text)
	if err != nil {
		return nil, err
	}
	on.Name = "its own clusters"
	on.Notes = append(on.Notes, "the clusters of the broker as they were when the log was exported")
	return on, nil
}

// oneCluster is the platform of a trace that is simulated without a platform file: as
// many processors as --processors says or the trace's own machine had.
func (f *simFlags) oneCluster() (*platform.Platform, error) {
	n, from := f.processors, "--processors"
	if n == 0 {
		from = "the header of " + filepath.Base(f.trace)
		h, err := swf.ReadHeader(f.trace)
		if err != nil {
			return nil, err
		}
		if n = h.ProcessorCount(); n == 0 {
			return nil, &badinput.Error{File: f.trace, Field: "MaxProcs",
				Want: "the size of the machine in the header; --processors N or --platform FILE says it instead"}
		}
	}
	on, err := platform.Parse(from, fmt.Appendf(nil, "clusters: [{name: machine, hosts: %d}]", n))
	if err != nil {
		return nil, err
	}
	on.Name = "machine"
	on.Notes = append(on.Notes, fmt.Sprintf("%d cores, by %s", n, from))
	return on, nil
}

func approachOf(name string) engine.Approach {
	if name == engine.PRA.String() {
		return engine.PRA
	}
	return engine.PWA
}

// applyFlags lets the flags win.
func (f *simFlags) applyFlags(t *trial.Setup) (err error) {
	p := &t.Policy
	if f.changed("seed") {
		t.Seed = f.seed
	}
	if local, ok := platform.ParseLocal(f.local); ok {
		p.Local = &local
	}
	if f.place != "" {
		// The flag has been checked; an unknown name cannot come here.
		_ = p.Place.UnmarshalText([]byte(f.place))
	}
	if f.approach != "" {
		p.Approach = approachOf(f.approach)
	}
	if f.malleable != "" {
		p.Malleable = f.malleable
	}
	if f.changed("max-tries") {
		p.MaxTries = f.maxTries
	}
	if f.scanEvery > 0 {
		p.ScanEvery = f.scanEvery
	}
	t.Queue = f.rules
	if t.KeepFree, err = f.reservedByCluster(t, "keep-free", f.keepFree, t.KeepFree); err != nil {
		return err
	}
	if t.GrowFree, err = f.reservedByCluster(t, "grow-free", f.growFree, t.GrowFree); err != nil {
		return err
	}
	return f.applyTrace(t)
}

// reservedByCluster is what each cluster keeps, by its name.
func (f *simFlags) reservedByCluster(t *trial.Setup, flag string, r reserve,
	before map[string]int) (map[string]int, error) {
	if !f.changed(flag) {
		return before, nil
	}
	by := map[string]int{}
	var known []string
	for i := range t.Platform.Clusters {
		name := t.Platform.Clusters[i].Name
		known = append(known, name)
		if r.some == nil {
			by[name] = r.all
		} else if n, ok := before[name]; ok {
			by[name] = n
		}
	}
	for _, s := range r.some {
		if _, ok := t.Platform.FindCluster(s.cluster); !ok {
			return nil, &badinput.Error{Field: "--" + flag, Value: s.cluster, Want: "unknown cluster, " +
				term.SuggestChoices(s.cluster, known)}
		}
		by[s.cluster] = s.n
	}
	return by, nil
}

// applyTrace says how records become jobs.
func (f *simFlags) applyTrace(t *trial.Setup) error {
	o := t.Trace
	if o == nil {
		for _, name := range f.traceOnly() {
			if f.changed(name) {
				return usageError("--"+name, "only for jobs that come from a trace")
			}
		}
		return nil
	}
	if f.trace != "" && (f.compare != nil || t.Policy.Malleable != runlog.None) && !t.ManagedEverywhere() {
		o.Kind = core.Malleable
	}
	o.Lenient = o.Lenient || f.lenient
	for _, n := range []struct{ from, to *float64 }{
		{&f.load, &o.Load}, {&f.share, &o.Share}, {&f.minShare, &o.MinShare}, {&f.maxShare, &o.MaxShare},
	} {
		if *n.from > 0 {
			*n.to = *n.from
		}
	}
	if f.first > 0 {
		o.First = f.first
	}
	if f.speedup != nil {
		o.Speedup = f.speedup
	}
	// Both flags have been checked; other names cannot come here.
	if f.estimates != "" {
		o.Estimates, _ = workload.ParseEstimates("", f.estimates)
	}
	if f.overrun != "" {
		o.Overrun, _ = workload.ParseOverrun("", f.overrun)
	}
	return nil
}
