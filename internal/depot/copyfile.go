package depot

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"golang.org/x/sys/unix"
)

// copyFile copies the first size bytes of in to out, which is empty: by sharing
// the blocks where the file system can, else in the kernel, else by hand. Holes
// stay holes.
func copyFile(out, in *os.File, size, blocks int64) error {
	if unix.IoctlFileClone(int(out.Fd()), int(in.Fd())) == nil {
		return nil
	}
	holes, err := chunk.MapHoles(in, size, blocks)
	if err != nil {
		return err
	}
	if err := out.Truncate(size); err != nil {
		return err
	}
	return holes.EachData(size, func(from, to int64) error { return copyRange(out, in, from, to) })
}

func copyRange(out, in *os.File, from, to int64) error {
	for from < to {
		r, w := from, from
		n, err := unix.CopyFileRange(int(in.Fd()), &r, int(out.Fd()), &w, int(min(to-from, 1<<30)), 0)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EXDEV), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EINVAL),
			errors.Is(err, unix.EOPNOTSUPP):
			_, err := io.Copy(io.NewOffsetWriter(out, from), io.NewSectionReader(in, from, to-from))
			return err
		case err != nil:
			return fmt.Errorf("copying in the kernel: %w", err)
		case n == 0:
			return io.ErrUnexpectedEOF
		}
		from += int64(max(n, 0))
	}
	return nil
}
