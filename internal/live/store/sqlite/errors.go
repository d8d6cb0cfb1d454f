package sqlite

import (
	"errors"
	"fmt"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/godwit-hpc/godwit/internal/live/store"
)

// explainError says what an error of SQLite means to whoever opened the store.
func explainError(path string, err error) error {
	if err == nil {
		return nil
	}
	var e *driver.Error
	if errors.As(err, &e) {
		switch e.Code() & 0xff { // the rest says where exactly
		case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
			err = fmt.Errorf("%w (%w); move it away to begin anew, or put a copy in its place", store.ErrDamaged, err)
		case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
			err = fmt.Errorf("%w (%w)", store.ErrLocked, err)
		case lib.SQLITE_FULL:
			err = fmt.Errorf("%w (%w)", store.ErrFull, err)
		}
	}
	return fmt.Errorf("store %s: %w", path, err)
}

// damagedError says that something in the store is not what was written.
func damagedError(what string, args ...any) error {
	return fmt.Errorf("%w: "+what, append([]any{store.ErrDamaged}, args...)...)
}
