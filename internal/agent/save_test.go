package agent

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/checkpointing"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// newSteps is a job of the method that tests can save and stop as they like.
func newSteps(t *testing.T, steps int, pause string) *harness {
	t.Helper()
	h := newHarness(t, "steps", fmt.Sprint(steps), pause)
	h.attempt.Spec.Checkpoint.Method = "auto"
	h.attempt.Spec.Checkpoint.Files = []string{"log"}
	h.attempt.Spec.Progress = `step (\d+)/(\d+)`
	h.around.methods = stepsMethods
	h.start()
	return h
}

// wantSteps checks that the job ended as an undisturbed one does, to the byte.
func (h *harness) wantSteps(steps int) {
	h.t.Helper()
	var out, err, log strings.Builder
	for i := 1; i <= steps; i++ {
		fmt.Fprintf(&out, "step %d/%d\n", i, steps)
		fmt.Fprintf(&err, "err %d\n", i)
		fmt.Fprintf(&log, "line %d\n", i)
	}
	list := h.endings()
	m := list[len(list)-1]
	if m.Kind != wire.Ended || m.Code != 5 {
		h.t.Fatalf("it ended with %+v", m)
	}
	if h.output(1) != out.String() || h.output(2) != err.String() {
		h.t.Errorf("it wrote %q and %q", h.output(1), h.output(2))
	}
	if text, e := os.ReadFile(filepath.Join(h.fetch(m.Result), "log")); e != nil || string(text) != log.String() {
		h.t.Errorf("its file has %q, %v", text, e)
	}
}

// fetch brings a tree of the depot to a folder.
func (h *harness) fetch(id string) string {
	h.t.Helper()
	dir := h.t.TempDir()
	if _, err := depot.FetchTree(h.t.Context(), h.store, depot.ID(id), dir); err != nil {
		h.t.Fatalf("fetching %q: %v", id, err)
	}
	return dir
}

// upTo waits until the program has written so many steps.
func (h *harness) upTo(step int) {
	h.t.Helper()
	h.until(fmt.Sprint("step ", step),
		func() bool { return strings.Contains(string(h.out[1]), fmt.Sprintf("step %d/", step)) })
}

func TestAStoppedProgramIsContinuedAndWritesTheSameBytes(t *testing.T) {
	h := newSteps(t, 300, "1ms")
	h.holdAt(290)
	r := rand.New(rand.NewPCG(3, 3))
	h.begin()
	for move := range 3 {
		h.upTo(60*(move+1) + r.IntN(40))
		h.order(wire.Order{Kind: wire.Stop, By: core.AtSecond(1600), Why: "moved"})
		h.wait()
		list := h.endings()
		m := list[len(list)-1]
		if len(list) != move+1 || m.Kind != wire.Left || m.Saved == nil {
			t.Fatalf("left %d times: %s", len(list), kinds(list))
		}
		if s := m.Saved; s.N != move+1 || s.Method != checkpointing.MethodExit85 || s.Out == 0 || s.Err == 0 ||
			s.Work == "" || s.Image == "" {
			t.Errorf("saved as %+v", s)
		}
		h.next(*m.Saved)
		h.begin()
	}
	h.holdAt(0)
	h.wait()
	h.wantSteps(300)
	for i, m := range h.all(wire.Running) {
		if (i > 0) != (m.Saved != nil) {
			t.Errorf("start %d: continues %v", i, m.Saved)
		}
	}
}

func TestAnAttemptThatIsLostIsContinuedFromItsLastCheckpoint(t *testing.T) {
	h := newSteps(t, 200, "2ms")
	h.attempt.Spec.Checkpoint.Every = 20 * time.Millisecond
	h.holdAt(190)
	h.begin()
	h.until("checkpoints", func() bool { return len(h.out[1]) > 0 && count(h.messages, wire.Checkpoint) >= 3 })
	h.order(wire.Order{Kind: wire.Kill})
	h.wait()
	saved := h.all(wire.Checkpoint)
	last := *saved[len(saved)-1].Saved
	h.attempt.Spec.Checkpoint.Every = -1
	h.holdAt(0)
	h.next(last)
	h.begin()
	h.wait()
	h.wantSteps(200)
}

