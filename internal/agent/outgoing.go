package agent

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// setAside moves results that are to be left at clusters out of the work folder,
// so that they do not come home, and returns the folder that they are in; "" if
// there are none. An agent that takes over moves what is left.
func (l *life) setAside() string {
	if l.attempt.Outgoing == "" || l.attempt.Outgoing == wire.FillInAtSite { // nobody on the way knew of a folder
		return ""
	}
	to := filepath.Join(l.attempt.Outgoing, wire.AttemptName(l.attempt.Job, l.attempt.Epoch, l.attempt.Part))
	for i, f := range l.attempt.Spec.Leave {
		if err := moveMatches(l.folder.workDir(), f.From, filepath.Join(to, strconv.Itoa(i))); err != nil {
			l.around.log.Error("results cannot be set aside, and come home", "files", f.From, "error", err)
			l.sendNote("results", f.From+" is copied back instead", "it cannot be set aside for "+f.To+": "+err.Error(), nil)
		}
	}
	if _, err := os.Stat(to); err != nil {
		return ""
	}
	return to
}

// moveMatches moves what a pattern means from one folder into another. It is
// named there as below the part of the pattern that is the same for all.
func moveMatches(work, pattern, to string) error {
	pattern = path.Clean(pattern)
	fixed := path.Dir(pattern)
	for strings.ContainsAny(fixed, `*?[\`) {
		fixed = path.Dir(fixed)
	}
	names, err := matchingFiles(work, pattern)
	var errs []error
	for _, name := range names {
		rel, err := filepath.Rel(filepath.Join(work, fixed), name)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(to, rel)), 0o700)
		}
		if err == nil {
			err = os.Rename(name, filepath.Join(to, rel))
		}
		errs = append(errs, err)
	}
	return errors.Join(err, errors.Join(errs...))
}

// matchingFiles are the files and folders of a work folder that a pattern means. Links
// are not followed: what they lead to is not the job's.
func matchingFiles(work, pattern string) (names []string, err error) {
	err = filepath.WalkDir(work, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == work {
			return err
		}
		rel, err := filepath.Rel(work, name)
		if err != nil {
			return err
		}
		ok, err := path.Match(pattern, filepath.ToSlash(rel))
		if err != nil || !ok {
			return err
		}
		names = append(names, name)
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	return names, err
}
