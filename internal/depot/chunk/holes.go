package chunk

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sort"

	"golang.org/x/sys/unix"
)

// HoleMap knows where a file has no data, so that a large and almost empty file
// is not read. It only saves time: a file is cut by what it holds, not by
// how it lies on the disk. A nil map knows of no holes.
type HoleMap struct {
	data []extent // in order
}

type extent struct{ from, to int64 }

// MapHoles finds the holes of a file whose blocks do not cover its size.
func MapHoles(f *os.File, size, blocks int64) (*HoleMap, error) {
	if blocks*512 >= size {
		return nil, nil
	}
	m := &HoleMap{}
	for off := int64(0); off < size; {
		from, err := unix.Seek(int(f.Fd()), off, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			break
		}
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EOPNOTSUPP) {
			return nil, nil // this file system does not tell
		}
		if err != nil {
			return nil, fmt.Errorf("looking for the holes of %s: %w", f.Name(), err)
		}
		to, err := unix.Seek(int(f.Fd()), from, unix.SEEK_HOLE)
		if err != nil {
			return nil, fmt.Errorf("looking for the holes of %s: %w", f.Name(), err)
		}
		m.data = append(m.data, extent{from, to})
		off = to
	}
	return m, nil
}

// zeroUntil says up to where, at most end, there is no data from off on.
func (m *HoleMap) zeroUntil(off, end int64) int64 {
	if m == nil {
		return off
	}
	i := sort.Search(len(m.data), func(i int) bool { return m.data[i].to > off })
	if i == len(m.data) {
		return end
	}
	return max(off, min(end, m.data[i].from))
}

// EachData calls f for every part of the first size bytes that has data.
func (m *HoleMap) EachData(size int64, f func(from, to int64) error) error {
	if m == nil {
		return f(0, size)
	}
	for _, d := range m.data {
		if err := f(d.from, min(d.to, size)); err != nil {
			return err
		}
	}
	return nil
}

// readAt fills b from off on, without reading where there is no data.
func (m *HoleMap) readAt(f io.ReaderAt, b []byte, off int64) error {
	for len(b) > 0 {
		n := len(b)
		if zero := m.zeroUntil(off, off+int64(n)) - off; zero > 0 {
			n = int(zero)
			clear(b[:n])
		} else {
			if m != nil {
				i := sort.Search(len(m.data), func(i int) bool { return m.data[i].to > off })
				n = int(min(int64(n), m.data[i].to-off))
			}
			if _, err := f.ReadAt(b[:n], off); err != nil {
				if errors.Is(err, io.EOF) {
					err = io.ErrUnexpectedEOF
				}
				return err
			}
		}
		b = b[n:]
		off += int64(n)
	}
	return nil
}
