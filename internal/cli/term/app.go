// Package term is what the programs of this module share at the terminal: how commands
// are run, which exit codes there are, how flags are checked, how help, tables, numbers
// and errors are printed. It must not know what a command does.
package term

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
)

// The exit codes of every command.
const (
	ExitDone        = 0
	ExitFailed      = 1 // the work failed
	ExitBadInput    = 2 // wrong usage or bad input
	ExitInterrupted = 130
)

// ExitCode ends the process with the code of a job. What there is to say has been
// said.
type ExitCode int

// Error is for logs alone: nobody is told.
func (c ExitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// App is a program with commands: its name, and where it reads and writes.
type App struct {
	Name, Version  string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Now            clock.Clock
}

// RunRoot runs the command that the arguments name and returns the exit code of the
// process.
func (a *App) RunRoot(root *cobra.Command, args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	root.SetArgs(args)
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	if err := a.unknownCommand(root, args); err != nil {
		return a.ReportError(err)
	}
	return a.ReportError(root.ExecuteContext(ctx))
}

// SetUpRoot gives the command above all others what every program of ours has: help,
// version, and errors of one line. The sections are those of its help.
func (a *App) SetUpRoot(root *cobra.Command, helpExample string, sections []Section) {
	root.Version, root.SilenceErrors, root.SilenceUsage = a.Version, true, true
	root.Args = a.NoSuchCommand
	root.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(a.helpCommand(helpExample))
	root.SetVersionTemplate(a.Name + " {{.Version}}\n")
	root.SetHelpFunc(printHelp)
	root.SetUsageFunc(func(cmd *cobra.Command) error { return printUsage(cmd, nil, sections) })
	root.AddCommand(a.completionCommand(), a.versionCommand())
}

// ReportError tells the user what went wrong, in one line, and which exit code says
// so to programs.
func (a *App) ReportError(err error) int {
	var code ExitCode
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &code):
		return int(code)
	case errors.Is(err, context.Canceled):
		a.SayLine("interrupted")
		return ExitInterrupted
	}
	a.SayLine(err.Error())
	if badinput.Is(err) {
		return ExitBadInput
	}
	return ExitFailed
}

// SayLine writes one line to stderr.
func (a *App) SayLine(text string) {
	_, _ = fmt.Fprintf(a.Stderr, "%s: %s\n", a.Name, OneLine(text)) // there is nobody else to tell
}

// OneLine is a text without the ends of its lines.
func OneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), " ")
}

// NoSuchCommand refuses arguments of a command that only has subcommands.
func (a *App) NoSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var known []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			known = append(known, c.Name())
		}
	}
	want := SuggestChoices(args[0], known)
	if !cmd.HasParent() && badinput.NearestName(args[0], known) == "" {
		want = a.Name + " help lists them all"
	}
	field := "unknown command"
	if cmd.HasParent() {
		field = cmd.CommandPath() + ": " + field
	}
	return &badinput.Error{Field: field, Value: args[0], Problem: want}
}

// NoArguments refuses arguments of a command that takes flags only.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return &badinput.Error{Problem: fmt.Sprintf("%s takes no arguments (got %q)", cmd.CommandPath(), args[0])}
}

// OneArgument wants exactly one.
func OneArgument(cmd *cobra.Command, args []string, what string) error {
	switch len(args) {
	case 0:
		return &badinput.Error{Problem: cmd.CommandPath() + " needs " + what}
	case 1:
		return nil
	}
	return &badinput.Error{Problem: fmt.Sprintf("%s takes one argument, %s (got also %q)", cmd.CommandPath(), what,
		args[1])}
}

func (a *App) versionCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  NoArguments,
		RunE: func(*cobra.Command, []string) error {
			if output == "json" {
				return WriteJSON(a.Stdout, map[string]string{"version": a.Version})
			}
			_, err := fmt.Fprintln(a.Stdout, a.Name, a.Version)
			return err
		},
	}
	OutputFlag(cmd.Flags(), &output)
	return cmd
}

// WriteJSON prints a value for programs, indented so that people can read it
// too.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// OrEmpty makes JSON say [] rather than null.
func OrEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
