package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/agent"
	"github.com/godwit-hpc/godwit/internal/cli/connect"
	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/live/config"
	"github.com/godwit-hpc/godwit/internal/live/daemon"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

const upLong = `Runs the broker on this machine until Ctrl-C: it keeps the jobs, chooses where they
run, watches them and moves them. Jobs run on when it ends, and it finds them again
when it starts.

run, submit and quote start a broker by themselves where none runs; it ends when it
has had nothing to do for a while. Use up to have one that stays, or to see what it
does.

With --shared, as root, it serves all users of this machine: every user finds it without
settings, runs jobs as themselves, and sees only their own jobs; see
docs/guides/shared.md.

Its state is in one folder: GODWIT_STATE, else godwit in the XDG state folder.
Its clusters and limits are in a settings file, see
examples/config/two-clusters.yaml.`

const upExample = `  godwit up
  godwit up --config examples/config/two-clusters.yaml

  # One for all users of the machine
  sudo godwit up --shared --config /etc/godwit/config.yaml

  # End the broker that runs; jobs run on
  godwit up --stop`

type upFlags struct {
	config, logLevel string
	embedded, stop   bool
	shared           bool
	readyFD          int
}

func (a *app) upCommand() *cobra.Command {
	f := &upFlags{logLevel: "info"}
	cmd := &cobra.Command{
		Use:     "up",
		Short:   "Run the broker on this machine",
		Long:    upLong,
		Example: upExample,
		Args:    term.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.stop {
				return a.stopBroker(cmd.Context(), f)
			}
			if f.shared {
				return a.upShared(cmd.Context(), f)
			}
			return a.runUp(cmd.Context(), f)
		},
	}
	g := term.NewGroup("Broker")
	g.Flags.StringVar(&f.config, "config", "",
		"read settings from `FILE`, rather than from GODWIT_CONFIG or the XDG folder")
	g.Flags.BoolVar(&f.shared, "shared", false, "serve all users of this machine, each as themselves; as root")
	g.Flags.BoolVar(&f.stop, "stop", false, "end the broker that runs; its jobs run on")
	g.Flags.Var(term.ChoiceFlag(&f.logLevel, "debug", "info", "warn", "error"), "log", "how much is logged")
	g.Flags.BoolVar(&f.embedded, "embedded", false, "end when there has been nothing to do for a while")
	g.Flags.BoolP("help", "h", false, "show this help")
	g.Flags.IntVar(&f.readyFD, "ready-fd", 0, "")
	_ = g.Flags.MarkHidden("ready-fd") // it is there; only for brokers that run starts
	term.GroupFlags(cmd, g)
	term.CompleteNames(cmd, "log", []string{"debug", "info", "warn", "error"})
	return cmd
}

func (a *app) runUp(ctx context.Context, f *upFlags) error {
	state, err := api.StateDir()
	if err != nil {
		return err
	}
	if !f.embedded {
		if err := a.takeOver(ctx, state, f.config); err != nil {
			return err
		}
	}
	return a.serveBroker(ctx, f, daemon.Options{State: state, Config: f.config, Embedded: f.embedded})
}

// upShared runs the broker of all users.
func (a *app) upShared(ctx context.Context, f *upFlags) error {
	if os.Geteuid() != 0 {
		return &badinput.Error{Field: "--shared",
			Problem: "needs root: it starts the jobs of every user as that user (without --shared the broker is yours alone)"}
	}
	o := daemon.Options{Config: f.config, State: cmp.Or(os.Getenv("GODWIT_STATE"), api.SharedState),
		Shared: cmp.Or(os.Getenv(api.SocketSetting), api.SharedSocket)}
	if o.Config == "" {
		o.Config = cmp.Or(os.Getenv("GODWIT_CONFIG"), api.SharedSettings)
	}
	return a.serveBroker(ctx, f, o)
}

