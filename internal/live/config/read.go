package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/malleable"
)

// Bounds of the settings.
const (
	maxClusters = 1000
	maxCPU      = 1 << 16
	maxSlots    = 1_000_000
	maxHosts    = 1000
	maxSpeed    = 1000
	minSample   = 100 * time.Millisecond
	maxSample   = 2 * time.Minute
	minPoll     = 200 * time.Millisecond
	maxPoll     = 10 * time.Minute
	maxFiles    = 1_000_000_000

	maxPlaceTries = 1_000_000
)

// ReadSettings reads settings; name is the file as the user knows it, cpus are those
// that may be used here. What the file leaves out is as in DefaultSettings.
func ReadSettings(name string, data []byte, cpus []int) (*Config, error) {
	top, err := yamlfile.Parse(name, "settings of Godwit", data)
	if err != nil {
		return nil, err
	}
	c := DefaultSettings(cpus)
	c.File = name
	top.ReadMapping(
		yamlfile.ReadField("clusters", func(v yamlfile.Value) { c.Clusters = readClusters(v, cpus) }),
		yamlfile.ReadField("policy", c.Policy.readPolicy),
		yamlfile.ReadField("intervals", func(v yamlfile.Value) {
			v.ReadMapping(yamlfile.StoreField("sample", &c.Sample, readSample),
				yamlfile.StoreField("grace", &c.Grace, readGrace),
				yamlfile.StoreField("retry", &c.Retry, retryPause),
				yamlfile.StoreField("stop_grace", &c.Graces.Stop, waitLimit),
				yamlfile.StoreField("collect_grace", &c.Graces.Collect, waitLimit),
				yamlfile.StoreField("shrink_grace", &c.Graces.Shrink, waitLimit),
				yamlfile.StoreField("grow_grace", &c.Graces.Grow, waitLimit),
				yamlfile.StoreField("claim_grace", &c.Graces.Claim, waitLimit))
		}),
		yamlfile.ReadField("keep", func(v yamlfile.Value) {
			v.ReadMapping(
				yamlfile.StoreField("jobs", &c.Keep.Jobs, yamlfile.Value.Duration),
				yamlfile.StoreField("logs", &c.Keep.Logs, positiveSize),
			)
		}),
		yamlfile.ReadField("limits", func(v yamlfile.Value) {
			v.ReadMapping(
				yamlfile.StoreField("work", &c.Limits.Work, positiveSize),
				yamlfile.StoreField("files", &c.Limits.Files, positiveCount),
				yamlfile.StoreField("jobs", &c.Limits.Jobs, positiveCount),
				yamlfile.StoreField("workflows", &c.Limits.Workflows, positiveCount),
				yamlfile.StoreField("tasks", &c.Limits.Tasks, positiveCount),
				yamlfile.StoreField("pools", &c.Limits.Pools, positiveCount),
				yamlfile.StoreField("items", &c.Limits.Items, positiveCount),
				yamlfile.StoreField("depot", &c.Limits.Depot, positiveSize),
				yamlfile.StoreField("log", &c.Limits.Log, positiveSize),
				yamlfile.StoreField("memory", &c.Limits.Memory, readMemory),
			)
		}),
		yamlfile.ReadField("weather", func(v yamlfile.Value) { readWeather(&c.Weather, v) }),
	)
	if err := top.Err(); err != nil {
		return nil, err
	}
	if n := c.Weather.Network; n != "" && !filepath.IsAbs(n) {
		c.Weather.Network = filepath.Join(filepath.Dir(name), n)
	}
	return c, nil
}

// readMemory is what the broker is to stay below.
func readMemory(v yamlfile.Value) int64 {
	const least = 32 << 20 // no broker needs less
	n := v.Size(1)
	if !v.HasFailed() && n < least {
		v.ReportWrong("at least 32M")
	}
	return n
}

func positiveCount(v yamlfile.Value) int { return v.WholeNumber(1, maxFiles) }

func positiveSize(v yamlfile.Value) int64 { return v.Size(1) }

