package httpdepot

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/depot/pack"
	"github.com/godwit-hpc/godwit/internal/depot/tree"
)

// NewHandler serves s to Clients. It looks at the last element of the path only,
// so it may be mounted anywhere, with or without http.StripPrefix.
func NewHandler(s *pack.Store) http.Handler { return handlerOf(&handler{s, nil}) }

func handlerOf(h *handler) http.Handler {
	verbs := map[string]func(http.ResponseWriter, *http.Request) error{
		"missing": h.serveMissing, "put": h.servePut, "get": h.serveGet, "sync": h.serveSync, "hold": h.serveHold,
		"patch": h.servePatch,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		verb := verbs[path.Base(r.URL.Path)]
		if verb == nil {
			http.NotFound(w, r)
			return
		}
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, "only POST", http.StatusMethodNotAllowed)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxPutBody)
		if err := verb(w, r); err != nil {
			// Who is still sending does not listen: it would learn that the
			// connection broke, not why.
			io.Copy(io.Discard, r.Body) //nolint:errcheck // what comes is of no use
			http.Error(w, err.Error(), statusOf(err))
		}
	})
}

type handler struct {
	s     *pack.Store
	fence *Fence // nil: everything may be asked about
}

func (h *handler) serveMissing(w http.ResponseWriter, r *http.Request) error {
	ids, err := readIDs(r.Body)
	if err != nil {
		return err
	}
	gone, err := h.gone(r.Context(), ids)
	if err != nil {
		return err
	}
	b := make([]byte, 0, 4*len(gone))
	for _, i := range gone {
		b = binary.LittleEndian.AppendUint32(b, uint32(i))
	}
	writeAnswer(w, b)
	return nil
}

// gone gives the positions of those of ids that are not there, or not to be asked about.
func (h *handler) gone(ctx context.Context, ids []chunk.Sum) ([]int, error) {
	if h.fence == nil {
		return h.s.MissingSums(ctx, ids)
	}
	may, not, err := h.fence.split(ctx, ids)
	if err != nil {
		return nil, err
	}
	asked := make([]chunk.Sum, len(may))
	for i, at := range may {
		asked[i] = ids[at]
	}
	gone, err := h.s.MissingSums(ctx, asked)
	for _, i := range gone {
		not = append(not, may[i])
	}
	slices.Sort(not)
	return not, err
}

func writeAnswer(w http.ResponseWriter, b []byte) {
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Write(b) //nolint:errcheck // whoever asked has gone, and asks again
}

