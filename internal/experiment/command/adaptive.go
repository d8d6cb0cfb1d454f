package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/experiment/adaptive"
	"github.com/godwit-hpc/godwit/internal/experiment/loads"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/report/outfile"
)

type adaptiveFlags struct {
	scenario, jobs         string
	only, programs         []string
	repeat, runs           int
	live, records          string
	goOn, choosing         bool
	out, output, raw, from string
	quiet                  bool
}

const adaptiveLong = `Runs the experiments of the adaptive broker's paper live, with a broker of its own
and two clusters of one core of this machine each:

  a  programs alone: predicted against actual remaining time
  b  others begin to compute on the same core, nothing is done about it
  c  the same with the adaptive service
  d  what the service costs at several intervals, against a plain exec
  e  how far predictions can be trusted: many short runs of programs that
     compute, while others take from their core what recorded loads say; and
     more of them simulated

Writes adaptive-broker.md with figures. This is a measurement: it takes three
quarters of an hour (e alone a quarter), and the machine should have nothing else to
do. What was measured is kept in --results, from which --from writes the report
again; parts that are not done now stay in the report as they were. The runs of e are
kept in --live one by one: who interrupts it loses nothing, --from reports on what is
there and --continue makes the rest.`

func (a *app) adaptiveCommand() *cobra.Command {
	f := &adaptiveFlags{only: []string{"a", "b", "c", "d", "e"}}
	cmd := &cobra.Command{
		Use:   "adaptive",
		Short: "Programs with deadlines on a cluster that degrades (papers/004)",
		Long:  adaptiveLong,
		Example: `  godwit-experiments adaptive
  godwit-experiments adaptive --only b,c --programs burn --repeat 1 \
      --out /tmp/report
  godwit-experiments adaptive --only e --runs 120`,
		Args: term.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runAdaptive(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.scenario, "scenario", "scenarios/adaptive.yaml", "lengths, repetitions and so on stand in `FILE`")
	flags.StringVar(&f.jobs, "jobs", "examples/jobs", "the programs are in `DIR`")
	flags.StringSliceVar(&f.only, "only", f.only, "do these `PARTS`; b and c need a, which is then done as well")
	flags.StringSliceVar(&f.programs, "programs", nil, "run these `PROGRAMS` only")
	flags.Var(term.WholeNumberFlag(&f.repeat, 1, 1000), "repeat", "make every run so often")
	flags.Var(term.WholeNumberFlag(&f.runs, 1, 100_000), "runs", "make so many live runs in e")
	flags.StringVar(&f.live, "live", "build/adaptive-live.jsonl", "keep the live runs of e in `FILE`, a line each")
	flags.BoolVar(&f.goOn, "continue", false, "make only those live runs of e that --live does not have")
	flags.StringVar(&f.records, "loads", "../shared/data/load",
		"the recorded loads are in `DIR`; where they are not, generated ones stand for them")
	flags.BoolVar(&f.choosing, "choosing", false,
		"use the loads of e for choosing constants of the predictor, not those for checking it")
	flags.StringVar(&f.out, "out", "docs/experiments", "write the report into `DIR`")
	flags.StringVar(&f.raw, "results", "build/adaptive-broker.json", "keep what was measured in `FILE`")
	flags.StringVar(&f.from, "from", "", "measure nothing: write the report from `FILE`")
	term.OutputFlag(flags, &f.output)
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "do not say what is done")
	return cmd
}

// adaptiveReport is what the command prints for programs.
type adaptiveReport struct {
	Report     string              `json:"report"`
	Statements []adaptiveStatement `json:"statements"`
}

type adaptiveStatement struct {
	Name  string `json:"name"`
	Part  string `json:"part"`
	Says  string `json:"says"`
	Rule  string `json:"rule"`
	Saw   string `json:"saw"`
	Holds bool   `json:"holds"`
}

