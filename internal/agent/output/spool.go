package output

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Spool keeps what the program wrote until the broker has it, in files
// out/STREAM.OFFSET of some size each; a file goes when all of it has been
// acknowledged. What cannot be written because the disk is full is kept in memory
// and written later. Several goroutines may use it.
type Spool struct {
	dir     string
	segment int64 // bytes after which a new file begins
	limit   int64 // bytes kept above which the program has to wait

	mu      sync.Mutex
	streams [2]stream
	Changed chan struct{} // has a value when something was added
	room    chan struct{} // closed and replaced when something was dropped
}

// stream is one of stdout and stderr. The bytes from first to end are needed; the
// last of them, tail, are in memory only.
type stream struct {
	first, end int64
	files      []*segment // by offset
	tail       []byte
	recent     recent
}

type segment struct {
	start, size int64
	file        *os.File // nil: not open
	path        string
}

// NewSpool keeps output in a folder, in files of about that size; from the limit on the
// program has to wait.
func NewSpool(dir string, segmentSize, limit int64) *Spool {
	return &Spool{dir: dir, segment: segmentSize, limit: limit,
		Changed: make(chan struct{}, 1), room: make(chan struct{})}
}

// BeginStreams says at which offsets of the job's whole streams this attempt begins.
func (s *Spool) BeginStreams(out, err int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, at := range []int64{out, err} {
		s.streams[i].dropFiles()
		s.streams[i] = stream{first: at, end: at, recent: recent{keep: s.streams[i].recent.keep}}
	}
	s.makeRoom()
}

// RecoverFiles finds what an earlier agent has kept.
func (s *Spool) RecoverFiles() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	list, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range list {
		number, offset, ok := parseSegment(e.Name())
		info, err := e.Info()
		if !ok || err != nil || info.Size() == 0 {
			continue
		}
		st := &s.streams[number-1]
		st.files = append(st.files, &segment{start: offset, size: info.Size(), path: filepath.Join(s.dir, e.Name())})
	}
	for i := range s.streams {
		s.streams[i].settleBounds()
	}
	s.signalChange()
	return nil
}

// settleBounds finds first and end of what the files hold. Only the last run of files
// without a gap counts; there is no gap unless somebody else was at them.
func (st *stream) settleBounds() {
	slices.SortFunc(st.files, func(a, b *segment) int { return cmp.Compare(a.start, b.start) })
	for i := len(st.files) - 1; i > 0; i-- {
		if before := st.files[i-1]; before.start+before.size != st.files[i].start {
			st.files = st.files[i:]
			break
		}
	}
	if len(st.files) > 0 {
		last := st.files[len(st.files)-1]
		st.first, st.end = st.files[0].start, last.start+last.size
	}
}

func segmentName(number int, offset int64) string {
	return fmt.Sprintf("%d.%016x", number, offset)
}

func parseSegment(name string) (number int, offset int64, ok bool) {
	head, tail, _ := strings.Cut(name, ".")
	n, err := strconv.ParseInt(tail, 16, 64)
	if err != nil || n < 0 || len(tail) != 16 || head != "1" && head != "2" {
		return 0, 0, false
	}
	return int(head[0] - '0'), n, true
}

// addOutput appends what the program wrote to a stream, 1 or 2. It always takes it.
func (s *Spool) addOutput(number int, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := &s.streams[number-1]
	st.recent.addText(data)
	if len(st.tail) > 0 || !s.storeData(number, st.end, data) {
		st.tail = append(st.tail, data...)
	}
	st.end += int64(len(data))
	s.signalChange()
}

func (s *Spool) signalChange() {
	select {
	case s.Changed <- struct{}{}:
	default:
	}
}

// FlushMemory tries to write what is in memory only, and says whether nothing is.
func (s *Spool) FlushMemory() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	ok := true
	for i := range s.streams {
		st := &s.streams[i]
		for len(st.tail) > 0 {
			piece := st.tail[:min(len(st.tail), PipeBuffer/16)]
			if !s.storeData(i+1, st.end-int64(len(st.tail)), piece) {
				ok = false
				break
			}
			st.tail = st.tail[len(piece):]
		}
	}
	return ok
}

// storeData writes data behind what the files of a stream hold, which is at offset
// at. If that fails half way nothing has changed.
func (s *Spool) storeData(number int, at int64, data []byte) bool {
	st := &s.streams[number-1]
	var last *segment
	if n := len(st.files); n > 0 {
		last = st.files[n-1]
	}
	if last == nil || last.size >= s.segment || last.file == nil {
		if last = s.newSegment(number, at); last == nil {
			return false
		}
		st.files = append(st.files, last)
	}
	if _, err := last.file.WriteAt(data, last.size); err != nil {
		_ = last.file.Truncate(last.size) // half of it may be there
		return false
	}
	last.size += int64(len(data))
	return true
}

