package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/connect"
	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

func (a *app) reloadCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "reload",
		Short: "Have the broker read its settings again",
		Long: `Has the running broker read its settings again: clusters are added, changed and
removed without ending a job. Jobs that run in a cluster that is removed run to
their end there; jobs that only wait there are placed elsewhere. If anything in the
settings is wrong they are refused as a whole, and those of before stay.

intervals, keep, limits, weather and the other policies count from the next start of
the broker on. A broker also reads its settings again on SIGHUP.`,
		Example: `  godwit reload
  godwit reload -o json`,
		Args: term.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.findRunning(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			r, err := c.ReloadSettings(cmd.Context())
			if err != nil {
				return fmt.Errorf("%w; the settings of before stay", err)
			}
			if output == "json" {
				return term.WriteJSON(a.Stdout, r)
			}
			_, err = fmt.Fprintln(a.Stdout, reloadedText(&r))
			return err
		},
	}
	term.GroupFlags(cmd, term.OutputGroup(&output))
	return cmd
}

// reloadedText says what a reload changed.
func reloadedText(r *api.Reloaded) string {
	var parts []string
	for _, x := range []struct {
		what  string
		names []string
	}{{"added", r.Added}, {"changed", r.Changed}, {"removed", r.Removed}} {
		if len(x.names) > 0 {
			parts = append(parts, x.what+" "+strings.Join(x.names, ", "))
		}
	}
	if r.Draining > 0 {
		parts = append(parts, term.PluralNoun(int64(r.Draining), "job")+
			" left in removed clusters (running jobs run to their end, pending jobs are placed elsewhere)")
	}
	if r.Place {
		parts = append(parts, "policy.place changed")
	}
	if len(parts) == 0 && !r.AtStart {
		return "nothing changed"
	}
	if r.AtStart {
		parts = append(parts, "other changes count from the next start of the broker on")
	}
	return "settings read again: " + strings.Join(parts, "; ")
}

var errNoBroker = errors.New("no broker runs: its settings are read when it starts")

// findRunning finds a broker and starts none.
func (a *app) findRunning(ctx context.Context) (*api.Client, error) {
	socket := os.Getenv(api.SocketSetting)
	if socket == "" {
		state, err := api.StateDir()
		if err != nil {
			return nil, err
		}
		socket = api.SocketPath(state)
	}
	c, err := a.DialBroker(socket)
	if err != nil {
		return nil, err
	}
	_, err = a.PingUntilClear(ctx, c)
	if connect.NobodyThere(err) {
		c.Close()
		if shared, err := a.SharedBroker(ctx); shared != nil || err != nil {
			return shared, err
		}
		return nil, errNoBroker
	}
	return c, err
}

const settingsAreNewer = "the settings are newer than the running broker"

// warnStale says that the broker does not run by the settings of today.
func (a *app) warnStale(ctx context.Context, c *api.Client) {
	if ping, err := c.PingBroker(ctx); err == nil && ping.Stale {
		a.SayLine(settingsAreNewer + ": godwit reload")
	}
}
