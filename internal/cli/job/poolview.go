package job

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/godwit-hpc/godwit/internal/cli/connect"
	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/live/follow"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/protocol/poolwork"
	"github.com/godwit-hpc/godwit/internal/report/progress"
)

// poolView shows a pool that runs: what its items wrote, and on a terminal a line that is kept
// up to date.
type poolView struct {
	app    *app
	screen *follow.Screen
	shows  bool
	json   bool
	stdout io.Writer
	stderr io.Writer

	ordered bool
	next    int                      // the item that is to be printed next, if they are ordered
	early   map[int]*poolwork.Record // those that came before it
	cut     int                      // items of which output is missing
}

func (a *app) newPoolView(json, ordered bool) *poolView {
	v := &poolView{app: a, screen: follow.NewScreen(nil), json: json, ordered: ordered,
		early: map[int]*poolwork.Record{}}
	if progress.IsTerminal(a.Stderr) {
		v.shows, v.screen = true, follow.NewScreen(a.Stderr)
	}
	v.stdout, v.stderr = a.Stdout, v.screen.ShareWith(a.Stderr)
	if v.shows && progress.IsTerminal(a.Stdout) {
		v.stdout = v.screen.ShareWith(a.Stdout)
	}
	if json { // stdout is for the result alone
		v.stdout = v.stderr
	}
	return v
}

func (v *poolView) sayLine(text string) {
	v.screen.SayLine(v.app.Stderr, "godwit: "+term.OneLine(text))
}

// showState shows how far the pool is.
func (v *poolView) showState(p *api.Pool) {
	if !v.shows {
		return
	}
	line := fmt.Sprintf("pool %d %s  %d of %d items", p.ID, p.Name, p.Done+p.Failed, p.Items)
	if p.Failed > 0 {
		line += fmt.Sprintf(", %d failed", p.Failed)
	}
	if p.ItemsPerS > 0 {
		line += fmt.Sprintf("  %s items/s", term.FormatDigits(p.ItemsPerS))
	}
	line += "  " + term.PluralNoun(int64(p.Workers), "worker")
	if p.Queued > 0 {
		line += fmt.Sprintf(" (%d queued)", p.Queued)
	}
	if p.PredictedEnd != nil {
		line += "  ends " + v.app.MomentText(p.PredictedEnd)
	}
	if room := max(term.WidthOf(v.app.Stderr, 80), 20) - 1; len([]rune(line)) > room {
		line = string([]rune(line)[:room-1]) + "…"
	}
	v.screen.ShowLines([]string{line})
}

// showRecord prints what an item wrote, at once or when it is its turn.
func (v *poolView) showRecord(r *poolwork.Record) error {
	if !v.ordered {
		return v.printRecord(r)
	}
	v.early[r.Item] = r
	for next := v.early[v.next]; next != nil; next = v.early[v.next] {
		delete(v.early, v.next)
		v.next++
		if err := v.printRecord(next); err != nil {
			return err
		}
	}
	return nil
}

// flushRecords prints what is left when the pool is over: items that were not run are passed
// over.
func (v *poolView) flushRecords(items int) error {
	for ; v.next < items && len(v.early) > 0; v.next++ {
		if r := v.early[v.next]; r != nil {
			delete(v.early, v.next)
			if err := v.printRecord(r); err != nil {
				return err
			}
		}
	}
	return nil
}

func (v *poolView) printRecord(r *poolwork.Record) error {
	if r.Cut || r.Dropped {
		v.cut++
	}
	for _, stream := range []struct {
		to   io.Writer
		data []byte
	}{{v.stdout, r.Out}, {v.stderr, r.Err}} {
		if len(stream.data) == 0 {
			continue
		}
		if _, err := stream.to.Write(stream.data); err != nil {
			return fmt.Errorf("%w: %w", errOutputGone, err)
		}
	}
	return nil
}

// awayTimeout is how long a broker may be away while a pool is followed.
const awayTimeout = time.Minute

// followPool follows a pool to its end. Interrupted it cancels the pool, if that is wanted, and
// waits for its end.
func (a *app) followPool(ctx context.Context, id int64, v *poolView, cancels bool) error {
	// A pipe that nobody reads any more is told by a failing write, so that the pool can be ended
	// rather than left behind.
	signal.Ignore(syscall.SIGPIPE)
	defer signal.Reset(syscall.SIGPIPE)
	inner, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var cancelling sync.WaitGroup
	end := func() {
		if !cancels {
			stop()
			return
		}
		cancelling.Go(func() { a.cancelPool(inner, id) })
	}
	release := context.AfterFunc(ctx, func() {
		if cancels {
			v.sayLine(fmt.Sprintf("cancelling pool %d … (press Ctrl-C again to quit without waiting)", id))
		}
		end()
	})
	defer release()
	var last *api.Pool
	var watchErr error
	var watching sync.WaitGroup
	watching.Go(func() { last, watchErr = a.watchPool(inner, id, v) })
	outErr := a.copyOutcomes(inner, id, v)
	if errors.Is(outErr, errOutputGone) {
		end()
	} else if outErr != nil && inner.Err() == nil {
		stop()
	}
	watching.Wait()
	stop()
	cancelling.Wait()
	v.screen.Close()
	switch {
	case errors.Is(outErr, errOutputGone):
		a.SayLine(fmt.Sprintf("pool %d cancelled: nobody reads its output any more", id))
		return term.ExitCode(exitBrokenPipe)
	case last == nil && ctx.Err() != nil:
		return term.ExitCode(term.ExitInterrupted)
	case last == nil:
		return fmt.Errorf("following pool %d: %w; it goes on with the broker, see godwit pool attach %d", id,
			errors.Join(outErr, watchErr), id)
	}
	if err := v.flushRecords(last.Items); err != nil {
		return err
	}
	return a.endOfPool(ctx, v, last)
}

