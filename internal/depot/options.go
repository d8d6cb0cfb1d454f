package depot

import "github.com/godwit-hpc/godwit/internal/depot/walk"

// PushOptions are what PushFolder leaves out, what it remembers and how far it goes.
type PushOptions struct {
	// Ignore leaves out .git and what .gitignore and .godwitignore files say.
	// It is for folders that a user submits: what a program made may well be
	// ignored by git, and must not be lost.
	Ignore bool
	// Exclude are patterns as in a .gitignore, in force even without Ignore,
	// and stronger than what the files say.
	Exclude []string
	// Cache is the file in which PushFolder remembers what it read, so that files that
	// have not changed are not read again; "": none. One cache is for one folder.
	Cache string
	Limit walk.Limit
	// Progress is told how many bytes of all are in the depot; nil: nobody asks. It
	// is never called twice at the same time.
	Progress func(done, total int64)
}
