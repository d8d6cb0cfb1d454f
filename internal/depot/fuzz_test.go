package depot

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/depot/depottest"
	"github.com/godwit-hpc/godwit/internal/depot/tree"
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
	f.Add(append(bytes.Clone(raw), endMark...))
	f.Add(append(appendList(bytes.Clone(raw), listMissing, []chunk.Sum{chunk.SumOf(nil), {1}}), endMark...))
	f.Add(appendList(nil, listDamaged, []chunk.Sum{{2}}))
	f.Fuzz(func(t *testing.T, in []byte) {
		asked := []chunk.Sum{chunk.SumOf([]byte("one")), chunk.SumOf(text), {1}}
		want := map[chunk.Sum]bool{}
		for _, id := range asked {
			want[id] = true
		}
		given := map[chunk.Sum]bool{}
		a, err := takeAnswer(bytes.NewReader(mend(in)), want, func(id chunk.Sum, plain []byte) error {
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
	h := NewHandler(s)
	f.Fuzz(func(t *testing.T, verb string, body []byte) {
		body = mend(body)
		r := httptest.NewRequest(http.MethodPost, "/v1/depot/x", bytes.NewReader(body))
		r.URL.Path = "/v1/depot/" + verb
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Errorf("%q: %d %s", verb, w.Code, w.Body)
		}
		s.mu.RLock()
		loaded := s.loaded
		s.mu.RUnlock()
		if b, _, err := chunk.ReadBlock(bytes.NewReader(body), nil); err == nil && loaded {
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

// Whatever the tree and whatever is in the folder, nothing outside is touched.
func FuzzFetchStaysInside(f *testing.F) {
	f.Add("a", "../outside", "a/b", "x")
	f.Add("d", "", "d/../../outside/b", "x")
	f.Add("..", "x", "/etc/x", "x")
	f.Add("a", "/", "a/tmp/evil", "")
	s := openStore(f, f.TempDir())
	f.Fuzz(func(t *testing.T, first, link, second, content string) {
		top := t.TempDir()
		depottest.WriteFile(t, filepath.Join(top, "outside", "b"), []byte("precious"))
		inside := filepath.Join(top, "in")
		os.Mkdir(inside, 0o700)
		if tree.IsSafePath(second) && !strings.Contains(first, "\x00") {
			os.Symlink("../outside", filepath.Join(inside, strings.Split(second, "/")[0]))
		}
		before := depottest.DescribeFolder(t, filepath.Join(top, "outside"))
		id := put(t, s, []byte(content+"x"))
		raw, _ := chunk.ParseID(id)
		in := treeJSON{Version: treeVersion, Entries: []entryJSON{
			{Path64: []byte(first), Mode: os.ModeSymlink | 0o777, Link64: []byte(link)},
			{Path64: []byte(second), Mode: 0o644, Size: int64(len(content) + 1),
				Chunks: base64.RawStdEncoding.EncodeToString(raw[:])},
		}}
		if link == "" {
			in.Entries[0] = entryJSON{Path64: []byte(first), Mode: os.ModeDir | 0o755}
		}
		b, err := canonicalJSON(in)
		if err != nil || len(b) > chunk.MaxChunk {
			return
		}
		FetchTree(t.Context(), s, put(t, s, b), inside)
		entry := tree.Entry{Path: second, Mode: 0o644, Size: int64(len(content) + 1), Chunks: []chunk.ID{id}}
		ApplyChanges(t.Context(), s, inside, []tree.Entry{{Path: first, Mode: os.ModeSymlink | 0o777, Link: link}, entry},
			[]string{first, second})
		if after := depottest.DescribeFolder(t, filepath.Join(top, "outside")); !slices.Equal(before, after) {
			t.Errorf("outside there was\n%q, now there is\n%q", before, after)
		}
		if list, _ := os.ReadDir(top); len(list) != 2 {
			t.Errorf("beside the folder there is %v", list)
		}
	})
}

// Whatever an index or a list of touches says, reading it ends and it names
// nothing twice as long as it is.
func FuzzPackIndex(f *testing.F) {
	b := appendRecord(nil, record{kind: recordAdd, off: 8, size: 100, ids: []chunk.Sum{{1}, {2}}})
	b = appendRecord(b, record{kind: recordDead, off: 8})
	f.Add(appendRecord(b, record{kind: recordEnd}))
	f.Add(b[:50])
	f.Fuzz(func(t *testing.T, in []byte) {
		said := parseIndex(in)
		if said.good > int64(len(in)) || len(said.blocks)*recordHeader > len(in) {
			t.Errorf("%d sound bytes and %d blocks in %d bytes", said.good, len(said.blocks), len(in))
		}
		if again := parseIndex(in[:said.good]); len(again.blocks) != len(said.blocks) || again.good != said.good {
			t.Error("the sound part alone says something else")
		}
		blocks := map[touchedBlock]time.Duration{}
		tr := toucher{now: func() time.Duration { return time.Hour }}
		tr.readTouched(in, time.Minute, blocks)
		if len(blocks)*touchEntry > len(in) {
			t.Errorf("%d touches in %d bytes", len(blocks), len(in))
		}
	})
}
