package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// recordName is the file in an image that says how to continue it; the others
// are gVisor's.
const recordName = "godwit.json"

// recordFormat is raised when an older Godwit could not read the record.
const recordFormat = 1

// maxRecord bounds what is read of a record.
const maxRecord = 16 << 20

// maxSum is the size up to which a mapped file is compared by its content. Above
// it is not a library but data, and its size must do.
const maxSum = 256 << 20

// record is what must be known of a program besides gVisor's image of it. Most
// of it stays as it was when the program was first started: the program has
// seen it.
type record struct {
	Format      int      `json:"format"`
	UID         int      `json:"uid"` // as whom the program believes to run
	GID         int      `json:"gid"`
	Hostname    string   `json:"hostname"`
	Argv        []string `json:"argv"`
	Env         []string `json:"env"`
	Limits      []rlimit `json:"limits"`
	CPUFeatures []string `json:"cpuFeatures,omitempty"`
	Folders     []string `json:"folders"` // at the top of the host, readable inside
	Links       []link   `json:"links"`
	Report      bool     `json:"report,omitempty"` // it has a folder to talk by
	GPUs        bool     `json:"gpus,omitempty"`   // it was given some
	GPUDriver   string   `json:"gpuDriver,omitempty"`

	Used  []usedFile       `json:"used,omitempty"`  // files of the host that the program uses
	Sizes map[string]int64 `json:"sizes,omitempty"` // of gVisor's files
}

// link is a symbolic link at the top of the file system.
type link struct {
	Name   string `json:"name"`
	Target string `json:"target"`
}

// usedFile is a file outside the work folder that a program has mapped or open.
// An image holds of such a file only what the program changed, so the same file
// must be there where the image is continued.
type usedFile struct {
	Path string `json:"path"`
	Size int64  `json:"size"`
	Sum  string `json:"sum,omitempty"` // SHA-256; "" if only the size is compared
}

// ForeignError says that an image cannot be continued on this host, because a
// file that the program uses is not the one it was using. Nothing is wrong with
// the image: elsewhere it may fit.
type ForeignError struct {
	Path string
	Why  string
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("the program cannot be continued on this host: %s %s", e.Path, e.Why)
}

// readRecord reads the record of an image, which may be damaged.
func readRecord(image string) (record, error) {
	f, err := os.Open(filepath.Join(image, recordName))
	if err != nil {
		return record{}, fmt.Errorf("reading the image: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	text, err := io.ReadAll(io.LimitReader(f, maxRecord))
	if err != nil {
		return record{}, fmt.Errorf("reading the image: %w", err)
	}
	r, err := parseRecord(text)
	if err != nil {
		return record{}, fmt.Errorf("the image in %s is damaged: %w", image, err)
	}
	return r, nil
}

// parseRecord reads a record and checks that nothing in it leads outside the
// sandbox's own folders.
func parseRecord(text []byte) (record, error) {
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		return record{}, fmt.Errorf("%s: %w", recordName, err)
	}
	if r.Format != recordFormat {
		return record{}, fmt.Errorf("%s has format %d, this Godwit reads %d", recordName, r.Format, recordFormat)
	}
	if len(r.Argv) == 0 || r.UID < 0 || r.GID < 0 {
		return record{}, fmt.Errorf("%s names no program or nobody to run it", recordName)
	}
	seen := slices.Clone(ownFolders)
	for _, l := range r.Links {
		seen = append(seen, l.Name)
	}
	seen = append(seen, r.Folders...)
	slices.Sort(seen)
	for i, name := range seen {
		if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") || i > 0 && name == seen[i-1] {
			return record{}, fmt.Errorf("%s names the top folder %q", recordName, name)
		}
	}
	for name := range r.Sizes {
		if name != filepath.Base(name) {
			return record{}, fmt.Errorf("%s names the file %q", recordName, name)
		}
	}
	return r, nil
}

// writeRecord puts the record beside gVisor's files.
func (r record) writeRecord(image string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(image, recordName), text, 0o644)
}

// checkFits says why the image cannot be continued here, if so: a part of it is
// missing or cut off, or a file that the program uses is another one here.
func (r record) checkFits(image string) error {
	for name, size := range r.Sizes {
		info, err := os.Stat(filepath.Join(image, name))
		if err != nil {
			return fmt.Errorf("the image in %s is damaged: %w", image, err)
		}
		if info.Size() != size {
			return fmt.Errorf("the image in %s is damaged: %s has %d bytes and should have %d", image, name, info.Size(), size)
		}
	}
	for _, want := range r.Used {
		if err := want.checkUnchanged(); err != nil {
			return err
		}
	}
	return nil
}

// checkUnchanged says whether the host has the file as it was.
func (u usedFile) checkUnchanged() error {
	info, err := os.Stat(u.Path)
	switch {
	case err != nil:
		if errors.Is(err, fs.ErrNotExist) {
			return &ForeignError{u.Path, "is not there"}
		}
		return &ForeignError{u.Path, "cannot be read here"}
	case info.Size() != u.Size:
		return &ForeignError{u.Path, fmt.Sprintf("has %d bytes here and had %d where it was saved", info.Size(), u.Size)}
	case u.Sum == "":
		return nil
	}
	sum, err := sumFile(u.Path)
	if err != nil {
		return &ForeignError{u.Path, "cannot be read here"}
	}
	if sum != u.Sum {
		return &ForeignError{u.Path, "has other content here than where it was saved"}
	}
	return nil
}

// imageSizes are the sizes of the files in an image.
func imageSizes(image string) (map[string]int64, error) {
	entries, err := os.ReadDir(image)
	if err != nil {
		return nil, err
	}
	out := map[string]int64{}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		out[e.Name()] = info.Size()
	}
	return out, nil
}

// sumFile is the SHA-256 of a file.
func sumFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // only read
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