// watchPool shows the states of a pool until it is over, and returns the last.
func (a *app) watchPool(ctx context.Context, id int64, v *poolView) (*api.Pool, error) {
	var last *api.Pool
	err := a.untilBroken(ctx, func(c *api.Client, isBack func()) error {
		return c.WatchPool(ctx, fmt.Sprint(id), func(l *api.PoolLive) error {
			isBack()
			v.showState(&l.Pool)
			if l.Final {
				last = &l.Pool
			}
			return nil
		})
	})
	return last, err
}

// copyOutcomes prints what the items of a pool wrote, each once, whoever is killed meanwhile.
func (a *app) copyOutcomes(ctx context.Context, id int64, v *poolView) error {
	offset := int64(0)
	return a.untilBroken(ctx, func(c *api.Client, isBack func()) error {
		body, err := c.PoolOutcomes(ctx, fmt.Sprint(id), offset)
		if err != nil {
			return err
		}
		defer func() { _ = body.Close() }()
		isBack()
		in := bufio.NewReaderSize(body, 64<<10)
		for {
			r, n, err := poolwork.ReadRecord(in)
			switch {
			case errors.Is(err, io.EOF):
				return nil
			case err != nil:
				return fmt.Errorf("%w (%w)", api.ErrBroken, err)
			}
			isBack()
			if err := v.showRecord(r); err != nil {
				return err
			}
			offset += n
		}
	})
}

// untilBroken asks again, where a broker went away, until it was answered to the end.
func (a *app) untilBroken(ctx context.Context, ask func(c *api.Client, isBack func()) error) error {
	const first = 20 * time.Millisecond
	away, pause := a.Now(), first
	for {
		err := a.AskBroker(ctx, func(c *api.Client) error {
			return ask(c, func() { away, pause = a.Now(), first })
		})
		if err == nil || ctx.Err() != nil || badinput.Is(err) || connect.IsSilent(err) || errors.Is(err, errOutputGone) ||
			a.Now.Since(away) > awayTimeout {
			return err
		}
		clock.SleepContext(ctx, pause)
		pause = min(2*pause, time.Second)
	}
}

// cancelPool cancels a pool whose end is being waited for; a broker that went away is asked
// again.
func (a *app) cancelPool(ctx context.Context, id int64) {
	for ctx.Err() == nil {
		err := a.AskBroker(ctx, func(c *api.Client) error {
			_, err := c.CancelPool(ctx, fmt.Sprint(id))
			return err
		})
		if err == nil || badinput.Is(err) {
			return
		}
		clock.SleepContext(ctx, connect.RetryPause)
	}
}

// poolResult is a pool that is over, as -o json prints it.
type poolResult struct {
	api.Pool
	Failures []api.PoolFailure `json:"failures"`
}

// fewFailures is how many items that failed are named.
const fewFailures = 10

// endOfPool says what there is to say about a pool that is over.
func (a *app) endOfPool(ctx context.Context, v *poolView, p *api.Pool) error {
	var failures []api.PoolFailure
	if p.Failed > 0 {
		asking := context.WithoutCancel(ctx)
		if err := a.AskUntilAnswered(asking, func(c *api.Client) (err error) {
			failures, err = c.ListPoolFailures(asking, fmt.Sprint(p.ID))
			return err
		}); err != nil {
			return err
		}
	}
	if v.json {
		if err := term.WriteJSON(a.Stdout, poolResult{*p, term.OrEmpty(failures)}); err != nil {
			return err
		}
	}
	for i, f := range failures {
		if i == fewFailures {
			a.SayLine(fmt.Sprintf("… and %d more (-o json lists them)", p.Failed-fewFailures))
			break
		}
		why := fmt.Sprintf("exit code %d", f.Code)
		if f.Lost {
			why = "its workers were lost, again and again"
		}
		a.SayLine(fmt.Sprintf("item %d failed: %s: %s", f.Item, term.OneLine(f.Text), why))
	}
	if v.cut > 0 {
		a.SayLine(fmt.Sprintf("%s wrote more than is kept", term.PluralNoun(int64(v.cut), "item")))
	}
	a.SayLine(poolEndText(p))
	switch {
	case ctx.Err() != nil:
		return term.ExitCode(term.ExitInterrupted)
	case p.State != "completed":
		return term.ExitCode(term.ExitFailed)
	}
	return nil
}

func poolEndText(p *api.Pool) string {
	text := fmt.Sprintf("pool %d: %d of %d items done", p.ID, p.Done, p.Items)
	if p.Failed > 0 {
		text += fmt.Sprintf(", %d failed", p.Failed)
	}
	if p.Ended != nil && p.Submitted != nil {
		text += " in " + term.FormatDuration(p.Ended.Sub(p.Submitted.Time).Seconds())
	}
	if p.ItemsPerS > 0 {
		text += fmt.Sprintf(" (%s items/s)", term.FormatDigits(p.ItemsPerS))
	}
	if p.State != "completed" && p.Why != "" && !strings.HasSuffix(p.Why, "items failed") {
		text += ": " + p.Why
	}
	return text
}
