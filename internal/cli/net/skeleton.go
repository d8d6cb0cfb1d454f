package net

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
	"github.com/godwit-hpc/godwit/internal/mpi/capture"
	"github.com/godwit-hpc/godwit/internal/mpi/mpirun"
	"github.com/godwit-hpc/godwit/internal/mpi/skeleton"
	"github.com/godwit-hpc/godwit/internal/report/outfile"
)

func (a *app) skeletonCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "skeleton",
		Short: "Short programs that stand for captured ones",
		Long: `A skeleton does what a captured MPI program does, less often: it takes a few
seconds, and where it is slow the program is slow.`,
		Args: a.NoSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.skeletonRunCommand())
	return cmd
}

const skeletonRunLong = `Makes a skeleton of a pattern file that godwit capture wrote, runs it, and says how
long the program itself would take there. Fewer rounds of the program's loops are
made, so that it would take --time where the program was captured; messages keep
their lengths, and computing is turns of a loop.

--hosts has a host for each rank, in order, to which mpirun can go with ssh and which
see this program's folder. --groups has several groups of hosts, as select -o json
prints them: the skeleton runs on one after the other, and the fastest is chosen. If
that is not the first group, both run up to three times more, and the first is left
only for one that is faster by 3 % in these runs, and in each of them faster than the
first in any. With --keep a job that has the file as its pattern runs there, and
explain says why; after 15 minutes the network may be another one, and it does not.`

const skeletonRunExample = `  # Here
  godwit skeleton run --time 2s cg.pattern

  # On four hosts, rank 0 on the first
  godwit skeleton run --hosts h1,h2,h3,h4 cg.pattern

  # The best of the groups that select -o json wrote into a file
  godwit skeleton run --groups groups.json cg.pattern`

// skeletonFlags is what the user asked for.
type skeletonFlags struct {
	time, limit time.Duration
	hosts       []string
	groups      string
	mpirun      string
	awake, keep bool
	output      string
}

func (a *app) skeletonRunCommand() *cobra.Command {
	f := &skeletonFlags{time: 2 * time.Second, limit: 5 * time.Minute}
	cmd := &cobra.Command{
		Use:     "run [flags] FILE.pattern",
		Short:   "Run the skeleton of a captured program, here or on hosts",
		Long:    skeletonRunLong,
		Example: skeletonRunExample,

		DisableFlagsInUseLine: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return &badinput.Error{Field: cmd.CommandPath(), Want: "one pattern file, as godwit capture writes it"}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.skeletonRun(cmd.Context(), f, args[0]) },
	}
	what := term.NewGroup("What runs where")
	what.Flags.Var(term.PositiveDurationFlag(&f.time), "time",
		"how long it would take where the program was captured (2s)")
	what.Flags.StringSliceVar(&f.hosts, "hosts", nil, "a host for each rank: `H1,H2,…`; none: this machine")
	what.Flags.StringVar(&f.groups, "groups", "",
		"groups of hosts from `FILE`, as select -o json prints them; the fastest is chosen")
	what.Flags.StringVar(&f.mpirun, "mpirun", "mpirun", "start ranks with `COMMAND`, of Open MPI")
	what.Flags.BoolVar(&f.awake, "awake", false, "ranks that wait keep their core busy, as Open MPI likes it")
	what.Flags.BoolVar(&f.keep, "keep", false,
		"write the times into the pattern file: jobs with it run where it was fastest")
	what.Flags.Var(term.PositiveDurationFlag(&f.limit), "limit", "end a run after so long (5m)")
	out := term.NewGroup("Output")
	term.OutputFlag(out.Flags, &f.output)
	out.Flags.BoolP("help", "h", false, "show this help")
	term.GroupFlags(cmd, what, out)
	return cmd
}

// skeletonReport is the answer; programs read its JSON.
type skeletonReport struct {
	Program    string           `json:"program"`
	Ranks      int              `json:"ranks"`
	Scale      float64          `json:"scale"`       // part of the program's time that the skeleton takes
	Calls      int64            `json:"calls"`       // of all ranks
	Captured   float64          `json:"captured_s"`  // the program, when it was captured
	Expected   float64          `json:"expected_s"`  // the skeleton, if it ran there
	Seconds    float64          `json:"skeleton_s"`  // the skeleton, on the chosen hosts
	Predicted  float64          `json:"predicted_s"` // the program, there
	Hosts      []string         `json:"hosts,omitempty"`
	Why        string           `json:"why,omitempty"`
	Trials     []skeleton.Trial `json:"trials,omitempty"`
	LongerThan string           `json:"longer_because,omitempty"`
}

func (a *app) skeletonRun(ctx context.Context, f *skeletonFlags, file string) error {
	p, err := capture.Read(file)
	if err != nil {
		return err
	}
	groups, err := f.hostGroups(p.Nodes)
	if err != nil {
		return err
	}
	s, err := skeleton.New(p, f.time.Seconds())
	if err != nil {
		return &badinput.Error{File: file, Problem: err.Error()}
	}
	runner, err := mpirun.SkeletonRunner()
	if err != nil {
		return err
	}
	at := skeleton.RunPlace{Mpirun: f.mpirun, Runner: runner, Env: mpirun.RunEnvironment(os.Environ()), Limit: f.limit}
	if !f.awake {
		at.Yield = mpirun.YieldLibrary()
	}
	began := a.Now()
	c, err := s.ChooseGroup(ctx, at, groups, func(i int) {
		if len(groups) > 1 {
			a.SayLine(fmt.Sprintf("group %d of %d: %s", i+1, len(groups), strings.Join(groups[i], " ")))
		}
	})
	if err != nil {
		return err
	}
	if c.Best < 0 {
		return c.CombinedFailure()
	}
	if f.keep {
		if err := keepTrials(file, p, c.RankedTrials(), began); err != nil {
			return err
		}
	}
	best := c.Trials[c.Best]
	r := &skeletonReport{Program: p.Program, Ranks: p.Nodes, Scale: s.Scale, Calls: s.CallCount(), Captured: p.Seconds,
		Expected: s.Scale * p.Seconds,
		Seconds:  best.Seconds, Predicted: best.Predicted, Hosts: best.Hosts, LongerThan: s.Why}
	if len(groups) > 1 {
		r.Why, r.Trials = c.Why, c.Trials
	}
	if f.output == "json" {
		return term.WriteJSON(a.Stdout, r)
	}
	text, err := skeletonText(r, a.TableWidth())
	if err != nil {
		return err
	}
	_, err = io.WriteString(a.Stdout, text)
	return err
}

