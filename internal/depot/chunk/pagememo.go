package chunk

import (
	"hash/maphash"
	"slices"
	"sync"
)

// A checkpoint of a large heap is mostly what the one before it was, and to
// find that out with BLAKE3 takes seconds of a processor that the program could
// use. So the pages of the last image are remembered by a hash that is ten
// times as fast and, with a secret of this process, as good as none to be
// fooled: 128 bits. A page that is the same at the same place has the ID it had.
type pageMemo struct {
	fast [][2]uint64
	ids  []Sum
}

// pageSeeds are the secret of this process.
var pageSeeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

// Files from memoFrom bytes on are remembered, and so many pages in all, which
// take 48 bytes each.
const (
	memoFrom  = 16 << 20
	memoPages = 1 << 19
)

func newPageMemo(size int64) *pageMemo {
	n := size / pageSize
	return &pageMemo{fast: make([][2]uint64, n), ids: make([]Sum, n)}
}

// PageLookup is what one push knows of a file, and learns for the next.
type PageLookup struct {
	old, new *pageMemo // old may be nil
}

// pageID gives the ID of the page at off.
func (l *PageLookup) pageID(off int64, page []byte) Sum {
	if l == nil {
		return SumOf(page)
	}
	n := int(off / pageSize)
	fast := [2]uint64{maphash.Bytes(pageSeeds[0], page), maphash.Bytes(pageSeeds[1], page)}
	l.new.fast[n] = fast
	if l.old != nil && n < len(l.old.fast) && l.old.fast[n] == fast && l.old.ids[n] != (Sum{}) {
		l.new.ids[n] = l.old.ids[n]
	} else {
		l.new.ids[n] = SumOf(page)
	}
	return l.new.ids[n]
}

// PageMemory is the memory of the last images.
type PageMemory struct {
	mu    sync.Mutex
	files []memoFile // the newest last
}

type memoFile struct {
	path string
	memo *pageMemo
}

// LookupFor is for a file that is about to be read; nil if it is not worth it.
func (m *PageMemory) LookupFor(path string, size int64, p Plan) *PageLookup {
	if m == nil || p.pages != 1 || size < memoFrom {
		return nil
	}
	l := &PageLookup{new: newPageMemo(size)}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range m.files {
		if f.path == path {
			l.old = f.memo
		}
	}
	return l
}

// KeepLookup remembers what was learned when all of a file has been read.
func (m *PageMemory) KeepLookup(path string, l *PageLookup) {
	if l == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files = slices.DeleteFunc(m.files, func(f memoFile) bool { return f.path == path })
	m.files = append(m.files, memoFile{path, l.new})
	pages := 0
	for i, f := range slices.Backward(m.files) {
		if pages += len(f.memo.ids); pages > memoPages {
			m.files = slices.Clone(m.files[i+1:])
			break
		}
	}
}
