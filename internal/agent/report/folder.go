// Package report is the agent's end of the folder by which a program and its agent talk: it makes the
// folder, reads what the program reports, tells it what is wanted and clears up. What a program writes
// there is not trusted: nothing of it can end or stop the agent. It must not know what follows from a
// report.
package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/protocol/selfreport"
)

// ownFolder is the name of the folder in that of the attempt, where there is none in memory.
const ownFolder = "program"

// Folder is that of one attempt. A nil Folder is none: there is nothing to read, and nobody to tell.
// The page is read and written through its file and not mapped: the program may cut it short, which
// would end a process that has it mapped.
type Folder struct {
	dir  string
	page *os.File
}

// MakeFolder makes the folder of an attempt that begins: in memory, or else in the attempt's own.
func MakeFolder(memory, attempt, mark string) (*Folder, error) {
	f, first := makePage(selfreport.FolderPath(memory, mark))
	if first == nil {
		return f, nil
	}
	f, err := makePage(filepath.Join(attempt, ownFolder))
	if err != nil {
		return nil, errors.Join(first, err)
	}
	return f, nil
}

func makePage(dir string) (_ *Folder, err error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(dir) // it may be what fills the disk
		}
	}()
	page, err := os.OpenFile(filepath.Join(dir, selfreport.PageFile), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = page.WriteAt(selfreport.NewPage(), 0)
	if err == nil {
		err = holdPage(page)
	}
	if err != nil {
		_ = page.Close() // the error is told
		return nil, err
	}
	return &Folder{dir: dir, page: page}, nil
}

// holdPage tells RemoveAbandoned that somebody is here.
func holdPage(page *os.File) error { return unix.Flock(int(page.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

// OpenFolder is the folder that an earlier agent of the attempt made; nil if there is none, or what is
// there is not what it made.
func OpenFolder(memory, attempt, mark string) *Folder {
	for _, dir := range []string{selfreport.FolderPath(memory, mark), filepath.Join(attempt, ownFolder)} {
		if page, err := openPage(dir); err == nil {
			_ = holdPage(page) // nobody else comes: the attempt is ours
			return &Folder{dir: dir, page: page}
		}
	}
	return nil
}

func openPage(dir string) (*os.File, error) {
	if info, err := os.Lstat(dir); err != nil || !isOwnFolder(info) {
		return nil, fmt.Errorf("%s is not a folder of ours: %w", dir, errors.Join(err, fs.ErrNotExist))
	}
	return openRegular(filepath.Join(dir, selfreport.PageFile), os.O_RDWR)
}

// openRegular opens a file where a program may have put anything.
func openRegular(path string, mode int) (*os.File, error) {
	f, err := os.OpenFile(path, mode|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = f.Close() // nothing was written
		return nil, fmt.Errorf("%s is not a file: %w", f.Name(), errors.Join(err, fs.ErrInvalid))
	}
	return f, nil
}

// isOwnFolder says whether nobody else could have put something there.
func isOwnFolder(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.IsDir() && st.Uid == uint32(os.Geteuid()) && info.Mode().Perm()&0o077 == 0
}

// Path is the folder, for the program's environment; "": there is none.
func (f *Folder) Path() string {
	if f == nil {
		return ""
	}
	return f.dir
}

// ReadReport is what the program reports; false: nothing.
func (f *Folder) ReadReport() (selfreport.Report, bool) {
	if f == nil {
		return selfreport.Report{}, false
	}
	var page [selfreport.PageSize]byte
	n, _ := f.page.ReadAt(page[:], 0) // what is missing is not there
	return selfreport.ReadReport(page[:n])
}

// ReadSizes is what the program says about its size.
func (f *Folder) ReadSizes() selfreport.SizeReport {
	if f == nil {
		return selfreport.SizeReport{}
	}
	var page [selfreport.PageSize]byte
	n, _ := f.page.ReadAt(page[:], 0) // what is missing is not there
	return selfreport.ReadSizes(page[:n])
}

// SetSize tells the program how many processors it has, with its answers up to that to the offer serial.
func (f *Folder) SetSize(procs, serial int) {
	f.setField(selfreport.SizeAt, uint64(procs))
	f.setField(selfreport.SizeSerialAt, uint64(serial))
}

// SetOffer tells the program how many it could have.
func (f *Folder) SetOffer(procs, serial int) {
	f.setField(selfreport.OfferSizeAt, uint64(procs))
	f.setField(selfreport.OfferSerialAt, uint64(serial)) // it looks at this one first
}

// ReadSteps is how many steps of how many the program says it has done; 0, 0 if it has not said.
func (f *Folder) ReadSteps() (done, all float64) {
	r, _ := f.ReadReport()
	return float64(r.Done), float64(r.All)
}

// SetSteps writes for the program what it has reported: one that continues from an image of its memory believes that it
// stands there, and on a new page it does not.
func (f *Folder) SetSteps(r selfreport.Report) {
	if f != nil {
		f.setSteps(r.Done, r.All)
	}
}

// SetConfined says whether the program is where it cannot use the socket: it then writes its messages to a file.
func (f *Folder) SetConfined(confined bool) error {
	if f == nil {
		return nil
	}
	path := filepath.Join(f.dir, selfreport.MessagesFile)
	if !confined {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) { // it goes on where it was
		return nil
	}
	if err != nil {
		return err
	}
	return file.Close()
}

// SetStop tells the program whether it is to stop.
func (f *Folder) SetStop(wanted bool) {
	var value uint64
	if wanted {
		value = 1
	}
	f.setField(selfreport.StopAt, value)
}

// SetCheckpoint tells the program the number of the checkpoint that is wanted.
func (f *Folder) SetCheckpoint(n int) { f.setField(selfreport.CheckpointAt, uint64(n)) }

func (f *Folder) setField(at int64, value uint64) {
	if f != nil {
		_, _ = f.page.WriteAt(selfreport.FieldBytes(value), at) // it need not listen; there is a signal too
	}
}

// Close ends the use of the folder, which stays for the next agent.
func (f *Folder) Close() {
	if f != nil {
		_ = f.page.Close() // nothing is waiting to be written
	}
}

// Remove removes the folder: the attempt is over.
func (f *Folder) Remove() {
	if f != nil {
		f.Close()
		_ = os.RemoveAll(f.dir) // what stays is removed as abandoned, or with the attempt's folder
	}
}

// RemoveAbandoned removes folders in memory that agents of ours left which were killed, and that were
// made before a moment: until then a next agent may want to know what the page says.
func RemoveAbandoned(memory string, before time.Time) {
	list, err := os.ReadDir(memory)
	if err != nil {
		return
	}
	for _, e := range list {
		if !strings.HasPrefix(e.Name(), selfreport.FolderPrefix) {
			continue
		}
		dir := filepath.Join(memory, e.Name())
		if info, err := os.Lstat(dir); err != nil || !isOwnFolder(info) || !info.ModTime().Before(before) {
			continue
		}
		page, err := openPage(dir)
		if err == nil {
			err = holdPage(page)
			_ = page.Close() // nothing was written
		}
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			_ = os.RemoveAll(dir) // the next one tries again
		}
	}
}
