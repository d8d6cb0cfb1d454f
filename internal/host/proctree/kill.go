package proctree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// KillAll ends all processes of the tree: SIGTERM first and, to those that are left
// after the grace, SIGKILL, once they stand still and cannot fork away. With no
// grace there is no SIGTERM. It returns when none is left, or else with an
// error that says which.
func (t *Tree) KillAll(ctx context.Context, grace time.Duration) error {
	if grace > 0 && !t.isEmpty() {
		t.SignalAll(unix.SIGTERM)
		t.SignalAll(unix.SIGCONT) // who is stopped cannot end itself
		within, cancel := context.WithTimeout(ctx, grace)
		err := t.WaitEmpty(within)
		cancel()
		if err != nil && ctx.Err() != nil {
			return t.leftError(ctx.Err())
		}
	}
	pause := 5 * time.Millisecond
	for {
		if err := t.killStopped(); err != nil {
			return err
		}
		within, cancel := context.WithTimeout(ctx, pause)
		err := t.WaitEmpty(within)
		cancel()
		if err == nil {
			// Nothing can leave the tree. Looking for the mark costs little and
			// would show us wrong.
			n, err := KillLeftovers(ctx, t.mark)
			if n == 0 || err != nil {
				return err
			}
			continue
		}
		if ctx.Err() != nil {
			return t.leftError(ctx.Err())
		}
		pause = min(2*pause, 200*time.Millisecond)
	}
}

// killStopped stops all, until a look finds nobody new, and kills all.
func (t *Tree) killStopped() error {
	t.mu.Lock()
	group := t.group
	t.mu.Unlock()
	if group != nil {
		if err := group.KillAll(); err != nil {
			return err
		}
	}
	hit := map[int]uint64{}
	for range 1000 {
		if fresh, _ := t.sweepSignal(unix.SIGSTOP, hit); fresh == 0 { // the kill below tells
			break
		}
	}
	clear(hit)
	_, err := t.sweepSignal(unix.SIGKILL, hit)
	return err
}

// sweepSignal signals all processes that there are and that were not hit before, from
// the top down: who has a signal pending cannot fork, so below those that were
// hit the tree does not grow. Process groups are signalled too, since the
// kernel does that to all members at once, also to those that are being forked at
// that moment, while one by one they may always be a step ahead. It returns
// how many were new.
func (t *Tree) sweepSignal(sig syscall.Signal, hit map[int]uint64) (fresh int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var errs []error
	groups := map[int]bool{}
	kids := t.childLister()
	in := map[int]bool{}
	list, _ := t.ourOwn()
	for i := 0; i < len(list); i++ { // the list grows while it is gone through
		s := list[i]
		if s.pgrp > 1 && !groups[s.pgrp] && s.session != ourSession() {
			groups[s.pgrp] = true
			unix.Kill(-s.pgrp, sig) //nolint:errcheck // each is signalled by itself as well
		}
		if s.isZombie() || in[s.pid] {
			continue
		}
		in[s.pid] = true
		if start, ok := hit[s.pid]; !ok || start != s.start {
			hit[s.pid] = s.start
			fresh++
			if err := t.read.sendSignal(s.pid, s.start, sig); err != nil && !errors.Is(err, unix.ESRCH) {
				errs = append(errs, fmt.Errorf("process %d (%s) cannot be ended: %w", s.pid, s.comm, err))
			}
		}
		for _, pid := range kids(s.pid, s.threads) {
			if kid, err := t.read.readStat(pid); err == nil && !in[pid] {
				list = append(list, kid)
			}
		}
	}
	return fresh, errors.Join(errs...)
}

// leftError is an error that names the processes that could not be ended.
func (t *Tree) leftError(err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.updateMembers(true)
	names := ""
	for i, m := range t.members {
		if i == 5 {
			names += " …"
			break
		}
		names += fmt.Sprintf(" %d (%s, %c)", m.pid, m.comm, m.state)
	}
	return fmt.Errorf("%d processes are left:%s: %w", len(t.members), names, err)
}

// StopAll makes all processes of the tree stand still (SIGSTOP), and returns when
// they do. If they do not in time, they run on and there is an error.
func (t *Tree) StopAll(ctx context.Context) error {
	pause := 20 * time.Microsecond
	for {
		still, err := t.stopRunning()
		if err == nil && still {
			return nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			t.ContinueAll()
			return fmt.Errorf("the program could not be made to stand still: %w", err)
		}
		time.Sleep(pause)
		if pause = min(2*pause, 10*time.Millisecond); pause == 10*time.Millisecond {
			t.nudgeVforked()
		}
	}
}

// nudgeVforked lets children go on that were stopped between vfork and exec: their
// parents wait for them in the kernel, where nothing can stop these. They are
// stopped again when their parents are out of there.
func (t *Tree) nudgeVforked() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range t.members {
		if m.stopped && m.isStill() && m.parent != nil && m.parent.state == 'D' {
			m.stopped = false
			t.read.sendSignal(m.pid, m.start, unix.SIGCONT) //nolint:errcheck // gone meanwhile: needs nothing
		}
	}
}

