package archtest

import (
	"go/token"
	"slices"
	"strings"
)

// leaves are the pure algorithms: they know the vocabulary and the world, not
// who asks.
var leaves = []string{
	"internal/sched/predict", "internal/contract", "internal/sched/forecast", "internal/observe/weather/plan",
	"internal/sched/nodesel", "internal/redist", "internal/sched/perfmodel",
}

// pure are the packages inside the seam: no clock, no I/O, no goroutines.
var pure = slices.Concat([]string{"internal/sched/core", "internal/sched/world", "internal/policy", "internal/sched/engine"}, leaves)

// words are what those outside the seam share: the vocabulary of the core, of
// users, and of broker and agent; the clock; regular expressions and lists of hosts.
var words = []string{"internal/sched/core", "internal/format/jobfile", "internal/protocol/wire", "internal/clock", "internal/format/lazyregexp", "internal/format/hostlist"}

// outside are the packages that drive the engine or are driven by it.
var outside = []string{
	"internal/sim", "internal/live/broker", "internal/agent", "internal/driver", "internal/host/checkpoint",
	"internal/depot", "internal/live/store", "internal/lab", "internal/protocol/api", "internal/web", "internal/cli", "cmd",
}

// direction says what the packages under dir may import of ours. Where only
// is set it lists everything allowed; never is forbidden directly and through
// others.
type direction struct {
	dirs    []string
	limited bool // only is in force
	only    []string
	never   []string
	why     string
}

var directions = []direction{
	{dirs: []string{"internal/sched/core"}, limited: true,
		why: "core is the vocabulary that all others share, so it knows none of them"},
	{dirs: []string{"internal/sched/world"}, limited: true, only: []string{"internal/sched/core"},
		why: "the world is a view of the core and of nothing else"},
	{dirs: leaves, limited: true, only: slices.Concat([]string{"internal/sched/core", "internal/sched/world"}, leaves),
		why: "an algorithm knows the vocabulary and the world, not who asks"},
	{dirs: []string{"internal/policy"}, limited: true,
		only: slices.Concat([]string{"internal/sched/core", "internal/sched/world", "internal/policy"}, leaves),
		why:  "a policy decides from the world alone, so that it decides alike in the simulator and in the broker"},
	{dirs: []string{"internal/sched/engine"}, limited: true, only: pure,
		why: "the engine is pure: it meets the simulator and the broker at Step, they import it"},
	{dirs: []string{"internal/sim"}, never: []string{"internal/live/broker", "internal/protocol/api", "internal/web", "internal/cli"},
		why: "simulator and broker meet the engine at Step and nowhere else"},
	{dirs: []string{"internal/live/broker"}, never: []string{"internal/sim", "internal/protocol/api", "internal/web", "internal/cli"},
		why: "the broker meets the engine at Step and is driven by those above it"},
	{dirs: []string{"internal/driver"}, limited: true,
		only: slices.Concat(words, []string{"internal/driver", "internal/host/proctree", "internal/host/cgroup", "internal/protocol/rendezvous"}),
		why:  "an adapter knows the core and its own port"},
	{dirs: []string{"internal/live/outpost"}, never: []string{"internal/live/broker", "internal/sched/engine", "internal/live/store", "internal/protocol/api", "internal/sim"},
		why: "the outpost runs a driver far away, for a broker that it knows by what it is asked"},
	{dirs: []string{"internal/lab"}, never: []string{"internal/live/broker", "internal/sched/engine", "internal/live/store", "internal/protocol/api", "internal/sim", "internal/agent"},
		why: "the lab is a grid for whoever comes; it knows no broker"},
	{dirs: []string{"internal/host/checkpoint"}, limited: true,
		only: slices.Concat(words, []string{"internal/host/checkpoint", "internal/host/proctree", "internal/host/cgroup"}),
		why:  "an adapter knows the core and its own port"},
	{dirs: []string{"internal/live/store"}, limited: true,
		only: slices.Concat(words, []string{"internal/live/store", "internal/observe/history"}),
		why:  "an adapter knows the core and its own port"},
	{dirs: []string{"internal/protocol/wire"}, limited: true, only: []string{"internal/sched/core", "internal/format/jobfile"},
		why: "what broker and agent say to each other knows neither"},
	{dirs: []string{"internal/agent"}, never: []string{"internal/live/broker", "internal/sched/engine", "internal/live/store", "internal/protocol/api", "internal/sim"},
		why: "the agent runs beside the job, wherever that is, and knows the broker by what they say to each other"},
	{dirs: []string{"internal/depot"}, limited: true, only: []string{"internal/clock"},
		why: "the depot keeps bytes and does not know whose"},
	{dirs: []string{"internal/format/platform", "internal/format/swf"},
		never: slices.Concat([]string{"internal/sched/engine", "internal/policy"}, outside),
		why:   "who reads a file describes what stands there, not what is done with it"},
	{dirs: []string{"internal/mpi/capture", "internal/mpi/skeleton", "internal/mpi/mpirun"},
		never: slices.Concat([]string{"internal/sched/engine", "internal/policy"}, outside),
		why:   "a captured program and its skeleton are what they are, whoever runs them and wherever"},
	{dirs: []string{"internal/format/badinput", "internal/report/plot", "internal/clock", "internal/format/lazyregexp", "internal/format/hostlist"}, limited: true,
		why: "a tool that everybody uses knows nobody"},
	{dirs: []string{"internal/format/yamlfile"}, limited: true, only: []string{"internal/format/badinput", "internal/format/lazyregexp"},
		why: "how files are written and mistakes told is the same whatever a file describes"},
	{dirs: []string{"internal/report/progress", "internal/protocol/rendezvous"}, limited: true, only: []string{"internal/clock"},
		why: "a tool that everybody uses knows nobody"},
	{dirs: []string{"cmd"}, limited: true, only: []string{"internal/cli"},
		why: "the binary is flags and wiring; what it does stands in internal/cli"},
}

