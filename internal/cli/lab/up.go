package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/godwit-hpc/godwit/internal/cli/connect"
	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/lab"
	"github.com/godwit-hpc/godwit/internal/lab/managers"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

const labUpLong = `Makes the lab of a plan, starts the batch systems of its clusters, and starts a broker
on the lab's host "head" that reaches them by SSH as a user of the lab. The broker is
yours, in your state folder: godwit clusters, run, submit and all others just work.

With --shared the broker is that of all users of the lab, each of whom uses the
clusters as themselves: godwit lab exec --user NAME head godwit ...

The lab stays until godwit lab down. What a lab of the same name left behind is
removed first.`

const labUpExample = `  godwit lab up scenarios/lab/three-managers.yaml
  godwit clusters

  # Hosts and batch systems alone
  godwit lab up --no-broker scenarios/lab/three-managers.yaml

  # Without root: the same clusters as plain processes
  godwit lab up --plain scenarios/lab/three-managers.yaml`

type labUpFlags struct {
	user            string
	noBroker, plain bool
	shared          bool
}

func (a *app) labUpCommand() *cobra.Command {
	f := &labUpFlags{}
	cmd := &cobra.Command{
		Use:     "up FILE",
		Short:   "Make a lab, with its batch systems and a broker",
		Long:    labUpLong,
		Example: labUpExample,
		Args: func(cmd *cobra.Command, args []string) error {
			return term.OneArgument(cmd, args, "the file with the plan of a lab")
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.labUp(cmd.Context(), f, args[0]) },
	}
	g := term.NewGroup("Lab")
	g.Flags.BoolVar(&f.noBroker, "no-broker", false, "do not start a broker")
	g.Flags.StringVar(&f.user, "user", "",
		"as whom the broker uses the clusters: `NAME`, rather than the first user of the plan")
	g.Flags.BoolVar(&f.shared, "shared", false, "start a broker for all users of the lab, rather than one of your own")
	g.Flags.BoolVar(&f.plain, "plain", false,
		"make its clusters of plain processes: no hosts, no network, no batch systems, no root")
	g.Flags.BoolP("help", "h", false, "show this help")
	term.GroupFlags(cmd, g)
	return cmd
}

func (a *app) labUp(ctx context.Context, f *labUpFlags, file string) error {
	p, err := lab.LoadPlan(file)
	if err != nil {
		return err
	}
	if f.plain {
		return a.plainUp(ctx, p)
	}
	user, err := brokerUser(p, f)
	if err != nil {
		return err
	}
	if err := needLab(); err != nil {
		return err
	}
	state, err := api.StateDir()
	if err != nil {
		return err
	}
	if err := notUp(p.Name); err != nil {
		return err
	}
	if !f.noBroker {
		if err := noOtherBroker(ctx, state); err != nil {
			return err
		}
	}
	release := holdSignals()
	defer release()
	l, err := lab.CreateLab(ctx, p, lab.Options{Say: a.SayLine})
	if err != nil {
		return err
	}
	if f.noBroker {
		a.SayLine(fmt.Sprintf("lab %s is up; godwit lab down %s ends it", l.Name, l.Name))
		return nil
	}
	socket, err := a.labBroker(ctx, l, user, state, brokerWishes{})
	if err != nil {
		return errors.Join(err, lab.RemoveLab(context.WithoutCancel(ctx), l.Name))
	}
	if f.shared {
		a.SayLine(fmt.Sprintf("lab %s is up, its broker is that of all its users: godwit lab exec --user %s head env %s=%s "+
			"godwit ps; godwit lab down %s ends it",
			l.Name, l.Users[0].Name, api.SocketSetting, socket, l.Name))
		return nil
	}
	a.SayLine(fmt.Sprintf("lab %s is up, its broker is yours: godwit clusters; godwit lab down %s ends it", l.Name,
		l.Name))
	return nil
}

// brokerUser is as whom a broker uses the clusters.
func brokerUser(p *lab.Plan, f *labUpFlags) (string, error) {
	if f.noBroker {
		return "", nil
	}
	if f.shared && f.user != "" {
		return "", &badinput.Error{Field: "--user", Value: f.user,
			Problem: "not together with --shared: everybody uses the clusters as themselves"}
	}
	if len(p.Users) == 0 {
		return "", &badinput.Error{File: p.File, Field: "users",
			Want: "at least one: the broker uses the clusters as a user of the lab (or --no-broker)"}
	}
	if f.shared {
		return "", nil
	}
	if f.user == "" {
		return p.Users[0], nil
	}
	for _, u := range p.Users {
		if u == f.user {
			return u, nil
		}
	}
	return "", &badinput.Error{Field: "--user", Value: f.user, Problem: badinput.UnknownName("user", f.user, p.Users)}
}

