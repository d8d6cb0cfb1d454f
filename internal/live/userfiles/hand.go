// Package userfiles does what a broker has to do in folders of users: it puts back
// what a job changed, writes what it printed into the files that its user named,
// and reads those again. It does so as whoever owns the folders: in the broker
// for its own user, in a process of the owner for everybody else, so that no
// link and no folder that a user makes ever leads the broker astray. It knows
// folders and the depot; it must not know of jobs, nor why anything is written.
package userfiles

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/depot"
)

// Depot is where the files of one user are kept.
type Depot interface {
	depot.Source
	depot.Sink
}

// Results are what a job made of its work folder.
type Results struct {
	Dir     string   `json:"dir"`              // the folder
	Before  string   `json:"before,omitempty"` // tree in the depot: the folder as it was sent; "": empty
	After   string   `json:"after"`            // and as the job left it
	Outputs []string `json:"outputs,omitempty"`
	Aside   string   `json:"aside"` // is added to the name of a file that cannot take its place
	// Submitted is when the job was submitted, in ns since 1970: named outputs
	// replace files that nobody has changed since then.
	Submitted int64 `json:"submitted,omitempty"`
	// Brought are files that jobs which were over by then had put into the folder.
	Brought map[string]Stamp `json:"brought,omitempty"`
}

// Stamp is what a file is known by as long as nobody changes it.
type Stamp struct {
	Size    int64 `json:"size"`
	ModTime int64 `json:"mtime"`
}

// Placed is what became of them.
type Placed struct {
	Bytes int64    `json:"bytes"`
	Aside int      `json:"aside"`           // files that were put beside those that somebody had changed meanwhile
	Names []string `json:"names,omitempty"` // the first of these, as they are called now
	// Files are those that are where they belong, as far as there are not very many.
	Files map[string]Stamp `json:"files,omitempty"`

	stampBytes int // of Files
}

const (
	maxNames     = 3   // of files that were put aside
	maxNameBytes = 255 // of a file, as in file systems
	// MaxStampBytes bounds the stamps that one errand takes or gives, each counted
	// with the length of its name and StampBytes: they go in one frame.
	MaxStampBytes = 2 << 20
	StampBytes    = 64
)

// OwnUser works as the user of this process.
type OwnUser struct{ Depot Depot }

// PutBack writes the changed files. Those that somebody else changed meanwhile
// are not overwritten: the job's go beside them. It may be repeated: putting a
// file there twice is putting it there once.
func (o OwnUser) PutBack(ctx context.Context, r *Results) (Placed, error) {
	p := Placed{Files: map[string]Stamp{}}
	after, err := depot.LoadTree(ctx, o.Depot, depot.ID(r.After))
	if err != nil {
		return p, err
	}
	before := &depot.Tree{}
	if r.Before != "" {
		if before, err = depot.LoadTree(ctx, o.Depot, depot.ID(r.Before)); err != nil {
			return p, err
		}
	}
	root, err := os.OpenRoot(r.Dir)
	if err != nil {
		return p, err
	}
	defer func() { _ = root.Close() }() // only opened
	was := map[string]depot.Entry{}
	for _, e := range before.Entries {
		was[e.Path] = e
	}
	changed, _ := depot.DiffTrees(before, after)
	var mine []depot.Entry
	for _, e := range changed {
		if !IsWanted(e.Path, r.Outputs) {
			continue
		}
		if e.Mode.IsRegular() {
			switch r.atHome(root, was[e.Path], &e) {
			case isEqual:
				p.recordStamp(e.Path, root)
				continue
			case isForeign:
				if e.Path += r.Aside; len(path.Base(e.Path)) > maxNameBytes {
					return p, &fs.PathError{Op: "save", Path: e.Path, Err: syscall.ENAMETOOLONG}
				}
				p.Aside++
				if len(p.Names) < maxNames {
					p.Names = append(p.Names, e.Path)
				}
			}
		}
		p.Bytes += e.Size
		mine = append(mine, e)
	}
	if err := depot.ApplyChanges(ctx, o.Depot, r.Dir, mine, nil); err != nil {
		return p, err
	}
	for i := range mine {
		if mine[i].Mode.IsRegular() {
			p.recordStamp(mine[i].Path, root)
		}
	}
	return p, nil
}

