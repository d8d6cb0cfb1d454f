// Package linefiletest is a full disk for tests of those that write lines to files.
// It must not know what they write.
package linefiletest

import (
	"os"
	"os/signal"
	"testing"

	"golang.org/x/sys/unix"
)

// WithRoomFor lets files of this process grow only until the one at path has so
// many more bytes, as long as do runs. Tests that run at the same time are
// concerned too.
func WithRoomFor(t *testing.T, path string, bytes int, do func()) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(unix.SIGXFSZ)
	defer signal.Reset(unix.SIGXFSZ)
	// neither is negative
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE,
		&unix.Rlimit{Cur: uint64(info.Size()) + uint64(bytes), Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &was); err != nil {
			t.Fatal(err)
		}
	}()
	do()
}
