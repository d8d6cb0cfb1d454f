package attemptdir

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// Where attempts are short, making and removing their files is a good part of
// what they cost: ext4 looks at every file that was removed in the last minutes
// before it makes another. So the folder of an attempt that is over, with the
// files that every attempt has, emptied, becomes the folder of a later one.

// maxSpareFolders is how many folders wait to be used again.
const maxSpareFolders = 64

// spareNames are the files that are kept, and the names under which those who
// write them find them to write over. Nothing of an attempt is left in them.
var spareNames = map[string]string{AttemptFile: AttemptFile + ".new", "exit.json": ".exit.json.partial",
	LockFile: LockFile}

// PrepareFolder makes the folder of an attempt, of a spare one if there is one, and the
// file that says what to run, unless they are there.
func (f *Folders) PrepareFolder(id driver.ID, a *wire.Attempt) error {
	f.reuse.Store(true)
	select {
	case spare := <-f.spares:
		err := WriteAttempt(spare, a)
		if err == nil {
			err = os.Rename(spare, f.AttemptPath(id))
		}
		if err == nil {
			return nil
		}
		f.removeFolder(spare) // there is a folder already, or else what follows says what is wrong
	default:
	}
	_, err := PrepareFolder(f.AttemptPath(id), a)
	return err
}

// keepSpare makes a spare of a folder that was put away. It reports false if
// that cannot be, or is not wanted; then the folder is to be removed.
func (f *Folders) keepSpare(dir string) bool {
	if !f.reuse.Load() || len(f.spares) == cap(f.spares) {
		return false
	}
	f.spareNumber++
	spare := filepath.Join(f.folderPath(trashDir), fmt.Sprintf("spare.%d", f.spareNumber)) // a name that no attempt has
	if cleanFolder(dir) != nil || os.Rename(dir, spare) != nil {
		return false
	}
	f.spares <- spare // there is room: nobody else adds any
	return true
}

// cleanFolder takes all that is of the attempt out of its folder.
func cleanFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if spareNames[e.Name()] == "" {
			if err := removeTree(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	for _, e := range entries {
		if as := spareNames[e.Name()]; as != "" {
			if err := emptyFile(filepath.Join(dir, e.Name()), filepath.Join(dir, as)); err != nil {
				return err
			}
		}
	}
	return nil
}

// emptyFile empties a file and gives it another name. Emptied it is before anything
// else becomes of it: after a loss of power nobody finds the content of an
// attempt in the file of another.
func emptyFile(path, as string) error {
	fd, err := syscall.Open(path, syscall.O_WRONLY|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = syscall.Close(fd) }() // nothing is written
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&syscall.S_IFMT != syscall.S_IFREG || st.Nlink != 1 {
		return fmt.Errorf("%s is not a file of ours alone", path)
	}
	if err := syscall.Ftruncate(fd, 0); err != nil || path == as {
		return err
	}
	return os.Rename(path, as)
}
