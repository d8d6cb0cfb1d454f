package archtest

import (
	"go/token"
	"slices"
	"strings"
)

// pure is the room of everything that decides: no clock, no I/O, no goroutines.
var pure = []string{"internal/sched"}

// room is a folder directly below internal or cmd, or the public package.
type room struct {
	path    string
	imports []string // names of rooms below internal
	why     string
}

// rooms says which other rooms the packages of a room may import. The rows stand in order: a room imports only
// rooms above it, so there are no circles.
var rooms = []room{
	{"internal/sched", nil,
		"what decides imports nothing outside sched, so that it decides alike in the simulator and in the broker"},
	{"internal/clock", nil, "the clock is used by everybody and knows nobody"},
	{"internal/recordings", nil, "tests find recorded data by it, whatever they test"},
	{"internal/depot", []string{"clock"}, "the depot keeps bytes and does not know whose"},
	{"internal/format", []string{"sched"}, "a file format describes what people write, not what is done with it"},
	{"internal/host", []string{"sched", "clock"}, "one machine's processes know nothing of jobs elsewhere"},
	{"internal/lab", []string{"clock", "format", "host"}, "the lab is a grid for whoever comes; it knows no broker"},
	{"internal/mpi", []string{"clock", "format"},
		"a captured program and its skeleton are what they are, whoever runs them and wherever"},
	{"internal/report", []string{"clock", "format"}, "a chart or a progress line does not know what it shows"},
	{"internal/protocol", []string{"sched", "clock", "format"}, "what processes say to each other knows neither of them"},
	{"program", []string{"protocol"},
		"what users' programs link to report their progress knows the protocol and nothing of us"},
	{"internal/sim", []string{"sched", "format", "report"}, "the simulator meets the core at Step and nowhere else"},
	{"internal/driver", []string{"sched", "clock", "depot", "format", "host", "protocol"},
		"a driver knows the core and its own port, not the broker that calls it"},
	{"internal/observe", []string{"sched", "clock", "driver", "format", "host", "protocol"},
		"measurements do not know who decides by them"},
	{"internal/agent", []string{"sched", "clock", "depot", "driver", "format", "host", "mpi", "observe", "protocol"},
		"the agent runs beside the job and knows the broker by the messages they exchange"},
	{"internal/live", []string{"sched", "clock", "depot", "driver", "format", "host", "observe", "protocol"},
		"the broker meets the core at Step and is driven by those above it"},
	{"internal/cli", []string{"sched", "clock", "depot", "driver", "format", "host", "lab", "live", "mpi", "observe",
		"protocol",
		"report", "sim", "agent"}, "the command line stands on everything but the experiments, which are no part of the " +
		"product"},
	{"internal/experiment", []string{"sched", "clock", "depot", "driver", "format", "host", "lab", "live", "mpi",
		"observe",
		"protocol", "report", "sim", "cli"}, "an experiment uses the product and is no part of it"},
	{"internal/archtest", nil, "the rules are tests"},
	{"internal/e2e", nil, "end-to-end tests start the binary"},
	{"cmd/godwit", []string{"cli"}, "the binary is flags and wiring; what it does stands in internal/cli"},
	{"cmd/godwit-experiments", []string{"experiment"},
		"the binary is flags and wiring; what it does stands in internal/experiment"},
}

