package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
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
	a := newApp("v0", strings.NewReader(""), &strings.Builder{}, &strings.Builder{})
	cmd, rest, err := a.rootCommand().Find(args)
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
	a := newApp("v0", strings.NewReader(""), &strings.Builder{}, &strings.Builder{})
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, args := range commandLines(cmd.Example, "") {
			understood(t, cmd.CommandPath(), args)
		}
		for _, child := range cmd.Commands() {
			visit(child)
		}
	}
	visit(a.rootCommand())
}

// shownCommand is a command of a guide and what the guide says that it prints.
type shownCommand struct {
	args    []string
	dropped bool // its output goes elsewhere
	want    []string
}

// shownCommands finds the commands of ours in the blocks of a guide.
func shownCommands(text string) (list []shownCommand) {
	inBlock, current := false, -1
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "```"):
			inBlock, current = !inBlock, -1
		case !inBlock:
		case strings.HasPrefix(line, "$ godwit "):
			args := strings.Fields(strings.TrimPrefix(line, "$ godwit "))
			to := slices.Index(args, ">")
			if to >= 0 {
				args = args[:to]
			}
			list, current = append(list, shownCommand{args: args, dropped: to >= 0}), len(list)
		case strings.HasPrefix(line, "$ "):
			current = -1
		case current >= 0:
			list[current].want = append(list[current].want, line)
		}
	}
	return list
}

// computed are the commands whose results are the same on every machine.
var computed = []string{"sim ", "select ", "weather --from "}

// isComputed says whether a command can be run here and always prints the same: its input
// files are shipped, or an earlier command of the guide wrote them.
func (c *shownCommand) isComputed() bool {
	line := strings.Join(c.args, " ")
	if !slices.ContainsFunc(computed, func(s string) bool { return strings.HasPrefix(line, s) }) {
		return false
	}
	if slices.Contains(c.args, "live") { // what a broker has measured
		return false
	}
	for i, arg := range c.args[:len(c.args)-1] {
		if slices.Contains([]string{"--platform", "--trace", "--scenario", "--graph", "--pattern", "--replay", "--from"},
			arg) &&
			strings.Contains(c.args[i+1], ".") {
			if _, err := os.Stat(c.args[i+1]); err != nil {
				return false
			}
		}
	}
	return true
}

// measuredLine is a line with a measured time, up to the first of its numbers that differ.
var measuredLine = regexp.MustCompile(`^  (method +\w+, |simulated +[\d,]+ events|replayed +[\d,]+ events).*`)

// sameLines compares what is printed with what is shown; a line of dots stands for any lines.
func sameLines(got, want []string) error {
	skip := false
	for _, w := range want {
		if t := strings.TrimSpace(w); t == "..." || t == "…" {
			skip = true
			continue
		}
		w = measuredLine.ReplaceAllString(w, "$1")
		for {
			if len(got) == 0 {
				return fmt.Errorf("it does not print %q", w)
			}
			g := measuredLine.ReplaceAllString(got[0], "$1")
			got = got[1:]
			if g == w {
				break
			}
			if !skip {
				return fmt.Errorf("it prints\n%s\nand not\n%s", g, w)
			}
		}
		skip = false
	}
	if len(got) > 0 && !skip {
		return fmt.Errorf("it also prints %q", got[0])
	}
	return nil
}

func TestComputedOutputInTheGuidesIsWhatTheProgramPrints(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, guide := range []string{"README.md", "docs/guides/simulate.md", "docs/guides/select.md",
		"docs/guides/weather.md"} {
		text, err := os.ReadFile(filepath.Join(root, guide))
		if err != nil {
			t.Fatal(err)
		}
		t.Chdir(t.TempDir())
		for _, dir := range []string{"examples", "scenarios"} {
			if err := os.Symlink(filepath.Join(root, dir), dir); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range shownCommands(string(text)) {
			if !c.isComputed() || len(c.want) == 0 && !slices.Contains(c.args, "--log") {
				continue
			}
			var out strings.Builder
			RunCommand("v0", c.args, strings.NewReader(""), &out, &out)
			if c.dropped || len(c.want) == 0 {
				continue
			}
			compared++
			if err := sameLines(strings.Split(strings.TrimRight(out.String(), "\n"), "\n"), c.want); err != nil {
				t.Errorf("%s: godwit %s: %v", guide, strings.Join(c.args, " "), err)
			}
		}
	}
	if compared < 7 {
		t.Errorf("only %d commands of the guides were compared", compared)
	}
}
