package agent

import (
	"os"
	"path/filepath"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// line is the other end of the driver's line, see wire.LineVariable.
type line struct {
	file *os.File
	name []byte       // the folder in our command line, where others read it; nil: it is not there
	left int          // folders that may still be taken
	told wire.Through // so far
}

// maxFolders is how many folders one agent serves: should it ever keep something
// of each, that does not grow without end.
const maxFolders = 500

// openLine is the line that we were started with on a folder; nil if there is
// none.
func openLine(dir string) *line {
	fd, err := strconv.Atoi(os.Getenv(wire.LineVariable))
	if err != nil || fd <= 2 {
		return nil
	}
	_ = os.Unsetenv(wire.LineVariable) // it is for nobody else
	unix.CloseOnExec(fd)
	l := &line{file: os.NewFile(uintptr(fd), "line"), left: maxFolders - 1}
	if last := os.Args[len(os.Args)-1]; last == dir && dir != "" {
		// The words are where the kernel put them, and /proc shows what is there.
		l.name = unsafe.Slice(unsafe.StringData(last), len(last))
	}
	return l
}

// renameProcess makes our command line name the folder that we are at, so that nobody is
// misled; one with a longer name than the first only as *, and none as -.
func (l *line) renameProcess(dir string) {
	where := filepath.Dir(string(l.name))
	if dir == "" {
		dir = filepath.Join(where, "-")
	} else if len(dir) > len(l.name) {
		dir = filepath.Join(where, "*")
	}
	if n := copy(l.name, dir); n == len(dir) {
		clear(l.name[n:])
	}
}

// nextFolder says that we are through with a folder and waits for another one; "" if
// there is none, or somebody wants us to leave.
func (l *line) nextFolder(leave <-chan os.Signal) string {
	if l == nil || l.left == 0 {
		return ""
	}
	l.left--
	l.renameProcess("")
	if _, err := l.file.Write(l.cpuSinceLast().EncodePacket()); err != nil {
		return "" // the driver is gone
	}
	dir := make(chan string, 1)
	go func() {
		packet := make([]byte, wire.LongestLine)
		n, _ := l.file.Read(packet) // nothing is read when the driver is gone
		dir <- string(packet[:n])
	}()
	select {
	case next := <-dir:
		select {
		case <-leave: // before we were asked
			return ""
		default:
			l.renameProcess(next)
			return next
		}
	case <-leave:
		return ""
	}
}

// cpuSinceLast is the CPU time since it was last asked for.
func (l *line) cpuSinceLast() wire.Through {
	now := wire.Through{Own: cpuTime(unix.RUSAGE_SELF), Children: cpuTime(unix.RUSAGE_CHILDREN)}
	since := wire.Through{Own: max(0, now.Own-l.told.Own), Children: max(0, now.Children-l.told.Children)}
	l.told = now
	return since
}

func cpuTime(who int) time.Duration {
	var u unix.Rusage
	if unix.Getrusage(who, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