// recordStamp notes how a file that is where it belongs will be known again.
func (p *Placed) recordStamp(name string, root *os.Root) {
	p.stampBytes += len(name) + StampBytes
	if info, err := root.Lstat(name); err == nil && p.stampBytes <= MaxStampBytes {
		p.Files[name] = Stamp{info.Size(), info.ModTime().UnixNano()}
	}
}

// homeFile is what lies at home where a result belongs.
type homeFile int

const (
	isReplaced homeFile = iota // nothing, what the job began with, or what a job put there
	isEqual                    // the same as the result
	isForeign                  // somebody else's
)

// atHome looks at what lies where a result belongs.
func (r *Results) atHome(root *os.Root, was depot.Entry, now *depot.Entry) homeFile {
	info, err := root.Lstat(now.Path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir() {
		return isReplaced
	}
	if err != nil {
		return isForeign
	}
	is := Stamp{info.Size(), info.ModTime().UnixNano()}
	if was.Path != "" && is == (Stamp{was.Size, was.ModTime}) || is == (Stamp{now.Size, now.ModTime}) {
		return isReplaced
	}
	if brought, ok := r.Brought[now.Path]; ok && is == brought {
		return isReplaced
	}
	if info.Mode().IsRegular() && info.Mode().Perm() == now.Mode.Perm() && hasContent(root, now) {
		return isEqual
	}
	if len(r.Outputs) > 0 && changedAt(info) <= r.Submitted {
		return isReplaced
	}
	return isForeign
}

// hasContent reports whether a file at home holds what a result does.
func hasContent(root *os.Root, e *depot.Entry) bool {
	f, err := root.OpenFile(e.Path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	same, err := depot.HasContent(f, e)
	_ = f.Close() // only read
	return err == nil && same
}

// changedAt is when a file was last changed, or put where it is: a file that was
// moved there keeps the time of its content.
func changedAt(info fs.FileInfo) int64 {
	at := info.ModTime().UnixNano()
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		at = max(at, st.Ctim.Nano())
	}
	return at
}

// IsWanted reports whether a file is to be brought home: all are unless the user
// named some, with * and ? if need be, or a folder.
func IsWanted(name string, outputs []string) bool {
	if len(outputs) == 0 {
		return true
	}
	for _, o := range outputs {
		o = path.Clean(o)
		if ok, err := path.Match(o, name); err == nil && ok {
			return true
		}
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if ok, err := path.Match(o, dir); err == nil && ok {
				return true
			}
		}
	}
	return false
}

// Copy is a file of a user, and what it is to be called.
type Copy struct {
	File string `json:"file"`
	As   string `json:"as"` // below a folder
}

// GatherFiles puts files that are there into the depot, as a folder of their own; ""
// if none of them is.
func (o OwnUser) GatherFiles(ctx context.Context, files []Copy) (string, error) {
	aside, done, err := makeAside()
	if err != nil {
		return "", err
	}
	defer done()
	any := false
	for _, c := range files {
		if !filepath.IsLocal(c.As) {
			return "", &fs.PathError{Op: "gather", Path: c.As, Err: fs.ErrInvalid}
		}
		f, err := os.Open(c.File)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed meanwhile
		}
		if err != nil {
			return "", err
		}
		to := filepath.Join(aside, c.As)
		err = os.MkdirAll(filepath.Dir(to), 0o755)
		if err == nil {
			err = replaceFile(to, ".new", f)
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return "", err
		}
		any = true
	}
	if !any {
		return "", nil
	}
	id, _, _, err := depot.PushFolder(ctx, aside, o.Depot, depot.PushOptions{})
	return string(id), err
}