// insides are rules between packages of one room, or finer than rooms: only
// lists what the packages under dir may import below within.
var insides = []struct {
	dirs   []string
	within string
	only   []string
	why    string
}{
	{[]string{"internal/sched/core"}, "internal/sched", nil,
		"core is the vocabulary that all others share, so it knows none of them"},
	{[]string{"internal/sched/world"}, "internal/sched", []string{"internal/sched/core", "internal/sched/heap"},
		"the world is a view of the core and of nothing else; a heap decides nothing"},
	{algorithms, "internal/sched", slices.Concat(vocabulary, algorithms),
		"an algorithm knows the vocabulary and the world, not who asks"},
	{[]string{"internal/sched/nodesel/match", "internal/sched/nodesel/pattern"}, "internal/sched",
		[]string{"internal/sched/core", "internal/sched/nodesel/match"},
		"whether a pattern fits into a graph does not depend on who chooses hosts by it"},
	{policies, "internal/sched", slices.Concat(vocabulary, algorithms, policies),
		"a policy decides from the world alone, whoever asks"},
	{[]string{"internal/format", "internal/protocol", "internal/driver", "internal/host", "internal/observe",
		"internal/agent"},
		"internal/sched", slices.Concat([]string{"internal/sched/core"}, algorithms),
		"only the simulator and the broker meet the engine and its policies"},
	{[]string{"internal/live/broker"}, "internal/sched",
		slices.Concat([]string{"internal/sched/core", "internal/sched/engine", "internal/sched/jobarray",
			"internal/sched/route"}, algorithms),
		"the broker meets the engine at Step and its view; it imports no policy and does not read the world"},
	{[]string{"internal/driver/slurm", "internal/driver/gridengine", "internal/driver/local", "internal/driver/batch"},
		"internal/depot", nil, "a driver starts attempts; files are the affair of staging"},
	{[]string{"internal/lab", "internal/observe"}, "internal/host", []string{"internal/host/cgroup"},
		"of this machine they know its cgroups; processes and checkpoints are the affair of drivers and agents"},
	{[]string{"internal/live/store"}, "internal/live", []string{"internal/live/store"},
		"an adapter knows the core and its own port"},
	{[]string{"internal/live/outpost"}, "internal/live",
		[]string{"internal/live/outpost", "internal/live/drivers", "internal/live/config"},
		"an outpost runs a driver far away, for a broker that it knows by its requests"},
	{[]string{"internal/live/broker/transfer"}, "internal/live",
		[]string{"internal/live/broker/replica", "internal/live/broker/keylock", "internal/live/store"},
		"transfers tell a job what becomes of its files, and know no loop"},
	{[]string{"internal/live/broker/estimate"}, "internal/live",
		[]string{"internal/live/broker/transfer", "internal/live/store"},
		"an estimate does not know who decides by it"},
	{[]string{"internal/live/broker"}, "internal/live",
		[]string{"internal/live/broker", "internal/live/store", "internal/live/joblog", "internal/live/userfiles"},
		"the broker is driven by daemon and server, which stand above it"},
	{[]string{"internal/experiment"}, "internal/cli",
		[]string{"internal/cli/term", "internal/cli/model", "internal/cli/demo/testbed"},
		"an experiment has its own commands; of the product's it shares what stands below them"},
	{[]string{"internal/cli/term"}, "internal/cli", nil, "what all commands share knows none of them"},
	{[]string{"internal/cli/connect", "internal/cli/decision", "internal/cli/sendfolder"}, "internal/cli",
		[]string{"internal/cli/term"}, "what all commands share knows none of them"},
	{[]string{"internal/cli/job", "internal/cli/sim", "internal/cli/net", "internal/cli/lab", "internal/cli/flow"},
		"internal/cli",
		[]string{"internal/cli/term", "internal/cli/connect", "internal/cli/decision", "internal/cli/sendfolder"},
		"a family of commands knows what all commands share, and no other family"},
}

// vocabulary, algorithms and policies are the layers below the engine.
var (
	vocabulary = []string{"internal/sched/core", "internal/sched/world"}
	algorithms = []string{"internal/sched/predict", "internal/sched/forecast", "internal/sched/probeplan",
		"internal/sched/nodesel", "internal/sched/perfmodel", "internal/sched/heap",
		"internal/sched/checkpointing", "internal/sched/netflow", "internal/sched/redist",
		"internal/sched/contract"}
	policies = []string{"internal/sched/place", "internal/sched/malleable", "internal/sched/resched",
		"internal/sched/flow"}
)

// checkDirections complains about imports against the arrows of
// docs/ARCHITECTURE.md.
func checkDirections(tr *tree, p *pkg, c *complaints) {
	own := roomOf(p.rel)
	allowed, why, known := roomRule(own)
	if !known && strings.HasPrefix(p.rel, "internal/") {
		c.add(p.files[0].Package, "every room has a row in direction_test.go that says what it may import",
			"%s is in no room", p.rel)
		return
	}
	ourImports(p, func(rel string, at token.Pos) {
		if other := roomOf(rel); known && other != own && strings.HasPrefix(rel, "internal/") &&
			!slices.Contains(allowed, strings.TrimPrefix(other, "internal/")) {
			c.add(at, why, "%s imports %s", p.rel, rel)
			return
		}
		for _, in := range insides {
			if under(p.rel, in.dirs...) && under(rel, in.within) && !under(rel, in.only...) {
				c.add(at, in.why, "%s imports %s", p.rel, rel)
				return
			}
		}
		if under(rel, "cmd", "internal/archtest") {
			c.add(at, "nothing is built on a binary or on the tests of the rules", "%s imports %s", p.rel, rel)
		}
	})
}

// roomOf is the folder below internal or cmd that a package is in.
func roomOf(rel string) string {
	parts := strings.SplitN(rel, "/", 3)
	if (parts[0] == "internal" || parts[0] == "cmd") && len(parts) > 1 {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}

// roomRule returns what the packages of a room may import; mpi at the root holds
// embedded libraries and has no row.
func roomRule(path string) (imports []string, why string, known bool) {
	for _, r := range rooms {
		if r.path == path {
			return r.imports, r.why, true
		}
	}
	return nil, "", false
}

// ourImports calls f for each import of a package of the module.
func ourImports(p *pkg, f func(rel string, at token.Pos)) {
	p.imports(func(path string, at token.Pos) {
		if rel, ok := strings.CutPrefix(path, module+"/"); ok {
			f(rel, at)
		}
	})
}
