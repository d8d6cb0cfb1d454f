package sendfolder

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
)

// StageWorkFolder makes a folder that looks as the work folder is to look, without copying
// where the file system allows: inputs from elsewhere lie beside the rest.
func StageWorkFolder(job *jobfile.Job) (*Folder, error) {
	near := os.TempDir()
	if job.Workdir != "" {
		near = filepath.Dir(job.Workdir)
	}
	staged, err := NewFolder(near)
	if err != nil {
		return nil, err
	}
	if err := fillFolder(staged.Dir, job); err != nil {
		staged.RemoveFolder()
		return nil, err
	}
	return staged, nil
}

func fillFolder(dir string, job *jobfile.Job) error {
	if job.Workdir != "" {
		if err := LinkTree(job.Workdir, dir); err != nil {
			return err
		}
	}
	for _, in := range job.Inputs {
		if !filepath.IsAbs(in) {
			continue
		}
		if err := LinkTree(in, filepath.Join(dir, filepath.Base(in))); err != nil {
			return err
		}
	}
	return nil
}

// LinkTree makes to what from is: files by hard links, or copied where there can be
// none.
func LinkTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case d.IsDir() && d.Name() == ".git":
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(target, 0o755)
		case d.Type()&fs.ModeSymlink != 0:
			where, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(where, target)
		case !d.Type().IsRegular():
			return nil // sockets and the like do not travel
		case os.Link(path, target) == nil:
			return nil
		}
		return copyFile(path, target)
	})
}

func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	// By its time it is known again when it comes home.
	return errors.Join(err, out.Close(), os.Chtimes(to, info.ModTime(), info.ModTime()))
}
