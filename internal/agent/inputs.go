package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/driver/staging"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// inputsFile remembers what the inputs were that did not come with the job: what
// of them the program has not changed is not brought home.
const inputsFile = "inputs.json"

// placed is an input as it was put into the work folder.
type placed struct {
	Name    string        `json:"name"`
	Entries []depot.Entry `json:"entries"` // without chunks; their paths begin with the name
}

// placeInputs puts the inputs that did not come with the job into the work
// folder. A program may write to its inputs, so each gets a copy of its own,
// which costs nothing where the file system shares blocks. A program that is
// continued has them already.
func (p *preparation) placeInputs(ctx context.Context, continued bool) error {
	if len(p.attempt.Inputs) == 0 {
		return nil
	}
	var list []placed
	for i := range p.attempt.Inputs {
		in := &p.attempt.Inputs[i]
		if !filepath.IsLocal(in.Name) || filepath.Base(in.Name) != in.Name {
			return failedOutcome(126, fmt.Sprintf("input %s: %q is no name for it", in.From, in.Name))
		}
		entries, err := p.placeInput(ctx, i, in, continued)
		if err != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if o := new(outcome); errors.As(err, &o) {
			return err
		}
		if err != nil && !continued {
			return inputFailure(in, err)
		}
		list = append(list, placed{in.Name, entries})
	}
	if err := p.folder.writeJSON(inputsFile, list, false); err != nil {
		return lostOutcome("%v", err)
	}
	return nil
}

// inputFailure is what an input means for the attempt that could not be had.
func inputFailure(in *wire.Input, err error) error {
	host, _ := os.Hostname()
	if in.Path != "" && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) ||
		errors.Is(err, fs.ErrInvalid)) {
		return failedOutcome(126, fmt.Sprintf("input %s, as seen from %s: %v", in.From, host, err))
	}
	return lostOutcome("input %s: %v", in.From, err)
}

// placeInput puts one input into the work folder, unless it is only to be told what
// it was.
func (p *preparation) placeInput(ctx context.Context, n int, in *wire.Input, continued bool) ([]depot.Entry, error) {
	to := filepath.Join(p.folder.workDir(), in.Name)
	switch {
	case in.Path != "":
		home, _ := os.UserHomeDir()
		from := staging.AbsolutePath(in.Path, home)
		if continued {
			return entriesAt(from, in.Name)
		}
		return p.copyInput(from, to, in)
	case in.Tree == "":
		return nil, lostOutcome("input %s has not been brought", in.From)
	case continued:
		tree, err := p.inputTree(ctx, in.Tree)
		if err != nil {
			return nil, err
		}
		_, entries := renamedEntries(tree, in.Name)
		return entries, nil
	}
	dir := filepath.Join(p.folder.scratchDir(), fmt.Sprintf("input.%d", n))
	tree, err := p.fetchInput(ctx, in.Tree, dir)
	if err != nil {
		return nil, err
	}
	top, entries := renamedEntries(tree, in.Name)
	if err := os.RemoveAll(to); err != nil {
		return nil, err
	}
	return entries, os.Rename(filepath.Join(dir, top), to)
}

// fetchInput makes dir hold a tree, from what was brought to the cluster if it is
// there.
func (p *preparation) fetchInput(ctx context.Context, id, dir string) (*depot.Tree, error) {
	if tree, err := fetchBrought(ctx, p.attempt.Brought, id, dir); err == nil {
		return tree, nil
	}
	return p.fetchTree(ctx, id, dir)
}

// inputTree is what an input was, from whoever has it.
func (p *preparation) inputTree(ctx context.Context, id string) (*depot.Tree, error) {
	if s, err := openBrought(p.attempt.Brought); err == nil {
		defer func() { _ = s.Close() }() // only read
		if tree, err := depot.LoadTree(ctx, s, depot.ID(id)); err == nil {
			return tree, nil
		}
	}
	return depot.LoadTree(ctx, p.depot, depot.ID(id))
}

func fetchBrought(ctx context.Context, at, id, dir string) (*depot.Tree, error) {
	s, err := openBrought(at)
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }() // only read
	return depot.FetchTree(ctx, s, depot.ID(id), dir)
}

// openBrought opens the depot of what was brought to the cluster, if there is
// one.
func openBrought(at string) (*depot.Store, error) {
	if _, err := os.Stat(at); err != nil {
		return nil, err
	}
	return depot.Open(at)
}

// renamedEntries is what a tree holds under another name: its one file or folder, or
// all of it as a folder. top is what is to be renamed.
func renamedEntries(t *depot.Tree, name string) (top string, list []depot.Entry) {
	tops := 0
	for i := range t.Entries {
		if !strings.Contains(t.Entries[i].Path, "/") {
			top = t.Entries[i].Path
			tops++
		}
	}
	if tops != 1 {
		top = "."
		list = append(list, depot.Entry{Path: name, Mode: fs.ModeDir | 0o700})
	}
	for _, e := range t.Entries {
		e.Chunks = nil
		if tops == 1 {
			e.Path = name + strings.TrimPrefix(e.Path, top)
		} else {
			e.Path = path.Join(name, e.Path)
		}
		list = append(list, e)
	}
	return top, list
}

