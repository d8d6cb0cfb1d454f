package proctree

import (
	"io/fs"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/host/proctable"
)

// reader reads files of /proc into one buffer. It is not safe for several
// goroutines.
type reader struct {
	buf []byte
}

// openProc opens a file of /proc for reading at any time later: what is read is
// always the present, and an error once the process is gone, even if its
// number is another's by then.
func openProc(path string) (int, error) {
	for {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// readAt reads the whole file from its beginning. The bytes are good until the
// next read.
func (r *reader) readAt(fd int) ([]byte, error) {
	if r.buf == nil {
		r.buf = make([]byte, 4096)
	}
	n := 0
	for {
		m, err := unix.Pread(fd, r.buf[n:], int64(n))
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		n += m
		if n < len(r.buf) {
			// /proc answers a page at a time, cut where a line or a number
			// ends: much less than a page is the end.
			if m == 0 || n < 2048 {
				return r.buf[:n], nil
			}
			continue
		}
		if len(r.buf) >= 64<<20 {
			return nil, fs.ErrInvalid
		}
		r.buf = append(r.buf, make([]byte, len(r.buf))...)
	}
}

// readFile reads a whole file.
func (r *reader) readFile(path string) ([]byte, error) {
	fd, err := openProc(path)
	if err != nil {
		return nil, err
	}
	defer closeFD(fd)
	return r.readAt(fd)
}

func procPath(pid int, file string) string {
	return "/proc/" + strconv.Itoa(pid) + "/" + file
}

// readStat reads /proc/PID/stat.
func (r *reader) readStat(pid int) (stat, error) {
	text, err := r.readFile(procPath(pid, "stat"))
	if err != nil {
		return stat{}, err
	}
	return parseStat(text, true)
}

// stateOf is the state of a process whose first thread has ended: that of
// another thread.
func (r *reader) stateOf(pid int) byte {
	tids, _ := numbersIn(procPath(pid, "task")) // gone meanwhile: a zombie
	for _, tid := range tids {
		text, err := r.readFile(procPath(pid, "task/") + strconv.Itoa(tid) + "/stat")
		if err != nil {
			continue
		}
		if s, err := parseStat(text, false); err == nil && s.state != 'Z' && s.state != 'X' {
			return s.state
		}
	}
	return 'Z'
}

// listChildren adds the children of a process with so many threads, as far as they
// can be listed: one may be missed if another ends at that moment.
func (r *reader) listChildren(pid, threads int, into []int) ([]int, error) {
	dir := procPath(pid, "task/")
	text, err := r.readFile(dir + strconv.Itoa(pid) + "/children")
	if err != nil {
		return into, err
	}
	into = proctable.ParsePids(text, into)
	if threads <= 1 {
		return into, nil
	}
	// A child belongs to the thread that forked it.
	tids, err := numbersIn(dir)
	if err != nil {
		return into, err
	}
	for _, tid := range tids {
		if tid == pid {
			continue
		}
		if text, err := r.readFile(dir + strconv.Itoa(tid) + "/children"); err == nil {
			into = proctable.ParsePids(text, into)
		}
	}
	return into, nil
}

// numbersIn lists the entries of a folder of /proc that are numbers: processes
// or threads.
func numbersIn(path string) ([]int, error) {
	dir, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer dir.Close() //nolint:errcheck // opened for reading
	names, err := dir.Readdirnames(-1)
	var list []int
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil && n > 0 {
			list = append(list, n)
		}
	}
	return list, err
}

// cpuClock is the processor time of a process, all threads, in nanoseconds
// where /proc has hundredths of a second. See clock_getcpuclockid(3).
func cpuClock(pid int) (time.Duration, bool) {
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|2), &ts); err != nil {
		return 0, false
	}
	return time.Duration(ts.Nano()), true
}

// sendSignal sends a signal to a process if it is still the one that started then.
func (r *reader) sendSignal(pid int, start uint64, sig syscall.Signal) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err == unix.ENOSYS || err == unix.EPERM {
		// No such call here: the number is checked and used in one breath.
		if s, err := r.readStat(pid); err != nil || s.start != start {
			return unix.ESRCH
		}
		return unix.Kill(pid, sig)
	}
	if err != nil {
		return err
	}
	defer closeFD(fd)
	if s, err := r.readStat(pid); err != nil || s.start != start {
		return unix.ESRCH
	}
	return unix.PidfdSendSignal(fd, sig, nil, 0)
}

// closeFD closes a file that was only read.
func closeFD(fd int) {
	unix.Close(fd) //nolint:errcheck // nothing is lost
}
