package agent

import (
	"fmt"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// sizes is what is under way about the size of a program that can change it: the broker offers, the program answers on
// its page, the broker says what it has. What the program does not answer it keeps.
type sizes struct {
	offered  int // number of the last offer that the program was told of
	answered int // and of the last that it has answered
	wanted   uint64
	look     *time.Ticker // while an answer is waited for
	until    time.Duration
}

// How often the page is looked at while an answer is waited for, and for how long; after that it is whenever the
// program is sampled.
const (
	answerInterval = 20 * time.Millisecond
	answerTime     = time.Minute
)

// onOffer tells the program how many processors it could have. One that was told before is told again by a broker that
// has begun anew, or after the connection was cut.
func (l *life) onOffer(o *wire.Order) {
	if l.phase != running || o.Offer <= l.sizes.answered {
		return
	}
	if cpus := runtime.NumCPU(); o.Size > cpus && o.Size > l.attempt.Procs && isConfined(os.Getenv, cpus) {
		l.sizes.offered, l.sizes.answered = o.Offer, o.Offer
		l.sendNote("resize", "keeps its size", fmt.Sprintf("its batch system confines it to %d CPUs of the host", cpus), nil)
		l.outbox.QueueMessage(wire.Message{Kind: wire.Accepted, Size: l.attempt.Procs, Offer: o.Offer})
		return
	}
	l.report.SetOffer(o.Size, o.Offer)
	l.sizes.offered, l.sizes.until = o.Offer, l.sinceBirth()+answerTime
	if l.sizes.look == nil {
		l.sizes.look = time.NewTicker(answerInterval)
	}
}

// isConfined reports whether a batch system lets its job, and so this agent, run on so many CPUs of the host only: then
// nothing is gained by others that are held for it.
func isConfined(variable func(string) string, cpus int) bool {
	if variable("SLURM_JOB_ID") == "" && variable("SGE_ROOT") == "" {
		return false
	}
	var all unix.CPUSet // of the host: where its first process may run
	return unix.SchedGetaffinity(1, &all) == nil && cpus < all.Count()
}

// readSizes tells the broker what the program says about its size.
func (l *life) readSizes() {
	r, s := l.report.ReadSizes(), &l.sizes
	if s.offered > s.answered && r.AcceptSerial == uint64(s.offered) {
		s.answered = s.offered
		l.outbox.QueueMessage(wire.Message{Kind: wire.Accepted, Size: saneSize(r.Accept), Offer: s.answered})
	}
	if r.WantSerial > s.wanted {
		s.wanted = r.WantSerial
		l.outbox.QueueMessage(wire.Message{Kind: wire.SizeWanted, Size: saneSize(r.Want), Offer: saneSize(r.WantSerial)})
	}
	if s.look != nil && (s.answered == s.offered || l.sinceBirth() > s.until) {
		stopTicker(&s.look)
	}
}

// saneSize is a number that a program wrote, as far as it can be one.
func saneSize(n uint64) int { return int(min(n, 1<<30)) }

// onResize has the program know, and run on, what it has now.
func (l *life) onResize(o *wire.Order) {
	if l.program == nil || o.Size < 1 {
		return
	}
	if cpus, ok := core.ParseProcSet(o.CPUs); ok && len(cpus) > 0 {
		if err := l.around.confine(l.attempt.Mark, cpus.List()); err != nil {
			l.sendNote("resize", fmt.Sprintf("the program is not confined to its %d processors", o.Size), err.Error(), nil)
		}
	}
	l.watch.SetProcs(o.Size)
	l.report.SetSize(o.Size, o.Offer)
}
