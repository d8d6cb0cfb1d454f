package httpdepot

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/depot/tree"
)

// Client is a depot behind HTTP: a Source and a Sink. After a cut connection
// everything can simply be tried again. It remembers the last large trees that
// it saw, which saves much when one like them is pushed: keep it.
type Client struct {
	http   *http.Client
	base   string
	memory tree.TreeMemory
	traffic
}

// NewClient speaks, through h, to the Handler that is mounted at baseURL. For a
// Unix socket h has a Transport that dials it, and the host in baseURL is any.
func NewClient(h *http.Client, baseURL string) *Client {
	return &Client{http: h, base: strings.TrimSuffix(baseURL, "/"), traffic: traffic{clock: clock.RealClock()}}
}

// postRequest sends a request and hands its answer to read.
func (c *Client) postRequest(ctx context.Context, verb string, body []byte, read func(io.Reader) error) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/"+verb, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("asking the depot: %w", err)
	}
	req.Header.Set("Content-Type", "application/octet-stream")
	ended := c.beginRequest(len(body))
	defer ended()
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("asking the depot: %w", err)
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	if resp.StatusCode/100 != 2 {
		return errorOf(resp)
	}
	if read == nil {
		return nil
	}
	if err := read(c.countReader(resp.Body)); err != nil {
		return fmt.Errorf("reading what the depot answers: %w", err)
	}
	return nil
}

// MissingChunks says which of ids the depot does not have.
func (c *Client) MissingChunks(ctx context.Context, ids []chunk.ID) ([]chunk.ID, error) {
	sums, err := chunk.ParseIDs(ids)
	if err != nil {
		return nil, err
	}
	gone, err := c.MissingSums(ctx, sums)
	if err != nil {
		return nil, err
	}
	missing := make([]chunk.ID, len(gone))
	for i, n := range gone {
		missing[i] = ids[n]
	}
	return missing, nil
}

