package nodes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/experiment/measured"
	"github.com/godwit-hpc/godwit/internal/format/netgraph"
	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
	"github.com/godwit-hpc/godwit/internal/lab"
	"github.com/godwit-hpc/godwit/internal/sched/nodesel"
	"github.com/godwit-hpc/godwit/internal/sched/nodesel/pattern"
	"github.com/godwit-hpc/godwit/mpi/yield"
)

// Program is one of the programs, with arguments that make it take some seconds.
type Program struct {
	Name string
	Args []string
}

// Plan is what is to be done.
type Plan struct {
	Lab      string // plan of the lab
	Apps     string // folder of the programs
	Programs []Program
	Rounds   int // each with a network of its own, all programs and all methods
	Alone    int // runs of each program with the network for itself
	Seed     uint64
	Every    time.Duration // so often a stream comes or goes
	Trial    time.Duration // length of a skeleton
	Say      func(string)
	Keep     func(*Results) error // called after every round
	Clock    clock.Clock
}

// DefaultPlan is the experiment of the paper.
func DefaultPlan() Plan {
	return Plan{Lab: "scenarios/node-selection/ten.yaml", Apps: "examples/apps/build", Rounds: 12, Alone: 5, Seed: 1,
		Every: 30 * time.Second, Trial: 400 * time.Millisecond, Clock: clock.RealClock(), Say: func(string) {},
		Keep: func(*Results) error { return nil },
		Programs: []Program{{"bt", []string{"64", "24"}}, {"cg", []string{"16000", "3"}}, {"is", []string{"1048576", "24"}},
			{"lu", []string{"64", "10"}}, {"mg", []string{"64", "16"}}}}
}

// The ways to choose hosts.
const (
	byChance   = "random"
	byPairs    = "all-all"
	byPattern  = "pattern"
	byTrialRun = "pattern + skeleton"
)

var methods = []string{byChance, byPairs, byPattern, byTrialRun}

// ranks is how many nodes every program has, and candidates how many groups of
// hosts are tried.
const (
	ranks      = 4
	candidates = 5
)

// bandwidthTolerance is by how much bandwidths may differ, in proportion, and be the same: a few
// times what probes are off.
const bandwidthTolerance = 0.05

// Run is one run of a program.
type Run struct {
	Round   int
	Program string
	Method  string
	Hosts   []string
	Seconds float64
	Pairs   []float64 // Mbit/s that probes found between ranks 0 and 1, 0 and 2, 1 and 2, 0 and 3 …
	Trials  []Trial   `json:",omitempty"` // its skeleton on each of the candidates
	Of      string    `json:",omitempty"` // the method that chose the same hosts, of whose run these seconds are
}

// Trial is how a skeleton ran on a group of hosts.
type Trial struct {
	Hosts   []string
	Seconds float64 // the mean of its runs
	Runs    int
}

// Results is what was measured.
type Results struct {
	Machine measured.Machine
	Plan    struct {
		Alone        int
		Every, Trial time.Duration
		Seed         uint64
		Programs     []Program
	}
	Alone map[string][]float64 // seconds of each program with the network for itself
	Runs  []Run
	Probe struct{ Seconds, Error []float64 } // how long probing all pairs took; relative errors of what they said
	Costs []Cost
}

// RunRounds does the experiment. Rounds that are in r already are not done again.
func (p *Plan) RunRounds(ctx context.Context, r *Results) error {
	done, err := p.beginResults(r)
	if err != nil || done >= p.Rounds {
		return err
	}
	data, err := yamlfile.ReadFile(p.Lab, "a plan of a lab", 1<<20)
	if err != nil {
		return err
	}
	plan, err := lab.ReadPlan(p.Lab, data)
	if err != nil {
		return err
	}
	b, err := newBed(ctx, plan, p.Apps, p.Programs, p.Say)
	if err != nil {
		return err
	}
	defer b.closeLab()
	// a library for all
	if err := os.WriteFile(filepath.Join(b.home, yieldName), yield.LibraryBytes(), 0o755); err != nil {
		return err
	}
	if err := p.measureAlone(ctx, b, r); err != nil {
		return err
	}
	for round := done + 1; round <= p.Rounds; round++ {
		before := len(r.Runs)
		if err := p.runRound(ctx, b, r, round); err != nil {
			r.Runs = r.Runs[:before] // a part of a round compares nothing
			return err
		}
		r.Machine.LoadAfter = measured.LoadAverage()
		if err := p.Keep(r); err != nil {
			return err
		}
	}
	return nil
}