func (h *handler) serveSync(w http.ResponseWriter, r *http.Request) error {
	if err := h.s.SyncChunks(r.Context()); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (h *handler) serveHold(w http.ResponseWriter, r *http.Request) error {
	ids, err := readIDs(r.Body)
	if err != nil {
		return err
	}
	if len(ids) != 1 {
		return fmt.Errorf("%w: want one ID", errBadRequest)
	}
	if yes, err := h.mayAskTree(r.Context(), ids[0]); err != nil || !yes {
		return answerYes(w, false, err)
	}
	held, err := h.s.HoldTree(r.Context(), ids[0])
	return answerYes(w, held, err)
}

func (h *handler) mayAskTree(ctx context.Context, id chunk.Sum) (bool, error) {
	if h.fence == nil {
		return true, nil
	}
	return h.fence.admitsTree(ctx, id)
}

func answerYes(w http.ResponseWriter, yes bool, err error) error {
	if err != nil {
		return err
	}
	b := []byte{0}
	if yes {
		b[0] = 1
	}
	writeAnswer(w, b)
	return nil
}

func (h *handler) servePatch(w http.ResponseWriter, r *http.Request) error {
	b, err := io.ReadAll(io.LimitReader(r.Body, tree.MaxPatch+65))
	if err != nil {
		return fmt.Errorf("%w: %w", errBadRequest, err)
	}
	if len(b) < 64 || len(b) > tree.MaxPatch+64 {
		return fmt.Errorf("%w: want two IDs and a patch", errBadRequest)
	}
	if yes, err := h.mayAskTree(r.Context(), chunk.Sum(b)); err != nil || !yes {
		return answerYes(w, false, err)
	}
	if err := h.s.AdmitBytes(len(b)); err != nil {
		return err
	}
	done, err := h.s.PutPatch(r.Context(), chunk.Sum(b), chunk.Sum(b[32:]), b[64:])
	if done && h.fence != nil {
		_, own, err := tree.ReadText(r.Context(), h.s, chunk.Sum(b[32:]).ToID())
		if err != nil {
			return err
		}
		h.fence.offer(own)
	}
	return answerYes(w, done, err)
}

// servePut takes in blocks as they come, a megabyte at a time, so that what arrived
// before a cut stays.
func (h *handler) servePut(w http.ResponseWriter, r *http.Request) error {
	const group = 1 << 20
	in := bufio.NewReaderSize(r.Body, 64<<10)
	var raw, buf, plain []byte
	var ends []int
	flush := func() error {
		err := h.putRaw(r, raw, ends)
		raw, ends = raw[:0], ends[:0]
		return err
	}
	for {
		b, used, err := chunk.ReadBlock(in, buf)
		buf = used
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			plain, err = b.VerifyChunks(plain)
		}
		if err != nil {
			return errors.Join(err, flush())
		}
		raw = append(raw, b.Raw...)
		ends = append(ends, len(raw))
		if len(raw) >= group {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (h *handler) putRaw(r *http.Request, raw []byte, ends []int) error {
	if len(ends) == 0 {
		return nil
	}
	blocks := make([]*chunk.Block, len(ends))
	from := 0
	for i, to := range ends {
		var err error
		if blocks[i], err = chunk.ParseBlock(raw[from:to:to]); err != nil {
			return err
		}
		from = to
	}
	if err := h.s.AdmitBytes(len(raw)); err != nil {
		return err
	}
	// Even if whoever sent it is cut off now, what arrived stays.
	err := h.s.PutBlocks(context.WithoutCancel(r.Context()), raw, blocks)
	if err == nil && h.fence != nil {
		for _, b := range blocks {
			for i := range b.Count {
				h.fence.offer([]chunk.Sum{b.ChunkID(i)})
			}
		}
	}
	return err
}

func (h *handler) serveGet(w http.ResponseWriter, r *http.Request) error {
	ids, err := readIDs(r.Body)
	if err != nil {
		return err
	}
	ids = chunk.DistinctSums(ids)
	if h.fence == nil {
		return h.sendChunks(w, r, ids, nil, false)
	}
	may, not, err := h.fence.split(r.Context(), ids)
	if err != nil {
		return err
	}
	pick := func(at []int) (list []chunk.Sum) {
		for _, i := range at {
			list = append(list, ids[i])
		}
		return list
	}
	return h.sendChunks(w, r, pick(may), pick(not), true)
}

// sendChunks sends blocks as they lie on the disk, where most of a block is wanted,
// and else new blocks of what is. If it has to be exact, nothing goes along that
// was not asked for. not is told to be missing.
func (h *handler) sendChunks(w http.ResponseWriter, r *http.Request, ids, not []chunk.Sum, exact bool) error {
	w.Header().Set("Content-Type", "application/octet-stream")
	out := bufio.NewWriterSize(w, 256<<10)
	p := picker{out: out, exact: exact}
	sent := false
	err := h.s.EachBlock(r.Context(), ids, func(b *chunk.Block, wanted map[chunk.Sum]bool) error {
		sent = true
		return p.pickBlock(b, wanted)
	})
	a := &chunk.AbsentError{}
	if err == nil || errors.As(err, &a) {
		err = p.flushChunks()
	}
	switch {
	case err == nil:
	case sent:
		// Too late for a status: the answer ends without its end mark.
		panic(http.ErrAbortHandler)
	default:
		return err
	}
	a.Missing = append(a.Missing, not...)
	if endAnswer(out, a) != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}

// picker sends what is wanted of blocks.
type picker struct {
	out    *bufio.Writer
	exact  bool // nothing else than that
	chunks []chunk.Content
	size   int
	buf    []byte
	raw    []byte
}

// pickBlock sends a block, or keeps the chunks wanted of it for one of their own.
func (p *picker) pickBlock(b *chunk.Block, wanted map[chunk.Sum]bool) error {
	size := 0
	for i := range b.Count {
		if wanted[b.ChunkID(i)] {
			size += b.ChunkSize(i)
		}
	}
	if size == b.PlainSize || 2*size >= b.PlainSize && !p.exact {
		_, err := p.out.Write(b.Raw)
		return err
	}
	var err error
	p.buf, err = b.EachChunk(p.buf, func(_ int, id chunk.Sum, plain []byte) error {
		if !wanted[id] {
			return nil
		}
		if chunk.SumOf(plain) != id {
			return fmt.Errorf("%w: the content of %s is not what its ID says", chunk.ErrBadBlock, id.ToID())
		}
		return p.addChunk(id, plain)
	})
	return err
}

// flushChunks sends the chunks kept.
func (p *picker) flushChunks() error {
	if len(p.chunks) == 0 {
		return nil
	}
	p.raw = chunk.EncodeBlock(p.raw[:0], p.chunks, nil)
	p.chunks, p.size = p.chunks[:0], 0
	_, err := p.out.Write(p.raw)
	return err
}