func (a *app) runAdaptive(ctx context.Context, f *adaptiveFlags) error {
	r, err := a.adaptiveResults(ctx, f)
	if err != nil {
		return err
	}
	path, err := r.Write(f.out)
	if err != nil {
		return err
	}
	verdicts := r.CheckStatements()
	if f.output == "json" {
		report := adaptiveReport{Report: path}
		for _, v := range verdicts {
			report.Statements = append(report.Statements, adaptiveStatement{v.Name, v.Where, v.Says, v.Rule, v.Saw, v.Holds})
		}
		return term.WriteJSON(a.Stdout, report)
	}
	var b strings.Builder
	for _, v := range verdicts {
		fmt.Fprintf(&b, "%-14s (%s) %s\n%15s%s\n", strings.Trim(v.VerdictText(), "*"), v.Where, v.Says, "", v.Saw)
	}
	holds, all := adaptive.CountHolding(verdicts)
	fmt.Fprintf(&b, "\n%d of the %d statements hold\n", holds, all)
	if _, err := fmt.Fprint(a.Stdout, b.String()); err != nil {
		return err
	}
	if !f.quiet {
		a.SayLine("written: " + path)
	}
	return nil
}

// adaptiveResults are measured now, and kept, or were kept before.
func (a *app) adaptiveResults(ctx context.Context, f *adaptiveFlags) (*adaptive.Results, error) {
	if f.from != "" {
		return readAdaptive("--from", f.from, f.live)
	}
	plan, err := a.adaptivePlan(f)
	if err != nil {
		return nil, err
	}
	var old *adaptive.Results
	if _, err := os.Stat(f.raw); err == nil {
		live := f.live
		if slices.Contains(f.only, "e") {
			live = "" // is made anew or read there
		}
		if old, err = readAdaptive("--results", f.raw, live); err != nil {
			return nil, err
		}
	}
	r, failed := plan.MeasureAll(ctx)
	if r == nil {
		return nil, failed
	}
	if old != nil {
		r.KeepMissing(old)
	}
	data, err := json.Marshal(r)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(f.raw), 0o777)
	}
	if err == nil {
		err = outfile.WriteAll(f.raw, data)
	}
	return r, errors.Join(failed, err)
}

// adaptivePlan is what the flags say, and the scenario where they do not.
func (a *app) adaptivePlan(f *adaptiveFlags) (*adaptive.Plan, error) {
	plan, err := adaptive.ReadPlan(f.scenario)
	if err != nil {
		return nil, err
	}
	plan.Parts, plan.Jobs = strings.Join(f.only, ""), f.jobs
	if len(f.programs) > 0 {
		plan.Programs, plan.Live.Programs = f.programs, f.programs
	}
	if f.repeat > 0 {
		plan.Repeat, plan.OverheadRepeat = f.repeat, f.repeat
	}
	if f.runs > 0 {
		plan.Live.Runs = f.runs
	}
	plan.Live.File, plan.Live.Continue, plan.Live.Records, plan.Live.Choosing = f.live, f.goOn, f.records, f.choosing
	if !f.quiet {
		plan.Out = a.Stderr
	}
	return &plan, nil
}

// readAdaptive reads what was measured before, with the live runs if there are any.
func readAdaptive(flag, file, live string) (*adaptive.Results, error) {
	r := &adaptive.Results{}
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, r)
	}
	if err != nil {
		return nil, &badinput.Error{Field: flag, Value: file, Want: "a file that --results wrote", Err: err}
	}
	if _, err := os.Stat(live); errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	r.Live, err = adaptive.ReadLive(live)
	return r, err
}

// spinnerCommand is a program that competes for a processor in e.
func (a *app) spinnerCommand() *cobra.Command {
	return &cobra.Command{Use: "spinner", Hidden: true, Args: term.NoArguments,
		RunE: func(*cobra.Command, []string) error { return loads.Spin(a.Stdin) }}
}
