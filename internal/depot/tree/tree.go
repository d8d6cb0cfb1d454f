package tree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
)

// Tree is a folder. Its entries are sorted by path, and the folder of every
// entry is an entry itself.
type Tree struct {
	Entries []Entry
}

// Entry is a file, a folder or a symbolic link of a tree. Owners, extended
// attributes and which names were hard links of one file are not kept.
type Entry struct {
	Path    string      // relative, with slashes
	Mode    fs.FileMode // kind and permissions
	Size    int64       // of a file
	ModTime int64       // of a file, ns since 1970
	Link    string      // what a symbolic link says
	Chunks  []chunk.ID  // what a file holds
}

// ErrBadTree is a tree that no push made. It is a kind of damage: whoever has
// another checkpoint takes that one.
var ErrBadTree = fmt.Errorf("%w: no tree", chunk.ErrDamaged)

// ErrTooLarge is what PushFolder returns, with the folder, its size and the limit,
// when there is more in the folder than the limit allows.
var ErrTooLarge = errors.New("too large")

// BadTree is ErrBadTree and what is wrong.
func BadTree(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrBadTree, fmt.Sprintf(format, args...))
}

// IsSafePath reports whether p names something inside the folder that it is
// relative to.
func IsSafePath(p string) bool {
	if p == "" || len(p) > 4096 || strings.ContainsRune(p, 0) {
		return false
	}
	for part := range strings.SplitSeq(p, "/") {
		if part == "" || part == "." || part == ".." || len(part) > 255 {
			return false
		}
	}
	return true
}

// CheckEntry says what is wrong with an entry taken by itself.
func (e *Entry) CheckEntry() error {
	if !IsSafePath(e.Path) {
		return BadTree("the path %q", chunk.ClipText(e.Path))
	}
	if e.Mode&^(fs.ModeType|fs.ModePerm) != 0 {
		return BadTree("the mode of %s", e.Path)
	}
	switch e.Mode.Type() {
	case 0:
		return e.checkFile()
	case fs.ModeDir:
		if e.Size != 0 || e.Link != "" || len(e.Chunks) > 0 {
			return BadTree("%s is a folder with content", e.Path)
		}
	case fs.ModeSymlink:
		if e.Size != 0 || e.Link == "" || len(e.Link) > 4096 || strings.ContainsRune(e.Link, 0) || len(e.Chunks) > 0 {
			return BadTree("%s is no proper symbolic link", e.Path)
		}
	default:
		return BadTree("%s is neither file, folder nor symbolic link", e.Path)
	}
	return nil
}

func (e *Entry) checkFile() error {
	if e.Size < 0 || e.Link != "" || (e.Size == 0) != (len(e.Chunks) == 0) {
		return BadTree("the size of %s", e.Path)
	}
	left := e.Size
	for _, id := range e.Chunks {
		s, err := chunk.ParseID(id)
		if err != nil {
			return BadTree("a chunk of %s: %v", e.Path, err)
		}
		if n, zero := s.IsZeros(); zero {
			left -= n
		} else if s == (chunk.Sum{}) {
			return BadTree("a chunk of %s has no length", e.Path)
		} else {
			left--
		}
		if left < 0 {
			return BadTree("%s has more chunks than its size allows", e.Path)
		}
	}
	return nil
}

// ChunkSums are the chunks of an entry that was checked, without runs of zeros.
func (e *Entry) ChunkSums() []chunk.Sum {
	list := make([]chunk.Sum, 0, len(e.Chunks))
	for _, id := range e.Chunks {
		if s, err := chunk.ParseID(id); err == nil {
			if _, zero := s.IsZeros(); !zero {
				list = append(list, s)
			}
		}
	}
	return list
}

// checkTree says what is wrong with a tree.
func (t *Tree) checkTree() error {
	folders := map[string]bool{}
	for i := range t.Entries {
		e := &t.Entries[i]
		if err := e.CheckEntry(); err != nil {
			return err
		}
		if i > 0 && e.Path <= t.Entries[i-1].Path {
			return BadTree("%s is out of order", e.Path)
		}
		if up := strings.LastIndexByte(e.Path, '/'); up >= 0 && !folders[e.Path[:up]] {
			return BadTree("%s is in no folder", e.Path)
		}
		if e.Mode.IsDir() {
			folders[e.Path] = true
		}
	}
	return nil
}

// DiffTrees says what has to be removed, and then what written, to make b out of
// a. A file that only has another time has not changed.
func DiffTrees(a, b *Tree) (changed []Entry, removed []string) {
	before := a.IndexEntries()
	for _, e := range b.Entries {
		if old := before[e.Path]; old == nil || !old.IsSameFile(&e) {
			changed = append(changed, e)
		}
		delete(before, e.Path)
	}
	for i := range slices.Backward(a.Entries) { // what is in a folder goes before it
		if p := a.Entries[i].Path; before[p] != nil {
			removed = append(removed, p)
		}
	}
	return changed, removed
}