func count(list []wire.Message, kind wire.Kind) int {
	n := 0
	for _, m := range list {
		if m.Kind == kind {
			n++
		}
	}
	return n
}

func TestADamagedCheckpointIsPassedOver(t *testing.T) {
	h := newSteps(t, 100, "2ms")
	h.holdAt(90)
	h.begin()
	var saved []wire.Saved
	for n := range 2 {
		h.upTo(20 * (n + 1))
		h.order(wire.Order{Kind: wire.Save})
		h.until("a checkpoint", func() bool { return count(h.messages, wire.Checkpoint) > n })
	}
	h.order(wire.Order{Kind: wire.Kill})
	h.wait()
	h.holdAt(0)
	for _, m := range h.all(wire.Checkpoint) {
		saved = append([]wire.Saved{*m.Saved}, saved...)
	}
	missing := string(chunk.IDOf([]byte("what nobody has")))
	noImage, noWork, noMethod := saved[0], saved[0], saved[0]
	noImage.Image, noWork.Work, noMethod.Method = missing, missing, "unheard of"
	for name, list := range map[string][]wire.Saved{
		"one is left": {noImage, noWork, noMethod, saved[1]}, "none is left": {noImage, noWork},
	} {
		t.Run(name, func(t *testing.T) {
			h.next(list...)
			h.begin()
			h.wait()
			h.wantSteps(100)
			notes := 0
			for _, m := range h.all(wire.Note) {
				if m.Entry.Kind == "checkpoint" {
					notes++
				}
			}
			if notes < 2 {
				t.Errorf("%d notes of checkpoints that were passed over", notes)
			}
			run := h.all(wire.Running)
			if last := run[len(run)-1]; (last.Saved == nil) != (len(list) == 2) || last.Saved != nil &&
				last.Saved.N != saved[1].N {
				t.Errorf("continued from %+v", last.Saved)
			}
		})
	}
}

func TestAProgramWhoseSaveFailsRunsOn(t *testing.T) {
	for name, set := range map[string]func(error){
		"before it stands still": func(err error) { stepsTrouble.beforeFreeze = err },
		"while it stands still":  func(err error) { stepsTrouble.afterFreeze = err },
	} {
		t.Run(name, func(t *testing.T) {
			h := newSteps(t, 100, "2ms")
			trouble := func(err error) {
				stepsTrouble.Lock()
				defer stepsTrouble.Unlock()
				set(err)
			}
			defer trouble(nil)
			h.holdAt(90)
			h.begin()
			h.upTo(10)
			trouble(errors.New("no luck today"))
			h.order(wire.Order{Kind: wire.Save})
			if m := h.await(wire.NotSaved); !strings.Contains(m.Why, "no luck today") {
				t.Errorf("told %+v", m)
			}
			trouble(errors.New("no luck tomorrow"))
			h.order(wire.Order{Kind: wire.Stop, By: core.AtSecond(1600)})
			if m := h.await(wire.StaysOn); !strings.Contains(m.Why, "no luck tomorrow") {
				t.Errorf("told %+v", m)
			}
			h.holdAt(0)
			h.wait()
			h.wantSteps(100)
			if list, _ := filepath.Glob(filepath.Join(h.dir, "scratch", "*.*")); len(list) > 0 {
				t.Errorf("left behind: %v", list)
			}
		})
	}
}

// fullDepot takes nothing that is new.
type fullDepot struct{ brokerDepot }

func (fullDepot) PutChunk(context.Context, depot.ID, []byte) error {
	return fmt.Errorf("putting a chunk: %w", unix.ENOSPC)
}

func (f fullDepot) MissingChunks(_ context.Context, ids []depot.ID) ([]depot.ID, error) {
	return ids, nil
}

