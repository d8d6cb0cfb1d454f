package native

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// named is the files into which a program saves itself: names, folders or
// patterns, relative to its work folder.
type named struct {
	dir      string
	patterns []string
}

// newNamed checks the names.
func newNamed(dir string, patterns []string) (named, error) {
	for _, p := range patterns {
		if !filepath.IsLocal(p) {
			return named{}, fmt.Errorf("the file %q, into which the program saves itself, must be in the working directory", p)
		}
		if _, err := filepath.Match(p, ""); err != nil {
			return named{}, fmt.Errorf("the pattern %q of files into which the program saves itself: %w", p, err)
		}
	}
	return named{dir, patterns}, nil
}

// state is what tells whether a file was written to.
type state struct {
	dev, ino     uint64
	size         int64
	mtime, ctime syscall.Timespec
}

// sighting is what was there of each pattern: states by path.
type sighting []map[string]state

// observeFiles sees what is there.
func (n named) observeFiles() sighting {
	s := make(sighting, len(n.patterns))
	for i, p := range n.patterns {
		s[i] = map[string]state{}
		for _, match := range n.matchPattern(p) {
			n.addFile(s[i], match)
		}
	}
	return s
}

// matchPattern lists what a pattern names. A name with the letters of a pattern is
// first of all a name.
func (n named) matchPattern(pattern string) []string {
	if _, err := os.Lstat(filepath.Join(n.dir, pattern)); err == nil {
		return []string{pattern}
	}
	list, err := fs.Glob(os.DirFS(n.dir), pattern)
	if err != nil {
		return nil
	}
	return list
}

// addFile notes a file, or all files of a folder.
func (n named) addFile(into map[string]state, path string) {
	info, err := os.Stat(filepath.Join(n.dir, path))
	if err != nil {
		return
	}
	if info.IsDir() {
		entries, err := os.ReadDir(filepath.Join(n.dir, path))
		if err != nil {
			return
		}
		for _, e := range entries {
			// A link into a folder above would go round for ever.
			if e.IsDir() || e.Type()&fs.ModeSymlink == 0 || !n.isDir(filepath.Join(path, e.Name())) {
				n.addFile(into, filepath.Join(path, e.Name()))
			}
		}
		return
	}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok && info.Mode().IsRegular() {
		into[path] = state{sys.Dev, sys.Ino, sys.Size, sys.Mtim, sys.Ctim}
	}
}

func (n named) isDir(path string) bool {
	info, err := os.Stat(filepath.Join(n.dir, path))
	return err == nil && info.IsDir()
}

// lackingFiles says what is missing for these to be the files of a program that has
// saved itself; "" if nothing.
func (n named) lackingFiles(s sighting) string {
	for i, p := range n.patterns {
		if len(s[i]) == 0 {
			return p + " is missing"
		}
		full := false
		for path, f := range s[i] {
			full = full || f.size > 0
			if f.size == 0 && path == p {
				return p + " is empty"
			}
		}
		if !full {
			return p + " is empty"
		}
	}
	return ""
}

// unwrittenPatterns lists the patterns of which nothing was written since before, but
// for what is known to have been touched.
func (n named) unwrittenPatterns(before, now sighting, touched map[string]bool) []string {
	var list []string
	for i, p := range n.patterns {
		written := false
		for path, f := range now[i] {
			written = written || before[i][path] != f || touched[path]
		}
		if !written {
			list = append(list, p)
		}
	}
	return list
}

// openForWriting reports whether one of the processes has one of the files
// open for writing.
func openForWriting(pids []int, s sighting) bool {
	files := map[[2]uint64]bool{}
	for _, states := range s {
		for _, f := range states {
			files[[2]uint64{f.dev, f.ino}] = true
		}
	}
	for _, pid := range pids {
		dir := fmt.Sprintf("/proc/%d/fd/", pid)
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // it has ended
		}
		for _, e := range entries {
			var st unix.Stat_t
			if unix.Stat(dir+e.Name(), &st) != nil || !files[[2]uint64{st.Dev, st.Ino}] {
				continue
			}
			var flags int
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%s", pid, e.Name()))
			if _, after, ok := strings.Cut(string(text), "flags:"); err == nil && ok {
				if _, err := fmt.Sscanf(after, "%o", &flags); err == nil && flags&unix.O_ACCMODE != unix.O_RDONLY {
					return true
				}
			}
		}
	}
	return false
}