// MaxDirectTree is the size up to which a tree is one chunk.
const MaxDirectTree = 64 << 10

// TextChunks gives the chunks in which the encoded tree b is kept, the last of
// which is its root.
func TextChunks(b []byte) ([]chunk.Content, error) {
	if len(b) <= MaxDirectTree {
		return []chunk.Content{{ID: chunk.SumOf(b), Plain: b}}, nil
	}
	var chunks []chunk.Content
	var parts []chunk.Sum
	var c chunk.Cutter
	left := b
	err := c.CutPiece(bytes.NewReader(b), chunk.ContentPlan(), 0, int64(len(b)), nil,
		func(id chunk.Sum, plain []byte) error {
			parts = append(parts, id)
			chunks = append(chunks, chunk.Content{ID: id, Plain: left[:len(plain)]})
			left = left[len(plain):]
			return nil
		})
	if err != nil {
		return nil, err
	}
	root, err := encodeParts(parts, int64(len(b)))
	if err != nil {
		return nil, err
	}
	if len(root) > chunk.MaxChunk {
		return nil, fmt.Errorf("%w: the list of its files takes %d bytes", ErrTooLarge, len(b))
	}
	return append(chunks, chunk.Content{ID: chunk.SumOf(root), Plain: root}), nil
}

// LoadTree reads the tree id.
func LoadTree(ctx context.Context, from chunk.Source, id chunk.ID) (*Tree, error) {
	t, _, err := LoadWithParts(ctx, from, id)
	return t, err
}

// LoadWithParts also gives the chunks in which the tree itself is kept.
func LoadWithParts(ctx context.Context, from chunk.Source, id chunk.ID) (*Tree, []chunk.Sum, error) {
	text, own, err := ReadText(ctx, from, id)
	if err != nil {
		return nil, nil, err
	}
	t, err := decodeBounded(text)
	if err != nil {
		return nil, nil, fmt.Errorf("reading tree %s: %w", id, err)
	}
	if m, ok := from.(TreeSink); ok {
		m.PushMemory().RememberTree(id, t, text)
	}
	return t, own, nil
}

// ReadText gives the encoded tree id, and the chunks in which it is kept.
func ReadText(ctx context.Context, from chunk.Source, id chunk.ID) ([]byte, []chunk.Sum, error) {
	text, err := from.GetChunk(ctx, id)
	if err != nil {
		return nil, nil, fmt.Errorf("reading tree %s: %w", id, err)
	}
	s, err := chunk.ParseID(id)
	if err != nil {
		return nil, nil, err
	}
	own := []chunk.Sum{s}
	parts, size, err := decodeParts(text)
	if err != nil {
		return nil, nil, err
	}
	if parts != nil {
		own = append(own, parts...)
		if text, err = joinParts(ctx, from, parts, size); err != nil {
			return nil, nil, fmt.Errorf("reading tree %s: %w", id, err)
		}
	}
	return text, own, nil
}

// IgnoreAbsent is nil for an error that only says that a tree is not there or not
// whole.
func IgnoreAbsent(err error) error {
	if errors.Is(err, chunk.ErrMissing) || errors.Is(err, chunk.ErrDamaged) {
		return nil
	}
	return err
}

// A tree of no more bytes and entries than these is read. A few kilobytes can say that
// one part comes a thousand times, and an entry takes ten times its text in memory:
// what somebody sends must not be what we hold.
const (
	maxTree    = 256 << 20
	maxEntries = 2_000_000
)

// decodingLarge is held while a large tree is decoded: however many are asked for,
// the memory is that of one.
var decodingLarge sync.Mutex

func decodeBounded(text []byte) (*Tree, error) {
	if len(text) > chunk.MaxChunk {
		if n := bytes.Count(text, []byte(`"mode":`)); n > maxEntries {
			return nil, BadTree("it has more than %d entries", maxEntries)
		}
		decodingLarge.Lock()
		defer decodingLarge.Unlock()
	}
	return decodeTree(text)
}

// PartSums gives the chunks besides its root in which a tree is kept; ok is false if
// it is larger than what is read.
func PartSums(root []byte) (parts []chunk.Sum, ok bool, err error) {
	parts, size, err := decodeParts(root)
	return parts, size <= maxTree, err
}

// joinParts puts the parts of a tree together.
func joinParts(ctx context.Context, from chunk.Source, parts []chunk.Sum, size int64) ([]byte, error) {
	if size > maxTree {
		return nil, BadTree("it takes %d bytes", size)
	}
	got := map[chunk.Sum][]byte{}
	err := chunk.GetMany(ctx, from, chunk.DistinctSums(parts), func(id chunk.Sum, plain []byte) error {
		got[id] = bytes.Clone(plain)
		return nil
	})
	if err != nil {
		return nil, err
	}
	var b []byte
	for _, p := range parts {
		if int64(len(b)+len(got[p])) > size {
			break
		}
		b = append(b, got[p]...)
	}
	if int64(len(b)) != size {
		return nil, BadTree("its parts do not make %d bytes", size)
	}
	return b, nil
}