func readSample(v yamlfile.Value) time.Duration {
	d := v.Duration()
	if !v.HasFailed() && (d < minSample || d > maxSample) {
		v.ReportWrong("a time from 100ms to 2m")
	}
	return d
}

// readGrace is the time between SIGTERM and SIGKILL.
func readGrace(v yamlfile.Value) *time.Duration {
	d := v.Duration()
	if !v.HasFailed() && d > maxGrace {
		v.ReportWrong("a time of at most an hour, such as 30s")
	}
	return &d
}

// waitLimit is how long something is waited for.
func waitLimit(v yamlfile.Value) *time.Duration {
	d := v.Duration()
	if !v.HasFailed() && d != 0 && (d < time.Second || d > maxWaitLimit) {
		v.ReportWrong("a time from 1s to 24h, such as 10m; 0s: no limit")
	}
	return &d
}

// maxWaitLimit is longer than anybody waits who means a limit.
const maxWaitLimit = 24 * time.Hour

// retryPause is the pause after the first attempt that was lost soon after it began.
func retryPause(v yamlfile.Value) time.Duration {
	d := v.Duration()
	if !v.HasFailed() && d > maxRetryPause {
		v.ReportWrong("a time of at most 5m, such as 1s; 0s: none")
	}
	return d
}

// maxRetryPause is how long the pauses become; none can begin with more.
const maxRetryPause = 5 * time.Minute

// maxGrace bounds the time that a cancelled program may take to end.
const maxGrace = time.Hour

func (p *Policy) readPolicy(v yamlfile.Value) {
	v.ReadMapping(
		yamlfile.ReadField("place", func(v yamlfile.Value) {
			name := readChoice(v, "placement policy", placeNames())
			if !v.HasFailed() {
				v.AdoptError(p.Place.UnmarshalText([]byte(name)))
			}
		}),
		yamlfile.ReadField("approach",
			func(v yamlfile.Value) { p.Approach = readChoice(v, "approach", []string{"pra", "pwa"}) }),
		yamlfile.ReadField("malleable", func(v yamlfile.Value) {
			p.Malleable = readChoice(v, "malleability policy", append(malleable.PolicyNames(), "none"))
		}),
		yamlfile.ReadField("tries", func(v yamlfile.Value) { p.Tries = v.WholeNumber(0, maxPlaceTries) }),
		yamlfile.ReadField("predict", func(v yamlfile.Value) {
			p.Predict = readChoice(v, "rule of prediction", []string{"change-point", "fixed-n", "mean"})
		}),
	)
}

func placeNames() []string {
	var names []string
	for p := core.WorstFit; p <= core.DeadlineFirst; p++ {
		names = append(names, p.String())
	}
	return names
}

// readChoice is one of some names; of a mistyped one the nearest is suggested.
func readChoice(v yamlfile.Value, kind string, known []string) string {
	s := v.Text("one of " + strings.Join(known, ", "))
	if !v.HasFailed() && !slices.Contains(known, s) {
		v.ReportError(s, badinput.UnknownName(kind, s, known))
	}
	return s
}

// cluster is a cluster as it is read: whoever leaves the choice of CPUs to us
// gets those that nobody named.
type cluster struct {
	Cluster
	cpus  yamlfile.Value
	keep  yamlfile.Value // keep_free
	grow  yamlfile.Value // grow_free
	line  int
	count int // CPUs to be chosen
}

func readClusters(v yamlfile.Value, cpus []int) []Cluster {
	var read []*cluster
	for v := range v.EachItem("clusters") {
		c := readCluster(v, cpus)
		for _, other := range read {
			if other.Name == c.Name && !v.HasFailed() {
				v.AdoptError(&badinput.Error{Field: "name", Value: c.Name,
					Want: fmt.Sprintf("a name that no other cluster has; that of line %d has it", other.line)})
			}
		}
		read = append(read, c)
	}
	if v.HasFailed() {
		return nil
	}
	if len(read) == 0 || len(read) > maxClusters {
		v.ReportError("", fmt.Sprintf("from 1 to %d clusters; there are %d", maxClusters, len(read)))
		return nil
	}
	chooseCPUs(read, cpus)
	var clusters []Cluster
	for _, c := range read {
		if c.Slots == 0 {
			c.Slots = len(c.CPUs)
		}
		if all := c.Slots * max(1, len(c.SSHHosts)); all > 0 && c.KeepFree >= all {
			c.keep.ReportWrong(fmt.Sprintf("fewer than the %d cores that the cluster offers", all))
		} else if all > 0 && c.KeepFree+c.GrowFree > all {
			c.grow.ReportWrong(fmt.Sprintf("at most the %d cores that keep_free leaves", all-c.KeepFree))
		}
		clusters = append(clusters, c.Cluster)
	}
	return clusters
}

