package net

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/netgraph"
	"github.com/godwit-hpc/godwit/internal/sched/nodesel"
	"github.com/godwit-hpc/godwit/internal/sched/nodesel/pattern"
)

const selectLong = `Chooses hosts for a program by who talks to whom in it: the nodes of the pattern
go on hosts so that the slowest pair that communicates is as fast as can be.

The bandwidth of a pair is that of the widest path between the two hosts which
passes routers only. An edge of weight 2 gets half of it. The answer is proven to
be the best, or comes with a bound that no choice can exceed when --budget ends
before the proof. Of choices whose slowest pair is equally fast one is taken whose
pairs need little time together; --alike makes more of them equal.

Patterns: ring, path, all (every pair), star, tree:K (K children), mesh:RxC,
torus:RxC, both with a third side too, hypercube, butterfly, or a JSON file with
nodes and weighted edges.

Exit codes: 0 done, 1 the pattern does not fit, 2 wrong usage or bad input.`

const selectExample = `  # Four hosts for a ring, and the two next best groups
  godwit select --graph examples/networks/ten.json --pattern ring -m 4

  # A captured pattern, as JSON for a program
  godwit select --graph matrix.csv --pattern cg.json -o json

  # What the simpler methods would have chosen
  godwit select --graph examples/networks/ten.json --pattern mesh:2x3 \
      --method greedy`

// selectFlags is what the user asked for.
type selectFlags struct {
	graph, pattern string
	nodes, groups  int
	shared         bool
	perCPU, minCPU float64
	alike          float64
	budget         time.Duration
	method         string
	seed           uint64
	output         string
}

func (a *app) selectCommand() *cobra.Command {
	f := &selectFlags{groups: 3, budget: 2 * time.Second, method: "exact"}
	cmd := &cobra.Command{
		Use:     "select --graph FILE --pattern PATTERN [-m N] [flags]",
		Short:   "Choose hosts for a communication pattern",
		Long:    selectLong,
		Example: selectExample,
		Args:    term.NoArguments,

		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.checkGroups(cmd.Flags().Changed("k")); err != nil {
				return err
			}
			return a.selectHosts(cmd.Context(), f)
		},
	}
	term.GroupFlags(cmd, f.inputGroup(), f.searchGroup(), f.outputGroup())
	term.CompleteNames(cmd, "pattern", pattern.KnownNames())
	term.CompleteNames(cmd, "method", nodesel.SelectionMethods())
	term.CompleteNames(cmd, "output", []string{"table", "json"})
	return cmd
}

func (f *selectFlags) inputGroup() term.Group {
	g := term.NewGroup("What to place where")
	g.Flags.StringVar(&f.graph, "graph", "",
		"the network as `FILE`: JSON with hosts, routers and links, a CSV matrix of Mbit/s,\nor SimGrid XML; live: as the "+
			"broker has measured it")
	g.Flags.StringVar(&f.pattern, "pattern", "", "who talks to whom: "+strings.Join(pattern.KnownNames(), ", ")+
		",\nor a `FILE`")
	g.Flags.VarP(term.WholeNumberFlag(&f.nodes, 2, pattern.MaxNodes), "nodes", "m",
		"nodes of the pattern; not needed where the pattern says it")
	g.Flags.BoolVar(&f.shared, "shared-links", false, "pairs that pass the same link share it")
	g.Flags.Var(term.NumberFlag(&f.perCPU, 0, 1e9), "per-cpu",
		"the program, with a whole core, keeps pace with so many Mbit/s:\na host with half of it free counts for half of "+
			"that")
	g.Flags.Var(term.NumberFlag(&f.alike, 0, 1), "alike",
		"bandwidths are known to this part only, such as 0.05: the choice is by what is rounded down\nto steps of it; what "+
			"is printed is not rounded")
	g.Flags.Var(term.NumberFlag(&f.minCPU, 0, 1), "min-cpu",
		"leave out hosts with a smaller share of a core free, such as 0.5")
	return g
}

