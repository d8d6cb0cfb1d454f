package userfiles

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Output is a file of a user that is to hold what a job wrote.
type Output struct {
	File      string `json:"file"`
	Temporary string `json:"temporary"`        // what the name has more while it is being written
	Append    bool   `json:"append,omitempty"` // to what is in it already
}

// Write writes a file: all of it, or it stays what it was. To what is appended a
// marker belongs, a file of the broker that says from where on: it may be repeated
// after a crash.
func (OwnUser) Write(_ context.Context, o *Output, marker string, content io.Reader) error {
	if !o.Append {
		return writeOutput(o, nil, content)
	}
	m, err := openMarker(marker)
	if err != nil {
		return err
	}
	return errors.Join(writeOutput(o, m, content), m.Close())
}

func openMarker(name string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
}

func writeOutput(o *Output, marker *os.File, content io.Reader) error {
	name := o.File
	if err := checkLinks(name); err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real
	}
	info, err := os.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no file", name)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	if o.Append {
		return appendOnce(name, marker, content)
	}
	return replaceFile(name, o.Temporary, content)
}

// checkLinks refuses a path through a symbolic link of another user: in a folder that
// several may write to, somebody could have a user's job write over the user's own
// files. Links of the user and of root are followed.
func checkLinks(name string) error {
	for path := filepath.Clean(name); path != filepath.Dir(path); path = filepath.Dir(path) {
		info, err := os.Lstat(path)
		if err != nil || info.Mode()&os.ModeSymlink == 0 {
			continue
		}
		owner, ok := info.Sys().(*syscall.Stat_t)
		if !ok || owner.Uid != 0 && int(owner.Uid) != os.Geteuid() {
			return fmt.Errorf("%s is a symbolic link of another user: not followed", path)
		}
	}
	return nil
}

// replaceFile makes a file hold what there is to read: all of it, or what it held
// before.
func replaceFile(name, temporary string, from io.Reader) error {
	f, err := createBeside(name, temporary)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error tells more
	}
	return err
}

// createBeside makes a new file beside another. Its name cannot be foreseen, and what
// is there by that name is not opened: others may write to the folder.
func createBeside(name, word string) (*os.File, error) {
	prefix := filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+word+"-")
	if old, err := filepath.Glob(globEscaper.Replace(prefix) + "*"); err == nil {
		for _, path := range old {
			_ = os.Remove(path) // left by a process that was killed
		}
	}
	return os.OpenFile(prefix+rand.Text(), os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o666)
}

var globEscaper = strings.NewReplacer("*", "\\*", "?", "\\?", "[", "\\[", "\\", "\\\\")

// appended is where in a file something was to be added.
type appended struct {
	File string `json:"file"`
	From int64  `json:"from"`
}

// maxMarker bounds how much of a marker is read.
const maxMarker = 64 << 10

// appendOnce adds what there is to read to a file. Where it began is written down
// first, in the marker, so that after a crash only what is missing is added.
func appendOnce(name string, marker *os.File, from io.Reader) (err error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND|syscall.O_NOFOLLOW, 0o666)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	text, err := io.ReadAll(io.NewSectionReader(marker, 0, maxMarker))
	if err != nil {
		return err
	}
	var before appended
	if json.Unmarshal(text, &before) != nil { // never written, or not to its end: nothing was added
		text, err = json.Marshal(appended{name, info.Size()})
		if err == nil {
			_, err = marker.WriteAt(text, 0)
		}
		if err != nil {
			return err
		}
	} else if before.File == name {
		if from, err = remainderAfter(io.NewSectionReader(f, before.From, 1<<62), from); err != nil {
			return err
		}
	}
	_, err = io.Copy(f, from)
	return err
}

// remainderAfter is what of there is to be read after what is there already.
func remainderAfter(there, all io.Reader) (io.Reader, error) {
	a, b := make([]byte, 32<<10), make([]byte, 32<<10)
	for more := true; more; {
		n, err := fillBuffer(all, a)
		if err != nil {
			return nil, err
		}
		more = n == len(a)
		m, err := fillBuffer(there, b[:n])
		if err != nil {
			return nil, err
		}
		same := 0
		for same < min(n, m) && a[same] == b[same] {
			same++
		}
		if same < m { // somebody else added something; that it begins alike may be chance
			same = 1 + bytes.LastIndexByte(a[:same], '\n')
		}
		if same < n {
			return io.MultiReader(bytes.NewReader(a[same:n]), all), nil
		}
	}
	return bytes.NewReader(nil), nil // all of it is there
}

// fillBuffer reads until the buffer is full or there is no more.
func fillBuffer(from io.Reader, buf []byte) (int, error) {
	n, err := io.ReadFull(from, buf)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return n, err
}
