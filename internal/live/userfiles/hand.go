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
}

// Placed is what became of them.
type Placed struct {
	Bytes int64 `json:"bytes"`
	Aside int   `json:"aside"` // files that were put beside those that somebody had changed meanwhile
}

// Own works as the user of this process.
type Own struct{ Depot Depot }

// PutBack writes the changed files. Those that somebody else changed meanwhile
// are not overwritten: the job's go beside them. It may be repeated: putting a
// file there twice is putting it there once.
func (o Own) PutBack(ctx context.Context, r *Results) (Placed, error) {
	var p Placed
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
	was := map[string]depot.Entry{}
	for _, e := range before.Entries {
		was[e.Path] = e
	}
	changed, _ := depot.Differ(before, after)
	var mine []depot.Entry
	for _, e := range changed {
		if !Wanted(e.Path, r.Outputs) {
			continue
		}
		if e.Mode.IsRegular() && disturbed(filepath.Join(r.Dir, e.Path), was[e.Path], e) {
			e.Path += r.Aside
			p.Aside++
		}
		p.Bytes += e.Size
		mine = append(mine, e)
	}
	return p, depot.Apply(ctx, o.Depot, r.Dir, mine, nil)
}

// Wanted reports whether a file is to be brought home: all are unless the user
// named some, with * and ? if need be, or a folder.
func Wanted(name string, outputs []string) bool {
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

// disturbed reports whether a file of the user is not what the job began with,
// nor what we put there ourselves before a crash.
func disturbed(file string, was, now depot.Entry) bool {
	info, err := os.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir() {
		return false
	}
	if err != nil {
		return true
	}
	same := func(e depot.Entry) bool {
		return e.Path != "" && info.Size() == e.Size && info.ModTime().UnixNano() == e.ModTime
	}
	return !same(was) && !same(now)
}

// Copy is a file of a user, and what it is to be called.
type Copy struct {
	File string `json:"file"`
	As   string `json:"as"` // below a folder
}

// Gather puts files that are there into the depot, as a folder of their own; ""
// if none of them is.
func (o Own) Gather(ctx context.Context, files []Copy) (string, error) {
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
	id, _, _, err := depot.Push(ctx, aside, o.Depot, depot.PushOptions{})
	return string(id), err
}