// notUp refuses to replace a lab that somebody may be using.
func notUp(name string) error {
	if l, err := lab.Open(name); err == nil && l.Switch.IsAlive() {
		return &badinput.Error{Value: name, Problem: "already up; godwit lab down " + name + " ends it"}
	}
	return nil
}

// noOtherBroker makes sure that the lab's broker will be the one of this state
// folder. One that was started for a command is taken over by the new one.
func noOtherBroker(ctx context.Context, state string) error {
	c := api.DialBroker(api.SocketPath(state))
	defer c.Close()
	ping, err := c.PingBroker(ctx)
	switch {
	case connect.NobodyThere(err) || err == nil && ping.Embedded:
		return nil
	case err != nil:
		return err
	}
	return &badinput.Error{Field: "GODWIT_STATE", Value: state,
		Problem: "a broker already runs in this state folder (godwit up --stop ends it, --no-broker does without)"}
}

// brokerWishes are what a scenario wants of the broker's settings; the zero value: what is usual.
type brokerWishes struct {
	budget string            // of probes
	policy map[string]string // see config.Policy
}

// labSettings is the broker's settings file for a lab.
func labSettings(l *lab.Lab, user string, wanted brokerWishes) ([]byte, error) {
	var file struct {
		Clusters []lab.Settings    `yaml:"clusters"`
		Policy   map[string]string `yaml:"policy,omitempty"`
		Weather  struct {
			Budget string `yaml:"budget,omitempty"`
		} `yaml:"weather,omitempty"`
	}
	file.Policy, file.Weather.Budget = wanted.policy, wanted.budget
	for _, c := range l.Clusters {
		file.Clusters = append(file.Clusters, l.BrokerSettings(c, user)...)
	}
	if len(file.Clusters) == 0 {
		return nil, errors.New("the lab has no cluster that a broker could use")
	}
	return yaml.Marshal(file)
}

// labBroker starts the broker of a state folder on the lab's head, that of one user
// or of all, and returns when it answers on its socket.
func (a *app) labBroker(ctx context.Context, l *lab.Lab, user, state string,
	wanted brokerWishes) (string, error) {
	settings, err := labSettings(l, user, wanted)
	if err != nil {
		return "", err
	}
	file := filepath.Join(l.Dir, "broker.yaml")
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	socket, env, args := api.SocketPath(state), []string{"GODWIT_STATE=" + state}, []string{exe, "up", "--config", file}
	if user == "" {
		if err := managers.AllowRootLogins(l); err != nil {
			return "", err
		}
		socket = cmp.Or(os.Getenv(api.SocketSetting), filepath.Join(l.Dir, "run", "broker.sock"))
		env, args = append(env, api.SocketSetting+"="+socket), append(args, "--shared")
	}
	// Who ends the lab ends its broker first, if it is still this one.
	if err := errors.Join(os.WriteFile(file, settings, 0o644),
		os.WriteFile(filepath.Join(l.Dir, labBrokerFile), []byte(socket), 0o644)); err != nil {
		return "", err
	}
	a.SayLine("starting the broker on " + l.Head.Name + "; it brings our binaries to the clusters")
	if err := l.Head.StartDaemon(ctx, "broker", env, args...); err != nil {
		return "", err
	}
	if err := a.awaitBroker(ctx, socket, l.Head.LogOf("broker"),
		func() bool { return l.Head.CountProcesses() > 0 }); err != nil {
		return socket, err
	}
	return socket, a.awaitClusters(ctx, socket)
}

// labClustersTimeout is how long the clusters of a lab may take to answer before it
// is said which have not.
const labClustersTimeout = 2 * time.Minute

// awaitClusters returns when all clusters answer; it says which do not yet when that
// takes too long.
func (a *app) awaitClusters(ctx context.Context, socket string) error {
	c := api.DialBroker(socket)
	defer c.Close()
	for begin := a.Now(); ; clock.SleepContext(ctx, 200*time.Millisecond) {
		list, err := c.ListClusters(ctx)
		if err != nil {
			return err
		}
		silent := silentClusters(list)
		if len(silent) == 0 {
			return nil
		}
		if a.Now.Since(begin) > labClustersTimeout {
			a.SayLine("these clusters do not answer yet: " + strings.Join(silent, "; "))
			return nil
		}
	}
}

