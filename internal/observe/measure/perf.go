package measure

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// event is something that the kernel counts.
type event struct {
	kind   uint32
	config uint64
}

// retired are the instructions of a program, without the kernel's.
var retired = event{unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_INSTRUCTIONS}

// perfWorks says whether the kernel gives us the processor's counters: virtual
// machines often have none, and the kernel may keep them for root.
func perfWorks() error {
	fd, err := openCounter(retired)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// openCounter begins a count of the calling thread's children, from their exec on.
func openCounter(e event) (int, error) {
	attr := unix.PerfEventAttr{
		Type: e.kind, Config: e.config, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Read_format: unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING,
		Bits: unix.PerfBitDisabled | unix.PerfBitInherit | unix.PerfBitEnableOnExec |
			unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv,
	}
	fd, err := unix.PerfEventOpen(&attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("the kernel gives no counter of instructions: %w", err)
	}
	return fd, nil
}

// countEvent counts an event in a program and all its children.
func countEvent(ctx context.Context, e event, argv []string, dir string) (float64, error) {
	runtime.LockOSThread() // children are those of the thread
	defer runtime.UnlockOSThread()
	fd, err := openCounter(e)
	if err != nil {
		return 0, err
	}
	defer func() { _ = unix.Close(fd) }()
	if _, err := runCommand(ctx, argv, argv, dir, (*exec.Cmd).Start); err != nil {
		return 0, err
	}
	var text [24]byte
	if n, err := unix.Read(fd, text[:]); err != nil || n != len(text) {
		return 0, fmt.Errorf("reading the counter: %w", errors.Join(err, fmt.Errorf("%d bytes", n)))
	}
	return scaledCount(text)
}

// scaledCount is the count, extrapolated if the counter was shared with others.
func scaledCount(text [24]byte) (float64, error) {
	value, enabled, ran := binary.NativeEndian.Uint64(text[:]), binary.NativeEndian.Uint64(text[8:]),
		binary.NativeEndian.Uint64(text[16:])
	if ran == 0 || value == 0 {
		return 0, errors.New("the kernel counted no instruction")
	}
	return float64(value) * float64(enabled) / float64(ran), nil
}