// checkDirections complains about imports against the arrows of
// docs/ARCHITECTURE.md.
func checkDirections(tr *tree, p *pkg, c *complaints) {
	for _, d := range directions {
		if !under(p.rel, d.dirs...) {
			continue
		}
		ourImports(p, func(rel string, at token.Pos) {
			if d.limited && !under(rel, d.only...) {
				c.add(at, d.why, "%s imports %s", p.rel, rel)
				return
			}
			if found := reaches(tr, rel, d.never); found == rel {
				c.add(at, d.why, "%s imports %s", p.rel, rel)
			} else if found != "" {
				c.add(at, d.why, "%s imports %s through %s", p.rel, found, rel)
			}
		})
	}
	if !under(p.rel, "cmd") {
		ourImports(p, func(rel string, at token.Pos) {
			if under(rel, "internal/cli") && !under(p.rel, "internal/cli") {
				c.add(at, "the command line stands on everything and nothing stands on it but cmd", "%s imports %s", p.rel, rel)
			}
		})
	}
	ourImports(p, func(rel string, at token.Pos) {
		if under(rel, "cmd", "internal/archtest") {
			c.add(at, "nothing is built on a binary or on the tests of the rules", "%s imports %s", p.rel, rel)
		}
	})
}

// ourImports calls f for each import of a package of the module.
func ourImports(p *pkg, f func(rel string, at token.Pos)) {
	p.imports(func(path string, at token.Pos) {
		if rel, ok := strings.CutPrefix(path, module+"/"); ok {
			f(rel, at)
		}
	})
}

// reaches returns the first package among never that importing rel brings in:
// rel itself, or one behind it.
func reaches(tr *tree, rel string, never []string) string {
	if under(rel, never...) {
		return rel
	}
	via := tr.byRel[rel]
	if via == nil {
		return ""
	}
	for _, dep := range via.deps {
		if r, ok := strings.CutPrefix(dep, module+"/"); ok && under(r, never...) {
			return r
		}
	}
	return ""
}
