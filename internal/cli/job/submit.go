package job

import (
	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

const submitLong = `Submits a job and prints its number. The file is a job file (YAML), a job
description of PSI/J (JSON), or a script with lines such as "#GODWIT --deadline 20m"
before its first command. Scripts for Slurm and Grid Engine are taken as they are:
what their #SBATCH and #$ lines request is done, and lines that are ignored are
reported. Command-line flags override #GODWIT lines, and these override the
lines of the batch system.

The fields of a job file are described in docs/guides/run.md and, for editors, in
docs/job.schema.json; what becomes of the lines of a script in docs/guides/import.md.`

const submitExample = `  godwit submit examples/jobs/pi.yaml
  godwit submit --deadline 18:30 --on local examples/jobs/sweep.sh

  # A script for Slurm, and a job that starts when its array has completed
  godwit submit examples/jobs/array.sbatch
  godwit submit --after pi examples/jobs/burn.yaml

  # The number, for a program
  godwit submit -o json examples/jobs/burn.yaml`

func (a *app) submitCommand() *cobra.Command {
	var f jobFlags
	var output string
	var hold bool
	cmd := &cobra.Command{
		Use:     "submit [flags] FILE",
		Short:   "Submit the job in a file",
		Long:    submitLong,
		Example: submitExample,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() == 0 && len(args) > 0 {
				return nil // a command will do as well
			}
			return term.OneArgument(cmd, args, "a job file or a script")
		},
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			job, err := a.readJob(cmd, args, &f, false)
			if err != nil {
				return err
			}
			return a.AskBroker(cmd.Context(), func(c *api.Client) error {
				job.Hold = job.Hold || hold
				ids, err := a.submitJob(cmd.Context(), c, job, "")
				if err != nil {
					return err
				}
				return a.printSubmitted(ids, output)
			})
		},
	}
	g := term.NewGroup("When it starts")
	g.Flags.BoolVar(&hold, "hold", false, "not before godwit release")
	term.GroupFlags(cmd, append(f.flagGroups(), g, term.OutputGroup(&output))...)
	a.completeJobFlags(cmd)
	return cmd
}

const quoteLong = `Estimates a job without submitting it: for each cluster the expected wait,
stage-in and run time, when the job would end, and the chance of meeting its
deadline, with the reason.

The run time comes from earlier runs of the program (CPU time, and time spent
waiting for something else) or from --estimate. If neither is known, there is no
end and no chance (–; null in JSON).`

const quoteExample = `  godwit quote --deadline 60s --estimate 30s -- ./examples/jobs/burn 30
  godwit quote examples/jobs/pi.yaml
  godwit quote --deadline 60s -o json -- ./examples/jobs/burn 30`

func (a *app) quoteCommand() *cobra.Command {
	var f jobFlags
	var output string
	cmd := &cobra.Command{
		Use:     "quote [flags] FILE | -- COMMAND ARGUMENTS…",
		Short:   "Estimate when a job would end on each cluster",
		Long:    quoteLong,
		Example: quoteExample,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return &badinput.Error{Field: cmd.CommandPath(), Want: "a job file, or a command after --"}
			}
			return nil
		},
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			job, err := a.readJob(cmd, args, &f, false)
			if err != nil {
				return err
			}
			return a.AskBroker(cmd.Context(), func(c *api.Client) error {
				job.FixMoments(a.Now())
				quotes, err := c.QuoteJob(cmd.Context(), &api.Submit{Job: *job})
				if err != nil {
					return err
				}
				if output == "json" {
					return term.WriteJSON(a.Stdout, term.OrEmpty(quotes))
				}
				return a.printQuotes(quotes, job.Deadline > 0)
			})
		},
	}
	term.GroupFlags(cmd, append(f.flagGroups(), term.OutputGroup(&output))...)
	a.completeJobFlags(cmd)
	return cmd
}

func (a *app) printQuotes(quotes []api.Quote, due bool) error {
	t := term.NewTable("cluster", "wait", "stage-in", "run", "ends", "90 % by", "in time").AlignRight(1, 2, 3, 6)
	t.Sparse, t.Optional = true, []string{"stage-in"}
	for _, q := range quotes {
		chance := term.Unknown
		if due {
			chance = term.ChanceText(q.PDeadline)
		}
		t.AddRow(q.Cluster, term.SecondsText(q.WaitS), term.SecondsText(q.TransferS), term.SecondsText(q.RunS),
			a.MomentText(q.FinishP50), a.MomentText(q.FinishP90), chance)
		t.AddNote(q.Reason)
	}
	return t.PrintTable(a.Stdout, a.TerminalWidth())
}