func TestAProgramIsStartedAgainWhereItWasIfItsImageCannotBeBroughtAway(t *testing.T) {
	h := newSteps(t, 100, "2ms")
	var full atomic.Bool
	full.Store(true)
	h.around.depot = func(socket string) brokerDepot {
		if full.Load() {
			return fullDepot{depotOf(socket)}
		}
		return depotOf(socket)
	}
	h.holdAt(90)
	h.begin()
	h.upTo(10)
	h.order(wire.Order{Kind: wire.Save})
	if m := h.await(wire.NotSaved); !strings.Contains(m.Why, "no space left") {
		t.Errorf("told %+v", m)
	}
	h.order(wire.Order{Kind: wire.Stop, By: core.AtSecond(1600)})
	if m := h.await(wire.StaysOn); !strings.Contains(m.Why, "no space left") {
		t.Errorf("told %+v", m)
	}
	full.Store(false)
	h.holdAt(0)
	h.wait()
	h.wantSteps(100)
}

func TestAProgramThatCannotGoOnAfterAllIsLost(t *testing.T) {
	h := newSteps(t, 1000, "2ms")
	h.around.depot = func(socket string) brokerDepot { return fullDepot{depotOf(socket)} }
	h.begin()
	h.upTo(10)
	stepsTrouble.Lock()
	stepsTrouble.start = errors.New("not again")
	stepsTrouble.Unlock()
	defer func() { stepsTrouble.Lock(); stepsTrouble.start = nil; stepsTrouble.Unlock() }()
	h.order(wire.Order{Kind: wire.Stop, By: core.AtSecond(1600)})
	h.wait()
	if m := h.ended(); m.Kind != wire.Lost || !strings.Contains(m.Why, "not again") {
		t.Errorf("told %+v", m)
	}
}

func TestABrokerThatDiesDuringAMoveFindsItDone(t *testing.T) {
	h := newSteps(t, 300, "2ms")
	h.holdAt(290)
	unreached := h.whenUnreached()
	h.begin()
	h.upTo(20)
	frozen, died := make(chan struct{}), make(chan struct{})
	stepsTrouble.Lock()
	stepsTrouble.frozen = func() { close(frozen); <-died }
	stepsTrouble.Unlock()
	h.order(wire.Order{Kind: wire.Stop, By: core.AtSecond(1600)})
	receiveSignal(t, "a program that is being saved", frozen)
	h.stop()
	close(died)
	receiveSignal(t, "an image that cannot be brought away", unreached)
	h.start()
	h.order(wire.Order{Kind: wire.Stop, By: core.AtSecond(1600)}) // as a broker says to whom it finds stopping
	h.until("an agent that is told", func() bool {
		if count(h.messages, wire.Left) > 0 {
			return true
		}
		for _, c := range h.conns {
			_ = wire.WriteFrame(c, wire.Order{Kind: wire.Stop, By: core.AtSecond(1600)})
		}
		return false
	})
	h.wait()
	m := h.ended()
	h.holdAt(0)
	h.next(*m.Saved)
	h.begin()
	h.wait()
	h.wantSteps(300)
}

func TestAFullDiskCostsTheCheckpointAndNotTheProgram(t *testing.T) {
	h := newSteps(t, 150, "2ms")
	mounted := unix.Mount("tmpfs", h.dir, "tmpfs", 0, "size=1m") == nil
	if mounted {
		defer unix.Unmount(h.dir, unix.MNT_DETACH)
	} else { // only root may mount: a disk that is said to be full must do
		h.around.free = func(string) (int64, error) { return 1 << 20, nil }
	}
	h.holdAt(140)
	h.begin()
	h.upTo(10)
	if mounted {
		// More than half of the disk: a copy does not fit.
		if err := os.WriteFile(filepath.Join(h.dir, "work", "big"), make([]byte, 700<<10), 0o600); err != nil {
			t.Fatal(err)
		}
		h.order(wire.Order{Kind: wire.Save})
		if m := h.await(wire.NotSaved); !strings.Contains(m.Why, "no space left") {
			t.Errorf("told %+v", m)
		}
		if err := os.Remove(filepath.Join(h.dir, "work", "big")); err != nil {
			t.Fatal(err)
		}
	}
	h.order(wire.Order{Kind: wire.Save})
	h.await(wire.Checkpoint)
	h.holdAt(0)
	h.wait()
	h.wantSteps(150)
}