func readCluster(v yamlfile.Value, cpus []int) *cluster {
	c := &cluster{Cluster: Cluster{Driver: Local, Quota: 1}, line: v.Line()}
	found := v.ReadMapping(
		yamlfile.StoreField("name", &c.Name, clusterName),
		yamlfile.ReadField("driver", func(v yamlfile.Value) {
			c.Driver = readChoice(v, "driver",
				[]string{Local, Slurm, GridEngine})
		}),
		yamlfile.ReadField("cpus", func(v yamlfile.Value) { c.cpus = v; c.CPUs, c.count = readCPUs(v, cpus) }),
		yamlfile.ReadField("slots", func(v yamlfile.Value) { c.Slots = v.WholeNumber(1, maxSlots) }),
		yamlfile.ReadField("keep_free", func(v yamlfile.Value) { c.keep, c.KeepFree = v, v.WholeNumber(0, maxSlots) }),
		yamlfile.ReadField("grow_free", func(v yamlfile.Value) { c.grow, c.GrowFree = v, v.WholeNumber(0, maxSlots) }),
		yamlfile.ReadField("quota", func(v yamlfile.Value) { c.Quota = v.PositiveNumber(1) }),
		yamlfile.ReadField("speed", func(v yamlfile.Value) { c.Speed = readSpeed(v) }),
		yamlfile.ReadField("nice", func(v yamlfile.Value) { c.Nice = v.WholeNumber(0, 19) }),
		yamlfile.StoreField("memory", &c.Memory, positiveSize),
		yamlfile.ReadField("ssh", c.readSSH),
		yamlfile.ReadField("direct", func(v yamlfile.Value) { c.Indirect = !v.Bool() }),
		yamlfile.ReadField("trusted", func(v yamlfile.Value) { c.Untrusted = !v.Bool() }),
		yamlfile.ReadField("ssh_options", func(v yamlfile.Value) { c.SSHOptions = readTexts(v, "options of ssh") }),
		yamlfile.ReadField("dir", func(v yamlfile.Value) { c.Dir = v.Text("a folder") }),
		yamlfile.StoreField("partition", &c.Partition, yamlfile.Value.Name),
		yamlfile.StoreField("pe", &c.PE, yamlfile.Value.Name),
		yamlfile.ReadField("options", func(v yamlfile.Value) { c.Options = readTexts(v, "options of sbatch or qsub") }),
		yamlfile.StoreField("time", &c.Time, yamlfile.Value.Duration),
		yamlfile.StoreField("poll", &c.Poll, readPoll),
		yamlfile.ReadField("queue", func(v yamlfile.Value) { c.Queue = v.WholeNumber(1, maxSlots) }),
		yamlfile.ReadField("env", func(v yamlfile.Value) { c.Env = readVariables(v) }),
		yamlfile.ReadField("commands", func(v yamlfile.Value) { c.Commands = v.Text("a folder") }),
		yamlfile.ReadField("mpi", func(v yamlfile.Value) { readMPI(&c.MPI, v) }),
	)
	found.RequireField("name", "the cluster's name")
	c.rejectMisplaced(found)
	if !c.IsHere() {
		c.CPUs, c.count = nil, 0
	} else if !found.HasField("cpus") {
		c.CPUs = slices.Clone(cpus)
	}
	return c
}