func (c *Client) MissingSums(ctx context.Context, ids []chunk.Sum) (gone []int, err error) {
	for from := 0; from < len(ids); from += maxIDs {
		some := ids[from:min(from+maxIDs, len(ids))]
		err := c.postRequest(ctx, "missing", appendIDs(make([]byte, 0, 32*len(some)), some), func(r io.Reader) error {
			b, err := io.ReadAll(io.LimitReader(r, int64(4*len(some))+1))
			if err != nil {
				return err
			}
			if len(b)%4 != 0 || len(b) > 4*len(some) {
				return errors.New("no list of positions")
			}
			for ; len(b) > 0; b = b[4:] {
				i := int(binary.LittleEndian.Uint32(b))
				if i >= len(some) {
					return fmt.Errorf("position %d of %d", i, len(some))
				}
				gone = append(gone, from+i)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return gone, nil
}

// PutChunk adds a chunk.
func (c *Client) PutChunk(ctx context.Context, id chunk.ID, plain []byte) error {
	raw, _, err := chunk.EncodeChunk(id, plain)
	if err != nil {
		return err
	}
	return c.PutBlocks(ctx, raw, nil)
}

// PutBlocks sends blocks; their content was verified.
func (c *Client) PutBlocks(ctx context.Context, raw []byte, _ []*chunk.Block) error {
	return c.postRequest(ctx, "put", raw, nil)
}

// SyncChunks returns when all that was put is durable.
func (c *Client) SyncChunks(ctx context.Context) error { return c.postRequest(ctx, "sync", nil, nil) }

// PushMemory is what the client remembers of trees that passed.
func (c *Client) PushMemory() *tree.TreeMemory { return &c.memory }

// HoldTree is for TreeSink.
func (c *Client) HoldTree(ctx context.Context, id chunk.Sum) (held bool, err error) {
	err = c.postRequest(ctx, "hold", id[:], func(r io.Reader) error {
		held, err = readYes(r)
		return err
	})
	return held, err
}

// PutPatch is for TreeSink.
func (c *Client) PutPatch(ctx context.Context, base, want chunk.Sum, patch []byte) (done bool, err error) {
	err = c.postRequest(ctx, "patch", slices.Concat(base[:], want[:], patch), func(r io.Reader) error {
		done, err = readYes(r)
		return err
	})
	return done, err
}

// readYes reads an answer of one byte.
func readYes(r io.Reader) (bool, error) {
	b, err := io.ReadAll(io.LimitReader(r, 2))
	if err == nil && (len(b) != 1 || b[0] > 1) {
		err = errors.New("neither yes nor no")
	}
	return err == nil && b[0] == 1, err
}

// GetChunk gives the plain bytes of a chunk, verified.
func (c *Client) GetChunk(ctx context.Context, id chunk.ID) ([]byte, error) {
	want, err := chunk.ParseID(id)
	if err != nil {
		return nil, err
	}
	var got []byte
	err = c.GetMany(ctx, []chunk.Sum{want}, func(_ chunk.Sum, plain []byte) error {
		got = bytes.Clone(plain)
		return nil
	})
	return got, err
}

// GetMany is like Store.GetMany.
func (c *Client) GetMany(ctx context.Context, ids []chunk.Sum, give func(id chunk.Sum, plain []byte) error) error {
	all := &chunk.AbsentError{}
	for from := 0; from < len(ids); from += maxIDs {
		a, err := c.getSome(ctx, ids[from:min(from+maxIDs, len(ids))], give)
		if err != nil {
			return err
		}
		all.Missing = append(all.Missing, a.Missing...)
		all.Damaged = append(all.Damaged, a.Damaged...)
	}
	if len(all.Missing)+len(all.Damaged) > 0 {
		return all
	}
	return nil
}

func (c *Client) getSome(ctx context.Context, ids []chunk.Sum,
	give func(id chunk.Sum, plain []byte) error) (a *chunk.AbsentError, err error) {
	want := make(map[chunk.Sum]bool, len(ids))
	for _, id := range ids {
		n, zero := id.IsZeros()
		if !zero {
			want[id] = true
			continue
		}
		if n > chunk.MaxChunk {
			return nil, fmt.Errorf("%d zero bytes are too many at once", n)
		}
		if err := give(id, make([]byte, n)); err != nil {
			return nil, err
		}
	}
	if len(want) == 0 {
		return &chunk.AbsentError{}, nil
	}
	list := make([]chunk.Sum, 0, len(want))
	for _, id := range ids {
		if want[id] {
			list = append(list, id)
		}
	}
	err = c.postRequest(ctx, "get", appendIDs(make([]byte, 0, 32*len(list)), list), func(r io.Reader) error {
		a, err = takeAnswer(bufio.NewReaderSize(r, 256<<10), want, give)
		return err
	})
	if err != nil {
		return nil, err
	}
	return a, nil
}

// takeAnswer reads the answer to get and gives what is wanted, each once and
// verified. What the answer leaves out, or gives wrongly, is damaged.
func takeAnswer(r io.Reader, want map[chunk.Sum]bool,
	give func(id chunk.Sum, plain []byte) error) (*chunk.AbsentError, error) {
	var buf []byte
	var wrong []chunk.Sum
	a, err := readAnswer(r, func(b *chunk.Block) error {
		var err error
		buf, err = b.EachChunk(buf, func(_ int, id chunk.Sum, plain []byte) error {
			if !want[id] {
				return nil
			}
			delete(want, id)
			if chunk.SumOf(plain) != id {
				wrong = append(wrong, id)
				return nil
			}
			return give(id, plain)
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, list := range [][]chunk.Sum{a.Missing, a.Damaged} {
		for _, id := range list {
			delete(want, id)
		}
	}
	a.Damaged = append(a.Damaged, wrong...)
	for id := range want { // order-free: only told
		a.Damaged = append(a.Damaged, id)
	}
	return a, nil
}
