// Package depottest makes the content and the folders that tests of the depot move
// about. It knows nothing of the depot itself, so that all its packages can use it.
package depottest

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"
)

// RandomBytes is n bytes that do not compress.
func RandomBytes(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 7))
	b := make([]byte, 0, n+8)
	for len(b) < n {
		b = binary.LittleEndian.AppendUint64(b, r.Uint64())
	}
	return b[:n]
}

// LogText is n bytes that compress.
func LogText(seed uint64, n int) []byte {
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

// WriteFile writes a file, and makes its folder if need be.
func WriteFile(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// DescribeFolder lists all that is in a folder, so that two folders can be compared.
func DescribeFolder(t testing.TB, dir string) []string {
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
			line += fmt.Sprintf(" %d %x %d", st.Size(), sha256.Sum256(b), st.ModTime().UnixNano())
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

// WantSame fails unless two folders hold the same.
func WantSame(t testing.TB, got, want string) {
	t.Helper()
	g, w := DescribeFolder(t, got), DescribeFolder(t, want)
	if !slices.Equal(g, w) {
		t.Errorf("%s and %s differ:\n%q\n%q", got, want, g, w)
	}
}

// RandomFolder fills dir with files, folders and links of all kinds.
func RandomFolder(t testing.TB, dir string, seed uint64) {
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
	defer func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}()
	sizes := []int{0, 1, r.IntN(5000), r.IntN(100_000), 4096 * (200 + r.IntN(100)), r.IntN(900_000)}
	size := sizes[r.IntN(len(sizes))]
	b := RandomBytes(r.Uint64N(5), size)
	if r.IntN(2) == 0 {
		b = LogText(r.Uint64N(5), size)
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

// SizedFolder makes a folder with a file of each size, different for each seed.
func SizedFolder(t testing.TB, seed uint64, sizes ...int) string {
	t.Helper()
	dir := t.TempDir()
	for i, n := range sizes {
		WriteFile(t, filepath.Join(dir, fmt.Sprintf("%d", i)), RandomBytes(seed*100+uint64(i), n))
	}
	return dir
}
