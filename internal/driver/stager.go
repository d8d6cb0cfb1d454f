package driver

import "context"

// Stager can tell of the files of a site, and move them: what it was asked once
// may be asked again, also after it was cut off, and goes on where that ended.
type Stager interface {
	// Stat looks at a file or a folder; a path that is not absolute is below the
	// home folder there. fs.ErrNotExist and fs.ErrPermission are told as such.
	Stat(ctx context.Context, path string) (File, error)
	// Push brings it into the depot of the broker.
	Push(ctx context.Context, path string) (Moved, error)
	// Bring keeps a tree of that depot at the site, for agents there to take.
	Bring(ctx context.Context, tree string) (Moved, error)
}

// File is a file or a folder at a site.
type File struct {
	Path    string `json:"path"` // absolute
	Size    int64  `json:"size"` // of all that is in it
	ModTime int64  `json:"modTime"`
	Folder  bool   `json:"folder,omitempty"`
}

// Moved is what became of moving something.
type Moved struct {
	Tree  string `json:"tree"`  // in the depot: a folder that holds it alone
	Bytes int64  `json:"bytes"` // of all of it
	Sent  int64  `json:"sent"`  // that were not there already
}