// stopRunning stops those that still run and reports whether there was none.
func (t *Tree) stopRunning() (still bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := len(t.members)
	t.updateMembers(true)
	still = known == len(t.members)
	for _, m := range t.members {
		if m.isStill() {
			continue // also one that the program itself has stopped
		}
		still = false
		m.stopped = true
		if e := t.read.sendSignal(m.pid, m.start, unix.SIGSTOP); e != nil && !errors.Is(e, unix.ESRCH) {
			err = fmt.Errorf("process %d (%s): %w", m.pid, m.comm, e)
		}
	}
	return still, err
}

// ContinueAll lets what StopAll stopped run on, children before parents.
func (t *Tree) ContinueAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := len(t.members) - 1; i >= 0; i-- {
		if m := t.members[i]; m.stopped {
			m.stopped = false
			t.read.sendSignal(m.pid, m.start, unix.SIGCONT) //nolint:errcheck // gone meanwhile: needs nothing
		}
	}
}

// MarkedProcesses lists the processes whose environment has the mark, whoever their
// parent is. This process is never among them.
func MarkedProcesses(mark string) ([]int, error) {
	var r reader
	list, err := r.findMarked(mark)
	var pids []int
	for _, s := range list {
		pids = append(pids, s.pid)
	}
	return pids, err
}

func (r *reader) findMarked(mark string) ([]stat, error) {
	pids, err := numbersIn("/proc")
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	var list []stat
	for _, pid := range pids {
		if pid == os.Getpid() {
			continue
		}
		if found, ok := r.readMark(pid); !ok || found != mark {
			continue
		}
		if s, err := r.readStat(pid); err == nil && !s.isZombie() {
			list = append(list, s)
		}
	}
	return list, nil
}

// ConfineMarked has every process whose environment has the mark, and what those started, run on some CPUs alone. What
// they start from now on inherits it; they are looked at until nobody new is found.
func ConfineMarked(mark string, cpus []int) error {
	var set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	var r reader
	seen := map[int]bool{}
	const looks = 10
	for range looks {
		list, err := r.withDescendants(mark)
		if err != nil {
			return err
		}
		fresh := false
		for _, s := range list {
			threads, err := numbersIn(procPath(s.pid, "task"))
			if err != nil {
				continue // gone meanwhile
			}
			for _, tid := range threads {
				if seen[tid] {
					continue
				}
				seen[tid], fresh = true, true
				if err := unix.SchedSetaffinity(tid, &set); err != nil && !errors.Is(err, unix.ESRCH) {
					return fmt.Errorf("running on the cores %v: %w", cpus, err)
				}
			}
		}
		if !fresh {
			break
		}
	}
	return nil
}

// KillLeftovers ends every process whose environment has the mark, and what
// those started, and returns how many there were once none is left.
func KillLeftovers(ctx context.Context, mark string) (int, error) {
	var r reader
	ended := map[int]uint64{}
	pause := time.Millisecond
	for {
		found, err := r.withDescendants(mark)
		if err != nil || len(found) == 0 {
			return len(ended), err
		}
		// Stop them until a look finds nobody new, then kill.
		for range 100 {
			r.signalEach(found, unix.SIGSTOP) //nolint:errcheck // the kill below tells
			again, err := r.withDescendants(mark)
			if err != nil {
				return len(ended), err
			}
			grown := len(again) > len(found)
			found = again
			if !grown {
				break
			}
		}
		if err := r.signalEach(found, unix.SIGKILL); err != nil {
			return len(ended), err
		}
		for _, s := range found {
			ended[s.pid] = s.start
		}
		if ctx.Err() != nil {
			return len(ended), fmt.Errorf("%d processes are left: %w", len(found), ctx.Err())
		}
		time.Sleep(pause)
		pause = min(2*pause, 100*time.Millisecond)
	}
}

// withDescendants adds to the marked what they started: that may have another
// environment.
func (r *reader) withDescendants(mark string) ([]stat, error) {
	list, err := r.findMarked(mark)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	in := map[int]bool{os.Getpid(): true}
	for _, s := range list {
		in[s.pid] = true
	}
	for i := 0; i < len(list); i++ { // the list grows while it is gone through
		kids, err := r.listChildren(list[i].pid, list[i].threads, nil)
		if err != nil {
			continue // gone meanwhile
		}
		for _, pid := range kids {
			if s, err := r.readStat(pid); err == nil && !in[pid] && !s.isZombie() {
				in[pid] = true
				list = append(list, s)
			}
		}
	}
	return list, nil
}

func (r *reader) signalEach(list []stat, sig syscall.Signal) error {
	var errs []error
	done := map[int]bool{}
	for _, s := range list {
		if s.session != ourSession() && s.pgrp > 1 && !done[s.pgrp] {
			done[s.pgrp] = true
			unix.Kill(-s.pgrp, sig) //nolint:errcheck // each is signalled by itself as well
		}
		if err := r.sendSignal(s.pid, s.start, sig); err != nil && !errors.Is(err, unix.ESRCH) {
			errs = append(errs, fmt.Errorf("process %d (%s) cannot be ended: %w", s.pid, s.comm, err))
		}
	}
	return errors.Join(errs...)
}
