package broker_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// shortDisk is a store that lives on its reserve as long as the test wants.
type shortDisk struct {
	store.Store
	short atomic.Bool
}

func (d *shortDisk) Short() error {
	if d.short.Load() {
		return fmt.Errorf("%w: the test says so", store.ErrFull)
	}
	return nil
}

func TestOnAFullDiskJobsAreCancelledAndNoneAreTaken(t *testing.T) {
	g := newGrid(t)
	g.kill()
	disk := &shortDisk{Store: g.store}
	g.store = disk
	g.up()
	id := g.submit(jobfile.Job{})
	a := g.next()
	a.run()
	g.until(id, core.Running)
	disk.short.Store(true)
	_, err := g.broker().SubmitJob(t.Context(), complete(jobfile.Job{}), "")
	if err == nil || !strings.Contains(err.Error(), "no new jobs are taken until there is room on the disk") {
		t.Errorf("a job is taken on a full disk, or refused with %v", err)
	}
	if _, err := g.broker().CancelJob(t.Context(), fmt.Sprint(id)); err != nil {
		t.Errorf("it cannot be cancelled: %v", err)
	}
	g.until(id, core.Cancelled)
	disk.short.Store(false)
	g.submit(jobfile.Job{})
}

// Output that finds no room is kept by the agent and said again, and the end of the
// job comes behind it.
func TestAJobWhoseOutputFindsNoRoomCanBeCancelled(t *testing.T) {
	g := newGrid(t)
	id := g.submit(jobfile.Job{})
	a := g.next()
	a.run()
	g.until(id, core.Running)
	a.untilAcknowledged(t)
	dir := filepath.Join(g.state, "logs", fmt.Sprint(id)) // where nothing can be written from now on
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a.say(wire.Message{Kind: wire.Output, Stream: 1, Data: []byte("too much")})
	a.untilCut(t)
	cancelled := make(chan error, 1)
	go func() {
		_, err := g.broker().CancelJob(t.Context(), fmt.Sprint(id))
		cancelled <- err
	}()
	g.until(id, core.Stopping)
	a.connect()
	if err := <-cancelled; err != nil {
		t.Errorf("it cannot be cancelled: %v", err)
	}
	g.until(id, core.Cancelled)
	if said := g.explained(id, "output"); len(said) != 1 || !strings.Contains(said[0].Why, "could not be written") {
		t.Errorf("explained by %+v", said)
	}
}

func TestOutputBeyondWhatAUserMayHaveIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGrid(t)
		g.kill()
		g.maxLog = 64 << 10
		g.up()
		synctest.Wait() // what there is has been measured
		id := g.submit(jobfile.Job{})
		a := g.next()
		a.run()
		part := bytes.Repeat([]byte("x"), 20<<10)
		for n := range 10 {
			a.say(wire.Message{Kind: wire.Output, Stream: 1, Offset: int64(n * len(part)), Data: part})
		}
		a.end(0)
		v := g.until(id, core.Done)
		got := g.logs(id)
		if !strings.HasPrefix(got, strings.Repeat("x", 60<<10)+"\n[godwit: output cut here: ") || len(got) > 62<<10 {
			t.Errorf("%d bytes are kept, the last of them %q", len(got), got[max(0, len(got)-200):])
		}
		if said := g.explained(id, "output"); len(said) != 1 || !strings.Contains(said[0].Why, "limits.log") {
			t.Errorf("explained by %+v", said)
		}
		if len(v.Warnings) != 1 || !strings.Contains(v.Warnings[0], "output cut") {
			t.Errorf("its user is told %q", v.Warnings)
		}
		other := g.submit(jobfile.Job{})
		b := g.next()
		b.run()
		b.say(wire.Message{Kind: wire.Output, Stream: 2, Data: part})
		b.end(0)
		if v := g.until(other, core.Done); !v.OutputCut {
			t.Error("the limit is that of one job, not of its user")
		}
	})
}