// beginResults makes r one of this plan and says how many rounds it has.
func (p *Plan) beginResults(r *Results) (done int, err error) {
	for _, run := range r.Runs {
		done = max(done, run.Round)
	}
	is := &r.Plan
	alike := is.Every == p.Every && is.Trial == p.Trial && is.Seed == p.Seed &&
		slices.EqualFunc(is.Programs, p.Programs,
			func(a, b Program) bool { return a.Name == b.Name && slices.Equal(a.Args, b.Args) })
	if done > 0 && !alike {
		return 0, errors.New("it has rounds of other programs, another seed or other times: give another file")
	}
	if done == 0 {
		*r = Results{Machine: measured.ThisMachine(p.Clock), Alone: map[string][]float64{}, Costs: r.Costs}
		is.Alone, is.Every, is.Trial, is.Seed, is.Programs = p.Alone, p.Every, p.Trial, p.Seed, p.Programs
	}
	return done, nil
}

// measureAlone measures and captures every program with the network for itself.
func (p *Plan) measureAlone(ctx context.Context, b *bed, r *Results) error {
	if err := b.removeStreams(ctx); err != nil {
		return err
	}
	hosts := b.names[:ranks]
	for _, prog := range p.Programs {
		if err := b.capturePattern(ctx, prog, hosts); err != nil {
			return err
		}
		for range p.Alone {
			took, err := b.runProgram(ctx, prog, hosts)
			if err != nil {
				return err
			}
			r.Alone[prog.Name] = append(r.Alone[prog.Name], took)
		}
		p.Say(fmt.Sprintf("%s alone: %.2f s", prog.Name, measured.Median(r.Alone[prog.Name])))
	}
	return nil
}

// runRound is all programs and methods on one network, in an order by chance.
func (p *Plan) runRound(ctx context.Context, b *bed, r *Results, round int) error {
	rnd := rand.New(rand.NewPCG(p.Seed, uint64(round)))
	if err := b.applyStreams(ctx, newStreams(len(b.names), p.Seed<<16+uint64(round))); err != nil {
		return err
	}
	change, stop := context.WithCancel(ctx)
	changing := make(chan struct{})
	go func() {
		defer close(changing)
		each := time.NewTicker(p.Every)
		defer each.Stop()
		for {
			select {
			case <-each.C:
				_ = b.changeStream(change) // one stream more or less: the next comes anyway
			case <-change.Done():
				return
			}
		}
	}()
	defer func() { stop(); <-changing }()
	for _, i := range rnd.Perm(len(p.Programs)) {
		prog := p.Programs[i]
		start := p.Clock()
		pairs, err := b.sensors.probeAll(ctx)
		if err != nil {
			return err
		}
		r.Probe.Seconds = append(r.Probe.Seconds, p.Clock.Since(start).Seconds())
		r.Probe.Error = append(r.Probe.Error, b.probeErrors(pairs)...)
		runs, err := p.runAllMethods(ctx, b, prog, pairs, rnd)
		if err != nil {
			return err
		}
		for _, run := range runs {
			run.Round = round
			r.Runs = append(r.Runs, run)
			p.Say(fmt.Sprintf("round %d of %d: %s on %s (%s): %.2f s, alone %.2f s", round, p.Rounds, prog.Name,
				strings.Join(run.Hosts, " "), run.Method,
				run.Seconds, measured.Median(r.Alone[prog.Name])))
		}
	}
	return nil
}

