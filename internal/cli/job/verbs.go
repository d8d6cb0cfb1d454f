package job

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

// steerOne does something with one job.
type steerOne func(ctx context.Context, c *api.Client, id string) (api.Done, error)

// verbCommand is a command that does something with each of some jobs.
func (a *app) verbCommand(cmd *cobra.Command, groups []term.Group, do steerOne) *cobra.Command {
	var f choice
	var output string
	cmd.Long += chooseHelp
	cmd.Args, cmd.ValidArgsFunction, cmd.DisableFlagsInUseLine = f.jobsOrFilter, a.completeJobs, true
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.AskBroker(cmd.Context(), func(c *api.Client) error {
			jobs, err := f.chooseJobs(cmd.Context(), c, args)
			if err != nil {
				return err
			}
			if goes, err := a.mayGoOn(&f, cmd.Name(), jobs); err != nil || !goes {
				return err
			}
			return a.steerEach(cmd.Context(), c, jobs, output, do)
		})
	}
	term.GroupFlags(cmd, append(groups, f.choiceGroup(), term.OutputGroup(&output))...)
	term.CompleteNames(cmd, "state", allStates())
	return cmd
}

// steered is what became of one job, as JSON.
type steered struct {
	Job   string `json:"job"`
	Text  string `json:"text,omitempty"`
	Error string `json:"error,omitempty"`
}

// steerEach does something with every job, whether it works with the others or not, and says what became of each.
func (a *app) steerEach(ctx context.Context, c *api.Client, jobs []api.Job, output string, do steerOne) error {
	results := make([]steered, len(jobs))
	failed := make([]error, len(jobs))
	tickets, done := make(chan struct{}, maxCancelsAtOnce), make(chan int)
	for i := range jobs {
		go func() {
			tickets <- struct{}{}
			answer, err := do(ctx, c, jobRef(&jobs[i]))
			<-tickets
			results[i] = steered{Job: jobLabel(&jobs[i]), Text: answer.Text}
			if failed[i] = err; err != nil {
				results[i].Error = err.Error()
			}
			done <- i
		}()
	}
	for range jobs {
		<-done
	}
	if output == "json" {
		return errors.Join(term.WriteJSON(a.Stdout, results), firstFailure(failed))
	}
	worked := 0
	for i := range results {
		if failed[i] != nil {
			continue
		}
		if worked++; len(jobs) <= maxCancelledLines {
			if _, err := fmt.Fprintln(a.Stdout, results[i].Text); err != nil {
				return err
			}
		}
	}
	if len(jobs) > maxCancelledLines {
		if _, err := fmt.Fprintf(a.Stdout, "done with %d of %s\n", worked,
			term.PluralNoun(int64(len(jobs)), "job")); err != nil {
			return err
		}
	}
	return firstFailure(failed)
}

