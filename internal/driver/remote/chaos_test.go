package remote_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/remote/sshdtest"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// Whatever is killed whenever, connections, outposts, agents and brokers: every
// program begins at most once, and of each attempt that is not released exactly
// one end is heard.
func TestWhateverIsKilledEveryAttemptEndsOnce(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	w := newWorld(t, sshdtest.Start(t))
	w.opt.FirstPause, w.opt.LongPause = 10*time.Millisecond, 100*time.Millisecond
	d := w.open()
	released := map[*wire.Attempt]bool{}
	const jobs = 12
	for range jobs {
		a := w.AttemptFromLine(`echo began >> "$NOTES"; exec sleep 0.` + strconv.Itoa(rng.IntN(8)))
		mustInsist(t, func(ctx context.Context) error { return d.StartAttempt(ctx, a) })
		for range 2 {
			victim := w.Attempts()[rng.IntN(len(w.Attempts()))]
			switch rng.IntN(8) {
			case 0, 1:
				w.sshd.CutConnections()
			case 2, 3:
				killAll(w.outposts(), syscall.SIGKILL)
			case 4:
				d = w.open()
			case 5:
				w.Broker.SetDeaf(true)
				w.Broker.SetDeaf(false)
			case 6:
				w.KillAgentIfAny(victim)
			case 7:
				if rng.IntN(3) == 0 {
					released[victim] = true
					mustInsist(t, func(ctx context.Context) error { return d.ReleaseAttempt(ctx, idOf(victim)) })
				}
			}
			time.Sleep(time.Duration(rng.IntN(100)) * time.Millisecond) // the next comes at any moment
		}
	}
	for _, a := range w.Attempts() {
		if !released[a] {
			mustInsist(t, func(ctx context.Context) error { return d.StartAttempt(ctx, a) }) // as a broker does after a restart
			clocktest.WaitFor(t, "an end to be heard", func() bool { return heard(w, a, wire.Ended)+heard(w, a, wire.Lost) > 0 })
		}
	}
	for _, a := range w.Attempts() {
		n := heard(w, a, wire.Ended) + heard(w, a, wire.Lost)
		if w.StartCount(a) > 1 || n > 1 || n < 1 && !released[a] || w.LivingProcesses(a) > 0 {
			t.Errorf("job %d began %d times, ended %d times, released: %v, %d live: %+v", a.Job, w.StartCount(a), n, released[a],
				w.LivingProcesses(a), w.HeardMessages(a))
		}
	}
}

// mustInsist does something until the cluster is within reach.
func mustInsist(t *testing.T, f func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var err error
	clocktest.PollLoop{Limit: time.Minute}.Until(func() bool {
		err = f(ctx)
		return !errors.Is(err, driver.ErrAway)
	})
	if err != nil {
		t.Error(err)
	}
}