// probeErrors is by how much probes were off, in proportion: what a way can carry of a
// program's bytes is 95 % of its rate.
func (b *bed) probeErrors(pairs *nodesel.Bandwidths) []float64 {
	var list []float64
	for u := range b.names {
		for v := range u {
			list = append(list, pairs.PairBandwidth(u, v)/(0.95*b.streams.newcomerRate([2]int{v, u}))-1)
		}
	}
	return list
}

// runAllMethods chooses hosts by every method and runs a program on them, in an order by
// chance. Methods that chose the same hosts have one run: another would only tell how
// much runs differ by themselves.
func (p *Plan) runAllMethods(ctx context.Context, b *bed, prog Program, pairs *nodesel.Bandwidths,
	rnd *rand.Rand) ([]Run, error) {
	talk, err := netgraph.ReadPattern(b.patternFile(prog))
	if err != nil {
		return nil, err
	}
	runs := make([]Run, len(methods))
	for i, method := range methods {
		if runs[i], err = p.chooseHosts(ctx, b, prog, talk, method, pairs, rnd); err != nil {
			return nil, err
		}
	}
	for _, i := range rnd.Perm(len(runs)) {
		run := &runs[i]
		same := slices.IndexFunc(runs,
			func(other Run) bool { return other.Seconds > 0 && slices.Equal(other.Hosts, run.Hosts) })
		if same >= 0 {
			run.Seconds, run.Of = runs[same].Seconds, runs[same].Method
			continue
		}
		if run.Seconds, err = b.runProgram(ctx, prog, run.Hosts); err != nil {
			return nil, err
		}
	}
	return runs, nil
}

// isInterchangeable says whether all pairs of ranks send each other about as much, so
// that it does not matter which of the hosts has which.
func isInterchangeable(p *nodesel.Pattern) bool {
	if len(p.Edges) < p.Nodes*(p.Nodes-1)/2 {
		return false
	}
	least, most := math.Inf(1), 0.0
	for _, e := range p.Edges {
		least, most = min(least, e.Weight), max(most, e.Weight)
	}
	return most <= (1+bandwidthTolerance)*least
}

// chooseHosts is where a program is to run by a method.
func (p *Plan) chooseHosts(ctx context.Context, b *bed, prog Program, talk *nodesel.Pattern, method string,
	pairs *nodesel.Bandwidths, rnd *rand.Rand) (Run, error) {
	run := Run{Program: prog.Name, Method: method}
	groups, err := b.chooseGroups(talk, method, pairs, rnd)
	if err != nil {
		return run, err
	}
	run.Hosts = groups[0]
	if method == byTrialRun {
		if run.Hosts, run.Trials, err = b.tryGroups(ctx, prog, groups, p.Trial); err != nil {
			return run, err
		}
	}
	if isInterchangeable(talk) {
		slices.Sort(run.Hosts)
	}
	for v, to := range run.Hosts {
		for _, from := range run.Hosts[:v] {
			run.Pairs = append(run.Pairs, pairs.PairBandwidth(slices.Index(b.names, from), slices.Index(b.names, to)))
		}
	}
	return run, nil
}

// chooseGroups lists groups of hosts, the best first.
func (b *bed) chooseGroups(talk *nodesel.Pattern, method string, pairs *nodesel.Bandwidths,
	rnd *rand.Rand) ([][]string, error) {
	var hosts []int
	switch method {
	case byChance:
		hosts = rnd.Perm(len(b.names))[:ranks]
	case byPairs:
		all, err := pattern.MakeNamed("all", ranks)
		if err != nil {
			return nil, err
		}
		sel, err := nodesel.SelectBy("all-all", pairs, all, nodesel.Options{Groups: 1}, 0)
		if err != nil {
			return nil, err
		}
		hosts = sel.Hosts
		rnd.Shuffle(len(hosts), func(i, j int) { hosts[i], hosts[j] = hosts[j], hosts[i] }) // who is who is not its concern
	default:
		sel, err := nodesel.Select(pairs.RoundedDown(bandwidthTolerance), talk, nodesel.Options{Groups: candidates})
		if err != nil {
			return nil, err
		}
		var groups [][]string
		for _, g := range sel.Groups {
			groups = append(groups, b.hostNames(g.Hosts))
		}
		return groups, nil
	}
	return [][]string{b.hostNames(hosts)}, nil
}

