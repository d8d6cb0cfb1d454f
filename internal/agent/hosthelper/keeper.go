package hosthelper

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/agent/parallel"
	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/host/proctree"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// maxHelpers bounds how many connections an agent keeps: of more hosts the first have one.
const maxHelpers = 128

const (
	minRetryPause = 300 * time.Millisecond
	maxRetryPause = 30 * time.Second
	// startTimeout is how long a helper has until it is first heard, silenceTimeout until it is heard again.
	startTimeout   = 30 * time.Second
	silenceTimeout = 10 * time.Second
	endTimeout     = 2 * time.Second
)

// Options say of which attempt helpers are kept.
type Options struct {
	Mark  string
	Hosts []string // the further ones
	Procs []int    // of the attempt on each of them
	Every time.Duration
	// HelperCommand is how a command of our binary is run on a host.
	HelperCommand func(host string, words []string) ([]string, error)
}

// Keeper has a helper on each further host of an attempt. A nil one has none.
type Keeper struct {
	opt   Options
	own   string // the table of processes here
	clock clock.Clock
	born  time.Time
	hosts []*remoteHost
	end   context.CancelFunc
	group sync.WaitGroup
}

// StartKeeper starts helpers; EndHelpers ends them.
func StartKeeper(opt Options) *Keeper {
	ctx, end := context.WithCancel(context.Background())
	k := &Keeper{opt: opt, clock: clock.RealClock(), end: end}
	k.born = k.clock()
	k.own, _ = ownTable() // without /proc nothing runs here
	for i, name := range opt.Hosts[:min(len(opt.Hosts), maxHelpers)] {
		h := &remoteHost{name: name, meter: NewShareMeter(opt.Procs[i])}
		k.hosts = append(k.hosts, h)
		k.group.Go(func() { k.keepHelper(ctx, h) })
	}
	return k
}

// EndHelpers has all helpers end, and does not wait for them.
func (k *Keeper) EndHelpers() {
	if k != nil {
		k.end()
	}
}

// AwaitHelpers returns when all of them have ended.
func (k *Keeper) AwaitHelpers() {
	if k != nil {
		k.end()
		k.group.Wait()
	}
}

// keepHelper has a helper on a host until ctx ends. When one ends it is replaced; when the next is not heard either
// nothing is known of the host.
func (k *Keeper) keepHelper(ctx context.Context, h *remoteHost) {
	pause := minRetryPause
	for ctx.Err() == nil {
		heard, err := k.runHelper(ctx, h)
		if ctx.Err() != nil {
			return
		}
		if heard {
			pause = minRetryPause
		} else {
			h.helperFailed(err.Error())
			pause = min(2*pause, maxRetryPause)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// runHelper runs one helper until it ends, and reports whether it was heard.
func (k *Keeper) runHelper(ctx context.Context, h *remoteHost) (heard bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	words, err := k.opt.HelperCommand(h.name, []string{Command, k.opt.Every.String()})
	if err != nil {
		return false, err
	}
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Env, cmd.Dir = withoutMark(os.Environ()), "/"
	var complaint bytes.Buffer
	cmd.Stderr = &lastBytes{into: &complaint}
	in, err := cmd.StdinPipe()
	if err != nil {
		return false, err
	}
	cmd.Cancel, cmd.WaitDelay = in.Close, endTimeout // which the helper notices
	out, err := cmd.StdoutPipe()
	if err != nil {
		return false, err
	}
	if err := cmd.Start(); err != nil {
		return false, err
	}
	h.helperBegan()
	var beating sync.WaitGroup
	beating.Go(func() { k.beatHelper(ctx, in) })
	watchdog := time.AfterFunc(startTimeout, func() { cancel(errSilent) })
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, maxReadingBytes)
	for lines.Scan() {
		r, bad := ParseReading(lines.Bytes())
		if bad != nil {
			cancel(bad)
			break
		}
		heard = true
		h.addReading(k.clock.Since(k.born), r)
		watchdog.Reset(max(silenceTimeout, 5*k.opt.Every))
	}
	watchdog.Stop()
	cancel(nil) // of a line that is too long
	err = cmd.Wait()
	beating.Wait()
	return heard, helperError(context.Cause(ctx), err, complaint.String())
}

var errSilent = errors.New("nothing was heard from there in time")

// helperError is why a helper ended.
func helperError(cause, err error, complaint string) error {
	switch complaint = strings.TrimSpace(complaint); {
	case cause != nil && !errors.Is(cause, context.Canceled):
		return cause
	case complaint != "":
		return errors.New(complaint[strings.LastIndexByte(complaint, '\n')+1:])
	case err != nil:
		return err
	}
	return errors.New("its helper ended")
}

// beatHelper tells the helper the mark, and that we are there until ctx ends.
func (k *Keeper) beatHelper(ctx context.Context, in io.WriteCloser) {
	defer in.Close() //nolint:errcheck // the helper ends
	if _, err := fmt.Fprintln(in, k.opt.Mark); err != nil {
		return
	}
	tell := time.NewTicker(parallel.Beat)
	defer tell.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tell.C:
			if _, err := in.Write([]byte{'.'}); err != nil {
				return
			}
		}
	}
}

