package walk

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// FileStamp is what a file looks like from outside. A file whose stamp has not
// changed holds what it held, if it could be trusted when it was read.
type FileStamp struct {
	Dev   uint64 `json:"dev"`
	Ino   uint64 `json:"ino"`
	Size  int64  `json:"size"`
	Mtime int64  `json:"mtime"`
	Ctime int64  `json:"ctime"`
}

// StampOf takes a stamp of what the kernel says of a file.
func StampOf(st *unix.Stat_t) FileStamp {
	return FileStamp{Dev: st.Dev, Ino: st.Ino, Size: st.Size, Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano()}
}

// settle is how old the last change of a file must be so that the next one
// gives it another time: file systems count it in ticks of a few milliseconds,
// some in seconds.
const settle = 2 * time.Second

// IsSettled reports whether a change after now will show in the stamp. Times in
// the future, after the clock was set back, are not trusted.
func (s FileStamp) IsSettled(now time.Time) bool {
	return now.UnixNano()-max(s.Ctime, s.Mtime) > int64(settle)
}

// IsQuiet reports whether nobody has the file open for writing. Who has may write
// to it through memory, and that shows in its times only now and then. Fd was
// opened for reading. Where the kernel cannot tell it is not quiet.
func IsQuiet(fd int) bool {
	for {
		_, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return false
		}
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_UNLCK)
		return err == nil
	}
}
