package local

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/driver/attemptdir"
)

// agentStderr is what an agent says on stdout and stderr: next to nothing, unless
// something is wrong. It is kept in memory, which the agent holds as long as it
// lives, and becomes a file in its folder only when it dies having said
// something: making a file costs a good part of what a short job costs.
type agentStderr struct{ *os.File }

// newWords makes the place for an agent's words.
func newWords(dir string) (agentStderr, error) {
	fd, err := unix.MemfdCreate(attemptdir.LogFile, unix.MFD_CLOEXEC)
	if err != nil {
		f, err := os.OpenFile(filepath.Join(dir, attemptdir.LogFile), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
		return agentStderr{f}, err
	}
	// Writers share the position, so that what they say does not overlap.
	return agentStderr{os.NewFile(uintptr(fd), attemptdir.LogFile)}, nil
}

// wordsOf is the same of an agent that another driver started; empty if it
// cannot be had.
func wordsOf(pid int) agentStderr {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/fd/2")
	if err != nil {
		return agentStderr{}
	}
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		_ = f.Close() // only read from
		return agentStderr{}
	}
	return agentStderr{f}
}

// maxStderrKept bounds what is kept of an agent that said too much: the end of it.
const maxStderrKept = 64 << 10

// saveTo writes what was said to the folder's file, if anything was said.
func (w agentStderr) saveTo(dir string) {
	if w.File == nil {
		return
	}
	defer func() { _ = w.Close() }() // nothing more is read
	st, err := w.Stat()
	if err != nil || st.Size() == 0 || attemptdir.HasFile(dir, attemptdir.LogFile) &&
		sameFile(st, filepath.Join(dir, attemptdir.LogFile)) {
		return
	}
	f, err := os.OpenFile(filepath.Join(dir, attemptdir.LogFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return // the folder is gone, or the disk is full
	}
	from := max(0, st.Size()-maxStderrKept)
	_, _ = io.Copy(f, io.NewSectionReader(w, from, st.Size()-from))
	_ = f.Close() // as much as could be kept
}

// hasOutput says whether anything was said.
func (w agentStderr) hasOutput() bool {
	if w.File == nil {
		return false
	}
	st, err := w.Stat()
	return err != nil || st.Size() > 0
}

// discardOutput forgets what was said.
func (w agentStderr) discardOutput() {
	if w.File != nil {
		_ = w.Close() // nothing more is read
	}
}

func sameFile(st os.FileInfo, path string) bool {
	other, err := os.Stat(path)
	return err == nil && os.SameFile(st, other)
}

// lastWords are the last line that agents on a folder are known to have said.
func lastWords(dir string) string {
	f, err := os.Open(filepath.Join(dir, attemptdir.LogFile))
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // only read from
	const enough = 400
	if st, err := f.Stat(); err == nil && st.Size() > enough {
		_, _ = f.Seek(-enough, io.SeekEnd)
	}
	buf := make([]byte, enough)
	n, _ := f.Read(buf)
	lines := strings.Split(strings.TrimSpace(string(buf[:n])), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return ": " + strings.ToValidUTF8(last, "")
	}
	return ""
}