func (b *bed) hostNames(hosts []int) []string {
	names := make([]string, len(hosts))
	for i, h := range hosts {
		names[i] = b.names[h]
	}
	return names
}

func (b *bed) patternFile(p Program) string { return filepath.Join(b.home, p.Name+".pattern") }

// capturePattern has the pattern of a program captured.
func (b *bed) capturePattern(ctx context.Context, p Program, hosts []string) error {
	argv := append([]string{"env", "LD_PRELOAD=" + filepath.Join(b.home, yieldName), "./godwit", "capture", "--draw=",
		"--file", p.Name + ".pattern", "--"}, launchCommand(hosts)...)
	_, err := b.runAsUser(ctx, append(append(argv, "./"+p.Name), p.Args...)...)
	return err
}

// tryGroups has the skeleton of a program tried on groups of hosts and returns those
// that were chosen, and how it ran on all of them.
func (b *bed) tryGroups(ctx context.Context, p Program, groups [][]string,
	length time.Duration) (hosts []string, trials []Trial, err error) {
	type group struct {
		Hosts []string `json:"hosts"`
	}
	file := struct {
		Groups []group `json:"groups"`
	}{}
	for _, g := range groups {
		file.Groups = append(file.Groups, group{g})
	}
	data, err := json.Marshal(file)
	if err != nil {
		return nil, nil, err
	}
	const name = "groups.json"
	if err := os.WriteFile(filepath.Join(b.home, name), data, 0o644); err != nil { // for the user whose home it is
		return nil, nil, err
	}
	out, err := b.runAsUser(ctx, "./godwit", "skeleton", "run", "--time", length.String(), "--groups", name, "-o", "json",
		p.Name+".pattern")
	if err != nil {
		return nil, nil, err
	}
	var said struct {
		Hosts  []string `json:"hosts"`
		Trials []Trial  `json:"trials"`
	}
	if err := json.Unmarshal([]byte(out), &said); err != nil || len(said.Hosts) != ranks {
		return nil, nil, fmt.Errorf("the skeleton of %s says %q: %w", p.Name, out, err)
	}
	for _, t := range said.Trials {
		if t.Runs == 0 {
			return nil, nil, fmt.Errorf("the skeleton of %s did not run on %s: %s", p.Name, strings.Join(t.Hosts, " "), out)
		}
	}
	return said.Hosts, said.Trials, nil
}

// yieldName is the library that lets waiting ranks sleep, in the user's home.
const yieldName = "yield.so"

// labNetwork is that of all labs.
const labNetwork = "10.77.0.0/16"

// launchCommand is an mpirun that puts one rank on each host, in their order.
func launchCommand(hosts []string) []string {
	slots := slices.Clone(hosts)
	for i := range slots {
		slots[i] += ":1"
	}
	return []string{"mpirun", "-n", fmt.Sprint(len(hosts)), "-H", strings.Join(slots, ","), "--bind-to", "none",
		"--mca", "plm_rsh_agent", "ssh", "--mca", "pml", "ob1", "--mca", "btl", "tcp,self",
		"--mca", "btl_tcp_if_include", labNetwork, "--mca", "oob_tcp_if_include", labNetwork,
		// Waiting awake would use up a host's part of a processor, and the network not matter.
		"--mca", "mpi_yield_when_idle", "1"}
}
