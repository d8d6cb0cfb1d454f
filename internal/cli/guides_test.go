package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/clock"
)

// commandLines finds the commands of ours in a text: after a prompt in a
// guide, by themselves in the help. A backslash continues a line.
func commandLines(text, prompt string) (list [][]string) {
	text = strings.ReplaceAll(text, "\\\n", " ")
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), prompt+"godwit ")
		if ok {
			args := strings.Fields(rest)
			if i := slices.Index(args, ">"); i >= 0 { // the rest is for the shell
				args = args[:i]
			}
			list = append(list, args)
		}
	}
	return list
}

func understood(t *testing.T, where string, args []string) {
	t.Helper()
	if args[0] == "completion" {
		return // followed by what a shell does with it
	}
	a := &app{version: "v0", stdin: strings.NewReader(""), stdout: &strings.Builder{}, stderr: &strings.Builder{}, now: clock.Real()}
	cmd, rest, err := a.root().Find(args)
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err == nil {
		err = cmd.ValidateArgs(cmd.Flags().Args())
	}
	if err != nil || !cmd.HasParent() {
		t.Errorf("%s: godwit %s: %v", where, strings.Join(args, " "), err)
	}
}

func TestEveryCommandInTheGuidesIsUnderstood(t *testing.T) {
	guides, err := filepath.Glob("../../docs/guides/*.md")
	if err != nil || len(guides) == 0 {
		t.Fatal("no guides", err)
	}
	for _, path := range append(guides, "../../README.md") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, args := range commandLines(string(text), "$ ") {
			understood(t, path, args)
		}
	}
}

func TestEveryExampleInTheHelpIsUnderstood(t *testing.T) {
	a := &app{version: "v0", stdin: strings.NewReader(""), stdout: &strings.Builder{}, stderr: &strings.Builder{}, now: clock.Real()}
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, args := range commandLines(cmd.Example, "") {
			understood(t, cmd.CommandPath(), args)
		}
		for _, child := range cmd.Commands() {
			visit(child)
		}
	}
	visit(a.root())
}
