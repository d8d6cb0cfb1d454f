package depot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/depot/tree"
)

// What one worker of a fetch gets and writes at a time.
const (
	itemBytes  = 4 << 20
	itemChunks = 2048
)

// target is a file that is being written, perhaps by several workers.
type target struct {
	*tree.Entry
	root  *os.Root
	name  string // under which it is written
	ready bool   // it was opened
	mu    sync.Mutex
	f     *os.File
	left  atomic.Int32 // parts not written yet
}

// part is a run of chunks of a file. Where it belongs is known when the parts
// before it have arrived: prev tells, and next is told. Both are nil for a file
// of one part.
type part struct {
	t          *target
	chunks     []chunk.Sum
	prev, next chan int64
}

// placeFiles writes files into the folder root.
func placeFiles(ctx context.Context, from chunk.Source, root *os.Root, files []*tree.Entry, replace bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	items := make(chan []part)
	var wg sync.WaitGroup
	for range workerCount() {
		wg.Go(func() {
			w := placer{from: from}
			for item := range items {
				if err := w.placeItem(ctx, item); err != nil {
					cancel(err)
				}
			}
		})
	}
	targets := dealParts(ctx, root, files, replace, items)
	close(items)
	wg.Wait()
	err := context.Cause(ctx)
	if err != nil {
		for _, t := range targets {
			t.giveUp(replace)
		}
	}
	return err
}

// dealParts hands out the parts of files, in order, until ctx ends. It returns the
// files of several parts, which may be left open if it fails.
func dealParts(ctx context.Context, root *os.Root, files []*tree.Entry, replace bool,
	items chan<- []part) (targets []*target) {
	var item []part
	size, count := int64(0), 0
	hand := func() bool {
		if len(item) == 0 {
			return true
		}
		select {
		case items <- item:
		case <-ctx.Done():
			return false
		}
		item, size, count = nil, 0, 0
		return true
	}
	for _, e := range files {
		t := &target{Entry: e, root: root, name: e.Path}
		if replace {
			t.name = temporaryName(e.Path)
		}
		parts := splitChunks(t)
		targets = append(targets, t)
		for i, p := range parts {
			if len(item) > 0 && (size+e.Size > itemBytes || count+len(p.chunks) > itemChunks) || i > 0 {
				if !hand() {
					return targets
				}
			}
			item = append(item, p)
			size += e.Size
			count += len(p.chunks)
		}
	}
	hand()
	return targets
}

// splitChunks divides the chunks of a file into parts.
func splitChunks(t *target) []part {
	chunks := make([]chunk.Sum, len(t.Chunks))
	for i, id := range t.Chunks {
		chunks[i], _ = chunk.ParseID(id) // the tree was checked
	}
	most := itemChunks
	if len(chunks) > 0 {
		// Chunks of a file are about of one size.
		most = min(most, max(1, int(itemBytes/max(1, t.Size/int64(len(chunks))))))
	}
	var parts []part
	var prev chan int64
	for {
		n := min(most, len(chunks))
		p := part{t: t, chunks: chunks[:n], prev: prev}
		chunks = chunks[n:]
		if len(chunks) > 0 {
			p.next = make(chan int64, 1)
		}
		parts = append(parts, p)
		prev = p.next
		if len(chunks) == 0 {
			break
		}
	}
	t.left.Store(int32(len(parts)))
	return parts
}

// temporaryName is beside the file, so that it can take its place.
func temporaryName(p string) string {
	return path.Join(path.Dir(p), ".godwit-part-"+shortID(chunk.IDOf([]byte(p))))
}

func shortID(id chunk.ID) string { return string(id[:16]) }