// manifest is what stands in an image beside the files.
type manifest struct {
	Method string `json:"method"`
	Habit  habit  `json:"habit,omitempty"`
	Files  []file `json:"files"`
}

type file struct {
	Path  string      `json:"path"`
	Size  int64       `json:"size"`
	Mode  fs.FileMode `json:"mode"`
	Mtime int64       `json:"mtime"` // nanoseconds since 1970
}

const (
	manifestName = "image.json"
	filesName    = "files"
)

// copyImage copies the files into an image, which must be all there.
func (n named) copyImage(image, method string, h habit) error {
	seen := n.observeFiles()
	if lacks := n.lackingFiles(seen); lacks != "" {
		return errors.New(lacks)
	}
	m := manifest{Method: method, Habit: h}
	done := map[string]bool{}
	for _, states := range seen {
		for path := range states {
			if done[path] {
				continue
			}
			done[path] = true
			f, err := copyFile(filepath.Join(n.dir, path), filepath.Join(image, filesName, path))
			if err != nil {
				return fmt.Errorf("taking %s: %w", path, err)
			}
			f.Path = path
			m.Files = append(m.Files, f)
		}
	}
	text, err := json.Marshal(m)
	if err == nil {
		err = os.WriteFile(filepath.Join(image, manifestName), text, 0o600)
	}
	return err
}

// restoreImage copies the files of an image back, after all of it was looked at.
func (n named) restoreImage(image, method string) (manifest, error) {
	m, err := readManifest(image)
	if err != nil {
		return m, err
	}
	if m.Method != method {
		return m, fmt.Errorf("the image was made by the method %s, not %s", m.Method, method)
	}
	for _, f := range m.Files {
		info, err := os.Lstat(filepath.Join(image, filesName, f.Path))
		switch {
		case err != nil:
			return m, fmt.Errorf("the image is damaged: %w", err)
		case !info.Mode().IsRegular() || info.Size() != f.Size:
			return m, fmt.Errorf("the image is damaged: %s has %d bytes, not %d", f.Path, info.Size(), f.Size)
		}
	}
	for _, f := range m.Files {
		if err := n.putBack(image, f); err != nil {
			return m, fmt.Errorf("putting %s back: %w", f.Path, err)
		}
	}
	return m, nil
}

// putBack makes a file what it was, whole or not at all.
func (n named) putBack(image string, f file) error {
	to := filepath.Join(n.dir, f.Path)
	fresh := to + ".godwit-new"
	if _, err := copyFile(filepath.Join(image, filesName, f.Path), fresh); err != nil {
		return err
	}
	when := time.Unix(0, f.Mtime)
	return errors.Join(os.Chmod(fresh, f.Mode), os.Chtimes(fresh, when, when), os.Rename(fresh, to))
}

// readManifest reads what an image should hold.
func readManifest(image string) (manifest, error) {
	text, err := os.ReadFile(filepath.Join(image, manifestName))
	if err != nil {
		return manifest{}, fmt.Errorf("the image is damaged: %w", err)
	}
	return parseManifest(text)
}

// parseManifest reads a manifest. No path in it leads out of the folder.
func parseManifest(text []byte) (manifest, error) {
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return m, fmt.Errorf("the image is damaged: %w", err)
	}
	for i, f := range m.Files {
		if !filepath.IsLocal(f.Path) || filepath.Clean(f.Path) != f.Path || f.Path == "." || f.Size < 0 {
			return m, fmt.Errorf("the image is damaged: it has a file %q of %d bytes", f.Path, f.Size)
		}
		m.Files[i].Mode = f.Mode.Perm()
	}
	return m, nil
}

// copyFile copies what a file holds and says what that was.
func copyFile(from, to string) (f file, err error) {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return f, err
	}
	r, err := os.Open(from)
	if err != nil {
		return f, err
	}
	defer r.Close() //nolint:errcheck // opened for reading
	info, err := r.Stat()
	if err != nil {
		return f, err
	}
	w, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return f, err
	}
	n, err := io.Copy(w, r)
	if err = errors.Join(err, w.Close()); err != nil {
		return f, err
	}
	return file{Size: n, Mode: info.Mode().Perm(), Mtime: info.ModTime().UnixNano()}, nil
}
