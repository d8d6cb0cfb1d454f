// Package staging moves files between a site and the depot of a broker, or from
// one site to another: it tells of a file there, brings it into the depot, offers
// it to another site, and keeps at the site, within bounds, what was brought
// there, so that it need not be brought again. It runs at the site, beside the
// broker or in an outpost. It knows files and depots; it must not know of jobs.
package staging

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/depot/httpdepot"
	"github.com/godwit-hpc/godwit/internal/driver"
)

// Depot is that of the broker.
type Depot interface {
	depot.Source
	depot.Sink
}

// Site is where files are.
type Site struct {
	Home  string // paths that are not absolute are below it
	Dir   string // ours, for what was brought and what is remembered
	Depot Depot
	Limit int64 // of bytes that were brought and are kept; 0: 16 GiB

	mu    sync.Mutex // of kept, of the list of what it holds, and of the two below
	kept  *depot.Store
	swept bool          // what is not in the list, and is old, was removed
	owed  bool          // what was dropped from the list was not
	spare time.Duration // how old; 0: as it says there
	inUse sync.RWMutex  // by those who bring something
	old   sync.Once     // what is remembered of files that nobody moves any more goes
}

var _ driver.Placer = (*Site)(nil)

// KeptFolder is the folder, in that of a site, of the depot that holds what was
// brought.
func KeptFolder(dir string) string { return filepath.Join(dir, "brought") }

// AbsolutePath is a path of a site, whose home folder is known.
func AbsolutePath(path, home string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/') {
		path = "." + rest
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(home, path)
}

// StatFile looks at a file or a folder.
func (s *Site) StatFile(ctx context.Context, path string) (driver.File, error) {
	f := driver.File{Path: AbsolutePath(path, s.Home)}
	info, err := os.Stat(f.Path)
	if err != nil {
		return f, err
	}
	f.Folder = info.IsDir()
	if !f.Folder && !info.Mode().IsRegular() {
		return f, fmt.Errorf("%s: %w: neither a file nor a folder", f.Path, fs.ErrInvalid)
	}
	if !f.Folder {
		f.Size, f.ModTime = info.Size(), info.ModTime().UnixNano()
		return f, checkReadable(f.Path)
	}
	real, err := filepath.EvalSymlinks(f.Path)
	if err != nil {
		return f, err
	}
	return f, filepath.WalkDir(real, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		f.ModTime = max(f.ModTime, info.ModTime().UnixNano())
		if info.Mode().IsRegular() {
			f.Size += info.Size()
		}
		return ctx.Err()
	})
}

func checkReadable(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

// PushFiles brings a file or a folder into the depot.
func (s *Site) PushFiles(ctx context.Context, path string) (driver.Moved, error) {
	real, err := s.resolvePath(ctx, path)
	if err != nil {
		return driver.Moved{}, err
	}
	cache := ""
	if !s.isOutgoing(path) { // that is moved once
		sum := sha256.Sum256([]byte(real))
		cache = filepath.Join(s.Dir, "pushed", hex.EncodeToString(sum[:8])+".json")
		s.old.Do(func() { forgetOld(filepath.Dir(cache), clock.RealClock()) })
	}
	before := s.transferTime()
	id, tree, stats, err := depot.PushFolder(ctx, filepath.Dir(real), s.Depot,
		depot.PushOptions{Exclude: excludeOthers(real), Cache: cache})
	if err != nil {
		return driver.Moved{}, err
	}
	if len(tree.Entries) == 0 {
		return driver.Moved{}, &fs.PathError{Op: "stat", Path: real, Err: fs.ErrNotExist} // it went meanwhile
	}
	return driver.Moved{Tree: string(id), Bytes: stats.Bytes, Sent: stats.Moved, Took: s.transferTime() - before}, nil
}

// transferTime is how long something was under way to or from the broker's depot so far; 0 if
// it is not known, or the depot is here.
func (s *Site) transferTime() time.Duration {
	if d, ok := s.Depot.(interface{ Traffic() httpdepot.Traffic }); ok {
		return d.Traffic().Busy
	}
	return 0
}

// pushedMaxAge is how long it is remembered what a file held that nobody moves any
// more. It only saves time.
const pushedMaxAge = 30 * 24 * time.Hour

// forgetOld removes what has not been used for long, and what was written only in
// part. What cannot be removed is next time.
func forgetOld(dir string, now clock.Clock) {
	list, _ := os.ReadDir(dir) // there may be none
	for _, d := range list {
		if info, err := d.Info(); err == nil && now.Since(info.ModTime()) > pushedMaxAge {
			_ = os.Remove(filepath.Join(dir, d.Name()))
		}
	}
}

// EscapePattern is a pattern, as in a .gitignore, for this one name.
func EscapePattern(name string) string {
	var b strings.Builder
	for _, r := range name {
		if strings.ContainsRune(`\*?[]! #^-`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Close ends the use of what was brought.
func (s *Site) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept == nil {
		return nil
	}
	err := s.kept.Close()
	s.kept = nil
	return err
}