// firstFailure is the first of the errors; one is enough to be told.
func firstFailure(failed []error) error {
	for _, err := range failed {
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *app) holdCommand() *cobra.Command {
	return a.verbCommand(&cobra.Command{
		Use:   "hold ID…",
		Short: "Keep jobs that wait from starting",
		Long: `Keeps jobs from starting until godwit release. A job that was placed and has not
started gives up its place, also in the queue of Slurm or Grid Engine; what it waits
for otherwise (other jobs, its begin time) it goes on waiting for. A job that runs is
not held: godwit requeue --hold stops it, godwit suspend halts it.`,
		Example: `  godwit hold 7
  godwit hold --label sweep=3
  godwit submit --hold job.yaml`,
	}, nil, func(ctx context.Context, c *api.Client, id string) (api.Done, error) { return c.HoldJob(ctx, id) })
}

func (a *app) releaseCommand() *cobra.Command {
	return a.verbCommand(&cobra.Command{
		Use:     "release ID…",
		Short:   "Let jobs start that were held",
		Long:    `Lets jobs start that godwit hold, or --hold, keeps from it.`,
		Example: "  godwit release 7\n  godwit release --state held",
	}, nil, func(ctx context.Context, c *api.Client, id string) (api.Done, error) { return c.ReleaseJob(ctx, id) })
}

func (a *app) requeueCommand() *cobra.Command {
	var how api.Requeue
	g := term.NewGroup("How")
	g.Flags.BoolVar(&how.Hold, "hold", false, "and keep it from starting until godwit release")
	return a.verbCommand(&cobra.Command{
		Use:   "requeue ID… [--hold]",
		Short: "Stop jobs and start them again later",
		Long: `Stops running jobs and puts them back into the queue. A job that can be checkpointed is,
and continues from there; another begins again from the start. A job that was placed and
has not started is placed anew.`,
		Example: "  godwit requeue 7\n  godwit requeue --hold --label sweep=3",
	}, []term.Group{g}, func(ctx context.Context, c *api.Client, id string) (api.Done, error) {
		return c.RequeueJob(ctx, id, how)
	})
}

func (a *app) suspendCommand() *cobra.Command {
	return a.verbCommand(&cobra.Command{
		Use:   "suspend ID…",
		Short: "Halt running jobs where they are",
		Long: `Stops every process of running jobs (SIGSTOP; in the sandbox the sandbox itself). They
keep their memory and their cores. Neither their time limit nor their prediction counts
the time until godwit resume; their deadline stays. Should the attempt of a suspended job
be lost, as when its host fails, the job waits in the queue until godwit resume.

A job on several hosts cannot be suspended.`,
		Example: "  godwit suspend 7",
	}, nil, func(ctx context.Context, c *api.Client, id string) (api.Done, error) { return c.SuspendJob(ctx, id) })
}

func (a *app) resumeCommand() *cobra.Command {
	return a.verbCommand(&cobra.Command{
		Use:     "resume ID…",
		Short:   "Let suspended jobs go on",
		Long:    `Lets jobs go on that godwit suspend has halted.`,
		Example: "  godwit resume 7\n  godwit resume --state suspended",
	}, nil, func(ctx context.Context, c *api.Client, id string) (api.Done, error) { return c.ResumeJob(ctx, id) })
}

// updateFlags is what is to be otherwise, as it is written.
type updateFlags struct {
	deadline, begin, name string
	set, on               []string
}

func (a *app) updateCommand() *cobra.Command {
	var f updateFlags
	g := term.NewGroup("What is to be otherwise")
	g.Flags.StringVar(&f.deadline, "deadline", "", "`TIME` from now such as 20m, a moment such as 18:30, or none")
	g.Flags.StringVar(&f.begin, "begin", "", "it starts no sooner: `TIME` from now, a moment, or now")
	g.Flags.StringVar(&f.name, "name", "", "job `NAME`")
	g.Flags.StringArrayVar(&f.set, "set-label", nil, "give it a label, `NAME=VALUE`; NAME= takes it away")
	g.Flags.StringSliceVar(&f.on, "on", nil, "the `CLUSTERS` where it may run, or any")
	cmd := a.verbCommand(&cobra.Command{
		Use:   "update ID… [--deadline TIME] [--set-label NAME=VALUE] …",
		Short: "Change the deadline, labels or clusters of jobs",
		Long: `Changes what jobs ask for while they wait or run. What follows is decided at once: a job
that waits may start, or wait elsewhere; the agent of a job that runs is told of its new
deadline and, if that is in danger, asks for a better place. A job that runs where it
may not run any more is not moved for that: godwit migrate does it.`,
		Example: `  godwit update 12 --deadline 20m
  godwit update --label sweep=3 --set-label owner=ann --on left,right
  godwit update 12 --deadline none --begin 18:30`,
	}, []term.Group{g}, func(ctx context.Context, c *api.Client, id string) (api.Done, error) {
		u, err := f.buildUpdate(a.Now())
		if err != nil {
			return api.Done{}, err
		}
		return c.UpdateJob(ctx, id, u)
	})
	term.CompleteFlag(cmd, "on", a.CompleteClusters)
	return cmd
}

// buildUpdate is what the flags say.
func (f *updateFlags) buildUpdate(now time.Time) (*api.Update, error) {
	u := &api.Update{Name: f.name, On: f.on}
	var err error
	if u.Deadline, u.NoDeadline, err = momentFlag("--deadline", f.deadline, "none", now); err != nil {
		return nil, err
	}
	if u.Begin, u.BeginNow, err = momentFlag("--begin", f.begin, "now", now); err != nil {
		return nil, err
	}
	if u.Labels, err = parseLabels(f.set, true); err != nil {
		return nil, err
	}
	if len(f.on) == 1 && f.on[0] == "any" {
		u.On, u.Anywhere = nil, true
	}
	return u, nil
}

// momentFlag reads a moment; none is the word for that there is none.
func momentFlag(flag, text, none string, now time.Time) (at *api.Time, isNone bool, err error) {
	switch text {
	case "":
		return nil, false, nil
	case none:
		return nil, true, nil
	}
	moment, err := jobfile.ParseDeadline(text, now)
	if err != nil {
		return nil, false, &badinput.Error{Field: flag, Value: text, Want: err.Error() + ", or " + none}
	}
	return &api.Time{Time: moment}, false, nil
}
