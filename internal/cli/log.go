package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/brokerlog"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/report/outfile"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func (a *app) logCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "log",
		Short: "Export the log of the broker",
		Long: `The broker logs its jobs, what it was told of clusters and programs, and what it
decided on that. godwit sim replays the log, or tries other policies on its jobs.`,
		Args: a.NoSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.logExportCommand())
	return cmd
}

func (a *app) logExportCommand() *cobra.Command {
	var file, since string
	cmd := &cobra.Command{
		Use:   "export [-o FILE] [--since TIME]",
		Short: "Write the log, for godwit sim",
		Long: `Writes the log of the broker as JSON lines, while the broker runs: all jobs that it
remembers, and its decisions with all that each rested on. Decisions are kept as far
back as a restart of the broker would need them, some thousands of the newest.

godwit sim --replay FILE decides anew with the same engine and compares every decision;
godwit sim --trace FILE takes the jobs as a trace, to try another policy on them.

With a broker of several users everybody exports their own jobs, which --trace takes.
Decisions rest on the jobs of all users: only root exports them.`,
		Example: `  godwit log export > live.jsonl && godwit sim --replay live.jsonl
  godwit log export --since 720h -o month.jsonl
  godwit sim --trace month.jsonl --compare egs,marginal`,
		Args:                  term.NoArguments,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			from, err := a.parseSince(since)
			if err != nil {
				return err
			}
			return a.exportLog(cmd.Context(), file, from)
		},
	}
	g := term.NewGroup("What to write, and where")
	g.Flags.StringVarP(&file, "output", "o", "", "write to `FILE` instead of standard output")
	g.Flags.StringVar(&since, "since", "",
		"only jobs submitted since `TIME`: 2026-11-01, 2026-11-01T12:00, or how long ago (720h);\ndecisions are written all the same")
	g.Flags.BoolP("help", "h", false, "show this help")
	term.GroupFlags(cmd, g)
	return cmd
}

// parseSince reads a moment, or how long ago it was.
func (a *app) parseSince(text string) (core.Time, error) {
	if text == "" {
		return 0, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return core.Time(max(0, a.Now().Add(-d).UnixNano())), nil
	}
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04", "2006-01-02T15:04:05", time.RFC3339} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return max(0, core.AtSecond(float64(t.Unix()))), nil // which no year is too late for
		}
	}
	return 0, &badinput.Error{Field: "--since", Value: text,
		Want: "a date (2026-11-01), a moment (2026-11-01T12:00), or how long ago (36h)"}
}

// exportLog writes the log to a file, which is there only if all of it is, or to standard output.
func (a *app) exportLog(ctx context.Context, file string, since core.Time) error {
	return a.AskBroker(ctx, func(c *api.Client) error {
		if file == "" {
			return a.copyLog(ctx, c, since, a.Stdout)
		}
		out, err := outfile.Create(file)
		if err != nil {
			return err
		}
		defer out.Discard()
		if err := a.copyLog(ctx, c, since, out); err != nil {
			return err
		}
		return out.Commit()
	})
}

var errCutLog = errors.New("the broker went away before the end of the log; export it again")

func (a *app) copyLog(ctx context.Context, c *api.Client, since core.Time, to io.Writer) error {
	ends := &logEnds{to: to}
	if err := c.ExportLog(ctx, since, ends); err != nil {
		return err
	}
	if !ends.isWhole() {
		return errCutLog
	}
	var h brokerlog.Header
	if json.Unmarshal(ends.first, &h) == nil && h.User != "" {
		a.SayLine("note: these are the jobs of " + h.User + " alone, for godwit sim --trace; the decisions of a broker of " +
			"several users are exported by root")
	}
	return nil
}

// logEnds passes a log on and keeps its first line and its last bytes, which say what it is and
// whether it is whole.
type logEnds struct {
	to    io.Writer
	first []byte
	last  []byte
	begun bool // the first line is there
}

// logTail is more bytes than the last line has.
const logTail = 200

func (w *logEnds) Write(p []byte) (int, error) {
	if !w.begun {
		line, _, ended := bytes.Cut(p, []byte("\n"))
		w.first, w.begun = append(w.first, line...), ended
	}
	w.last = append(w.last, p[max(0, len(p)-logTail):]...)
	w.last = w.last[max(0, len(w.last)-logTail):]
	return w.to.Write(p)
}

func (w *logEnds) isWhole() bool {
	line := bytes.TrimSuffix(w.last, []byte("\n"))
	return bytes.HasPrefix(line[bytes.LastIndexByte(line, '\n')+1:], []byte(`{"end":`))
}