// withoutMark is an environment in which nothing says that a process is of the attempt: what helpers need is not the
// program's, which has ended when none of its processes is left.
func withoutMark(env []string) []string {
	var kept []string
	for _, v := range env {
		if !strings.HasPrefix(v, proctree.Variable+"=") {
			kept = append(kept, v)
		}
	}
	return kept
}

// Usage is what the attempt's processes on the further hosts use, as last heard.
func (k *Keeper) Usage() proctree.Usage {
	var sum proctree.Usage
	k.eachMachine(func(h *remoteHost) { sum = SumOf(sum, h.total) })
	return sum
}

// eachMachine looks at the hosts that were heard; of those that are one machine, at the first. One that is the agent's
// own machine is not among them.
func (k *Keeper) eachMachine(look func(h *remoteHost)) {
	if k == nil {
		return
	}
	seen := map[string]bool{k.own: true}
	for _, h := range k.hosts {
		h.mu.Lock()
		if h.table == "" || !seen[h.table] {
			seen[h.table] = h.table != ""
			look(h)
		}
		h.mu.Unlock()
	}
}

// HostUsage is what is known of each further host, as far as these are machines of their own.
func (k *Keeper) HostUsage() []wire.HostUsage {
	var list []wire.HostUsage
	k.eachMachine(func(h *remoteHost) {
		list = append(list, wire.HostUsage{Host: h.name, CPU: h.total.CPU.Seconds(), Share: h.meter.Share(),
			Memory: h.total.Memory, Ranks: core.NewProcSet(h.ranks).String(), EndedRanks: h.ended, Away: h.away})
	})
	return list
}

// TakeChanges are the hosts that went away or came back since this was last asked.
func (k *Keeper) TakeChanges() []Change {
	if k == nil {
		return nil
	}
	var list []Change
	for _, h := range k.hosts {
		h.mu.Lock()
		list = append(list, h.changes...)
		h.changes = nil
		h.mu.Unlock()
	}
	return list
}

// RanksOn are the ranks that ran on a host when it was last heard.
func (k *Keeper) RanksOn(host string) []int {
	if k == nil {
		return nil
	}
	for _, h := range k.hosts {
		if h.name == host {
			h.mu.Lock()
			defer h.mu.Unlock()
			return h.ranks
		}
	}
	return nil
}

// lastBytes keeps the last of what is written to it.
type lastBytes struct{ into *bytes.Buffer }

const maxComplaint = 4096

func (w *lastBytes) Write(p []byte) (int, error) {
	w.into.Write(p)
	if extra := w.into.Len() - maxComplaint; extra > 0 {
		w.into.Next(extra)
	}
	return len(p), nil
}
