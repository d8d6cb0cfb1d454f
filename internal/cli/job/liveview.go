package job

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/live/follow"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/report/progress"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// liveView is what somebody who follows a job sees beside its output: on a
// terminal two lines that are kept up to date, elsewhere a line for each thing
// that matters.
type liveView struct {
	app    *app
	id     string
	screen *follow.Screen
	shows  bool // lines are shown
	colour bool
	width  func() int

	job    *api.Job
	told   string // the last news
	heard  bool   // something was decided for it
	leaves bool   // told to end
}

func (a *app) newLiveView(id string) *liveView {
	v := &liveView{app: a, id: id, screen: follow.NewScreen(nil)}
	if progress.IsTerminal(a.Stderr) {
		v.shows = true
		v.screen = follow.NewScreen(a.Stderr)
		_, plain := os.LookupEnv("NO_COLOR")
		v.colour = !plain
		v.width = func() int { return term.WidthOf(a.Stderr, 80) }
	}
	return v
}

// sharedStdout and stderr are where the job's output goes; what goes to the terminal
// passes by the lines.
func (v *liveView) sharedStdout(w io.Writer) io.Writer {
	if v.shows && progress.IsTerminal(w) {
		return v.screen.ShareWith(w)
	}
	return w
}

func (v *liveView) sharedStderr(w io.Writer) io.Writer { return v.screen.ShareWith(w) }

// showState takes in a state.
func (v *liveView) showState(live *api.Live) {
	v.job = &live.Job
	v.heard = v.heard || len(live.News) > 0
	for _, d := range live.News {
		// What is decided again and again is told once.
		if what := d.Kind + " " + d.Choice; d.News && what != v.told {
			v.told = what
			v.sayLine("job " + v.id + ": " + term.JoinReason(d.Choice, d.Why))
		}
	}
	v.redrawLines()
}

// sayLine writes a line that stays.
func (v *liveView) sayLine(text string) {
	v.screen.SayLine(v.app.Stderr, "godwit: "+term.OneLine(text))
}

func (v *liveView) redrawLines() {
	if v.shows && v.job != nil {
		v.screen.ShowLines(v.statusLines())
	}
}

// sayCancelling says that Ctrl-C was understood.
func (v *liveView) sayCancelling() {
	v.leaves = true
	v.sayLine("cancelling job " + v.id + " … (press Ctrl-C again to quit without waiting)")
}

func (v *liveView) closeScreen() { v.screen.Close() }

// statusLines are the two lines: how it is, and what is to be expected.
func (v *liveView) statusLines() []string {
	j := v.job
	var now, then []string
	now = append(now, fmt.Sprintf("job %d %s", j.ID, j.Name), v.stateText())
	if j.Progress != nil {
		now = append(now, term.PartText(j.Progress)+" done")
	}
	if j.Started != nil {
		now = append(now, formatRunTime(time.Duration(j.WallS*float64(time.Second))))
	}
	if j.State == core.Running && j.Share != nil {
		now = append(now, fmt.Sprintf("CPU %.0f %%", 100**j.Share))
	}
	if j.PredictedEnd != nil {
		text := "ends " + v.app.MomentText(j.PredictedEnd)
		if j.EndEarly != nil && j.EndLate != nil {
			text += " (" + v.app.MomentText(j.EndEarly) + " to " + v.app.MomentText(j.EndLate) + ")"
		}
		then = append(then, text)
	} else if j.State == core.Running {
		then = append(then, "end not known yet")
	}
	if j.Deadline != nil {
		text := "deadline " + v.app.MomentText(j.Deadline)
		if j.PDeadline != nil {
			text += ", in time " + v.paintText(term.ChanceText(j.PDeadline), *j.PDeadline >= requiredConfidence(j))
		}
		then = append(then, text)
	}
	if j.Checkpoints > 0 {
		then = append(then, term.PluralNoun(int64(j.Checkpoints), "checkpoint"))
	}
	if j.Migrations > 0 {
		then = append(then, term.PluralNoun(int64(j.Migrations), "migration"))
	}
	if j.State.IsWaiting() && j.Why != "" {
		then = append(then, j.Why)
	}
	lines := []string{v.cutLine(strings.Join(now, "  "))}
	if len(then) > 0 {
		lines = append(lines, v.cutLine("  "+strings.Join(then, "  ")))
	}
	return lines
}

// formatRunTime is a time that goes on while one looks: tenths would only flicker.
func formatRunTime(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%d s", max(0, int(d.Seconds())))
	}
	return term.FormatDuration(d.Truncate(time.Second).Seconds())
}

func (v *liveView) stateText() string {
	j := v.job
	text := stateWord(j)
	if v.leaves {
		text = "being cancelled"
	}
	if j.Cluster != "" {
		text += " on " + j.Cluster
	}
	return text
}

// requiredConfidence is the chance below which something is done.
func requiredConfidence(j *api.Job) float64 {
	if j.Confidence == 0 {
		return 0.95
	}
	return j.Confidence
}

func (v *liveView) paintText(text string, good bool) string {
	switch {
	case !v.colour:
		return text
	case good:
		return term.Green + text + term.Plain
	}
	return term.Red + text + term.Plain
}

// cutLine keeps a line from being wrapped, which could not be taken back. Colours take
// no room.
func (v *liveView) cutLine(line string) string {
	room := max(v.width(), 20) - 1
	var b strings.Builder
	n := 0
	for i := 0; i < len(line); {
		if line[i] == '\x1b' {
			end := i + strings.IndexByte(line[i:], 'm') + 1
			b.WriteString(line[i:end])
			i = end
			continue
		}
		r, size := utf8.DecodeRuneInString(line[i:])
		if n++; n == room && i+size < len(line) {
			r = '…'
		}
		if n <= room {
			b.WriteRune(r)
		}
		i += size
	}
	return b.String()
}

// endedByItself says whether a program ran to an end of its own, about which there
// is nothing to say beyond its code.
func endedByItself(j *api.Job) bool {
	return j.Started != nil && j.ExitCode != nil && strings.HasSuffix(j.Why, fmt.Sprintf(" code %d", *j.ExitCode))
}

// isLate says whether a job ended after its deadline; one that failed before it did
// not meet it either.
func isLate(j *api.Job) bool {
	return j.Deadline != nil && j.Ended != nil && j.Ended.After(j.Deadline.Time)
}

// endingText is the last word on a job that was followed: always where lines were
// shown, else only where something went wrong that its exit code does not say.
func (v *liveView) endingText(j *api.Job) string {
	name := "job " + v.id
	var text string
	switch {
	case j.State == core.Cancelled:
		text = name + " was cancelled"
		if more := filesText(j); more != "" {
			text += "; " + more
		}
		if j.Started == nil && j.ExitCode != nil && *j.ExitCode == term.ExitFailed { // not by its user
			text += ": " + term.OrDash(j.Why)
		}
	case j.State == core.Failed && (v.shows || !endedByItself(j)):
		text = name + " failed: " + term.OrDash(j.Why)
	case isLate(j):
		text = name + " missed its deadline by " + term.FormatDuration(j.Ended.Sub(j.Deadline.Time).Seconds())
	case v.shows && j.State == core.Done && j.Started != nil && j.Ended != nil:
		text = fmt.Sprintf("%s completed on %s after %s", name, j.Cluster, term.FormatDuration(j.WallS))
		if j.Deadline != nil {
			text += ", " + term.FormatDuration(j.Deadline.Sub(j.Ended.Time).Seconds()) + " before its deadline"
		}
		if j.Migrations > 0 {
			text += ", " + term.PluralNoun(int64(j.Migrations), "migration")
		}
	}
	return text
}
