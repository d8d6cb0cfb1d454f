package job

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/format/jobref"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/report/progress"
)

// choice says which jobs a command is about, beside its arguments.
type choice struct {
	labels, states   []string
	all, dryRun, yes bool
}

// choiceGroup are the flags by which jobs are chosen.
func (f *choice) choiceGroup() term.Group {
	g := term.NewGroup("Which jobs")
	g.Flags.StringArrayVar(&f.labels, "label", nil, "only jobs with this label, `NAME=VALUE`; several: with all of them")
	g.Flags.StringSliceVar(&f.states, "state", nil, "only jobs in these `STATES`: pending, held, running, suspended, …")
	g.Flags.BoolVar(&f.all, "all", false, "all jobs that have not ended")
	g.Flags.BoolVar(&f.dryRun, "dry-run", false, "say which jobs these are, and do nothing")
	g.Flags.BoolVarP(&f.yes, "yes", "y", false, "do not ask, however many jobs these are")
	return g
}

// jobsOrFilter wants some jobs, --all, or what they have in common.
func (f *choice) jobsOrFilter(cmd *cobra.Command, args []string) error {
	if len(args) == 0 && !f.all && len(f.labels)+len(f.states) == 0 {
		return &badinput.Error{Problem: cmd.CommandPath() + " needs " + jobref.WantedForms + ", or --label or --state"}
	}
	return nil
}

// chooseHelp is the part of the help of commands that take jobs in this way.
const chooseHelp = jobsHelp + `

--label and --state choose among the jobs that are named, or among all that have not
ended. At a terminal the command asks before it does something with more than 10
jobs; --yes answers, --dry-run only lists them.`

// chooseJobs finds the jobs that a command is about.
func (f *choice) chooseJobs(ctx context.Context, c *api.Client, args []string) ([]api.Job, error) {
	if err := checkStates(f.states); err != nil {
		return nil, err
	}
	wanted, err := parseLabels(f.labels, false)
	if err != nil {
		return nil, err
	}
	jobs, err := selectJobs(ctx, c, args, f.all || len(args) == 0, false)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(jobs, func(j api.Job) bool {
		return !hasLabels(&j, wanted) || len(f.states) > 0 && !inState(&j, f.states)
	}), nil
}

// parseLabels reads labels; some of them may be taken away.
func parseLabels(list []string, mayBeEmpty bool) (map[string]string, error) {
	labels := map[string]string{}
	for _, text := range list {
		name, value, err := jobfile.ParseLabel(text)
		if err == nil && value == "" && !mayBeEmpty {
			err = fmt.Errorf("a label with its value, such as sweep=3")
		}
		if err != nil {
			return nil, &badinput.Error{Field: "--label", Value: text, Want: err.Error()}
		}
		labels[name] = value
	}
	return labels, nil
}

func hasLabels(j *api.Job, wanted map[string]string) bool {
	for name, value := range wanted { // order-free: all must be there
		if j.Labels[name] != value {
			return false
		}
	}
	return true
}

// labelsText is the labels of a job in the order of their names.
func labelsText(labels map[string]string) string {
	list := make([]string, 0, len(labels))
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		list = append(list, name+"="+labels[name])
	}
	return strings.Join(list, ",")
}

// maxUnasked is the most jobs with which something is done without asking at a terminal.
const maxUnasked = 10

// mayGoOn says what is about to be done with jobs, if that was asked for, and asks if they are many.
func (a *app) mayGoOn(f *choice, verb string, jobs []api.Job) (bool, error) {
	if len(jobs) == 0 {
		a.SayLine("no such jobs")
		return false, nil
	}
	if f.dryRun {
		return false, a.printJobs(jobs, false)
	}
	if f.yes || len(jobs) <= maxUnasked || !progress.IsTerminal(a.Stderr) || !progress.IsTerminal(os.Stdin) {
		return true, nil
	}
	if err := a.printJobs(jobs[:maxUnasked], false); err != nil {
		return false, err
	}
	if _, err := fmt.Fprintf(a.Stderr, "… and %d more. %s %s? [y/N] ", len(jobs)-maxUnasked, verb,
		term.PluralNoun(int64(len(jobs)), "job")); err != nil {
		return false, err
	}
	answer, _ := bufio.NewReader(os.Stdin).ReadString('\n') // none means no
	return strings.HasPrefix(strings.ToLower(strings.TrimSpace(answer)), "y"), nil
}
