package loads

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
)

// Order is what a spinner is to do: on which processor, and what part of it to
// take in each interval. After the last it goes on as in that.
type Order struct {
	CPU     int
	Every   time.Duration
	Demands []float64
}

// turn is how finely a spinner mixes computing and sleeping: several turns in the
// shortest time between two looks at a program.
const turn = 20 * time.Millisecond

// Spin reads an order and waits for another line; then it takes of its processor
// what the order says until its input ends.
func Spin(in io.Reader) error {
	lines := bufio.NewReader(in)
	text, err := lines.ReadBytes('\n')
	var o Order
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	if err != nil || o.Every < turn || len(o.Demands) == 0 {
		return &badinput.Error{Field: "standard input", Want: "an order of the experiment as one line of JSON", Err: err}
	}
	failed := make(chan error, 1)
	ready := make(chan struct{})
	begin := make(chan struct{})
	go func() {
		runtime.LockOSThread() // the kernel shares processors among threads
		var set unix.CPUSet
		set.Set(o.CPU)
		if err := unix.SchedSetaffinity(0, &set); err != nil {
			failed <- fmt.Errorf("computing on processor %d: %w", o.CPU, err)
			return
		}
		close(ready)
		<-begin
		failed <- o.spinUntil(clock.RealClock())
	}()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-ready
		if _, err := lines.ReadBytes('\n'); err != nil {
			return
		}
		close(begin)
		_, _ = io.Copy(io.Discard, lines) // its end is what counts
	}()
	select {
	case err := <-failed:
		return err
	case <-ended:
		return nil // and with the process the spinning ends
	}
}

func (o *Order) spinUntil(now clock.Clock) error {
	began := now()
	for n := 0; ; n++ {
		from := time.Duration(n) * turn
		elapsed := now.Since(began)
		if elapsed >= from+turn { // it was kept waiting: what it missed is not made up
			n = int(elapsed / turn)
			from = time.Duration(n) * turn
		}
		demand := o.Demands[min(int(from/o.Every), len(o.Demands)-1)]
		if err := useProcessor(time.Duration(demand*float64(turn)),
			func() bool { return now.Since(began) >= from+turn }); err != nil {
			return err
		}
		if rest := from + turn - now.Since(began); rest > 0 {
			ts := unix.NsecToTimespec(int64(rest))
			_ = unix.Nanosleep(&ts, nil) // woken early it computes early
		}
	}
}

// useProcessor computes for so much time of the processor, unless the turn is over before.
func useProcessor(much time.Duration, over func() bool) error {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		return os.NewSyscallError("clock_gettime", err)
	}
	end := time.Duration(ts.Nano()) + much
	for x := uint64(1); ; {
		if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
			return os.NewSyscallError("clock_gettime", err)
		}
		if time.Duration(ts.Nano()) >= end || over() {
			return nil
		}
		for range 20_000 {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
		}
		runtime.KeepAlive(x) // so that the work is not left out
	}
}