// silentClusters are the clusters that do not answer, or have not said yet what they
// consist of, and why.
func silentClusters(list []api.Cluster) []string {
	var silent []string
	for i := range list {
		if c := &list[i]; c.State != "up" || c.Procs == 0 || c.Asking {
			silent = append(silent, term.JoinReason(c.Name, c.Why))
		}
	}
	return silent
}

// labBrokerTimeout is how long a broker may take to answer that first brings its
// binaries to slow hosts over slow links.
const labBrokerTimeout = 5 * time.Minute

// labBrokerFile in a lab's folder names the socket of its broker.
const labBrokerFile = "broker.socket"

// awaitBroker returns when the broker answers on a socket.
func (a *app) awaitBroker(ctx context.Context, socket, log string, runs func() bool) error {
	c := api.DialBroker(socket)
	defer c.Close()
	begin := a.Now()
	for {
		_, err := c.PingBroker(ctx)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !runs():
			a.ShowLog(log, 0)
			return fmt.Errorf("the broker ended at once; its log is %s", log)
		case a.Now.Since(begin) > labBrokerTimeout:
			return fmt.Errorf("the broker has not answered within %.0f s; its log is %s", labBrokerTimeout.Seconds(), log)
		}
		clock.SleepContext(ctx, 20*time.Millisecond)
	}
}

func (a *app) labDownCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "down [NAME]",
		Short: "Remove a lab and all that runs on it",
		Long: `Ends the lab's broker and everything that runs on its hosts, and removes all of it,
home folders too. It also removes what is left of a lab that was killed.`,
		Example: `  godwit lab down
  godwit lab down three-managers`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return term.OneArgument(cmd, args, "the name of a lab")
		},
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			names := args
			if len(args) == 0 {
				var err error
				if names, err = labsToEnd(all); err != nil {
					return err
				}
			}
			for _, name := range names {
				if err := a.labDown(cmd.Context(), name); err != nil {
					return err
				}
			}
			return nil
		},
	}
	g := term.NewGroup("Lab")
	g.Flags.BoolVar(&all, "all", false, "remove all labs there are")
	g.Flags.BoolP("help", "h", false, "show this help")
	term.GroupFlags(cmd, g)
	return cmd
}

// labsToEnd is the only lab there is, or all of them, also those of which only
// something is left.
func labsToEnd(all bool) ([]string, error) {
	find := lab.ListLabs
	if all {
		find = lab.ListRemains
	}
	names, err := find()
	if err != nil {
		return nil, err
	}
	plain, err := plainLabs()
	if err != nil {
		return nil, err
	}
	names = append(names, plain...)
	switch {
	case len(names) > 1 && !all:
		return nil, &badinput.Error{Want: "the name of a lab, as there are several: " + strings.Join(names, ", ")}
	case len(names) == 0 && !all:
		return nil, &badinput.Error{Problem: "no lab is up"}
	}
	return names, nil
}

func (a *app) labDown(ctx context.Context, name string) error {
	release := holdSignals()
	defer release()
	if ended, err := a.plainDown(ctx, name); ended || err != nil {
		return err
	}
	if l, err := lab.Open(name); err == nil {
		a.endLabBroker(ctx, l)
	}
	if err := lab.RemoveLab(ctx, name); err != nil {
		return err
	}
	a.SayLine("lab " + name + " is gone")
	return nil
}

// endLabBroker lets the broker of a lab write down what it knows. One that hangs
// is ended with the lab.
func (a *app) endLabBroker(ctx context.Context, l *lab.Lab) {
	socket, err := os.ReadFile(filepath.Join(l.Dir, labBrokerFile))
	if err != nil || !l.Head.IsUp() {
		return
	}
	c := api.DialBroker(string(socket))
	defer c.Close()
	short, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	if ping, err := c.PingBroker(short); err == nil && !ping.Embedded {
		_ = a.ShutDown(short, c)
		for l.Head.CountProcesses() > 0 && short.Err() == nil { // it does not listen any more, but may be writing
			clock.SleepContext(short, 10*time.Millisecond)
		}
	}
}
