package command

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/term"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"godwit-experiments": func() { os.Exit(RunCommand("v0-test", os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// TestScripts runs what users do, as they do it: testdata/*.txtar.
func TestScripts(t *testing.T) {
	repo, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("REPO", repo)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"exits": exitsWith},
	})
}

// exitsWith runs a command and wants one exit code: exits 2 godwit-experiments …
func exitsWith(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d; stderr: %s", got, want, ts.ReadFile("stderr"))
	}
}

func TestNoLineOfHelpIsWiderThanATerminal(t *testing.T) {
	for _, cmd := range newApp("v0", strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}).rootCommand().Commands() {
		var out bytes.Buffer
		cmd.SetOut(&out)
		cmd.InitDefaultHelpFlag()
		if err := cmd.Help(); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > term.HelpWidth {
				t.Errorf("%s --help: %d columns: %s", cmd.CommandPath(), n, line)
			}
		}
	}
}

// checkUnderstood wants every line of a text that calls the program to be a call that it understands.
func checkUnderstood(t *testing.T, where, text, prompt string) (calls int) {
	t.Helper()
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		rest, ours := strings.CutPrefix(strings.TrimSpace(line), prompt+"godwit-experiments ")
		if !ours || strings.HasPrefix(rest, "completion ") {
			continue
		}
		calls++
		root := newApp("v0", strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}).rootCommand()
		cmd, args, err := root.Find(strings.Fields(rest))
		if err == nil {
			err = errors.Join(cmd.ParseFlags(args), cmd.ValidateArgs(cmd.Flags().Args()))
		}
		if err != nil || !cmd.HasParent() {
			t.Errorf("%s: godwit-experiments %s: %v", where, rest, err)
		}
	}
	return calls
}

func TestEveryCallInTheHelpAndTheGuidesIsUnderstood(t *testing.T) {
	calls := 0
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		calls += checkUnderstood(t, cmd.CommandPath(), cmd.Example, "")
		for _, child := range cmd.Commands() {
			visit(child)
		}
	}
	visit(newApp("v0", strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}).rootCommand())
	files, err := filepath.Glob("../../../docs/guides/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, "../../../README.md") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		calls += checkUnderstood(t, file, string(text), "$ ")
	}
	if calls < 15 {
		t.Errorf("only %d calls were found", calls)
	}
}
