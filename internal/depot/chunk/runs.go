package chunk

import "io"

// runReader reads a piece of a file, which begins at a page, and stops at runs
// of zero pages that are long enough to be chunks of their own.
type runReader struct {
	f        io.ReaderAt
	holes    *HoleMap
	off, end int64  // what was not read yet
	buf      []byte // whole pages
	have     []byte // read and not given yet
	data     int    // of have, what is to be given before the next run
}

func (r *runReader) resetTo(f io.ReaderAt, off, n int64, holes *HoleMap, buf []byte) {
	*r = runReader{f: f, holes: holes, off: off, end: off + n, buf: buf}
}

// nextZeros gives the length of the run of zeros that begins here, 0 if none does,
// and whether there is something behind it. What Read gave is behind us.
func (r *runReader) nextZeros() (zero int64, more bool, err error) {
	if len(r.have) == 0 && r.holeLength() >= zeroRun {
		zero = r.skipHole()
	} else {
		if err := r.fillBuffer(zeroRun); err != nil {
			return 0, false, err
		}
		k := zeroPages(r.have)
		if k < zeroRun {
			return 0, len(r.have) > 0, nil
		}
		r.have = r.have[k:]
		zero = int64(k)
	}
	for len(r.have) == 0 && r.off < r.end {
		zero += r.skipHole()
		if err := r.fillBuffer(pageSize); err != nil {
			return 0, false, err
		}
		k := zeroPages(r.have)
		r.have = r.have[k:]
		zero += int64(k)
	}
	return zero, len(r.have) > 0, nil
}

// holeLength is the length of the hole that begins at what was not read yet, in whole
// pages unless it is all there is.
func (r *runReader) holeLength() int64 {
	to := r.holes.zeroUntil(r.off, r.end)
	if to == r.end {
		return to - r.off
	}
	return (to - r.off) / pageSize * pageSize
}

// skipHole goes over a hole.
func (r *runReader) skipHole() int64 {
	n := r.holeLength()
	r.off += n
	return n
}

// Read reads up to the next run of zeros and is at its end there.
func (r *runReader) Read(p []byte) (int, error) {
	if r.data == 0 {
		if err := r.scanData(); err != nil {
			return 0, err
		}
		if r.data == 0 {
			return 0, io.EOF
		}
	}
	n := copy(p, r.have[:r.data])
	r.have = r.have[n:]
	r.data -= n
	return n, nil
}

// scanData finds how much comes before the next run. What is left stands at the
// beginning of a page.
func (r *runReader) scanData() error {
	if err := r.fillBuffer(zeroRun + pageSize); err != nil {
		return err
	}
	i := 0
	for i < len(r.have) {
		k := zeroPages(r.have[i:])
		if k >= zeroRun || k > 0 && i+k == len(r.have) && r.off < r.end {
			break // a run, or what may become one
		}
		i += max(k, min(pageSize, len(r.have)-i))
	}
	r.data = i
	return nil
}

// fillBuffer sees to it that at least n bytes, or all there are, have been read.
func (r *runReader) fillBuffer(n int) error {
	if len(r.have) >= n || r.off == r.end {
		return nil
	}
	kept := copy(r.buf, r.have)
	read := int(min(int64(len(r.buf)-kept), r.end-r.off))
	if err := r.holes.readAt(r.f, r.buf[kept:kept+read], r.off); err != nil {
		return err
	}
	r.off += int64(read)
	r.have = r.buf[:kept+read]
	return nil
}

// zeroPages is the length of the run of zero pages at the front of b; the last
// page may be short.
func zeroPages(b []byte) int {
	n := 0
	for n < len(b) {
		page := b[n:min(n+pageSize, len(b))]
		if !allZero(page) {
			break
		}
		n += len(page)
	}
	return n
}
