package sim

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/report/progress"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sim/rerun"
)

// rerunReport is what sim --replay prints of the log of a live broker.
type rerunReport struct {
	Decisions int64   `json:"decisions"` // all the same
	Jobs      int     `json:"jobs"`
	Steps     int64   `json:"steps"`
	Events    int64   `json:"events"`
	Commands  int64   `json:"commands"`
	Brokers   int     `json:"brokers"`        // starts of the broker in this time
	Unknown   int64   `json:"unknown_events"` // before the first decision that can be replayed
	From      string  `json:"from"`
	To        string  `json:"to"`
	WallS     float64 `json:"wall_s"`
}

// replayLive decides anew what the exported log of a live broker says was decided.
func (a *app) replayLive(ctx context.Context, f *simFlags) error {
	for _, name := range []string{"jobs-out", "plots"} {
		if f.changed(name) {
			return usageError("--"+name, "not with the log of a live broker: its jobs ran, nothing was simulated")
		}
	}
	in, err := os.Open(f.replay)
	if err != nil {
		return badinput.UnreadableFile(f.replay, err)
	}
	defer func() { _ = in.Close() }() // only read from
	var line *progress.Line
	var tell func(int64)
	if !f.quiet {
		line = progress.New(a.Stderr, a.Now, filepath.Base(f.replay), "steps", 0)
		tell = line.Update
	}
	begin := a.Now()
	r, err := rerun.ReadLog(ctx, in, f.replay, tell)
	line.ClearLine()
	if err != nil {
		return err
	}
	report := &rerunReport{r.Decisions, r.Jobs, r.Steps, r.Events, r.Commands, r.Brokers, r.Unknown, momentText(r.From),
		momentText(r.To), a.Now.Since(begin).Seconds()}
	if f.output == "json" {
		return term.WriteJSON(a.Stdout, report)
	}
	_, err = fmt.Fprint(a.Stdout, report.text())
	return err
}

func (r *rerunReport) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s, the same\n", term.PluralNoun(r.Decisions, "decision"),
		term.PluralNoun(int64(r.Jobs), "job"))
	var t term.Rows
	if r.Steps > 0 {
		t.AddRow("time", "%s to %s", r.From, r.To)
	}
	t.AddRow("compared", "%s and %s, of %s", term.PluralNoun(r.Events, "event"), term.PluralNoun(r.Commands, "command"),
		term.PluralNoun(r.Steps, "input"))
	if r.Brokers > 0 {
		t.AddRow("broker", "started %s in this time", term.PluralNoun(int64(r.Brokers), "time"))
	}
	if r.Unknown > 0 {
		t.AddRow("not compared", "%s of an earlier version, which kept no inputs", term.PluralNoun(r.Unknown, "event"))
	}
	t.AddRow("replayed", "in %s", term.FormatDuration(r.WallS))
	t.WriteRows(&b)
	return b.String()
}

func momentText(t core.Time) string {
	if t == 0 {
		return ""
	}
	return time.Unix(0, int64(t)).UTC().Format("2006-01-02 15:04:05 UTC")
}