// serveBroker runs a broker.
func (a *app) serveBroker(ctx context.Context, f *upFlags, o daemon.Options) error {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.logLevel)); err != nil {
		return err
	}
	o.HangUp = true
	o.Version, o.Log = a.Version, slog.New(logHandler(a.Stderr, level))
	o.Ready = func(socket string, cfg *config.Config) { a.announceReady(f, socket, cfg) }
	err := daemon.Run(ctx, o)
	switch {
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		err = nil // ended as asked
	case errors.Is(err, daemon.ErrRunning):
		f.tellStarter() // it can ask that one
		err = fmt.Errorf("%w: %s", err, o.State)
	}
	return err
}

// takeOver ends a broker that was started for a command, so that ours, whose
// settings are sound, can take its place. One that somebody started by hand stays.
func (a *app) takeOver(ctx context.Context, state, settings string) error {
	if err := connect.CheckOwnSettings(settings); err != nil {
		return err
	}
	c, err := a.DialBroker(api.SocketPath(state))
	if err != nil {
		return err
	}
	defer c.Close()
	ping, err := c.PingBroker(ctx)
	switch {
	case connect.NobodyThere(err):
		return nil
	case err != nil:
		return err
	case !ping.Embedded:
		return &badinput.Error{Field: "GODWIT_STATE", Value: state,
			Problem: fmt.Sprintf("a broker already runs in this state folder, process %d (godwit up --stop ends it)", ping.PID)}
	}
	return a.ShutDown(ctx, c)
}

// tellStarter tells the command that started the broker that one answers.
func (f *upFlags) tellStarter() {
	if f.readyFD > 0 {
		tell := os.NewFile(uintptr(f.readyFD), "ready")
		_, _ = tell.WriteString("\n") // who waits sees the end of the file as well
		_ = tell.Close()
	}
}

// announceReady tells whoever waits for it that the broker answers.
func (a *app) announceReady(f *upFlags, socket string, cfg *config.Config) {
	f.tellStarter()
	if f.embedded {
		return
	}
	var names []string
	for _, c := range cfg.Clusters {
		size := term.PluralNoun(int64(c.Slots), "core")
		if c.Slots == 0 {
			size = "has not answered yet"
		}
		if n := len(c.SSHHosts); n > 0 {
			size = term.PluralNoun(int64(n), "host")
		}
		names = append(names, fmt.Sprintf("%s (%s)", c.Name, size))
	}
	a.SayLine("broker ready on " + socket + ": " + strings.Join(names, ", "))
}

// stopBroker ends the broker that runs.
func (a *app) stopBroker(ctx context.Context, f *upFlags) error {
	socket := cmp.Or(os.Getenv(api.SocketSetting), api.SharedSocket)
	if !f.shared {
		state, err := api.StateDir()
		if err != nil {
			return err
		}
		socket = api.SocketPath(state)
	}
	c, err := a.DialBroker(socket)
	if err != nil {
		return err
	}
	defer c.Close()
	err = a.ShutDown(ctx, c)
	if !connect.NobodyThere(err) {
		return err
	}
	if used := cmp.Or(os.Getenv(api.SocketSetting), api.SharedSocket); !f.shared && a.brokerAnswers(ctx, used) {
		return fmt.Errorf("no broker of your own runs; the shared one does, at %s (as root, godwit up --shared --stop ends "+
			"it)", used)
	}
	a.SayLine("no broker runs")
	return nil
}

// lookTimeout is how long a broker is waited for that is only looked for.
const lookTimeout = 10 * time.Second

// brokerAnswers reports whether a broker that can be trusted answers at a socket.
func (a *app) brokerAnswers(ctx context.Context, socket string) bool {
	if api.CheckTrusted(socket) != nil {
		return false
	}
	c := a.DialFor(socket, lookTimeout)
	defer c.Close()
	_, err := c.PingBroker(ctx)
	return err == nil
}

// agentCommand is the wrapper beside a job; drivers start it. Main does not even
// come here for it: it is started for every job.
func (a *app) agentCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "agent FOLDER",
		Short:  "Run one attempt of a job (started by the broker)",
		Hidden: true,
		Args: func(cmd *cobra.Command, args []string) error {
			return term.OneArgument(cmd, args, "the folder of an attempt")
		},
		RunE: func(_ *cobra.Command, args []string) error { return term.ExitCode(agent.RunAgent(args[0])) },
	}
}