// keepTrials writes how long the skeleton took where, the best first, into the
// pattern's file.
func keepTrials(file string, p *capture.Pattern, trials []skeleton.Trial, at time.Time) error {
	p.Trials = nil
	for _, t := range trials {
		t.At = at.UTC().Round(time.Second)
		p.Trials = append(p.Trials, t.Trial)
	}
	data, err := p.EncodeText()
	return errors.Join(err, outfile.WriteAll(file, data))
}

// hostGroups is where it runs: no hosts is this machine.
func (f *skeletonFlags) hostGroups(ranks int) ([][]string, error) {
	switch {
	case f.keep && f.groups == "":
		return nil, &badinput.Error{Field: "--keep", Want: "only with --groups"}
	case f.groups != "" && len(f.hosts) > 0:
		return nil, &badinput.Error{Field: "--groups", Problem: "not together with --hosts"}
	case f.groups == "" && len(f.hosts) == 0:
		return [][]string{nil}, nil
	case f.groups == "":
		return [][]string{f.hosts}, goodHosts("", "--hosts", f.hosts, ranks)
	}
	data, err := yamlfile.ReadFile(f.groups, "a file with groups of hosts", 16<<20)
	if err != nil {
		return nil, err
	}
	var file struct {
		Groups []struct {
			Hosts []string `json:"hosts"`
		} `json:"groups"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, &badinput.Error{File: f.groups, Want: "groups of hosts, as select -o json prints them", Err: err}
	}
	if len(file.Groups) == 0 {
		return nil, &badinput.Error{File: f.groups, Field: "groups", Want: "at least one group of hosts"}
	}
	var groups [][]string
	for i, g := range file.Groups {
		if err := goodHosts(f.groups, fmt.Sprintf("groups[%d].hosts", i), g.Hosts, ranks); err != nil {
			return nil, err
		}
		groups = append(groups, g.Hosts)
	}
	return groups, nil
}

func goodHosts(file, field string, hosts []string, ranks int) error {
	if len(hosts) != ranks {
		return &badinput.Error{File: file, Field: field, Value: strings.Join(hosts, ","),
			Want: fmt.Sprintf("%d hosts, one for each rank of the pattern", ranks)}
	}
	for _, h := range hosts {
		if !skeleton.GoodHost(h) {
			return &badinput.Error{File: file, Field: field, Value: h, Want: "names of hosts"}
		}
	}
	return nil
}

// skeletonText is the answer for people.
func skeletonText(r *skeletonReport, width int) (string, error) {
	b := &strings.Builder{}
	part := "the whole program"
	if r.Scale < 1 {
		part = fmt.Sprintf("%.3g %% of the program", 100*r.Scale)
	}
	fmt.Fprintf(b, "%s, %d ranks: %s, %d calls\n", r.Program, r.Ranks, part, r.Calls)
	var t term.Rows
	t.AddRow("where it was captured", "program %s, skeleton about %s", term.FormatDuration(r.Captured),
		term.FormatDuration(r.Expected))
	where := "here"
	if len(r.Hosts) > 0 {
		where = "on " + strings.Join(r.Hosts, " ")
	}
	t.AddRow(where, "skeleton %s, so program about %s", term.FormatDuration(r.Seconds), term.FormatDuration(r.Predicted))
	if r.LongerThan != "" {
		t.AddRow("longer than wanted", "%s", r.LongerThan)
	}
	t.WriteRows(b)
	if len(r.Trials) == 0 {
		return b.String(), nil
	}
	b.WriteString("\n")
	if err := trialTable(r.Trials).PrintTable(b, width); err != nil {
		return "", err
	}
	for i, g := range r.Trials {
		if g.Error != "" {
			fmt.Fprintf(b, "\ngroup %d failed: %s", i+1, term.OneLine(g.Error))
		}
	}
	if slices.ContainsFunc(r.Trials, func(g skeleton.Trial) bool { return g.Error != "" }) {
		b.WriteString("\n")
	}
	fmt.Fprintf(b, "\nchosen: %s\n", r.Why)
	return b.String(), nil
}

// trialTable lists the groups of hosts that were tried.
func trialTable(trials []skeleton.Trial) *term.Table {
	t := term.NewTable("group", "skeleton", "program", "hosts, rank 0 first").AlignRight(1, 2)
	for i, g := range trials {
		took, program := "failed", term.Unknown
		if g.Error == "" {
			took, program = term.FormatDuration(g.Seconds), term.FormatDuration(g.Predicted)
			if g.Runs > 1 {
				took += fmt.Sprintf(", the mean of %d", g.Runs)
			}
		}
		t.AddRow(intText(i+1), took, program, strings.Join(g.Hosts, " "))
	}
	return t
}
