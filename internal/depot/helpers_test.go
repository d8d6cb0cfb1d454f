package depot

import (
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == childFlag {
		child(os.Args[2:])
		return
	}
	goleak.VerifyTestMain(m)
}

func openStore(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing the store: %v", err)
		}
	})
	return s
}

// serve gives a client of s over a Unix socket.
func serve(t testing.TB, h http.Handler) *Client {
	t.Helper()
	// The path of a socket must be short.
	dir, err := os.MkdirTemp("", "depot")
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/v1/depot/", h)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		server.Close()
		<-done
		os.RemoveAll(dir)
	})
	return NewClient(&http.Client{Transport: tr}, "http://broker/v1/depot/")
}

// noise is n bytes that do not compress.
func noise(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 7))
	b := make([]byte, 0, n+8)
	for len(b) < n {
		b = binary.LittleEndian.AppendUint64(b, r.Uint64())
	}
	return b[:n]
}

// prose is n bytes that compress.
func prose(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 8))
	b := make([]byte, 0, n+100)
	for len(b) < n {
		b = append(b, "step "...)
		b = strconv.AppendUint(b, r.Uint64N(1000), 10)
		b = append(b, " of 1000: the energy is now "...)
		b = strconv.AppendUint(b, r.Uint64()>>40, 10)
		b = append(b, " and the temperature steady\n"...)
	}
	return b[:n]
}

func write(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// describe lists all that is in a folder, so that two folders can be compared.
func describe(t testing.TB, dir string) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == dir {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		st, err := d.Info()
		if err != nil {
			return err
		}
		line := fmt.Sprintf("%q %v", rel, st.Mode())
		switch {
		case st.Mode().IsRegular():
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %d %s %d", st.Size(), IDOf(b), st.ModTime().UnixNano())
		case st.Mode()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(p)
			line += fmt.Sprintf(" -> %q", to)
		}
		list = append(list, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func wantSame(t testing.TB, got, want string) {
	t.Helper()
	g, w := describe(t, got), describe(t, want)
	if !slices.Equal(g, w) {
		t.Errorf("%s and %s differ:\n%q\n%q", got, want, g, w)
	}
}

func mustPush(t testing.TB, dir string, to Sink, opt PushOptions) (ID, *Tree, Stats) {
	t.Helper()
	id, tree, stats, err := PushFolder(t.Context(), dir, to, opt)
	if err != nil {
		t.Fatal(err)
	}
	return id, tree, stats
}

func mustFetch(t testing.TB, from Source, id ID, dir string) {
	t.Helper()
	if _, err := FetchTree(t.Context(), from, id, dir); err != nil {
		t.Fatal(err)
	}
}

// age makes the files in dir look as if they had not changed for long.
func age(t testing.TB, dir string) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		young := false
		list, _, err := walkFolder(dir, nil, Limit{})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range list {
			if f.Mode.IsRegular() && !f.stamp.isSettled(wallClock()) {
				young = true
			}
		}
		if !young {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("files stay young for a minute")
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// randomTree fills dir with files, folders and links of all kinds.
func randomTree(t testing.TB, dir string, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 9))
	folders := []string{"."}
	names := []string{"a", "b", "data", "ü ß", "x-y", "x", "\xff\xfe", "new\nline", ".hidden", "x.y"}
	for range 5 + r.IntN(25) {
		up := folders[r.IntN(len(folders))]
		p := filepath.Join(up, fmt.Sprintf("%s%d", names[r.IntN(len(names))], r.IntN(100)))
		full := filepath.Join(dir, p)
		if _, err := os.Lstat(full); err == nil {
			continue
		}
		switch r.IntN(10) {
		case 0, 1:
			if err := os.Mkdir(full, 0o700|fs.FileMode(r.IntN(0o100))); err != nil {
				t.Fatal(err)
			}
			folders = append(folders, p)
		case 2:
			if err := os.Symlink([]string{"a", "../../etc/passwd", "/nowhere", "\xff"}[r.IntN(4)], full); err != nil {
				t.Fatal(err)
			}
		default:
			randomFile(t, full, r)
		}
	}
}

func randomFile(t testing.TB, p string, r *rand.Rand) {
	t.Helper()
	f, err := os.OpenFile(p, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o400|fs.FileMode(r.IntN(0o400)))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sizes := []int{0, 1, r.IntN(5000), r.IntN(100_000), 4096 * (200 + r.IntN(100)), r.IntN(900_000)}
	size := sizes[r.IntN(len(sizes))]
	b := noise(r.Uint64N(5), size)
	if r.IntN(2) == 0 {
		b = prose(r.Uint64N(5), size)
	}
	for range r.IntN(3) { // some zeros in it
		if size > 0 {
			from := r.IntN(size)
			clear(b[from:min(size, from+r.IntN(100_000))])
		}
	}
	if _, err := f.WriteAt(b, int64(r.IntN(2)*r.IntN(200_000))); err != nil {
		t.Fatal(err)
	}
	if r.IntN(4) == 0 { // a hole at the end
		st, _ := f.Stat()
		if err := f.Truncate(st.Size() + int64(r.IntN(300_000))); err != nil {
			t.Fatal(err)
		}
	}
	at := time.Unix(1_700_000_000+r.Int64N(1e6), r.Int64N(1e9))
	if err := os.Chtimes(p, at, at); err != nil {
		t.Fatal(err)
	}
}

func isRoot() bool { return unix.Geteuid() == 0 }
