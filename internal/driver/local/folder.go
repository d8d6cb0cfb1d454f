package local

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

	"github.com/godwit-hpc/godwit/internal/agent/wire"
	"github.com/godwit-hpc/godwit/internal/core"
	"github.com/godwit-hpc/godwit/internal/driver"
)

// What an attempt's folder holds, as far as agents and we have to agree on it.
const (
	attemptFile = "attempt.json" // what to run; written whole before an agent is started
	lockFile    = "lock"         // an agent holds a lock on it as long as it lives; its number stands in it
	fenceFile   = "fence"        // an agent that finds it starts nothing
	startedFile = "started"      // an agent has begun to start things
	knownFile   = "known"        // the broker has acknowledged the last word: nothing runs, the agent leaves
	logFile     = "agent.log"    // what agents said
)

// What stands beside the attempts' folders.
const (
	goneFile = "gone"  // the attempts that were released
	trashDir = "trash" // folders of released attempts, on their way out
	rampart  = "fence" // an empty file: every fence is another name for it
)

func folderName(id driver.ID) string {
	return strconv.FormatInt(int64(id.Job), 10) + "." + strconv.FormatInt(int64(id.Epoch), 10)
}

// parseFolderName takes only what folderName gives.
func parseFolderName(s string) (driver.ID, bool) {
	job, epoch, _ := strings.Cut(s, ".")
	j, err1 := strconv.ParseInt(job, 10, 64)
	e, err2 := strconv.ParseInt(epoch, 10, 32)
	id := driver.ID{Job: core.JobID(j), Epoch: core.Epoch(e)}
	return id, err1 == nil && err2 == nil && j > 0 && e > 0 && folderName(id) == s
}

// prepare makes the folder and the file that says what to run, unless they are
// there: what was to be run first is run.
func prepare(dir string, a *wire.Attempt) error {
	switch err := os.Mkdir(dir, 0o700); {
	case err == nil:
		return writeAttempt(dir, a)
	case !errors.Is(err, fs.ErrExist):
		return err
	}
	// A power failure may leave a file without its content.
	if _, err := readAttempt(dir); err != nil {
		return writeAttempt(dir, a)
	}
	return nil
}

func writeAttempt(dir string, a *wire.Attempt) error {
	data, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("write what to run: %w", err)
	}
	tmp := filepath.Join(dir, attemptFile+".new")
	if err := os.WriteFile(tmp, data, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, filepath.Join(dir, attemptFile))
}

func readAttempt(dir string) (*wire.Attempt, error) {
	data, err := os.ReadFile(filepath.Join(dir, attemptFile))
	if err != nil {
		return nil, err
	}
	a := new(wire.Attempt)
	if err := json.Unmarshal(data, a); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, attemptFile), err)
	}
	return a, nil
}

func exists(path string) bool {
	var st syscall.Stat_t
	return syscall.Stat(path, &st) == nil
}

// fence puts the fence around a folder: another name for a file that is there
// already, because making one costs ten times as much.
func fence(dir, rampart string) error {
	path := filepath.Join(dir, fenceFile)
	if err := os.Link(rampart, path); err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	return touch(path) // a file has only so many names, or none can be added here
}

func touch(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// lockHolder is the number of the process that wrote it into the lock file; 0
// if there is none.
func lockHolder(dir string) int {
	data, err := os.ReadFile(filepath.Join(dir, lockFile))
	if err != nil {
		return 0
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(data)))
	return pid
}

// takeLock takes an attempt's lock as an agent does. nil without an error:
// somebody has it.
func takeLock(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
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
	return nil, fmt.Errorf("lock %s: %w", filepath.Join(dir, lockFile), err)
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
