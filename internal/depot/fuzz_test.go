package depot

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
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
)

func someBlocks() []byte {
	raw := chunk.EncodeBlock(nil, []chunk.Content{{ID: chunk.SumOf([]byte("one")), Plain: []byte("one")}, {ID: chunk.SumOf(nil), Plain: nil}}, nil)
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
				if err := s.GetMany(t.Context(), []chunk.Sum{b.ChunkID(i)}, func(chunk.Sum, []byte) error { return nil }); err != nil && !isAbsent(err) {
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

// Whatever a tree says, it is refused or it is safe, and it reads back as it
// was.
func FuzzTree(f *testing.F) {
	good, err := encodeTree(&Tree{Entries: []Entry{
		{Path: "a", Mode: 0o644, Size: 10, Chunks: []chunk.ID{chunk.IDOf([]byte("x")), chunk.ZerosID(9).ToID()}},
		{Path: "b", Mode: os.ModeDir | 0o755},
		{Path: "b/\xff", Mode: os.ModeSymlink | 0o777, Link: "../\xfe"},
	}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"godwit-tree":1}`))
	f.Add([]byte(`{"godwit-tree":1,"entries":[{"path":"../x","mode":420}]}`))
	f.Add([]byte(`{"godwit-tree":1,"parts":"AAAA","size":3}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		decodeParts(in)
		tree, err := decodeTree(in)
		if err != nil {
			return
		}
		for _, e := range tree.Entries {
			if !filepath.IsLocal(e.Path) || filepath.Clean(e.Path) != e.Path {
				t.Errorf("the path %q passed", e.Path)
			}
		}
		b, err := encodeTree(tree)
		if err != nil {
			t.Fatalf("encoding what was decoded: %v", err)
		}
		again, err := decodeTree(b)
		if err != nil {
			t.Fatalf("decoding what was encoded: %v", err)
		}
		if changed, removed := DiffTrees(tree, again); len(changed)+len(removed) > 0 {
			t.Errorf("it comes back with %v changed and %v removed", changed, removed)
		}
	})
}

// Whatever two texts say, the patch between them turns the one into the other,
// and whatever a patch says, applying it ends.
func FuzzPatch(f *testing.F) {
	f.Add([]byte("a,b,c,d"), []byte("a,x,c,d,e"))
	f.Add([]byte(""), []byte(",,,"))
	f.Add(bytes.Repeat([]byte("same,"), 20), append(bytes.Repeat([]byte("same,"), 30), "other"...))
	f.Fuzz(func(t *testing.T, base, next []byte) {
		got, err := patchTree(base, diffTree(base, next))
		if err != nil || !bytes.Equal(got, next) {
			t.Errorf("%q comes back as %q, %v", next, got, err)
		}
		patchTree(base, next)
		patchTree(base, chunk.BlockEncoder().EncodeAll(next, nil))
	})
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
		if safePath(second) && !strings.Contains(first, "\x00") {
			os.Symlink("../outside", filepath.Join(inside, strings.Split(second, "/")[0]))
		}
		before := depottest.DescribeFolder(t, filepath.Join(top, "outside"))
		id := put(t, s, []byte(content+"x"))
		raw, _ := chunk.ParseID(id)
		in := treeJSON{Version: treeVersion, Entries: []entryJSON{
			{Path64: []byte(first), Mode: os.ModeSymlink | 0o777, Link64: []byte(link)},
			{Path64: []byte(second), Mode: 0o644, Size: int64(len(content) + 1), Chunks: base64.RawStdEncoding.EncodeToString(raw[:])},
		}}
		if link == "" {
			in.Entries[0] = entryJSON{Path64: []byte(first), Mode: os.ModeDir | 0o755}
		}
		b, err := canonicalJSON(in)
		if err != nil || len(b) > chunk.MaxChunk {
			return
		}
		FetchTree(t.Context(), s, put(t, s, b), inside)
		entry := Entry{Path: second, Mode: 0o644, Size: int64(len(content) + 1), Chunks: []chunk.ID{id}}
		ApplyChanges(t.Context(), s, inside, []Entry{{Path: first, Mode: os.ModeSymlink | 0o777, Link: link}, entry}, []string{first, second})
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

// No pattern makes matching fail or take long.
func FuzzIgnore(f *testing.F) {
	f.Add("**/a/**/b*[!x]", "x/a/y/z/b1")
	f.Add("!/a/", "a")
	f.Add(strings.Repeat("**/", 50)+"x", strings.Repeat("a/", 50)+"y")
	f.Fuzz(func(t *testing.T, line, name string) {
		if len(line) > 300 || len(name) > 300 {
			return
		}
		r, ok := parseRule(line)
		if !ok {
			return
		}
		fits := matchParts(r.parts, strings.Split(name, "/"))
		if want := matchSlowly(r.parts, strings.Split(name, "/"), 3000); want != unsure && fits != (want == yes) {
			t.Errorf("%q fits %q: %v", line, name, fits)
		}
	})
}

const (
	no = iota
	yes
	unsure
)

// matchSlowly is matchParts written down as it is meant.
func matchSlowly(pattern, name []string, steps int) int {
	var try func(p, n int) int
	try = func(p, n int) int {
		if steps--; steps < 0 {
			return unsure
		}
		switch {
		case p == len(pattern):
			if n == len(name) {
				return yes
			}
			return no
		case pattern[p] == "**" && p == len(pattern)-1:
			if n < len(name) {
				return yes
			}
			return no
		case pattern[p] == "**":
			for k := n; k <= len(name); k++ {
				if got := try(p+1, k); got != no {
					return got
				}
			}
			return no
		case n < len(name) && matchPart(pattern[p], name[n]):
			return try(p+1, n+1)
		}
		return no
	}
	return try(0, 0)
}

// Whatever stands in a cache file, reading it ends.
func FuzzCache(f *testing.F) {
	good, _ := json.Marshal(cacheJSON{Version: cacheVersion, Files: map[string]cached{"a": {Chunks: make([]byte, 33)}}})
	f.Add(good)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, in []byte) {
		p := filepath.Join(dir, "cache")
		if err := os.WriteFile(p, append([]byte(chunk.IDOf(in)+"\n"), in...), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, c := range readCache(p) {
			c.chunkSums()
		}
	})
}