// rejectMisplaced complains about settings that have no meaning for this kind of
// cluster: whoever wrote them expects something of them.
func (c *cluster) rejectMisplaced(found yamlfile.Found) {
	wrong := func(keys []string, why string) {
		for _, key := range keys {
			if found.HasField(key) {
				found.FailField(key, "", why)
			}
		}
	}
	if !c.IsHere() {
		wrong([]string{"cpus", "quota", "nice"}, "only for a part of this machine; "+c.Name+" is none")
	}
	if c.IsHere() {
		wrong([]string{"trusted"}, "only for a cluster elsewhere; "+c.Name+" is a part of this machine")
	}
	if c.SSH == "" {
		wrong([]string{"ssh_options", "direct"}, "only together with ssh")
	}
	if c.IsManaged() {
		wrong([]string{"keep_free", "grow_free"}, "only for clusters without a batch system: "+
			"what waits in its queue takes any core; slots bounds what jobs get")
	}
	if !c.IsManaged() {
		wrong([]string{"partition", "options", "time", "poll", "queue", "env", "commands"},
			"only with driver slurm or gridengine")
	}
	if c.IsManaged() && len(c.SSHHosts) > 0 {
		wrong([]string{"ssh"}, "one host, from where jobs are submitted; several are for machines without a batch system "+
			"(driver local)")
	}
	if c.Driver != GridEngine {
		wrong([]string{"pe"}, "only with driver gridengine")
	}
}

// readSSH reads a host, or a list of hosts that are one cluster.
func (c *cluster) readSSH(v yamlfile.Value) {
	if v.Kind() != yamlfile.List {
		c.SSH = sshName(v)
		return
	}
	var hosts []string
	for v := range v.EachItem("hosts as ssh takes them") {
		h := sshName(v)
		if slices.ContainsFunc(hosts, func(other string) bool { return HostFromSSH(other) == HostFromSSH(h) }) {
			v.ReportWrong("each host once")
		}
		hosts = append(hosts, h)
	}
	if len(hosts) == 0 || len(hosts) > maxHosts {
		v.ReportError("", fmt.Sprintf("from 1 to %d hosts", maxHosts))
		return
	}
	if c.SSH = hosts[0]; len(hosts) > 1 {
		c.SSHHosts = hosts
	}
}

// HostFromSSH is the host's name in what ssh is asked for.
func HostFromSSH(s string) string { return s[strings.LastIndexByte(s, '@')+1:] }

func readMPI(m *wire.MPI, v yamlfile.Value) {
	v.ReadMapping(
		yamlfile.StoreField("yield", &m.Yield, yamlfile.Value.Bool),
		yamlfile.ReadField("network", func(v yamlfile.Value) {
			const want = "interfaces or networks as Open MPI takes them, such as eth1 or 10.0.0.0/24"
			if m.Network = v.Text(want); m.Network == "" || strings.ContainsAny(m.Network, " \t\n\x00") {
				v.ReportWrong(want)
			}
		}),
	)
}

// sshName is whom to ask for: it must not be taken for an option.
func sshName(v yamlfile.Value) string {
	const want = "a host as ssh takes it, such as alice@login.example.org"
	s := v.Text(want)
	if !v.HasFailed() && (s == "" || s[0] == '-' || strings.ContainsAny(s, " \t\n\x00")) {
		v.ReportWrong(want)
	}
	return s
}

func readTexts(v yamlfile.Value, what string) []string {
	var list []string
	for v := range v.EachItem(what) {
		list = append(list, v.Text("one of "+what))
	}
	return list
}

func readVariables(v yamlfile.Value) map[string]string {
	vars := map[string]string{}
	for name, v := range v.EachEntry("variables and their values") {
		vars[name.Text("the name of a variable")] = v.Text("the value of a variable")
	}
	return vars
}

func readPoll(v yamlfile.Value) time.Duration {
	d := v.Duration()
	if !v.HasFailed() && (d < minPoll || d > maxPoll) {
		v.ReportWrong("a time from 200ms to 10m")
	}
	return d
}

