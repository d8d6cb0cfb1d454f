package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/agent/output"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// folder is the attempt's folder. Its files are the memory of the attempt, for
// the case that this agent dies: the lock says whether an agent lives, started
// that something may have run, ended.json how the program ended while its
// result is not yet safe, exit.json what is to be told at last, known that the
// broker has been told. A file is written beside its place and takes it when it
// is whole.
type folder struct{ dir string }

func (f folder) filePath(name string) string { return filepath.Join(f.dir, name) }
func (f folder) workDir() string             { return f.filePath("work") }
func (f folder) scratchDir() string          { return f.filePath("scratch") }
func (f folder) spoolDir() string            { return f.filePath("out") }

// takeLock takes the folder for this process's whole life. It is nil, nil if another
// agent has it. A moment is waited: of an agent that was killed while it started
// a process, that process may hold the lock until it executes its program.
func (f folder) takeLock() (*os.File, error) {
	file, err := os.OpenFile(f.filePath("lock"), os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	const tries, pause = 20, 10 * time.Millisecond
	for i := range tries {
		if err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
			break
		}
		if i < tries-1 {
			time.Sleep(pause)
		}
	}
	if err != nil {
		_ = file.Close() // nothing was written
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, nil
		}
		return nil, fmt.Errorf("locking %s: %w", file.Name(), err)
	}
	// Only for people who look: who lives is told by the lock, not by its content.
	_ = file.Truncate(0)
	_, _ = file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return file, nil
}

// isFenced says whether the attempt may not run any more.
func (f folder) isFenced() bool {
	_, err := os.Lstat(f.filePath("fence"))
	return err == nil
}

// isGone says whether the folder was removed, so that nobody could ever find us
// again.
func (f folder) isGone() bool {
	_, err := os.Lstat(f.filePath("attempt.json"))
	return errors.Is(err, fs.ErrNotExist)
}

// lostReason is why the attempt is lost, where the driver knows that it is: the
// manager of its cluster ended it, or the host is gone. "": it does not. Nothing
// is started then any more; all that is left is to tell.
func (f folder) lostReason() string {
	text, err := os.ReadFile(f.filePath("lost"))
	if err != nil {
		return ""
	}
	why, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	if why != "" {
		return why
	}
	return "the cluster lost it"
}

// lostCause is the cause of that, as jobfile calls it, on the second line; "": not
// known.
func (f folder) lostCause() string {
	text, err := os.ReadFile(f.filePath("lost"))
	if err != nil {
		return ""
	}
	_, cause, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return strings.TrimSpace(cause)
}

// isKnown says whether the broker knows all there is to know.
func (f folder) isKnown() bool {
	_, err := os.Lstat(f.filePath(knownFile))
	return err == nil
}

// readAttempt reads what is to be run.
func (f folder) readAttempt() (*wire.Attempt, error) {
	a := new(wire.Attempt)
	if err := f.readJSON("attempt.json", a); err != nil {
		return nil, err
	}
	if a.Job <= 0 || a.Epoch <= 0 || a.Part < 0 || len(a.Spec.Argv) == 0 || a.Mark == "" {
		return nil, fmt.Errorf("%s: job, epoch, mark or command is missing", f.filePath("attempt.json"))
	}
	return a, nil
}

// readGeneration is how many agents have had the folder before, as started says.
func (f folder) readGeneration() (int, error) {
	text, err := os.ReadFile(f.filePath("started"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || n < 1 {
		return 1, nil //nolint:nilerr // whatever stands there, somebody was here
	}
	return n, nil
}

// markStarted notes that from now on something may run. The first agent only gives the
// attempt another name: on some disks making a file costs as much as all else
// that an agent does for a short program.
func (f folder) markStarted(generation int) error {
	if generation == 1 && os.Link(f.filePath("attempt.json"), f.filePath("started")) == nil {
		return nil
	}
	return f.replaceFile("started", []byte(strconv.Itoa(generation)+"\n"), false)
}

// ended is how the program ended, kept while its result is being brought to the
// depot.
type ended struct {
	Message wire.Message `json:"message"`
}

// writeJSON puts v as JSON in place of name. With safe it survives the loss of
// power.
func (f folder) writeJSON(name string, v any, safe bool) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return f.replaceFile(name, append(text, '\n'), safe)
}

func (f folder) replaceFile(name string, text []byte, safe bool) (err error) {
	beside := f.filePath("." + name + ".partial")
	defer func() {
		if err != nil {
			_ = os.Remove(beside) // it may be what fills the disk
			err = fmt.Errorf("writing %s: %w", f.filePath(name), err)
		}
	}()
	file, err := os.OpenFile(beside, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err == nil && safe {
		err = file.Sync()
	}
	if e := file.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(beside, f.filePath(name))
	}
	if err == nil && safe {
		err = output.SyncFolder(f.dir)
	}
	return err
}

// syncFile makes a file that was written without safe survive the loss of power.
func (f folder) syncFile(name string) error {
	file, err := os.Open(f.filePath(name))
	if err != nil {
		return err
	}
	err = file.Sync()
	_ = file.Close() // opened for reading
	if err != nil {
		return err
	}
	return output.SyncFolder(f.dir)
}

// readJSON reads JSON; fs.ErrNotExist if there is no such file.
func (f folder) readJSON(name string, v any) error {
	text, err := os.ReadFile(f.filePath(name))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("%s: %w", f.filePath(name), err)
	}
	return nil
}
