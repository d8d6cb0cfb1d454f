package cli

import (
	"errors"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/protocol/selfreport"
	"github.com/godwit-hpc/godwit/program"
)

// tellTimeout is how long an agent may take to answer; one that stands still must not stop a script.
const tellTimeout = 2 * time.Second

// tellAnswer is what tell answers.
type tellAnswer struct {
	Told bool   `json:"told"`
	Why  string `json:"why,omitempty"` // not
}

func (a *app) tellCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tell",
		Short: "Report from within a job: progress, a phase, a message",
		Long: `Commands for scripts that run as jobs. What they report is seen by show, explain and
whoever follows the job; progress also feeds the prediction of its end. Programs do
the same with a library, for C, Fortran, Go or Python (docs/guides/report.md).

Where nobody listens (the script is not run by Godwit) they do nothing and exit with 0,
so that a script need not ask.`,
		Example: `  for i in $(seq 10); do ./step $i; godwit tell progress $i/10; done
  godwit tell phase "write results"
  godwit tell message "residual 1e-6 after 412 iterations"`,
		Args: a.NoSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.tellProgressCommand(), a.tellPhaseCommand(), a.tellMessageCommand())
	return cmd
}

func (a *app) tellProgressCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "progress DONE/ALL|PERCENT%",
		Short: "Report how far the job is",
		Long: `Reports how many of how many steps are done, or how many per cent. The steps should
take about the same time: the end of the job is predicted from them.`,
		Example: `  godwit tell progress 3/10
  godwit tell progress 37.5%`,
		Args: func(cmd *cobra.Command, args []string) error {
			return term.OneArgument(cmd, args, "the progress, as 3/10 or 30%")
		},
		RunE: func(_ *cobra.Command, args []string) error {
			done, all, err := parseProgress(args[0])
			if err != nil {
				return err
			}
			link := program.OpenLink()
			link.SetSteps(done, all)
			return a.sayTold(output, link, nil)
		},
	}
	term.GroupFlags(cmd, term.OutputGroup(&output))
	return cmd
}

func (a *app) tellPhaseCommand() *cobra.Command {
	return a.tellTextCommand(&cobra.Command{
		Use:   "phase NAME",
		Short: "Report that a phase of the job begins",
		Long: `Reports that a phase of that name begins. godwit explain shows when, and at which
step.`,
		Example: `  godwit tell phase "write results"`,
	}, func(text string) selfreport.Message {
		return selfreport.Message{Kind: selfreport.MessagePhase, Name: text}
	})
}

func (a *app) tellMessageCommand() *cobra.Command {
	return a.tellTextCommand(&cobra.Command{
		Use:   "message TEXT",
		Short: "Show a line to whoever follows the job",
		Long: `Shows a line to whoever follows the job. godwit explain shows it later too. A job
can send 200 messages and phases.`,
		Example: `  godwit tell message "residual 1e-6 after 412 iterations"`,
	}, func(text string) selfreport.Message {
		return selfreport.Message{Kind: selfreport.MessageText, Text: text}
	})
}

// tellTextCommand is a command that says its arguments.
func (a *app) tellTextCommand(cmd *cobra.Command, message func(text string) selfreport.Message) *cobra.Command {
	var output string
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if strings.TrimSpace(strings.Join(args, " ")) == "" {
			return &badinput.Error{Problem: cmd.CommandPath() + " needs a text"}
		}
		return nil
	}
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		link := program.OpenLink()
		var err error
		if link.HasAgent() {
			err = selfreport.SendMessage(os.Getenv(selfreport.FolderVariable), message(strings.Join(args, " ")), tellTimeout)
		}
		return a.sayTold(output, link, err)
	}
	term.GroupFlags(cmd, term.OutputGroup(&output))
	return cmd
}

// sayTold says whether somebody was told. That nobody is there is no error.
func (a *app) sayTold(output string, link *program.Link, err error) error {
	answer := tellAnswer{Told: err == nil}
	switch {
	case !link.HasAgent():
		answer = tellAnswer{Why: "not run by godwit, or not the first rank"}
	case errors.Is(err, selfreport.ErrNoAgent):
		answer.Why = "its agent does not answer"
	case err != nil:
		return err
	}
	if output != "json" {
		return nil
	}
	return term.WriteJSON(a.Stdout, answer)
}

// percentSteps is how many steps a report in per cent has.
const percentSteps = 10_000

// parseProgress reads 3/10 or 37.5%.
func parseProgress(text string) (done, all uint64, err error) {
	bad := &badinput.Error{Field: "progress", Value: text, Want: "steps done and in all, as 3/10, or per cent, as 30%"}
	if percent, ok := strings.CutSuffix(text, "%"); ok {
		x, err := strconv.ParseFloat(percent, 64)
		if err != nil || !(x >= 0 && x <= 100) {
			return 0, 0, bad
		}
		return uint64(math.Round(x / 100 * percentSteps)), percentSteps, nil
	}
	before, after, ok := strings.Cut(text, "/")
	done, err1 := strconv.ParseUint(before, 10, 64)
	all, err2 := strconv.ParseUint(after, 10, 64)
	if !ok || err1 != nil || err2 != nil {
		return 0, 0, bad
	}
	if err := selfreport.CheckSteps(done, all); err != nil {
		bad.Want, bad.Problem = "", err.Error()
		return 0, 0, bad
	}
	return done, all, nil
}