// openFile makes the file when its first part arrives.
func (t *target) openFile() (*os.File, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ready {
		if t.f == nil {
			return nil, os.ErrClosed
		}
		return t.f, nil
	}
	t.ready = true
	if t.name != t.Path {
		if err := makeRoom(t.root, t.name); err != nil {
			return nil, err
		}
	}
	f, err := t.root.OpenFile(t.name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	t.f = f
	return f, nil
}

// partDone is called when a part was written; the last one finishes the file.
func (t *target) partDone() error {
	if t.left.Add(-1) > 0 {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.f
	t.f = nil
	if f == nil {
		return os.ErrClosed
	}
	err := finishFile(t.root, t.name, f, t.Entry)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if t.name == t.Path {
		return nil
	}
	if st, err := t.root.Lstat(t.Path); err == nil && st.IsDir() {
		if err := t.root.RemoveAll(t.Path); err != nil {
			return err
		}
	}
	return t.root.Rename(t.name, t.Path)
}

// giveUp closes a file that will not be finished.
func (t *target) giveUp(temporary bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.f == nil {
		return
	}
	t.f.Close() //nolint:errcheck // it is given up
	t.f = nil
	if temporary {
		t.root.Remove(t.name) //nolint:errcheck // the next try removes it
	}
}

// placer is one worker of a fetch.
type placer struct {
	from  chunk.Source
	arena []byte
	at    map[chunk.Sum][2]int
	out   []byte
}

// placeItem gets the chunks of some parts and writes them.
func (w *placer) placeItem(ctx context.Context, item []part) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var ids []chunk.Sum
	for _, p := range item {
		for _, id := range p.chunks {
			if _, zero := id.IsZeros(); !zero {
				ids = append(ids, id)
			}
		}
	}
	w.arena, w.at = w.arena[:0], make(map[chunk.Sum][2]int, len(ids))
	err := chunk.GetMany(ctx, w.from, chunk.DistinctSums(ids), func(id chunk.Sum, plain []byte) error {
		from := len(w.arena)
		w.arena = append(w.arena, plain...)
		w.at[id] = [2]int{from, len(w.arena)}
		return nil
	})
	if err != nil {
		return fmt.Errorf("getting %s: %w", itemNames(item), err)
	}
	for _, p := range item {
		if err := w.placePart(ctx, p); err != nil {
			return fmt.Errorf("writing %s: %w", p.t.Path, err)
		}
	}
	return nil
}

func itemNames(item []part) string {
	if len(item) == 1 {
		return item[0].t.Path
	}
	return strings.Join([]string{item[0].t.Path, item[len(item)-1].t.Path}, " to ")
}

// placePart writes one part.
func (w *placer) placePart(ctx context.Context, p part) error {
	size := int64(0)
	for _, id := range p.chunks {
		if n, zero := id.IsZeros(); zero {
			size += n
		} else {
			size += int64(w.at[id][1] - w.at[id][0])
		}
	}
	off := int64(0)
	if p.prev != nil {
		select {
		case off = <-p.prev:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if off+size > p.t.Size || p.next == nil && off+size != p.t.Size {
		return tree.BadTree("its chunks do not make %d bytes", p.t.Size)
	}
	if p.next != nil {
		p.next <- off + size
	}
	f, err := p.t.openFile()
	if err != nil {
		return err
	}
	if err := w.writeChunks(f, p, off); err != nil {
		return err
	}
	return p.t.partDone()
}

// writeChunks writes the chunks of a part from off on. Zeros become holes.
func (w *placer) writeChunks(f *os.File, p part, off int64) error {
	flush := func() error {
		if len(w.out) == 0 {
			return nil
		}
		_, err := f.WriteAt(w.out, off)
		off += int64(len(w.out))
		w.out = w.out[:0]
		return err
	}
	hole := false
	for _, id := range p.chunks {
		n, zero := id.IsZeros()
		if zero || len(w.out) > 1<<20 {
			if err := flush(); err != nil {
				return err
			}
		}
		if hole = zero; zero {
			off += n
			continue
		}
		at := w.at[id]
		w.out = append(w.out, w.arena[at[0]:at[1]]...)
	}
	if err := flush(); err != nil || !hole || p.next != nil {
		return err
	}
	return f.Truncate(p.t.Size) // the file ends with a hole
}
