package httpdepot

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/depot/pack"
	"github.com/godwit-hpc/godwit/internal/depot/tree"
)

// Offer gives the chunks of one tree, and nothing else, to who reads them with a
// Client: from the files of a folder as they lie there, of which no copy is
// made, or from a depot.
type Offer struct {
	id    chunk.ID
	bytes int64
	own   map[chunk.Sum][]byte         // of the tree itself
	spots map[chunk.Sum]chunk.FileSpot // in files; nil: the store has them
	store *pack.Store
	named map[chunk.Sum]bool // what the store may give
}

// NewOffer offers a tree: own are the chunks of the tree itself, spots says where the
// others are in files, of so many bytes.
func NewOffer(id chunk.ID, bytes int64, own map[chunk.Sum][]byte, spots map[chunk.Sum]chunk.FileSpot) *Offer {
	return &Offer{id: id, bytes: bytes, own: own, spots: spots}
}

// OfferTree offers a tree that a depot has.
func OfferTree(ctx context.Context, from *pack.Store, id chunk.ID) (*Offer, error) {
	t, own, err := tree.LoadWithParts(ctx, from, id)
	if err != nil {
		return nil, err
	}
	o := &Offer{id: id, store: from, named: map[chunk.Sum]bool{}}
	for _, s := range own {
		o.named[s] = true
	}
	for i := range t.Entries {
		o.bytes += t.Entries[i].Size
		for _, s := range t.Entries[i].ChunkSums() {
			o.named[s] = true
		}
	}
	return o, nil
}

// TreeID is the tree that is offered.
func (o *Offer) TreeID() chunk.ID { return o.id }

// TotalBytes is how much its files hold.
func (o *Offer) TotalBytes() int64 { return o.bytes }

// ChunkHandler answers those who ask for chunks of the offer, and nothing else that a
// Client could ask.
func (o *Offer) ChunkHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path.Base(r.URL.Path) != "get" || r.Method != http.MethodPost {
			http.NotFound(w, r)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, 32*maxIDs)
		ids, err := readIDs(r.Body)
		if err != nil {
			io.Copy(io.Discard, r.Body) //nolint:errcheck // what comes is of no use
			http.Error(w, err.Error(), statusOf(err))
			return
		}
		ids = chunk.DistinctSums(ids)
		if o.store != nil {
			o.fromStore(w, r, ids)
			return
		}
		o.fromFiles(w, r, ids)
	})
}

// fromStore gives what is named; the rest is missing, whatever the store has.
func (o *Offer) fromStore(w http.ResponseWriter, r *http.Request, ids []chunk.Sum) {
	var named, not []chunk.Sum
	for _, id := range ids {
		if o.named[id] {
			named = append(named, id)
		} else {
			not = append(not, id)
		}
	}
	h := &handler{o.store, nil}
	if err := h.sendChunks(w, r, named, not, true); err != nil {
		http.Error(w, err.Error(), statusOf(err))
	}
}

// fromFiles gives chunks as the files hold them.
func (o *Offer) fromFiles(w http.ResponseWriter, r *http.Request, ids []chunk.Sum) {
	w.Header().Set("Content-Type", "application/octet-stream")
	out := bufio.NewWriterSize(w, 256<<10)
	p := picker{out: out}
	reader := spotReader{}
	defer reader.closeFile()
	a := &chunk.AbsentError{}
	for _, id := range ids {
		plain, err := o.readChunk(&reader, id)
		switch {
		case r.Context().Err() != nil:
			err = r.Context().Err()
		case errors.Is(err, chunk.ErrMissing):
			a.Missing = append(a.Missing, id)
			continue
		case err != nil:
			a.Damaged = append(a.Damaged, id) // it has changed, or is gone
			continue
		default:
			err = p.addChunk(id, plain)
		}
		if err != nil {
			panic(http.ErrAbortHandler) // whoever asked has gone, and asks again
		}
	}
	if p.flushChunks() != nil || endAnswer(out, a) != nil {
		panic(http.ErrAbortHandler)
	}
}

// readChunk gives one chunk, which is the caller's until the next.
func (o *Offer) readChunk(r *spotReader, id chunk.Sum) ([]byte, error) {
	if plain, ok := o.own[id]; ok {
		return plain, nil
	}
	at, ok := o.spots[id]
	if !ok {
		return nil, chunk.ErrMissing
	}
	plain, err := r.readSpot(at)
	if err == nil && chunk.SumOf(plain) != id {
		err = chunk.ErrDamaged
	}
	return plain, err
}

// spotBuffer is what a spotReader reads at a time: no chunk of a file is larger unless it
// is of pages.
const spotBuffer = 256 << 10

// spotReader keeps the file open that was read last.
type spotReader struct {
	f    *os.File
	name string
	buf  []byte
}

func (r *spotReader) readSpot(at chunk.FileSpot) ([]byte, error) {
	if r.name != at.File {
		r.closeFile()
		f, err := os.Open(at.File)
		if err != nil {
			return nil, err
		}
		r.f, r.name = f, at.File
	}
	if cap(r.buf) < at.Size {
		r.buf = make([]byte, max(at.Size, spotBuffer))
	}
	b := r.buf[:at.Size]
	_, err := r.f.ReadAt(b, at.Offset)
	return b, err
}

func (r *spotReader) closeFile() {
	if r.f != nil {
		_ = r.f.Close() // only read
	}
	r.f, r.name = nil, ""
}

// addChunk sends a chunk, with others in a block.
func (p *picker) addChunk(id chunk.Sum, plain []byte) error {
	if p.size > 0 && (p.size+len(plain) > chunk.MaxBlock || len(p.chunks) == chunk.MaxBlockChunks) {
		if err := p.flushChunks(); err != nil {
			return err
		}
	}
	p.chunks = append(p.chunks, chunk.Content{ID: id, Plain: bytes.Clone(plain)})
	p.size += len(plain)
	return nil
}

// endAnswer ends the answer to get with what cannot be had.
func endAnswer(out *bufio.Writer, a *chunk.AbsentError) error {
	for len(a.Missing)+len(a.Damaged) > 0 { // a list has at most so many
		n, m := min(len(a.Missing), maxIDs), min(len(a.Damaged), maxIDs)
		out.Write(appendList(nil, listMissing, a.Missing[:n]))
		out.Write(appendList(nil, listDamaged, a.Damaged[:m]))
		a = &chunk.AbsentError{Missing: a.Missing[n:], Damaged: a.Damaged[m:]}
	}
	out.WriteString(endMark)
	return out.Flush()
}
