package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/lab"
	"github.com/godwit-hpc/godwit/internal/live/config"
)

const labRunLong = `Makes the lab of a scenario, lets happen on it what the scenario says, prints what
happens when, and removes the lab again, also after Ctrl-C. The exit code is 1 if a
check failed.

A scenario names a plan and lists steps: at a time, do something to the lab (see
godwit lab do), run a command on a host, or check that a command succeeds and says
something. With broker: true a broker runs on the lab's head, in a state folder of
the lab's own, so that commands there may be godwit submit and the like.`

type labRunFlags struct {
	keep   bool
	output string
}

func (a *app) labRunCommand() *cobra.Command {
	f := &labRunFlags{}
	cmd := &cobra.Command{
		Use:   "run SCENARIO",
		Short: "Let a scenario happen on a lab of its own",
		Long:  labRunLong,
		Example: `  godwit lab run scenarios/lab/faults.yaml
  godwit lab run --keep scenarios/lab/faults.yaml`,
		Args: func(cmd *cobra.Command, args []string) error {
			return term.OneArgument(cmd, args, "the file with a scenario")
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.labRun(cmd.Context(), f, args[0]) },
	}
	g := term.NewGroup("Lab")
	g.Flags.BoolVar(&f.keep, "keep", false, "leave the lab up at the end")
	term.GroupFlags(cmd, g, term.OutputGroup(&f.output))
	return cmd
}

// playedReport is a scenario that was played, for programs.
type playedReport struct {
	Scenario string        `json:"scenario"`
	Steps    int           `json:"steps"`
	Checks   int           `json:"checks"`
	Failed   int           `json:"failed"`
	Took     float64       `json:"took_s"`
	Timeline []playedEvent `json:"timeline"`
}

type playedEvent struct {
	At   float64 `json:"at_s"`
	Text string  `json:"text"`
}

func (a *app) labRun(ctx context.Context, f *labRunFlags, file string) (err error) {
	s, err := lab.LoadScenario(file)
	if err != nil {
		return err
	}
	if err := checkPolicy(s); err != nil {
		return err
	}
	if err := errors.Join(needLab(), notUp(s.Plan.Name)); err != nil {
		return err
	}
	release := holdSignals()
	defer release()
	l, err := lab.CreateLab(ctx, s.Plan, lab.Options{Say: a.SayLine})
	if err != nil {
		return err
	}
	if !f.keep {
		defer func() { err = errors.Join(err, a.removeLab(ctx, l)) }()
	}
	for _, words := range s.Before {
		if err := l.DoVerb(ctx, words); err != nil {
			return fmt.Errorf("%s: %w", strings.Join(words, " "), err)
		}
	}
	stage := lab.Stage{Now: a.Now}
	if stage.Env, err = a.stageBroker(ctx, l, s); err != nil {
		return err
	}
	report := playedReport{Scenario: s.ScenarioTitle()}
	stage.Tell = func(at time.Duration, text string) {
		report.Timeline = append(report.Timeline, playedEvent{at.Seconds(), text})
		if f.output != "json" {
			// who reads it may have gone: the lab is still removed
			_, _ = fmt.Fprintf(a.Stdout, "%7.1f s  %s\n", at.Seconds(), text)
		}
	}
	played, err := l.PlayScenario(ctx, s, stage)
	report.Steps, report.Checks, report.Failed, report.Took = played.Steps, played.Checks, played.Failed,
		played.Took.Seconds()
	if f.output == "json" {
		report.Timeline = term.OrEmpty(report.Timeline)
		err = errors.Join(err, term.WriteJSON(a.Stdout, report))
	}
	if err != nil {
		return err
	}
	a.SayLine(fmt.Sprintf("%s: %s in %s, %d of %s failed", s.ScenarioTitle(), term.PluralNoun(int64(played.Steps), "step"),
		term.FormatDuration(played.Took.Seconds()), played.Failed, term.PluralNoun(int64(played.Checks), "check")))
	if played.Failed > 0 {
		return term.ExitCode(term.ExitFailed)
	}
	return nil
}

// checkPolicy finds out before anything is made whether the broker will take the policy.
func checkPolicy(s *lab.Scenario) error {
	data, err := yaml.Marshal(map[string]any{"policy": s.Policy})
	if err != nil || len(s.Policy) == 0 {
		return err
	}
	var wrong *badinput.Error
	if _, err = config.ReadSettings(s.File, data, []int{0}); errors.As(err, &wrong) {
		wrong.Line = 0 // of what was made of the scenario
	}
	return err
}

// holdSignals lets a lab be removed in peace: a second Ctrl-C, or the second of
// two signals of a program that wants to be sure, would end us in the middle of it.
func holdSignals() (release func()) {
	held := make(chan os.Signal, 1)
	signal.Notify(held, os.Interrupt, syscall.SIGTERM)
	return func() { signal.Stop(held) }
}

// removeLab removes a lab, whatever has been interrupted.
func (a *app) removeLab(ctx context.Context, l *lab.Lab) error {
	ctx = context.WithoutCancel(ctx)
	a.endLabBroker(ctx, l)
	return lab.RemoveLab(ctx, l.Name)
}

// stageBroker gives the commands of a scenario our own binary, and a broker if
// the scenario wants one.
func (a *app) stageBroker(ctx context.Context, l *lab.Lab, s *lab.Scenario) ([]string, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	state := filepath.Join(l.Dir, "state")
	files, err := filepath.Abs(filepath.Dir(s.File))
	if err != nil {
		return nil, err
	}
	env := []string{"GODWIT_STATE=" + state, "PATH=" + filepath.Dir(exe) + ":" + os.Getenv("PATH"),
		"SCENARIO_DIR=" + files}
	if !s.Broker {
		return env, nil
	}
	user, err := brokerUser(s.Plan, &labUpFlags{})
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(state, 0o700); err != nil {
		return nil, err
	}
	_, err = a.labBroker(ctx, l, user, state, brokerWishes{s.Budget, s.Policy})
	return env, err
}
