package proctree

import (
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// SignalAll sends a signal to every process of the tree.
func (t *Tree) SignalAll(sig syscall.Signal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.updateMembers(true)
	for _, m := range t.members {
		if !m.isZombie() {
			t.read.sendSignal(m.pid, m.start, sig) //nolint:errcheck // who cannot be signalled is told of when killing fails
		}
	}
}

// SignalHandlers sends a signal to the topmost processes of the tree that
// handle it, and to nobody below them: those pass it on if they want to. It
// returns to how many. Who does not handle a signal would be ended by it, and a
// program that is just starting does not handle it yet.
func (t *Tree) SignalHandlers(sig syscall.Signal) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.updateMembers(true)
	handles := map[*member]bool{}
	sent := 0
	var errs []error
	for _, m := range t.members { // parents first
		if m.isZombie() {
			continue
		}
		if m.parent != nil && handles[m.parent] {
			handles[m] = true
			continue
		}
		status, err := t.read.readFile(procPath(m.pid, "status"))
		if err != nil || !handlesSignal(status, sig) {
			continue
		}
		handles[m] = true
		switch err := t.read.sendSignal(m.pid, m.start, sig); {
		case err == nil:
			sent++
		case !errors.Is(err, unix.ESRCH):
			errs = append(errs, fmt.Errorf("process %d (%s): %w", m.pid, m.comm, err))
		}
	}
	return sent, errors.Join(errs...)
}

// handlesSignal reads in /proc/PID/status whether a process has a handler for a
// signal, or blocks it as who waits for signals does. Who blocks nearly all does
// so for a moment, while it forks.
func handlesSignal(status []byte, sig syscall.Signal) bool {
	if sig <= 0 || sig > 64 {
		return false
	}
	mask := func(key string) uint64 {
		value, _ := afterKey(status, key)
		n, err := strconv.ParseUint(string(value), 16, 64)
		if err != nil {
			return 0
		}
		return n
	}
	bit := uint64(1) << (uint(sig) - 1)
	blocked := mask("SigBlk")
	return mask("SigCgt")&bit != 0 || blocked&bit != 0 && bits.OnesCount64(blocked) < 32 && mask("SigIgn")&bit == 0
}
