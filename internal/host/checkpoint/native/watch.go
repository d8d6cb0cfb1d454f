package native

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"golang.org/x/sys/unix"
)

const (
	checkInterval = 25 * time.Millisecond // for what the kernel does not tell of
	quietTime     = time.Second           // after which a file that is kept open counts as written
)

// watch waits for a program to write its files.
type watch struct {
	files   named
	clock   clock.Clock
	before  sighting
	touched map[string]bool // closed after writing, or moved to its name, since before
	last    sighting
	since   time.Time // when last was first seen
	whole   time.Time // when all was written, as far as it still is; zero: not

	inotify *os.File // nil: only by looking
	folders map[int32]string
	events  chan []byte // what the kernel tells; never closed
	over    chan struct{}
	heard   chan struct{} // closed when the listener is gone
}

// newWatch begins to watch: what is there now is not written yet.
func newWatch(files named, c clock.Clock) *watch {
	w := &watch{files: files, clock: c, touched: map[string]bool{}, folders: map[int32]string{},
		events: make(chan []byte, 1), over: make(chan struct{}), heard: make(chan struct{})}
	if fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK); err == nil {
		w.inotify = os.NewFile(uintptr(fd), "inotify")
		for _, p := range files.patterns {
			w.followFolder(fd, folderOf(p))
			for _, match := range files.matchPattern(p) {
				if files.isDir(match) {
					w.followFolder(fd, match)
				}
			}
		}
		go w.readEvents()
	}
	w.before = files.observeFiles()
	return w
}

// folderOf is the folder in which what a pattern names appears.
func folderOf(pattern string) string {
	dir := filepath.Dir(pattern)
	for strings.ContainsAny(dir, `*?[\`) {
		dir = filepath.Dir(dir)
	}
	return dir
}

// followFolder has the kernel tell of files in a folder that are complete.
func (w *watch) followFolder(fd int, folder string) {
	wd, err := unix.InotifyAddWatch(fd, filepath.Join(w.files.dir, folder), unix.IN_CLOSE_WRITE|unix.IN_MOVED_TO)
	if err == nil {
		w.folders[int32(wd)] = folder
	}
}

// readEvents passes on what the kernel tells, until the watch is closed.
func (w *watch) readEvents() {
	defer close(w.heard)
	for {
		buf := make([]byte, 16<<10)
		n, err := w.inotify.Read(buf)
		if err != nil {
			return
		}
		select {
		case w.events <- buf[:n]:
		case <-w.over:
			return
		}
	}
}

// closeWatch ends the watch.
func (w *watch) closeWatch() {
	if w.inotify != nil {
		close(w.over)
		w.inotify.Close() //nolint:errcheck // nothing was written
		<-w.heard
	}
}

// noteEvents takes what the kernel told.
func (w *watch) noteEvents(events []byte) {
	for _, e := range parseEvents(events) {
		if folder, ok := w.folders[e.watch]; ok {
			w.touched[filepath.Join(folder, e.name)] = true
		}
	}
}

// event is one event of inotify.
type event struct {
	watch int32
	name  string
}

// parseEvents reads what inotify wrote: struct inotify_event and the name.
func parseEvents(b []byte) []event {
	var list []event
	for len(b) >= unix.SizeofInotifyEvent {
		wd := int32(binary.NativeEndian.Uint32(b))
		size := int(binary.NativeEndian.Uint32(b[12:]))
		b = b[unix.SizeofInotifyEvent:]
		if size < 0 || size > len(b) {
			return list
		}
		name, _, _ := bytes.Cut(b[:size], []byte{0})
		b = b[size:]
		if len(name) > 0 {
			list = append(list, event{wd, string(name)})
		}
	}
	return list
}

// isComplete reports whether the program, which runs on, has written all its
// files, so long ago that it is not going to end.
func (w *watch) isComplete(pids []int, patience time.Duration) bool {
	if !w.isWritten(pids) {
		w.whole = time.Time{}
		return false
	}
	if w.whole.IsZero() {
		w.whole = w.clock()
	}
	return len(pids) > 0 && w.clock.Since(w.whole) >= patience
}

// isUntouched reports whether nothing was written at all.
func (w *watch) isUntouched() bool {
	return len(w.touched) == 0 && equalSightings(w.files.observeFiles(), w.before)
}

// isWritten reports whether all files were written and are closed.
func (w *watch) isWritten(pids []int) bool {
	now := w.files.observeFiles()
	if w.files.lackingFiles(now) != "" || len(w.files.unwrittenPatterns(w.before, now, w.touched)) > 0 {
		return false
	}
	if !equalSightings(now, w.last) {
		w.last, w.since = now, w.clock()
	}
	return !openForWriting(pids, now) || w.clock.Since(w.since) >= quietTime
}

func equalSightings(a, b sighting) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if len(a[i]) != len(b[i]) {
			return false
		}
		for path, f := range a[i] {
			if b[i][path] != f {
				return false
			}
		}
	}
	return true
}
