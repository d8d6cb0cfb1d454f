package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
)

// Stage is with what a scenario is played.
type Stage struct {
	Now  clock.Clock
	Env  []string                            // for commands of root, beside that of this process
	Tell func(at time.Duration, text string) // a line of the timeline; from several goroutines, one after the other
}

// Played is how a scenario went.
type Played struct {
	Steps, Checks, Failed int
	Took                  time.Duration
}

// player is a scenario under way.
type player struct {
	lab   *Lab
	stage Stage
	begin time.Time
	mu    sync.Mutex // for Tell
}

// PlayScenario lets a scenario happen on a lab that is up. A check that fails is counted
// and the scenario goes on; the error is of what could not be done at all.
func (l *Lab) PlayScenario(ctx context.Context, s *Scenario, stage Stage) (Played, error) {
	p := &player{lab: l, stage: stage, begin: stage.Now()}
	var done Played
	background, stop := context.WithCancel(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer stop()
	var err error
	for i := range s.Steps {
		st := &s.Steps[i]
		if wait := st.At - stage.Now.Since(p.begin); wait > 0 && !clock.SleepContext(ctx, wait) {
			err = ctx.Err()
			break
		}
		done.Steps++
		p.tellLine("%s", st)
		switch {
		case st.Do != nil:
			err = l.DoVerb(ctx, st.Do)
		case st.Check != "":
			done.Checks++
			if !p.checkStep(ctx, st) {
				done.Failed++
			}
		case st.Stays:
			beside.Go(func() { p.runStep(background, st) })
		default:
			short, cancel := context.WithTimeout(ctx, st.Within)
			p.runStep(short, st)
			cancel()
		}
		if err != nil {
			err = fmt.Errorf("%s:%d: %w", s.File, st.Line, err)
			break
		}
	}
	done.Took = stage.Now.Since(p.begin)
	return done, errors.Join(err, ctx.Err())
}

func (p *player) tellLine(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.stage.Now.Since(p.begin)
	for line := range strings.Lines(fmt.Sprintf(format, args...)) {
		p.stage.Tell(at, strings.TrimRight(line, "\n"))
	}
}

// stepCommand is a step's, not started.
func (p *player) stepCommand(ctx context.Context, st *Step, text string) (*exec.Cmd, error) {
	h, err := p.lab.FindHost(st.On)
	if err != nil {
		return nil, err
	}
	if st.As != "" {
		return h.CommandAs(ctx, st.As, "/bin/sh", "-c", text), nil
	}
	cmd := h.Command(ctx, "/bin/sh", "-c", text)
	cmd.Env = append(cmd.Env, p.stage.Env...)
	return cmd, nil
}

// runStep lets a command run and tells each line that it writes.
func (p *player) runStep(ctx context.Context, st *Step) {
	cmd, err := p.stepCommand(ctx, st, st.Run)
	if err == nil {
		out := &lines{tell: func(line string) { p.tellLine("  %s | %s", st.On, line) }}
		cmd.Stdout, cmd.Stderr = out, out
		cmd.WaitDelay = time.Second // what it left running may hold the pipe
		err = cmd.Run()
		out.flushRest()
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, exec.ErrWaitDelay) {
		p.tellLine("  %s: %v", st.On, err)
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		p.tellLine("  %s: not done within %v, ended", st.On, st.Within)
	}
}

// lines cuts what is written into lines.
type lines struct {
	tell func(string)
	rest []byte
}

func (w *lines) Write(data []byte) (int, error) {
	w.rest = append(w.rest, data...)
	for {
		i := bytes.IndexByte(w.rest, '\n')
		if i < 0 {
			return len(data), nil
		}
		w.tell(string(w.rest[:i]))
		w.rest = w.rest[i+1:]
	}
}

func (w *lines) flushRest() {
	if len(w.rest) > 0 {
		w.tell(string(w.rest))
	}
}

// checkInterval is how soon a check is made again that failed.
const checkInterval = 250 * time.Millisecond

// checkStep makes a check until it holds, or its time is over.
func (p *player) checkStep(ctx context.Context, st *Step) bool {
	begin := p.stage.Now()
	short, cancel := context.WithTimeout(ctx, st.Within)
	defer cancel()
	for {
		out, err := p.checkOnce(short, st)
		if err == nil {
			p.tellLine("  holds after %.1f s", p.stage.Now.Since(begin).Seconds())
			return true
		}
		if !clock.SleepContext(short, checkInterval) {
			p.tellLine("  FAILED: %v: %s", err, bytes.TrimSpace(out))
			return false
		}
	}
}

func (p *player) checkOnce(ctx context.Context, st *Step) ([]byte, error) {
	cmd, err := p.stepCommand(ctx, st, st.Check)
	if err != nil {
		return nil, err
	}
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err == nil && !bytes.Contains(out, []byte(st.Says)) {
		err = fmt.Errorf("it does not say %q", st.Says)
	}
	return out, err
}
