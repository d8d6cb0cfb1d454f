package buildcache

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Sources is what stood in a folder: the digest of each file, by its path.
type Sources map[string]string

// ReadSources reads a folder and everything in it. Times do not count: they differ
// wherever a folder is unpacked.
func ReadSources(dir string) (Sources, error) {
	s := Sources{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		s[rel], err = fileDigest(path, e)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the sources: %w", err)
	}
	return s, nil
}

// fileDigest is that of one file: of its content and whether it can be executed, or
// of where a link leads. Pipes and the like have none.
func fileDigest(path string, e fs.DirEntry) (string, error) {
	info, err := e.Info()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	switch {
	case info.Mode().IsRegular():
		_, _ = fmt.Fprintf(h, "file %t\n", info.Mode()&0o100 != 0)
		err = addFile(h, path)
	case info.Mode()&fs.ModeSymlink != 0:
		var to string
		to, err = os.Readlink(path)
		_, _ = fmt.Fprintf(h, "link %s\n", to)
	default:
		_, _ = fmt.Fprintf(h, "%s\n", info.Mode().Type())
	}
	return hex.EncodeToString(h.Sum(nil)), err
}

func addFile(h hash.Hash, path string) error {
	f, err := os.Open(path) // the user's own sources
	if err != nil {
		return err
	}
	_, err = io.Copy(h, f)
	_ = f.Close() // opened for reading
	return err
}

// ChangedFiles are the files that are new or different since, in order.
func (s Sources) ChangedFiles(now Sources) []string {
	var list []string
	for path, d := range now { // order-free: sorted below
		if s[path] != d {
			list = append(list, path)
		}
	}
	slices.Sort(list)
	return list
}

// ResultKey names the result of building these sources by this command with these
// outputs kept, on a host with these properties.
func ResultKey(s Sources, command string, outputs []string, h Host) string {
	sum := sha256.New()
	part := func(name string, values ...string) {
		_, _ = fmt.Fprintf(sum, "%s %q\n", name, values)
	}
	part("build", "1") // changes with the meaning of a key
	paths := make([]string, 0, len(s))
	for p := range s { // order-free: sorted below
		paths = append(paths, p)
	}
	slices.Sort(paths)
	for _, p := range paths {
		part("source", p, s[p])
	}
	part("command", command)
	part("outputs", outputs...)
	part("processor", h.Arch, h.March)
	part("tools", h.Tools...)
	part("libraries", h.Libraries...)
	return hex.EncodeToString(sum.Sum(nil)[:16])
}
