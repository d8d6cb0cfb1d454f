package net

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/mpi/capture"
	"github.com/godwit-hpc/godwit/internal/mpi/capture/sockets"
	"github.com/godwit-hpc/godwit/internal/mpi/mpirun"
	"github.com/godwit-hpc/godwit/internal/report/outfile"
)

const captureLong = `Runs a program as it is and records who sends how much to whom, which
collective operations there are, and how its calls repeat, with the computing
between them. Writes PROGRAM.pattern, which select and skeleton read, and draws it.

The program is neither changed nor compiled again: a library that is loaded before
MPI's own notes each call (about 0.2 µs). It is made for Open MPI and works for C,
C++ and Fortran. Ranks on other hosts must see the current folder.

Of other programs it is seen how much their processes on this machine say to each
other over TCP, every 50 ms: enough for select, but there is no skeleton.

Exit codes: that of the command; 1 if that is 0 and no pattern was written, as of a
command that talks neither by MPI nor over TCP; 2 wrong usage.`

const captureExample = `  # Captured here, four ranks
  godwit capture -- mpirun -n 4 examples/apps/build/cg

  # Hosts for it, and a short program in its place
  godwit select --graph examples/networks/ten.json --pattern cg.pattern
  godwit skeleton run --time 2s cg.pattern

  # Without MPI: what its processes say to each other over TCP
  godwit capture -- python3 talk.py

  # Somewhere else, for a program
  godwit capture --file /tmp/lu.pattern --draw /tmp/lu.svg -o json -- \
      mpirun -n 8 ./lu 64`

// captureFlags is what the user asked for.
type captureFlags struct {
	file, draw, output string
	drawn              bool // --draw was given
}

func (a *app) captureCommand() *cobra.Command {
	f := &captureFlags{}
	cmd := &cobra.Command{
		Use:     "capture [flags] -- mpirun -n N PROGRAM ARGUMENTS…",
		Short:   "Record who talks to whom in a parallel program",
		Long:    captureLong,
		Example: captureExample,

		DisableFlagsInUseLine: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return &badinput.Error{Field: cmd.CommandPath(),
					Want: "a command after --, such as: godwit capture -- mpirun -n 4 ./program"}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			f.drawn = cmd.Flags().Changed("draw")
			return a.capturePattern(cmd.Context(), f, args)
		},
	}
	g := term.NewGroup("Output")
	g.Flags.StringVar(&f.file, "file", "", "write the pattern to `FILE` (PROGRAM.pattern)")
	g.Flags.StringVar(&f.draw, "draw", "", "draw it into `FILE` (beside the pattern, .svg); empty: do not")
	term.OutputFlag(g.Flags, &f.output)
	g.Flags.BoolP("help", "h", false, "show this help")
	term.GroupFlags(cmd, g)
	cmd.Flags().SetInterspersed(false) // what follows is the command with its own flags
	return cmd
}

// capturePattern runs the program and writes its pattern.
func (a *app) capturePattern(ctx context.Context, f *captureFlags, argv []string) error {
	library, missing := mpirun.CaptureLibrary()    // what does not start ranks is watched without it
	dir, err := filepath.Abs(filepath.Dir(f.file)) // of the pattern: the program's hosts write there too
	if err != nil {
		return err
	}
	c := &capture.Command{Argv: argv, Dir: dir, Library: library, Env: mpirun.RunEnvironment(os.Environ()), Now: a.Now}
	if missing != nil && c.StartsRanks() {
		return missing
	}
	if lib := mpirun.YieldLibrary(); lib != "" {
		c.Also = []string{lib}
	}
	out := a.Stdout
	if f.output == "json" {
		out = a.Stderr // stdout is for the result
	}
	code, p, err := c.Run(ctx, a.Stdin, out, a.Stderr)
	switch {
	case err != nil && code == 0: // who goes on would read the pattern of another run
		return err
	case err != nil: // the program's own failure is told before ours
		a.SayLine(err.Error())
		return codeOrNil(code)
	}
	if err := a.writePattern(f, p); err != nil {
		return err
	}
	if code != 0 {
		a.SayLine(fmt.Sprintf("the program ended with exit code %d: its pattern may not be whole", code))
	}
	return codeOrNil(code)
}

func codeOrNil(code int) error {
	if code == 0 {
		return nil
	}
	return term.ExitCode(code)
}

func (a *app) writePattern(f *captureFlags, p *capture.Pattern) error {
	if f.file == "" {
		f.file = filepath.Base(p.Program) + ".pattern"
	}
	if !f.drawn {
		f.draw = strings.TrimSuffix(f.file, ".pattern") + ".svg"
	}
	text, err := p.EncodeText()
	if err != nil {
		return err
	}
	err = outfile.WriteAll(f.file, text)
	if f.draw != "" {
		err = errors.Join(err, outfile.WriteAll(f.draw, p.DrawSVG()))
	}
	if err != nil {
		return err
	}
	if f.output == "json" {
		return term.WriteJSON(a.Stdout, captureReportOf(f, p))
	}
	var b strings.Builder
	captureText(&b, p, a.TableWidth())
	if _, err := io.WriteString(a.Stdout, b.String()); err != nil {
		return err
	}
	written := f.file
	if f.draw != "" {
		written += " and " + f.draw
	}
	a.SayLine("written: " + written)
	return nil
}

// captureReport is the answer for programs; the pattern file has the rest.
type captureReport struct {
	File        string               `json:"file"`
	Drawing     string               `json:"drawing,omitempty"`
	Program     string               `json:"program"`
	Ranks       int                  `json:"ranks"`
	Seconds     float64              `json:"seconds"`
	Share       float64              `json:"share"`
	Bytes       [][]int64            `json:"bytes"`
	Messages    [][]int64            `json:"messages"`
	Collectives []capture.Collective `json:"collectives"`
	Edges       []capture.Edge       `json:"edges"`
	Names       []string             `json:"names,omitempty"`
	Others      []sockets.RemotePeer `json:"others,omitempty"`
}

func captureReportOf(f *captureFlags, p *capture.Pattern) captureReport {
	return captureReport{f.file, f.draw, p.Program, p.Nodes, p.Seconds, p.Share, p.Bytes, p.Messages, p.Operations,
		p.Edges, p.Names, p.Others}
}