// clusterName is a name that can also be that of a folder.
func clusterName(v yamlfile.Value) string {
	name := v.Name()
	if strings.HasPrefix(name, ".") {
		v.ReportWrong("a name that does not begin with a dot")
	}
	return name
}

func readSpeed(v yamlfile.Value) float64 {
	const want = "auto, or how many times as fast as the reference host"
	s := v.Text(want)
	if s == "auto" || v.HasFailed() {
		return 0
	}
	x, ok := yamlfile.ParseNumber(s)
	if !ok || x <= 0 || x > maxSpeed {
		v.ReportWrong(want)
	}
	return x
}

const wantCPUs = "a number of CPUs, or a list of them such as [0, 1] or 0-3"

// readCPUs is which CPUs a cluster has, or how many it is to be given.
func readCPUs(v yamlfile.Value, usable []int) (cpus []int, count int) {
	switch v.Kind() {
	case yamlfile.List:
		for v := range v.EachItem("CPUs") {
			cpus = appendCPUs(v, cpus, v.Text("a CPU"), usable)
		}
	case yamlfile.Scalar:
		s := v.Text(wantCPUs)
		if n, err := strconv.Atoi(s); err == nil {
			if n < 1 || n > len(usable) {
				v.ReportWrong(fmt.Sprintf("from 1 to %d CPUs: that many may be used here (%s)", len(usable), FormatCPUs(usable)))
			}
			return nil, n
		}
		if s == "all" {
			return slices.Clone(usable), 0
		}
		for part := range strings.SplitSeq(s, ",") {
			cpus = appendCPUs(v, cpus, strings.TrimSpace(part), usable)
		}
	default:
		v.ReportWrong(wantCPUs)
	}
	slices.Sort(cpus)
	if !v.HasFailed() && len(cpus) == 0 {
		v.ReportWrong(wantCPUs)
	}
	return cpus, 0
}

// appendCPUs adds what one part of a list names: a CPU, or a range of them.
func appendCPUs(v yamlfile.Value, cpus []int, part string, usable []int) []int {
	first, last, isRange := strings.Cut(part, "-")
	from, err := strconv.Atoi(first)
	to := from
	if isRange && err == nil {
		to, err = strconv.Atoi(last)
	}
	if v.HasFailed() {
		return nil
	}
	if err != nil || from < 0 || to < from || to > maxCPU {
		v.ReportError(part, wantCPUs)
		return nil
	}
	for cpu := from; cpu <= to; cpu++ {
		switch {
		case !slices.Contains(usable, cpu):
			v.ReportError(part, fmt.Sprintf("CPUs that may be used here: %s", FormatCPUs(usable)))
			return nil
		case slices.Contains(cpus, cpu):
			v.ReportError(part, "each CPU once")
			return nil
		}
		cpus = append(cpus, cpu)
	}
	return cpus
}

// chooseCPUs gives CPUs to those that said only how many: of those that no cluster
// names, the lowest first.
func chooseCPUs(read []*cluster, usable []int) {
	free := slices.Clone(usable)
	for _, c := range read {
		if c.count == 0 {
			free = slices.DeleteFunc(free, func(cpu int) bool { return slices.Contains(c.CPUs, cpu) })
		}
	}
	for _, c := range read {
		if c.count == 0 {
			continue
		}
		if c.count > len(free) {
			c.cpus.ReportWrong(fmt.Sprintf("at most %d: so many CPUs of %s are not another cluster's; list CPUs to share them",
				len(free), FormatCPUs(usable)))
			return
		}
		c.CPUs, free = free[:c.count:c.count], free[c.count:]
	}
}

// FormatCPUs writes a list of CPUs as the settings do: 0-3,6.
func FormatCPUs(cpus []int) string {
	var parts []string
	for i := 0; i < len(cpus); {
		j := i
		for j+1 < len(cpus) && cpus[j+1] == cpus[j]+1 {
			j++
		}
		if j > i {
			parts = append(parts, fmt.Sprintf("%d-%d", cpus[i], cpus[j]))
		} else {
			parts = append(parts, strconv.Itoa(cpus[i]))
		}
		i = j + 1
	}
	return strings.Join(parts, ",")
}
