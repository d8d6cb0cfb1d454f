package sandbox

import (
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// sums remembers the sums of files that have not changed since, so that the
// libraries of a program are read once and not at every save.
type sums struct {
	mu    sync.Mutex
	known map[fileVersion]string
}

// fileVersion changes when a file does.
type fileVersion struct {
	path       string
	device     uint64
	inode      uint64
	size       int64
	changed    syscall.Timespec
	statusTime syscall.Timespec
}

// sumOf is the sum of a file.
func (s *sums) sumOf(path string, info fs.FileInfo) (string, error) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return sumFile(path)
	}
	v := fileVersion{path, st.Dev, st.Ino, st.Size, st.Mtim, st.Ctim}
	s.mu.Lock()
	defer s.mu.Unlock()
	if sum, ok := s.known[v]; ok {
		return sum, nil
	}
	sum, err := sumFile(path)
	if err != nil {
		return "", err
	}
	if s.known == nil {
		s.known = map[fileVersion]string{}
	}
	s.known[v] = sum
	return sum, nil
}

// usedFiles are the files of the host among those that a program has mapped or open.
// What lies in the work folder travels with the program; what lies in the
// sandbox's own folders is in the image.
func (s *sums) usedFiles(f usedNames) ([]usedFile, error) {
	var out []usedFile
	add := func(path string, mapped bool) error {
		if !onHost(path) {
			return nil
		}
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			// Deleted since, or no file: gVisor has what it needs of it.
			return nil //nolint:nilerr // nothing of it could be compared
		}
		u := usedFile{Path: path, Size: info.Size()}
		if mapped && info.Size() <= maxSum {
			if u.Sum, err = s.sumOf(path, info); err != nil {
				return err
			}
		}
		out = append(out, u)
		return nil
	}
	for _, path := range f.Mapped {
		if err := add(path, true); err != nil {
			return nil, err
		}
	}
	for _, path := range f.Open {
		if slices.Contains(f.Mapped, path) {
			continue
		}
		if err := add(path, false); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(out, func(a, b usedFile) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

// onHost says whether a name inside is a name on the host.
func onHost(path string) bool {
	if !strings.HasPrefix(path, "/") || strings.HasSuffix(path, " (deleted)") {
		return false
	}
	for _, own := range ownFolders {
		if isBelow(path, "/"+own) {
			return false
		}
	}
	return true
}
