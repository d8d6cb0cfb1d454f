package flow

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/connect"
	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

func (a *app) flowAttachCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "attach ID",
		Aliases: []string{"follow", "wait"},
		Short:   "Follow a workflow to its end",
		Long: `Follows a workflow that was submitted as godwit flow run does, and exits as that
does. Ctrl-C ends the following; the workflow goes on.` + flowsHelp,
		Example: `  godwit flow attach 3
  godwit flow attach last -o json`,
		Args:              func(cmd *cobra.Command, args []string) error { return term.OneArgument(cmd, args, "a workflow") },
		ValidArgsFunction: a.completeFlows,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.attachFlow(cmd.Context(), args[0], output)
		},
	}
	term.GroupFlags(cmd, term.OutputGroup(&output))
	return cmd
}

func (a *app) attachFlow(ctx context.Context, ref, output string) error {
	var flow api.Flow
	err := a.AskUntilAnswered(ctx, func(c *api.Client) (err error) { flow, err = c.GetFlow(ctx, ref); return err })
	if err != nil {
		return err
	}
	end, err := a.followFlow(ctx, flow.ID, a.newFlowView(output == "json", false), false)
	if err != nil {
		return err
	}
	tasks, err := a.flowTasks(ctx, flow.ID)
	if err != nil {
		return err
	}
	return a.flowEnd(end, tasks, output)
}

// awayTimeout is how long a broker may be away while a workflow is followed.
const awayTimeout = time.Minute

// followFlow follows a workflow to its end and returns its last state. Interrupted it cancels
// the workflow, if that is wanted, and waits for its end.
func (a *app) followFlow(ctx context.Context, id int64, v *flowView, cancels bool) (*api.Flow, error) {
	defer v.closeScreen()
	inner, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	release := context.AfterFunc(ctx, func() {
		if !cancels {
			stop()
			return
		}
		v.sayLine("cancelling what runs … (press Ctrl-C again to quit without waiting)")
		a.cancelFollowed(inner, id)
	})
	defer release()
	ref := fmt.Sprint(id)
	var last *api.Flow
	away, pause := a.Now(), 20*time.Millisecond
	for {
		err := a.AskBroker(inner, func(c *api.Client) error {
			return c.WatchFlow(inner, ref, func(l *api.FlowLive) error {
				last, away, pause = &l.Flow, a.Now(), 20*time.Millisecond
				v.showState(l)
				return nil
			})
		})
		switch {
		case err == nil && last != nil && last.IsOver():
			return last, nil
		case inner.Err() != nil:
			return nil, term.ExitCode(term.ExitInterrupted)
		case badinput.Is(err), connect.IsSilent(err):
			return nil, err
		case a.Now.Since(away) > awayTimeout:
			return nil, fmt.Errorf("following workflow %d: %w; it goes on with the broker, see godwit flow show %d", id,
				errors.Join(err), id)
		}
		clock.SleepContext(inner, pause)
		pause = min(2*pause, time.Second)
	}
}

// cancelFollowed cancels a workflow whose end is being waited for; a broker that went away is
// asked again.
func (a *app) cancelFollowed(ctx context.Context, id int64) {
	for ctx.Err() == nil {
		err := a.AskBroker(ctx, func(c *api.Client) error {
			_, err := c.CancelFlow(ctx, fmt.Sprint(id))
			return err
		})
		if err == nil || badinput.Is(err) {
			return
		}
		clock.SleepContext(ctx, connect.RetryPause)
	}
}
