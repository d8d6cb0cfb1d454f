package command

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/experiment/koala"
	"github.com/godwit-hpc/godwit/internal/experiment/measured"
)

type koalaFlags struct {
	scenarios, out, output string
	seeds, repeat          int
	lab, add               bool
	labRuns                string
	quiet                  bool
}

func (a *app) koalaCommand() *cobra.Command {
	f := &koalaFlags{seeds: 4, repeat: 1}
	cmd := &cobra.Command{
		Use:   "koala",
		Short: "Malleable jobs on the DAS-3, all policies (papers/001)",
		Long: `Runs the eight runs of the KOALA paper (approaches PRA and PWA, policies FPSMA and
EGS, all jobs malleable or half of them), and the other policies on the same
workloads, each with several seeds. Writes koala.md with figures 7 and 8, every
statement of the paper with what we see, and all numbers.

With --lab the eight runs are made in the lab as well before that, scaled, with a
real broker and real jobs. That needs root and takes about 18 minutes. They are kept
in --lab-runs, from which the report has its section about the lab.`,
		Example: `  godwit-experiments koala
  godwit-experiments koala --seeds 10 --out /tmp/report -o json
  godwit-experiments koala --lab`,
		Args: term.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runKoala(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.scenarios, "scenarios", "scenarios/koala", "read the four scenario files in `DIR`")
	flags.StringVar(&f.out, "out", "docs/experiments", "write the report into `DIR`")
	flags.Var(term.WholeNumberFlag(&f.seeds, 1, 1000), "seeds", "make every run with the seeds 1 to this")
	flags.BoolVar(&f.lab, "lab", false, "make the eight runs in the lab first, scaled")
	flags.Var(term.WholeNumberFlag(&f.repeat, 1, 100), "repeat", "make every run in the lab so often")
	flags.BoolVar(&f.add, "add", false, "keep the runs in the lab that --lab-runs has, and add to them")
	flags.StringVar(&f.labRuns, "lab-runs", "docs/experiments/koala/lab.jsonl.gz",
		"the runs in the lab are kept in `FILE`")
	term.OutputFlag(flags, &f.output)
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "do not say where the report is")
	return cmd
}

// koalaReport is what the command prints for programs.
type koalaReport struct {
	Report     string           `json:"report"`
	Statements []koalaStatement `json:"statements"`
}

type koalaStatement struct {
	Name   string `json:"name"`
	Figure string `json:"figure"`
	Says   string `json:"says"`
	Rule   string `json:"rule"`
	Saw    string `json:"saw"`
	Wanted bool   `json:"wanted"`
	Holds  bool   `json:"holds"`
}

func (a *app) runKoala(ctx context.Context, f *koalaFlags) error {
	var seeds []uint64
	for n := range f.seeds {
		seeds = append(seeds, uint64(n+1))
	}
	if f.lab {
		if err := a.measureInLab(ctx, f); err != nil {
			return err
		}
	}
	r, err := koala.Simulate(ctx, f.scenarios, seeds)
	if err != nil {
		return err
	}
	if _, e := os.Stat(f.labRuns); e == nil {
		if r.Lab, err = compareLab(ctx, f); err != nil {
			return err
		}
	}
	path, err := r.Write(f.out)
	if err != nil {
		return err
	}
	verdicts := r.CheckStatements()
	if f.output == "json" {
		report := koalaReport{Report: path}
		for _, v := range verdicts {
			report.Statements = append(report.Statements,
				koalaStatement{v.Name, v.Where, v.Says, v.Rule, v.Saw, v.Wanted, v.Holds})
		}
		return term.WriteJSON(a.Stdout, report)
	}
	var b strings.Builder
	for _, v := range verdicts {
		fmt.Fprintf(&b, "%-8s fig. %-7s %s\n%25s%s\n", strings.Trim(v.VerdictText(), "*"), v.Where, v.Says, "", v.Saw)
	}
	n, all := koala.CountHolding(verdicts, true)
	fmt.Fprintf(&b, "\n%d of the %d statements that must come out do\n", n, all)
	if _, err := fmt.Fprint(a.Stdout, b.String()); err != nil {
		return err
	}
	if !f.quiet {
		a.SayLine("written: " + path)
	}
	return nil
}

// measureInLab makes the runs in the lab with the program godwit beside this one.
func (a *app) measureInLab(ctx context.Context, f *koalaFlags) error {
	godwit, err := measured.FindGodwit()
	if err != nil {
		return err
	}
	plan := koala.LivePlan{Scenarios: f.scenarios, Godwit: godwit, Repeat: f.repeat, Results: f.labRuns,
		Add: f.add, Out: io.Discard}
	if !f.quiet {
		plan.Out = a.Stderr
	}
	_, err = plan.MeasureLive(ctx, a.Now)
	return err
}

// compareLab sets what the lab saw beside the same runs in the simulator.
func compareLab(ctx context.Context, f *koalaFlags) (*koala.Comparison, error) {
	live, err := koala.ReadLive(f.labRuns)
	if err != nil {
		return nil, err
	}
	return live.CompareLive(ctx, f.scenarios)
}
