package depot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/depot/tree"
	"github.com/godwit-hpc/godwit/internal/depot/walk"
)

// wallClock is the machine's clock, by which files get their times.
var wallClock = clock.RealClock()

// Shot is what a folder held at one moment.
type Shot struct {
	files   []source // as they were found; the content of some is in copies
	skipped []string

	mu    sync.Mutex
	sent  map[string][]chunk.Sum // chunks of files that were copied and pushed
	known map[string]content     // for the next shot
}

// content is what is known of a file: while it has this stamp it holds these
// chunks.
type content struct {
	stamp  walk.FileStamp
	chunks []chunk.Sum
}

// TakeSnapshot copies what changed in dir since prev into the folder into, which
// it makes, and remembers the rest. It is meant for the time while a program
// stands still, so that where nothing changed it only looks at every file from
// outside. The shot can be pushed when the program runs again; into must stay
// until that has succeeded. prev, an earlier shot of the same folder that was
// pushed, may be nil, and is of no use if it was not pushed.
//
// A file that somebody has open for writing, or that changed less than two
// seconds before, is copied next time whatever it looks like, since it may
// change in ways that do not show.
func TakeSnapshot(dir, into string, prev *Shot) (*Shot, error) {
	now := wallClock()
	if err := os.MkdirAll(into, 0o700); err != nil {
		return nil, fmt.Errorf("taking a snapshot: %w", err)
	}
	list, skipped, err := walk.ListFolder(dir, nil, walk.Limit{})
	if err != nil {
		return nil, fmt.Errorf("taking a snapshot: %w", err)
	}
	shot := &Shot{files: make([]source, len(list)), skipped: skipped, known: map[string]content{}}
	known := prev.knownContents()
	var changed []*source
	for i := range list {
		f := &shot.files[i]
		*f = source{FoundEntry: list[i], path: filepath.Join(dir, list[i].Path)}
		if !f.Mode.IsRegular() || f.Size == 0 {
			continue
		}
		if c, ok := known[f.Path]; ok && c.stamp == f.Stamp {
			f.chunks, f.known, f.live, f.trusted = c.chunks, true, true, true
			shot.known[f.Path] = c
		} else {
			changed = append(changed, f)
		}
	}
	if err := copyAll(changed, into, now); err != nil {
		return nil, fmt.Errorf("taking a snapshot: %w", err)
	}
	shot.files = slices.DeleteFunc(shot.files, func(f source) bool { return f.path == "" })
	return shot, nil
}

// knownContents is what a shot knows; nothing if there is none.
func (s *Shot) knownContents() map[string]content {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known
}

// PushTree brings the shot into to, as PushFolder does. If the depot lost a file
// that was not copied, and that has changed since, it fails with ErrMissing; a
// TakeSnapshot that follows this one then copies that file.
func (s *Shot) PushTree(ctx context.Context, to chunk.Sink) (chunk.ID, *tree.Tree, Stats, error) {
	files := make([]*source, len(s.files))
	s.mu.Lock()
	sent := s.sent
	s.mu.Unlock()
	for i := range s.files {
		f := s.files[i]
		if chunks, ok := sent[f.Path]; ok {
			f.chunks, f.known = chunks, true
		}
		files[i] = &f
	}
	id, tree, stats, err := pushFiles(ctx, files, to)
	known, sent := map[string]content{}, map[string][]chunk.Sum{}
	for _, f := range files {
		if f.known && f.trusted && f.Mode.IsRegular() {
			known[f.Path] = content{f.Stamp, f.chunks}
		}
		if f.known && !f.live && f.Mode.IsRegular() {
			sent[f.Path] = f.chunks
		}
	}
	s.mu.Lock()
	s.known, s.sent = known, sent
	s.mu.Unlock()
	if err != nil {
		return "", nil, Stats{}, fmt.Errorf("sending a snapshot: %w", err)
	}
	stats.Skipped = s.skipped
	return id, tree, stats, nil
}

// copyAll copies files into the folder into and notes there where their
// content is now. What vanished has no path.
func copyAll(files []*source, into string, now time.Time) error {
	tasks := make(chan *source)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var first error
	failed := make(chan struct{})
	for i := range min(workerCount(), len(files)) {
		wg.Go(func() {
			c := copier{into: into, name: strconv.Itoa(i), now: now}
			err := c.copyAll(tasks)
			if err = errors.Join(err, c.closeSpool()); err != nil {
				mu.Lock()
				defer mu.Unlock()
				if first == nil {
					first = err
					close(failed)
				}
			}
		})
	}
	func() {
		defer close(tasks)
		for _, f := range files {
			select {
			case tasks <- f:
			case <-failed:
				return
			}
		}
	}()
	wg.Wait()
	return first
}

// copier copies files, small ones one after another into one file.
type copier struct {
	into, name string
	now        time.Time
	spool      *os.File
	end        int64
	buf        []byte
	n          int
}

// smallFile is the size up to which files are copied into one.
const smallFile = 1 << 20

func (c *copier) copyAll(files <-chan *source) error {
	for f := range files {
		if err := c.copySource(f); err != nil {
			return fmt.Errorf("copying %s: %w", f.path, err)
		}
	}
	return nil
}

func (c *copier) copySource(f *source) error {
	in, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		f.path = ""
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // only read
	f.trusted = f.Stamp.IsSettled(c.now) && walk.IsQuiet(int(in.Fd()))
	if f.Size > smallFile {
		return c.copyLarge(f, in)
	}
	if c.spool == nil {
		if c.spool, err = os.OpenFile(filepath.Join(c.into, c.name+".small"), os.O_RDWR|os.O_CREATE|os.O_EXCL,
			0o600); err != nil {
			return err
		}
		c.buf = make([]byte, smallFile)
	}
	b := c.buf[:f.Size]
	if _, err := in.ReadAt(b, 0); err != nil {
		return err
	}
	if _, err := c.spool.WriteAt(b, c.end); err != nil {
		return err
	}
	f.path, f.offset = c.spool.Name(), c.end
	c.end += f.Size
	return nil
}

func (c *copier) copyLarge(f *source, in *os.File) error {
	c.n++
	out, err := os.OpenFile(filepath.Join(c.into, fmt.Sprintf("%s.%d", c.name, c.n)), os.O_RDWR|os.O_CREATE|os.O_EXCL,
		0o600)
	if err != nil {
		return err
	}
	err = copyFile(out, in, f.Size, f.Blocks)
	f.path = out.Name()
	return errors.Join(err, out.Close())
}

func (c *copier) closeSpool() error {
	if c.spool == nil {
		return nil
	}
	return c.spool.Close()
}
