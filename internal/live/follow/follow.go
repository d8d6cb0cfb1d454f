// Package follow stays with one job until its end: it copies what the job writes,
// byte for byte, shows how it is doing, and comes back when the broker went away
// meanwhile. It must not know what the broker decides, nor how a state is put
// into words.
package follow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

// Options say what to follow and what to do with it.
type Options struct {
	// Connect finds the broker, and starts one where none runs. It is called again
	// whenever the connection broke.
	Connect func(ctx context.Context) (*api.Client, error)
	Job     string // number or uid
	// Stdout and Stderr take what the job writes; nil: nobody wants it.
	Stdout, Stderr io.Writer
	// See is told every state, in order; Again is called about four times a second
	// in between, so that a clock that is shown goes on. They are never called at
	// the same time.
	See   func(*api.Live)
	Again func()
	// Interrupted is called once when ctx is cancelled, with a context that is not:
	// it may end the job, whose end is then waited for. nil: following ends.
	Interrupted func(ctx context.Context, c *api.Client) error
	// Patience is how long a broker may be away; 0: a minute.
	Patience time.Duration
}

// ErrOutput says that what the job writes could not be passed on: nobody reads it
// any more.
var ErrOutput = errors.New("its output cannot be written any more")

const (
	redrawInterval  = 250 * time.Millisecond
	minRetryDelay   = 20 * time.Millisecond
	maxRetryDelay   = time.Second
	defaultPatience = time.Minute
)

// JobToEnd follows a job to its end and returns its last state.
func JobToEnd(ctx context.Context, o Options) (*api.Job, error) {
	if o.Patience == 0 {
		o.Patience = defaultPatience
	}
	// Following outlives the caller's interruption: the job's last words still count.
	inner, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	f := &follower{Options: o, states: make(chan *api.Live), over: make(chan struct{})}
	if ctx.Done() != nil {
		release := context.AfterFunc(ctx, func() { f.handleInterrupt(inner, stop, ctx.Err()) })
		defer release()
	}
	return f.followAll(inner, stop)
}

type follower struct {
	Options
	states chan *api.Live
	over   chan struct{} // closed when the final state was seen

	mu      sync.Mutex
	client  *api.Client
	failure error // the first
}

// failWith keeps the first failure and ends everything.
func (f *follower) failWith(err error, stop func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failure == nil {
		f.failure = err
	}
	stop()
}

// handleInterrupt does what the caller wants done when it is interrupted.
func (f *follower) handleInterrupt(ctx context.Context, stop func(), why error) {
	if f.Interrupted == nil {
		f.failWith(why, stop)
		return
	}
	if err := f.withClient(ctx, func(c *api.Client) error { return f.Interrupted(ctx, c) }); err != nil &&
		ctx.Err() == nil {
		f.failWith(err, stop)
	}
}

func (f *follower) followAll(ctx context.Context, stop func()) (*api.Job, error) {
	var work sync.WaitGroup
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		if err := f.watchStates(ctx); err != nil {
			f.failWith(err, stop)
		}
	}()
	for i, to := range []io.Writer{f.Stdout, f.Stderr} {
		if to == nil {
			continue
		}
		work.Go(func() {
			if err := f.copyStream(ctx, i+1, to); err != nil {
				f.outputFailed(ctx, err, stop)
			}
		})
	}
	last := f.showStates(watched)
	work.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.client != nil {
		defer f.client.Close()
	}
	if f.failure != nil {
		return nil, f.failure
	}
	return last, nil
}

// outputFailed handles a stream that cannot be copied on. If it is the reader who went
// away the job is treated as a program in a pipe would be.
func (f *follower) outputFailed(ctx context.Context, err error, stop func()) {
	if errors.Is(err, ErrOutput) && f.Interrupted != nil {
		// The rest is not copied; the end of the job is awaited.
		if e := f.withClient(ctx, func(c *api.Client) error { return f.Interrupted(ctx, c) }); e == nil {
			<-f.over
		}
	}
	f.failWith(err, stop)
}

// showStates hands the states on until the last.
func (f *follower) showStates(watched <-chan struct{}) *api.Job {
	tick := time.NewTicker(redrawInterval)
	defer tick.Stop()
	var last *api.Job
	for {
		select {
		case live := <-f.states:
			last = &live.Job
			if f.See != nil {
				f.See(live)
			}
		case <-tick.C:
			if f.Again != nil {
				f.Again()
			}
		case <-watched:
			return last
		}
	}
}

// watchStates hears the states of the job until the last one.
func (f *follower) watchStates(ctx context.Context) error {
	defer close(f.over)
	var heard api.Time
	return f.retryAway(ctx, "watching", func(c *api.Client) (bool, error) {
		some := false
		err := c.WatchJob(ctx, f.Job, func(live *api.Live) error {
			some = true
			live.News, heard = dropHeard(live.News, heard)
			select {
			case f.states <- live:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		return some, err
	})
}

// dropHeard drops what was told before the connection broke.
func dropHeard(news []api.Decision, heard api.Time) ([]api.Decision, api.Time) {
	for len(news) > 0 && !news[0].Time.After(heard.Time) {
		news = news[1:]
	}
	if len(news) > 0 {
		heard = news[len(news)-1].Time
	}
	return news, heard
}

// copyStream passes one stream on until the job has ended.
func (f *follower) copyStream(ctx context.Context, stream int, to io.Writer) error {
	w := &counter{to: to}
	return f.retryAway(ctx, "reading the output of", func(c *api.Client) (bool, error) {
		n, err := c.CopyLogs(ctx, f.Job, stream, w.n, true, w)
		if w.err != nil {
			return true, fmt.Errorf("%w: %w", ErrOutput, w.err)
		}
		if err != nil {
			return n > 0, err
		}
		// The stream ended as it should: because the job has, or the broker.
		job, err := c.GetJob(ctx, f.Job)
		if err == nil && !job.IsOver() {
			err = api.ErrBroken
		}
		return n > 0, err
	})
}

// counter knows how far a stream has come, so that it can be gone on with.
type counter struct {
	to  io.Writer
	n   int64
	err error
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.n += int64(n)
	if err != nil {
		c.err = err
	}
	return n, err
}

// retryAway repeats what failed because the broker went away, until that lasts too
// long. do says whether it got anything.
func (f *follower) retryAway(ctx context.Context, what string, do func(*api.Client) (bool, error)) error {
	wait, waited := minRetryDelay, time.Duration(0)
	var silent *api.SilentError // it was waited for already
	for {
		some := false
		err := f.withClient(ctx, func(c *api.Client) (err error) {
			some, err = do(c)
			return err
		})
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case badinput.Is(err), errors.Is(err, ErrOutput), errors.As(err, &silent):
			return err
		case some:
			wait, waited = minRetryDelay, 0
		case waited >= f.Patience:
			return fmt.Errorf("%s job %s: %w", what, f.Job, err)
		}
		f.dropClient()
		if !clock.SleepContext(ctx, wait) {
			return ctx.Err()
		}
		waited += wait
		wait = min(2*wait, maxRetryDelay)
	}
}

// withClient calls do with a connection.
func (f *follower) withClient(ctx context.Context, do func(*api.Client) error) error {
	f.mu.Lock()
	if f.client == nil {
		c, err := f.Connect(ctx)
		if err != nil {
			f.mu.Unlock()
			return err
		}
		f.client = c
	}
	c := f.client
	f.mu.Unlock()
	return do(c)
}

// dropClient forgets a connection that broke. Others may still use it; they will find
// out by themselves.
func (f *follower) dropClient() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.client = nil
}
