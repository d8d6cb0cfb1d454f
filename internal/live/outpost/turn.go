package outpost

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
)

// turn is the right to work in a place. There is one outpost at a time: one that
// comes says so in a file, and the one before, whose connection may be dead
// without its knowing, goes.
type turn struct {
	lock *os.File
	file string // whose turn it is
	mine []byte
}

const (
	turnFile     = "outpost.turn"
	turnLock     = "outpost.lock"
	turnInterval = 300 * time.Millisecond
	// leaveTimeout is how long the one before may take to go; then it is ended.
	leaveTimeout = 4 * time.Second
	// deathTimeout is how long it may take to be gone after that.
	deathTimeout = 20 * time.Second
)

// takeOver takes the place over.
func (p *workFolder) takeOver(ctx context.Context, c clock.Clock) (*turn, error) {
	id := make([]byte, 16)
	_, _ = rand.Read(id) // never fails
	t := &turn{file: filepath.Join(p.dir, turnFile), mine: fmt.Appendf(nil, "%x\n", id)}
	if err := t.claimTurn(); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(p.dir, turnLock), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := t.waitPrevious(ctx, lock, c); err != nil {
		_ = lock.Close()
		return nil, err
	}
	t.lock = lock
	host, _ := os.Hostname() // only for people who look, and for the next
	_ = lock.Truncate(0)
	_, _ = lock.WriteAt(fmt.Appendf(nil, "%d %s\n", os.Getpid(), host), 0)
	return t, nil
}

// claimTurn says that it is our turn. What stands in the file is always as long as what
// is written over it: it is never half of one, needs no room on a full disk, and
// nothing lies beside it that one that is killed would leave.
func (t *turn) claimTurn() error {
	f, err := os.OpenFile(t.file, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(t.mine, 0)
	return errors.Join(err, f.Close())
}

// waitPrevious waits until the one before is gone.
func (t *turn) waitPrevious(ctx context.Context, lock *os.File, c clock.Clock) error {
	began, ended := c(), false
	for {
		err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return fmt.Errorf("lock %s: %w", lock.Name(), err)
		}
		waited := c.Since(began)
		if !t.isCurrent() {
			return errors.New("a later outpost took over")
		}
		if waited > leaveTimeout && !ended {
			ended = true
			endPrevious(lock)
		}
		if waited > deathTimeout {
			return fmt.Errorf("another outpost works in %s and does not go", filepath.Dir(t.file))
		}
		if !clock.SleepContext(ctx, 20*time.Millisecond) {
			return ctx.Err()
		}
	}
}

// endPrevious ends the outpost that holds the lock, if it is on this machine: it does
// not even look whose turn it is.
func endPrevious(lock *os.File) {
	text := make([]byte, 256)
	n, _ := lock.ReadAt(text, 0)
	number, host, _ := strings.Cut(strings.TrimSpace(string(text[:n])), " ")
	pid, err := strconv.Atoi(number)
	here, _ := os.Hostname()
	if err != nil || pid <= 1 || pid == os.Getpid() || host != here {
		return
	}
	line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	if words := bytes.Split(line, []byte{0}); err == nil && len(words) > 1 && string(words[1]) == "outpost" {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may just have gone
	}
}

// isCurrent says whether it is still our turn. A file that cannot be read is no
// reason to go.
func (t *turn) isCurrent() bool {
	text, err := os.ReadFile(t.file)
	return err != nil || bytes.Equal(text, t.mine)
}

// watchSuccessor returns true when another outpost has come, false when ctx is done.
func (t *turn) watchSuccessor(ctx context.Context) bool {
	tick := time.NewTicker(turnInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
			if !t.isCurrent() {
				return true
			}
		}
	}
}

// leavePlace gives the place back.
func (t *turn) leavePlace() { _ = t.lock.Close() }