func (f *selectFlags) searchGroup() term.Group {
	g := term.NewGroup("Search")
	g.Flags.Var(term.WholeNumberFlag(&f.groups, 1, 1000), "k",
		"how many groups that differ in at least one host, best first; 1 where --method finds\nno more")
	g.Flags.Var(term.PositiveDurationFlag(&f.budget), "budget",
		"time for the search; then the best so far with a bound (2s)")
	g.Flags.Var(term.ChoiceFlag(&f.method, nodesel.SelectionMethods()...).WithKind("METHOD"), "method", "how to choose: "+
		term.JoinWords(nodesel.SelectionMethods())+";\nall but exact are there to compare with")
	g.Flags.Uint64Var(&f.seed, "seed", 1, "what --method random draws from: `N`")
	return g
}

func (f *selectFlags) outputGroup() term.Group {
	g := term.NewGroup("Output")
	term.OutputFlag(g.Flags, &f.output)
	g.Flags.BoolP("help", "h", false, "show this help")
	return g
}

// selectHosts reads the files, chooses, and prints.
func (a *app) selectHosts(ctx context.Context, f *selectFlags) error {
	if f.graph == "" {
		return &badinput.Error{Field: "--graph", Want: "a network file is needed"}
	}
	net, err := a.readNetwork(ctx, f.graph)
	if err != nil {
		return err
	}
	p, err := f.readPattern()
	if err != nil {
		return err
	}
	if p.Nodes > len(net.Hosts) {
		return &badinput.Error{Field: "-m", Value: intText(p.Nodes), Want: "at most " + intText(len(net.Hosts)) +
			", the hosts that " + f.graph + " has"}
	}
	start := a.Now()
	pairs, err := net.WidestBandwidths()
	if err != nil {
		return err
	}
	left, err := f.capHosts(net, pairs)
	if err != nil {
		return err
	}
	after := func(d time.Duration) func() bool {
		return func() bool { return ctx.Err() != nil || a.Now.Since(start) > d }
	}
	// The further groups leave some of the budget, so that they never make an
	// answer late that was proven in time.
	o := nodesel.Options{Groups: f.groups, Stop: after(f.budget), StopGroups: after(f.budget * 3 / 4), Alike: f.alike}
	sel, err := f.chooseHosts(net, pairs, p, o)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return f.explainUnfit(err, pairs, p, left)
	}
	return a.printSelection(f, newSelectReport(f, net, p, sel, a.Now.Since(start)))
}

func (f *selectFlags) chooseHosts(net *nodesel.Network, pairs *nodesel.Bandwidths, p *nodesel.Pattern,
	o nodesel.Options) (*nodesel.Selection, error) {
	if !f.shared {
		return nodesel.SelectBy(f.method, pairs, p, o, f.seed)
	}
	if f.method != "exact" {
		return nil, &badinput.Error{Field: "--method", Value: f.method, Want: "exact, the only one that knows --shared-links"}
	}
	return nodesel.SelectShared(net, pairs, p, o)
}

// checkGroups sees whether the method finds as many groups as are asked for.
func (f *selectFlags) checkGroups(asked bool) error {
	if f.groups == 1 || nodesel.FindsGroups(f.method) {
		return nil
	}
	if asked {
		return &badinput.Error{Field: "--k", Value: intText(f.groups), Want: "1 with --method " + f.method +
			", which finds one group; exact and edge-deletion find more"}
	}
	f.groups = 1
	return nil
}

// capHosts lets the hosts' processors count. It tells how many hosts have enough of
// theirs free.
func (f *selectFlags) capHosts(net *nodesel.Network, pairs *nodesel.Bandwidths) (left int, err error) {
	if f.perCPU == 0 && f.minCPU == 0 {
		return len(net.Hosts), nil
	}
	if net.CPU == nil {
		return 0, &badinput.Error{File: f.graph, Field: "cpu", Want: "the free share of each host, such as {\"" +
			net.Hosts[0] + "\": 0.5}, for --per-cpu and --min-cpu"}
	}
	for h, share := range net.CPU {
		if share < f.minCPU {
			pairs.CapHost(h, 0)
			continue
		}
		left++
		if f.perCPU > 0 {
			pairs.CapHost(h, f.perCPU*share)
		}
	}
	return left, nil
}

