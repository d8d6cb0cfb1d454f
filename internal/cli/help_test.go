package cli

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/term"
)

// everyCommand calls see with all commands that users see.
func everyCommand(t *testing.T, see func(cmd *cobra.Command)) {
	t.Helper()
	a := newApp("v0", strings.NewReader(""), &strings.Builder{}, &strings.Builder{})
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		see(cmd)
		for _, child := range cmd.Commands() {
			if child.IsAvailableCommand() {
				visit(child)
			}
		}
	}
	visit(a.rootCommand())
}

func TestNoLineOfHelpIsWiderThanATerminal(t *testing.T) {
	everyCommand(t, func(cmd *cobra.Command) {
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
	})
}

func TestEveryCommandHasASectionInTheHelp(t *testing.T) {
	everyCommand(t, func(cmd *cobra.Command) {
		if cmd.HasParent() {
			return
		}
		for _, s := range term.CommandSections(cmd, rootSections()) {
			if s.Title == "Other commands" {
				for _, c := range s.Commands {
					t.Errorf("%s is in no section of the help: rootSections has the list", c.Name())
				}
			}
		}
	})
}

func TestManPagesHaveEveryCommandAndFlag(t *testing.T) {
	dir := t.TempDir()
	if code := RunCommand("v0", []string{"man", dir}, strings.NewReader(""), &strings.Builder{}, os.Stderr); code != 0 {
		t.Fatal("exit code", code)
	}
	pages := 0
	everyCommand(t, func(cmd *cobra.Command) {
		pages++
		text, err := os.ReadFile(filepath.Join(dir, manName(cmd)+".1"))
		if err != nil {
			t.Fatal(err)
		}
		page := string(text)
		for _, part := range []string{".TH \"", ".SH NAME\n", ".SH SYNOPSIS\n", ".SH OPTIONS\n", `\-\-help`} {
			if !strings.Contains(page, part) {
				t.Errorf("%s.1 has no %q", manName(cmd), part)
			}
		}
		for line := range strings.Lines(page) { // a line of text that begins with a dot would be lost
			if strings.HasPrefix(line, ".") && !strings.HasPrefix(line, ".TP") && !strings.HasPrefix(line, ".SH ") &&
				!strings.HasPrefix(line, ".TH ") &&
				!strings.HasPrefix(line, ".PP") && !strings.HasPrefix(line, ".nf") && !strings.HasPrefix(line, ".fi") &&
				!strings.HasPrefix(line, ".BR ") {
				t.Errorf("%s.1: %s", manName(cmd), line)
			}
		}
	})
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != pages {
		t.Errorf("%d pages for %d commands: %v", len(files), pages, err)
	}
}

func TestManPagesShowBackslashesAndLeadingDots(t *testing.T) {
	if got := troffLines(".ci/run\n'step (\\d+)'\n--flag\n"); got != "\\&.ci/run\n\\&'step (\\ed+)'\n\\-\\-flag\n" {
		t.Errorf("%q", got)
	}
}

func TestALogOnATerminalReadsLikeText(t *testing.T) {
	var out bytes.Buffer
	h := &plainLog{to: &out, level: slog.LevelInfo, lock: &sync.Mutex{}}
	log := slog.New(h).With("cluster", "south")
	log.Debug("not shown")
	log.Info("up again")
	log.Warn("no answer\nat all", "error", "timed out", slog.Group("try", "n", 3))
	slog.New(h).WithGroup("g").Error("gone", "job", 7)
	var lines []string
	for line := range strings.Lines(out.String()) {
		if _, err := time.Parse("15:04:05", line[:8]); err != nil {
			t.Error(err)
		}
		lines = append(lines, strings.TrimSpace(line[8:]))
	}
	want := []string{"up again (cluster south)", "warning: no answer at all (cluster south, error: timed out, try.n 3)",
		"error: gone (g.job 7)"}
	if strings.Join(lines, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s", out.String())
	}
}

func TestWhyThereAreNoCgroupsIsSaidOnce(t *testing.T) {
	for why, want := range map[string]string{
		"CPU time: mkdir /sys/fs/cgroup/cpu/x: permission denied; memory: mkdir /sys/fs/cgroup/memory/x: permission " +
			"denied": "permission denied",
		"memory: the controller is not there, or not handed down to us": "the controller is not there, or not handed down " +
			"to us",
		"they are not to be used": "they are not to be used",
	} {
		if got := firstReason(why); got != want {
			t.Errorf("%q: %q", why, got)
		}
	}
}
