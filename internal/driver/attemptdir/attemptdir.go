// Package attemptdir is the folder of an attempt, as drivers and agents have
// agreed on it, and the folder that holds all of a cluster's: their names, what
// is in them, the lock that says whether an agent lives, the fence that keeps an
// attempt from ever starting, and the memory of those that were released. It must
// not know how an agent is started nor what it does.
package attemptdir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// What an attempt's folder holds, as far as agents and drivers have to agree on
// it.
const (
	AttemptFile = "attempt.json" // what to run; written whole before an agent is started
	LockFile    = "lock"         // an agent holds a lock on it as long as it lives; its number stands in it
	FenceFile   = "fence"        // an agent that finds it starts nothing
	StartedFile = "started"      // an agent has begun to start things
	KnownFile   = "known"        // the broker has acknowledged the last word: nothing runs, the agent leaves
	LostFile    = "lost"         // the attempt is lost, and why: an agent only tells
	LogFile     = "agent.log"    // what agents said
)

// ErrReleased is what Start returns for an attempt that was released: it never
// runs again.
var ErrReleased = errors.New("the attempt was released")

// FolderName is the name of an attempt's folder.
func FolderName(id driver.ID) string { return wire.AttemptName(id.Job, id.Epoch, id.Part) }

// ParseName takes only what FolderName gives.
func ParseName(s string) (driver.ID, bool) {
	job, rest, _ := strings.Cut(s, ".")
	epoch, part, hasPart := strings.Cut(rest, ".")
	j, err1 := strconv.ParseInt(job, 10, 64)
	e, err2 := strconv.ParseInt(epoch, 10, 32)
	id := driver.ID{Job: core.JobID(j), Epoch: core.Epoch(e)}
	var err3 error
	if hasPart {
		id.Part, err3 = strconv.Atoi(part)
	}
	return id, err1 == nil && err2 == nil && err3 == nil && id.IsValid() && FolderName(id) == s
}

// PrepareFolder makes the folder and the file that says what to run, unless they are
// there: what was to be run first is run. It says whether it made the folder.
func PrepareFolder(dir string, a *wire.Attempt) (made bool, err error) {
	switch err := os.Mkdir(dir, 0o700); {
	case err == nil:
		return true, WriteAttempt(dir, a)
	case !errors.Is(err, fs.ErrExist):
		return false, err
	}
	// A power failure may leave a file without its content.
	if _, err := ReadAttempt(dir); err != nil {
		return false, WriteAttempt(dir, a)
	}
	return false, nil
}

// WriteAttempt writes what to run.
func WriteAttempt(dir string, a *wire.Attempt) error {
	data, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("write what to run: %w", err)
	}
	return ReplaceFile(dir, AttemptFile, data)
}

// ReplaceFile writes a file of the folder beside its place, which it takes when it
// is whole.
func ReplaceFile(dir, name string, data []byte) error {
	beside := filepath.Join(dir, name+".new")
	if err := os.WriteFile(beside, data, 0o600); err != nil {
		return err
	}
	return os.Rename(beside, filepath.Join(dir, name))
}

// ReadAttempt reads what to run.
func ReadAttempt(dir string) (*wire.Attempt, error) {
	data, err := os.ReadFile(filepath.Join(dir, AttemptFile))
	if err != nil {
		return nil, err
	}
	a := new(wire.Attempt)
	if err := json.Unmarshal(data, a); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, AttemptFile), err)
	}
	return a, nil
}

// HasFile says whether there is a file of that name in the folder; with none, whether
// there is the folder.
func HasFile(dir string, name ...string) bool {
	var st syscall.Stat_t
	return syscall.Stat(filepath.Join(append([]string{dir}, name...)...), &st) == nil
}

func touchFile(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// LockHolder is the number of the process that wrote it into the lock file; 0 if
// there is none.
func LockHolder(dir string) int {
	data, err := os.ReadFile(filepath.Join(dir, LockFile))
	if err != nil {
		return 0
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(data)))
	return pid
}

// TakeLock takes an attempt's lock as an agent does. nil without an error:
// somebody has it.
func TakeLock(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, LockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err == nil {
		return f, nil
	}
	_ = f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, nil
	}
	return nil, fmt.Errorf("lock %s: %w", filepath.Join(dir, LockFile), err)
}

// removeTree removes a folder of a released attempt, also where a program took
// away its own right to write.
func removeTree(dir string) error {
	if err := os.RemoveAll(dir); err == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if e != nil && e.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}