// explainUnfit tells what it is that a pattern does not fit: the network is in pieces all
// of which are too small, which is a mistake of the file; or --min-cpu leaves too
// little; or the pattern asks for too much.
func (f *selectFlags) explainUnfit(err error, pairs *nodesel.Bandwidths, p *nodesel.Pattern, left int) error {
	var unfit *nodesel.InfeasibleError
	if !errors.As(err, &unfit) {
		return err
	}
	all, need := pairs.HostCount(), nodesel.LargestPart(p)
	switch largest := pairs.LargestPart(); {
	case largest < need:
		return &badinput.Error{File: f.graph, Field: "links", Want: "a network whose hosts are connected; " +
			intText(need) + " hosts are needed and the largest connected part has " + intText(largest)}
	case left < p.Nodes:
		return &nodesel.InfeasibleError{Why: fmt.Sprintf("it needs %d hosts, and %d of %d have as much of a core free as "+
			"--min-cpu %v asks for", p.Nodes, left, all, f.minCPU)}
	case left < all:
		return &nodesel.InfeasibleError{Why: fmt.Sprintf("%s; --min-cpu %v leaves %d of %d hosts", unfit.Why, f.minCPU, left,
			all)}
	}
	return err
}

// readPattern makes a known pattern, or reads a file that is not called like
// one.
func (f *selectFlags) readPattern() (*nodesel.Pattern, error) {
	if f.pattern == "" {
		return nil, &badinput.Error{Field: "--pattern", Want: "one of " + strings.Join(pattern.KnownNames(), ", ") +
			", or a file"}
	}
	if !f.patternIsFile() {
		p, err := pattern.MakeNamed(f.pattern, f.nodes)
		if err != nil {
			return nil, f.patternError(err)
		}
		return p, nil
	}
	p, err := netgraph.ReadPattern(f.pattern)
	if err == nil && f.nodes != 0 && f.nodes != p.Nodes {
		err = &badinput.Error{Field: "-m", Value: intText(f.nodes), Want: intText(p.Nodes) + ", the nodes that " + f.pattern +
			" has"}
	}
	return p, err
}

// patternError says which of --pattern and -m is wrong.
func (f *selectFlags) patternError(err error) error {
	_, alone := pattern.MakeNamed(f.pattern, 2)
	switch {
	case f.nodes == 0 && alone == nil:
		return &badinput.Error{Field: "-m", Want: "the number of nodes is needed, " + f.pattern + " does not say it"}
	case f.nodes != 0 && !f.unknownPattern():
		return &badinput.Error{Field: "--pattern " + f.pattern + " -m", Value: intText(f.nodes), Problem: err.Error()}
	}
	want := err.Error()
	if near := badinput.NearestName(f.pattern, pattern.KnownNames()); near != "" && f.unknownPattern() {
		want += "; did you mean " + near + "?"
	}
	return &badinput.Error{Field: "--pattern", Value: f.pattern, Want: want}
}

// patternIsFile reports whether the pattern is no known name but looks like a
// file, or is one.
func (f *selectFlags) patternIsFile() bool {
	_, err := os.Stat(f.pattern)
	return f.unknownPattern() && (err == nil || strings.ContainsAny(f.pattern, "./"))
}

// unknownPattern reports whether no known pattern begins with this name.
func (f *selectFlags) unknownPattern() bool {
	kind, _, _ := strings.Cut(f.pattern, ":")
	return !slices.ContainsFunc(pattern.KnownNames(), func(name string) bool {
		known, _, _ := strings.Cut(name, ":")
		return known == kind
	})
}
