package depot

import (
	"errors"
	"fmt"
)

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
	Limit Limit
	// Progress is told how many bytes of all are in the depot; nil: nobody asks. It
	// is never called twice at the same time.
	Progress func(done, total int64)
}

// Limit bounds a folder; 0 is no limit.
type Limit struct {
	Bytes int64
	Files int
}

func (l Limit) String() string {
	switch {
	case l.Bytes > 0 && l.Files > 0:
		return fmt.Sprintf("%s in %d files", humanBytes(l.Bytes), l.Files)
	case l.Files > 0:
		return fmt.Sprintf("%d files", l.Files)
	}
	return humanBytes(l.Bytes)
}

// ErrTooLarge is what PushFolder returns, with the folder, its size and the limit,
// when there is more in the folder than the limit allows.
var ErrTooLarge = errors.New("too large")

// humanBytes writes a size as people read it.
func humanBytes(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	value, prefix := float64(n)/unit, 0
	for value >= unit && prefix < 3 {
		value /= unit
		prefix++
	}
	return fmt.Sprintf("%.1f %ciB", value, "KMGT"[prefix])
}
