// Package lab is the commands of labs: godwit lab up, down, list, run, do and exec, with the
// broker of a lab. It must not know how hosts, links and batch systems are made.
package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/connect"
	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/lab"
	"github.com/godwit-hpc/godwit/internal/lab/managers"
)

const labLong = `A lab is a grid on this machine: hosts with names, addresses, links of a certain rate
and delay, a certain speed and their own users, in clusters that are plain or have a
real batch system (Slurm, Grid Engine). Nothing of it touches the machine's own
network, and lab down leaves nothing behind. It needs root; lab up --plain does not.`

// app is the program whose commands these are.
type app struct{ *connect.Connector }

// NewCommand is godwit lab with the commands below it.
func NewCommand(program *connect.Connector) *cobra.Command {
	a := &app{program}
	cmd := &cobra.Command{
		Use:   "lab",
		Short: "Grids on one machine, with real batch systems",
		Long:  labLong,
		Example: `  godwit lab up scenarios/lab/three-managers.yaml
  godwit lab list
  godwit lab do load north1 2
  godwit lab exec --user alice north0 sinfo
  godwit lab down
  godwit lab run scenarios/lab/faults.yaml`,
		Args: a.NoSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.labUpCommand(), a.labDownCommand(), a.labListCommand(), a.labRunCommand(), a.labDoCommand(),
		a.labExecCommand())
	managers.RegisterAll()
	return cmd
}

// needLab says what is missing for a lab, and what there is instead.
func needLab() error {
	err := lab.CheckAble()
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w. Without that: godwit lab up --plain makes a reduced lab of plain processes, godwit sim needs "+
		"nothing", err)
}

// findLab opens the lab of a name, or the only one there is.
func findLab(name string) (*lab.Lab, error) {
	if name == "" {
		names, err := lab.ListLabs()
		if err != nil {
			return nil, err
		}
		switch len(names) {
		case 0:
			return nil, &badinput.Error{Problem: "no lab is up (godwit lab up FILE starts one)"}
		case 1:
			name = names[0]
		default:
			return nil, &badinput.Error{Field: "--lab", Want: "the name of a lab, as there are several: " +
				strings.Join(names, ", ")}
		}
	}
	l, err := lab.Open(name)
	if errors.Is(err, lab.ErrNone) {
		names, _ := lab.ListLabs()
		return nil, &badinput.Error{Field: "--lab", Value: name, Problem: badinput.UnknownName("lab", name, names)}
	}
	return l, err
}

func whichLab(name *string) term.Group {
	g := term.NewGroup("Lab")
	g.Flags.StringVar(name, "lab", "", "the lab called `NAME`; may be left out if there is only one")
	g.Flags.BoolP("help", "h", false, "show this help")
	return g
}

func (a *app) labDoCommand() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "do VERB NAME [NUMBER...]",
		Short: "Load, slow down, cut off, freeze or crash a part of a lab",
		Long: "Does something to a lab that is up, at once. Scenarios do the same at given times.\n\n  " +
			strings.Join(lab.UsageLines(), "\n  ") + `

load runs busy loops on a host (0 ends them), speed sets how many cores' worth
of CPU time it has, rate the rate of its link in Mbit/s, wan rate and delay of a
site (or all) to the others; 0 Mbit/s is no limit. cut and join are for hosts and sites.`,
		Example: `  godwit lab do load north1 2
  godwit lab do wan all 20 30
  godwit lab do cut south
  godwit lab do crash north2`,
		DisableFlagsInUseLine: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return &badinput.Error{Field: cmd.CommandPath(), Want: "one of " + strings.Join(lab.VerbNames(), ", ") +
					" as argument"}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := needLab(); err != nil {
				return err
			}
			l, err := findLab(name)
			if err != nil {
				return err
			}
			if err := l.CheckWords(args); err != nil {
				return &badinput.Error{Field: cmd.CommandPath(), Problem: err.Error()}
			}
			return l.DoVerb(cmd.Context(), args)
		},
	}
	term.GroupFlags(cmd, whichLab(&name))
	return cmd
}

func (a *app) labExecCommand() *cobra.Command {
	var name, user string
	cmd := &cobra.Command{
		Use:   "exec [--user NAME] HOST [--] [COMMAND...]",
		Short: "Run a command on a host of a lab",
		Long: `Runs a command on a host of a lab, as root or as a user of the lab; without a command,
a shell. It ends with the exit code of the command.`,
		Example: `  godwit lab exec north1 ip addr
  godwit lab exec --user alice north0 squeue`,
		DisableFlagsInUseLine: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return &badinput.Error{Field: cmd.CommandPath(), Want: "the name of a host as argument"}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := needLab(); err != nil {
				return err
			}
			l, err := findLab(name)
			if err != nil {
				return err
			}
			return a.labExec(cmd.Context(), l, user, args)
		},
	}
	who := whichLab(&name)
	who.Flags.StringVar(&user, "user", "", "run it as `NAME`, in their home folder")
	term.GroupFlags(cmd, who)
	cmd.Flags().SetInterspersed(false) // what follows the host is the command's
	return cmd
}

func (a *app) labExec(ctx context.Context, l *lab.Lab, user string, args []string) error {
	h, err := l.FindHost(args[0])
	if err != nil {
		return &badinput.Error{Problem: err.Error()}
	}
	argv := args[1:]
	if len(argv) > 0 && argv[0] == "--" { // as others want it before a command
		argv = argv[1:]
	}
	if len(argv) == 0 {
		argv = []string{"/bin/sh", "-i"}
	}
	cmd := h.Command(ctx, argv...)
	if user != "" {
		cmd = h.CommandAs(ctx, user, argv...)
		if terminal := os.Getenv("TERM"); terminal != "" {
			cmd.Env = append(cmd.Env, "TERM="+terminal)
		}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.Stdin, a.Stdout, a.Stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && ctx.Err() == nil {
		return term.ExitCode(exit.ExitCode())
	}
	return err
}
