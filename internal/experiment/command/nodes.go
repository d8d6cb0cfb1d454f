package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/experiment/nodes"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/lab/managers"
	"github.com/godwit-hpc/godwit/internal/report/outfile"
)

type nodesFlags struct {
	plan           nodes.Plan
	out, raw, from string
	output         string
	costs          bool
}

const nodesLong = `Runs the experiment of the paper on choosing hosts by communication pattern in a lab:
ten hosts whose connections others use too, programs with the patterns of BT, CG, IS,
LU and MG on four of them, chosen by chance, by bandwidth alone, by pattern, and by
pattern with trial runs of skeletons. Also times the choice as networks grow.

Writes node-selection.md with figures. This is a measurement: it takes half an hour,
needs root, and the machine should have nothing else to do. What was measured is kept
in --results after every round; rounds that are there already are not done again, so
it may be interrupted and go on later. --from writes the report from such a file.`

func (a *app) nodesCommand() *cobra.Command {
	f := &nodesFlags{plan: nodes.DefaultPlan()}
	cmd := &cobra.Command{
		Use:   "nodes",
		Short: "Hosts chosen by communication pattern (papers/002)",
		Long:  nodesLong,
		Example: `  godwit-experiments nodes
  godwit-experiments nodes --rounds 2 --out /tmp/report
  godwit-experiments nodes --rounds 0`,
		Args: term.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runNodes(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.Var(term.WholeNumberFlag(&f.plan.Rounds, 0, 1000), "rounds",
		"so many networks by chance in all, with all programs and methods on each; 0: only the cost of choosing")
	flags.StringVar(&f.plan.Lab, "lab", f.plan.Lab, "plan of the lab in `FILE`")
	flags.StringVar(&f.plan.Apps, "apps", f.plan.Apps, "the programs are in `DIR`")
	flags.Uint64Var(&f.plan.Seed, "seed", f.plan.Seed, "what chance draws from: `N`")
	flags.BoolVar(&f.costs, "costs", true, "time the choice as networks grow")
	flags.StringVar(&f.out, "out", "docs/experiments", "write the report into `DIR`")
	flags.StringVar(&f.raw, "results", "build/node-selection.json",
		"keep what was measured in `FILE`, and go on where it ends")
	flags.StringVar(&f.from, "from", "", "measure nothing: write the report from `FILE`")
	term.OutputFlag(flags, &f.output)
	return cmd
}

// sensorCommand is what the experiment runs on every host.
func (a *app) sensorCommand() *cobra.Command {
	return &cobra.Command{Use: "sensor", Hidden: true, Args: term.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return nodes.ServeSensor(cmd.Context(), a.Stdin, a.Stdout) }}
}

func (a *app) runNodes(ctx context.Context, f *nodesFlags) error {
	r, err := a.nodesResults(ctx, f)
	if err != nil {
		return err
	}
	path, err := r.Write(f.out)
	if err != nil {
		return err
	}
	statements := r.CheckStatements()
	if f.output == "json" {
		return term.WriteJSON(a.Stdout, map[string]any{"report": path, "statements": statements})
	}
	for _, s := range statements {
		word := "holds   "
		if !s.Holds {
			word = "does not"
		}
		if _, err := fmt.Fprintf(a.Stdout, "%s  %s\n          %s\n", word, s.Says, s.Saw); err != nil {
			return err
		}
	}
	a.SayLine("written: " + path)
	return nil
}

// nodesResults measures, or reads what was measured.
func (a *app) nodesResults(ctx context.Context, f *nodesFlags) (*nodes.Results, error) {
	if f.from != "" {
		return readNodes(f.from)
	}
	if err := os.MkdirAll(filepath.Dir(f.raw), 0o777); err != nil { // before half an hour is spent
		return nil, err
	}
	r, err := readNodes(f.raw)
	if errors.Is(err, fs.ErrNotExist) {
		r, err = new(nodes.Results), nil
	}
	if err != nil {
		return nil, err
	}
	f.plan.Keep = func(r *nodes.Results) error {
		data, err := json.MarshalIndent(r, "", " ")
		return errors.Join(err, outfile.WriteAll(f.raw, data))
	}
	managers.RegisterAll()
	f.plan.Say = a.SayLine
	if f.plan.Rounds > 0 {
		if err := f.plan.RunRounds(ctx, r); err != nil {
			return nil, fmt.Errorf("%w (%s has %d rounds)", err, f.raw, r.RoundCount())
		}
	}
	if f.costs {
		a.SayLine("timing the choice on networks of up to 1,000 hosts")
		if r.Costs, err = nodes.MeasureCosts(ctx, []int{10, 20, 50, 100, 200, 500, 1000}, 3, a.Now); err != nil {
			return nil, err
		}
	}
	return r, f.plan.Keep(r)
}

func readNodes(path string) (*nodes.Results, error) {
	data, err := os.ReadFile(path)
	r := new(nodes.Results)
	if err == nil {
		err = json.Unmarshal(data, r)
	}
	if err == nil {
		err = r.CheckComplete()
	}
	if err != nil {
		return nil, &badinput.Error{File: path, Want: "results that godwit-experiments nodes kept", Err: err}
	}
	return r, nil
}