// entriesAt is what is at a path, by a name in the work folder.
func entriesAt(from, name string) ([]depot.Entry, error) {
	real, err := filepath.EvalSymlinks(from)
	if err != nil {
		return nil, err
	}
	var list []depot.Entry
	err = filepath.WalkDir(real, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil || info.Mode()&(fs.ModeSocket|fs.ModeDevice|fs.ModeNamedPipe|fs.ModeIrregular) != 0 {
			return err
		}
		rel, err := filepath.Rel(real, at)
		if err != nil {
			return err
		}
		e := depot.Entry{Path: path.Join(name, filepath.ToSlash(rel)), Mode: info.Mode()}
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			if e.Link, err = os.Readlink(at); err != nil {
				return err
			}
		case info.Mode().IsRegular():
			e.Size, e.ModTime = info.Size(), info.ModTime().UnixNano()
		}
		list = append(list, e)
		return nil
	})
	return list, err
}

// copyInput copies what is at a path of this cluster into the work folder.
func (p *preparation) copyInput(from, to string, in *wire.Input) ([]depot.Entry, error) {
	began := p.around.clock()
	entries, err := entriesAt(from, in.Name)
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 {
		return nil, fmt.Errorf("%s: %w: neither a file nor a folder", from, fs.ErrInvalid)
	}
	if err := os.RemoveAll(to); err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(from)
	if err != nil {
		return nil, err
	}
	bytes := int64(0)
	for i := range entries {
		e := &entries[i]
		rel := strings.TrimPrefix(e.Path, in.Name)
		bytes += e.Size
		if err := copyEntry(real+rel, to+rel, e); err != nil {
			return nil, err
		}
	}
	for i := range slices.Backward(entries) { // a folder that nobody may write to is closed last
		if e := &entries[i]; e.Mode.IsDir() {
			if err := os.Chmod(to+strings.TrimPrefix(e.Path, in.Name), e.Mode.Perm()); err != nil {
				return nil, err
			}
		}
	}
	took := p.around.clock.Since(began)
	p.tell(func(l *life) {
		l.sendNote("stage", in.From+" is used where it is", "it is at this cluster; the program gets a copy",
			map[string]any{"bytes": bytes, "seconds": took.Seconds()})
	})
	return entries, nil
}

// copyEntry copies one file, folder or link.
func copyEntry(from, to string, e *depot.Entry) error {
	switch {
	case e.Mode.IsDir():
		return os.Mkdir(to, 0o700)
	case e.Mode&fs.ModeSymlink != 0:
		return os.Symlink(e.Link, to)
	}
	if err := copyWhole(from, to, e.Mode.Perm()); err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if info.Size() != e.Size || info.ModTime().UnixNano() != e.ModTime {
		return fmt.Errorf("%s changed while it was copied", from)
	}
	at := time.Unix(0, e.ModTime)
	return os.Chtimes(to, at, at)
}

func copyWhole(from, to string, mode fs.FileMode) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if unix.IoctlFileClone(int(out.Fd()), int(in.Fd())) != nil {
		if _, err = io.Copy(out, in); err != nil {
			return err
		}
	}
	return out.Chmod(mode)
}

// placedInputs is what the inputs were; nil if there were none.
func (l *life) placedInputs() []placed {
	if len(l.attempt.Inputs) == 0 {
		return nil
	}
	var list []placed
	if err := l.folder.readJSON(inputsFile, &list); err != nil {
		l.around.log.Error("what the inputs were is not known", "error", err) // they come home, at worst
	}
	return list
}

// unchangedPatterns are patterns for the inputs that the program has not changed.
func unchangedPatterns(work string, list []placed) []string {
	var same []string
	for _, in := range list {
		if len(in.Entries) == 0 {
			continue
		}
		now, err := entriesAt(filepath.Join(work, in.Name), in.Name)
		if err == nil && slices.EqualFunc(now, sortEntries(in.Entries), sameFile) {
			same = append(same, "/"+staging.EscapePattern(in.Name))
		}
	}
	return same
}

func sortEntries(list []depot.Entry) []depot.Entry {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b depot.Entry) int { // as WalkDir goes
		return slices.Compare(strings.Split(a.Path, "/"), strings.Split(b.Path, "/"))
	})
	return list
}

func sameFile(a, b depot.Entry) bool {
	a.Chunks, b.Chunks = nil, nil
	if a.Mode.IsDir() && b.Mode.IsDir() {
		return a.Path == b.Path
	}
	return a.Path == b.Path && a.Mode.Type() == b.Mode.Type() && a.Size == b.Size && a.Link == b.Link &&
		(a.ModTime == b.ModTime || a.Mode&fs.ModeSymlink != 0)
}

// withInputs is the work folder as it was sent, and what was put there besides.
func withInputs(t *depot.Tree, list []placed) *depot.Tree {
	all := new(depot.Tree)
	if t != nil {
		for _, e := range t.Entries {
			first, _, _ := strings.Cut(e.Path, "/")
			if !slices.ContainsFunc(list, func(in placed) bool { return in.Name == first }) {
				all.Entries = append(all.Entries, e)
			}
		}
	}
	for _, in := range list {
		all.Entries = append(all.Entries, in.Entries...)
	}
	return all
}
