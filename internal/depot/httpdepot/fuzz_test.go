package httpdepot_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"testing"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/depot/depottest"
	"github.com/godwit-hpc/godwit/internal/depot/httpdepot"
)

func someBlocks() []byte {
	raw := chunk.EncodeBlock(nil, []chunk.Content{{ID: chunk.SumOf([]byte("one")), Plain: []byte("one")},
		{ID: chunk.SumOf(nil), Plain: nil}}, nil)
	text := depottest.LogText(1, 300)
	return chunk.EncodeBlock(raw, []chunk.Content{{ID: chunk.SumOf(text), Plain: text}}, nil)
}

// mend puts the checksums of blocks right, so that what is behind them is
// fuzzed as well.
func mend(in []byte) []byte {
	in = bytes.Clone(in)
	table := crc32.MakeTable(crc32.Castagnoli)
	for b := in; len(b) >= 20 && string(b[:4]) == chunk.BlockMagic; {
		size := 20 + 36*int(binary.LittleEndian.Uint16(b[4:])) + int(binary.LittleEndian.Uint32(b[12:]))
		if size > len(b) {
			break
		}
		crc := crc32.Update(crc32.Update(0, table, b[:16]), table, b[20:size])
		binary.LittleEndian.PutUint32(b[16:], crc)
		b = b[size:]
	}
	return in
}

// Whatever a depot answers, nothing is given that was not asked for or is wrong.
func FuzzAnswer(f *testing.F) {
	text := depottest.LogText(1, 300)
	raw := someBlocks()
	f.Add(append(bytes.Clone(raw), httpdepot.EndMark...))
	missing := httpdepot.AppendList(bytes.Clone(raw), httpdepot.ListMissing, []chunk.Sum{chunk.SumOf(nil), {1}})
	f.Add(append(missing, httpdepot.EndMark...))
	f.Add(httpdepot.AppendList(nil, httpdepot.ListDamaged, []chunk.Sum{{2}}))
	f.Fuzz(func(t *testing.T, in []byte) {
		asked := []chunk.Sum{chunk.SumOf([]byte("one")), chunk.SumOf(text), {1}}
		want := map[chunk.Sum]bool{}
		for _, id := range asked {
			want[id] = true
		}
		given := map[chunk.Sum]bool{}
		a, err := httpdepot.TakeAnswer(bytes.NewReader(mend(in)), want, func(id chunk.Sum, plain []byte) error {
			if chunk.SumOf(plain) != id || !slices.Contains(asked, id) || given[id] {
				t.Errorf("%s was given wrongly", id.ToID())
			}
			given[id] = true
			return nil
		})
		if err != nil {
			return
		}
		for _, id := range asked {
			if !given[id] && !slices.Contains(a.Missing, id) && !slices.Contains(a.Damaged, id) {
				t.Errorf("nobody knows where %s is", id.ToID())
			}
		}
	})
}

// Whatever is sent to the handler, the store holds nothing wrong after it.
func FuzzHandler(f *testing.F) {
	f.Add("put", someBlocks())
	f.Add("missing", make([]byte, 64))
	f.Add("get", bytes.Repeat([]byte{1}, 32))
	f.Add("sync", []byte{})
	dir, err := os.MkdirTemp("", "depot")
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { os.RemoveAll(dir) })
	s := openStore(f, dir)
	h := httpdepot.NewHandler(s)
	f.Fuzz(func(t *testing.T, verb string, body []byte) {
		body = mend(body)
		r := httptest.NewRequest(http.MethodPost, "/v1/depot/x", bytes.NewReader(body))
		r.URL.Path = "/v1/depot/" + verb
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Errorf("%q: %d %s", verb, w.Code, w.Body)
		}
		if b, _, err := chunk.ReadBlock(bytes.NewReader(body), nil); err == nil {
			for i := range b.Count {
				if err := s.GetMany(t.Context(), []chunk.Sum{b.ChunkID(i)},
					func(chunk.Sum, []byte) error { return nil }); err != nil && !isAbsent(err) {
					t.Errorf("getting what was sent: %v", err)
				}
			}
		}
	})
}

func isAbsent(err error) bool {
	var a *chunk.AbsentError
	return errors.As(err, &a) && len(a.Damaged) == 0
}