func (s *Spool) newSegment(number int, at int64) *segment {
	path := filepath.Join(s.dir, segmentName(number, at))
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrNotExist) && os.MkdirAll(s.dir, 0o700) == nil {
		file, err = os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	}
	if err != nil {
		return nil
	}
	return &segment{start: at, file: file, path: path}
}

// readStream reads up to len(buf) bytes of a stream from an offset on.
func (s *Spool) readStream(number int, offset int64, buf []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := &s.streams[number-1]
	if offset < st.first || offset > st.end {
		return 0, fmt.Errorf("stream %d is kept from %d to %d, not at %d", number, st.first, st.end, offset)
	}
	n := 0
	for n < len(buf) && offset+int64(n) < st.end {
		k, err := st.readOne(offset+int64(n), buf[n:])
		if err != nil {
			return n, err
		}
		n += k
	}
	return n, nil
}

// readOne reads from one file, or from memory.
func (st *stream) readOne(at int64, buf []byte) (int, error) {
	inMemory := st.end - int64(len(st.tail))
	if at >= inMemory {
		return copy(buf, st.tail[at-inMemory:]), nil
	}
	i := slices.IndexFunc(st.files, func(g *segment) bool { return at < g.start+g.size })
	if i < 0 || at < st.files[i].start {
		return 0, fmt.Errorf("the kept output has a hole at %d", at)
	}
	g := st.files[i]
	if g.file == nil {
		file, err := os.Open(g.path)
		if err != nil {
			return 0, err
		}
		defer file.Close() //nolint:errcheck // opened for reading
		return readSome(file, buf, at-g.start, g.size)
	}
	return readSome(g.file, buf, at-g.start, g.size)
}

func readSome(file *os.File, buf []byte, at, size int64) (int, error) {
	n, err := file.ReadAt(buf[:min(int64(len(buf)), size-at)], at)
	if n > 0 {
		return n, nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = fmt.Errorf("%s is shorter than it was: %w", file.Name(), io.ErrUnexpectedEOF)
	}
	return 0, err
}

// KeptSpan is what of a stream is kept: from its first byte to behind its last.
func (s *Spool) KeptSpan(number int) (first, end int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := &s.streams[number-1]
	return st.first, st.end
}

// StreamEnds are the lengths of both streams.
func (s *Spool) StreamEnds() (out, err int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.streams[0].end, s.streams[1].end
}

// dropBefore drops what of a stream lies before the offset. The file that is
// being written stays until it is full: a file for each line would cost more
// than sending a few lines again after a crash.
func (s *Spool) dropBefore(number int, upTo int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := &s.streams[number-1]
	st.first = max(st.first, min(upTo, st.end))
	for len(st.files) > 0 {
		g := st.files[0]
		if g.start+g.size > st.first || g.file != nil && len(st.files) == 1 && g.size < s.segment {
			break
		}
		g.removeFile()
		st.files = st.files[1:]
	}
	s.makeRoom()
}

func (s *Spool) makeRoom() {
	close(s.room)
	s.room = make(chan struct{})
}

func (g *segment) removeFile() {
	if g.file != nil {
		_ = g.file.Close() // its content is not needed any more
	}
	_ = os.Remove(g.path)
}

func (st *stream) dropFiles() {
	for _, g := range st.files {
		g.removeFile()
	}
}

// isFull says whether the program has to wait, and gives what to wait for: room
// is closed when there may be some.
func (s *Spool) isFull() (room <-chan struct{}, full bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var kept int64
	for i := range s.streams {
		st := &s.streams[i]
		kept += st.end - st.first
		full = full || len(st.tail) > 0
	}
	return s.room, full || kept > s.limit
}

// SyncFiles makes what is kept survive the loss of power.
func (s *Spool) SyncFiles() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	any := false
	for i := range s.streams {
		for _, g := range s.streams[i].files {
			any = true
			if g.file == nil {
				continue // was there before us
			}
			if err := g.file.Sync(); err != nil {
				return err
			}
		}
	}
	if !any {
		return nil
	}
	return SyncFolder(s.dir)
}

// SyncFolder makes the names in a folder survive the loss of power.
func SyncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	_ = d.Close() // opened for reading
	return err
}

// SetTailSize keeps so many bytes of the end of each stream, for lately.
func (s *Spool) SetTailSize(n int) {
	for i := range s.streams {
		s.streams[i].recent.keep = n
	}
}

// recentText is the end of a stream, for the progress pattern.
func (s *Spool) recentText(number int, buf []byte) (text []byte, end int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := &s.streams[number-1]
	return st.recent.appendTo(buf[:0]), st.end
}

// CloseFiles closes the files; what is kept stays.
func (s *Spool) CloseFiles() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.streams {
		for _, g := range s.streams[i].files {
			if g.file != nil {
				_ = g.file.Close() // written already, and Sync tells of errors where it matters
				g.file = nil
			}
		}
	}
}
