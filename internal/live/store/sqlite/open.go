// Package sqlite is the store in one SQLite file: write-ahead log, synced at
// every commit, so that what was acknowledged survives the loss of power. One
// process at a time has it open; inside, one connection writes and a few read
// beside it. It must not know what the records are for.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"

	_ "modernc.org/sqlite" // the driver "sqlite": no cgo

	"github.com/godwit-hpc/godwit/internal/live/store"
)

// maxReaders is how many questions are answered at once beside the writer.
const maxReaders = 4

// Store is a store in a file.
type Store struct {
	path string
	lock *os.File
	read *sql.DB

	closed atomic.Bool

	mu       sync.Mutex // of the writer and all below
	db       *sql.DB
	write    *sql.Conn
	stmts    statements
	next     uint64 // number of the next event
	nextSend uint64 // number of the next command
	commits  uint64 // that were acknowledged
	witness  *witness
	reserve  *reserve
	broken   error // a commit failed half-way: nothing is known until the next Open
}

var _ store.Store = (*Store)(nil)

// Open opens the store in the file, which is made if it is not there. Errors
// say which file is meant, and wrap ErrLocked, ErrDamaged or ErrNewer where that is
// what is wrong.
func Open(ctx context.Context, path string) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("opening the store: %w", err)
	}
	s := &Store{path: path}
	if err := s.openFiles(ctx); err != nil {
		return nil, errors.Join(explainError(path, err), s.Close())
	}
	return s, nil
}

func (s *Store) openFiles(ctx context.Context) (err error) {
	if s.lock, err = takeLock(s.path + ".lock"); err != nil {
		return err
	}
	fresh, err := createPrivate(s.path)
	if err != nil {
		return err
	}
	if s.witness, err = openWitness(s.path, fresh); err != nil {
		return err
	}
	// FULL: the log is synced at every commit. The busy timeout is for people
	// who look into the file with tools of their own.
	if s.db, err = sql.Open("sqlite",
		dataSource(s.path, "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(OFF)", "temp_store(MEMORY)",
			"cache_size(-16000)")); err != nil {
		return err
	}
	s.db.SetMaxOpenConns(1)
	if s.write, err = s.db.Conn(ctx); err != nil {
		return err
	}
	if err := migrateSchema(ctx, s.write); err != nil {
		return err
	}
	if err := s.checkWitness(ctx); err != nil {
		return err
	}
	if err := s.stmts.prepareAll(ctx, s.write); err != nil {
		return err
	}
	if err := s.loadNumbers(ctx); err != nil {
		return err
	}
	s.reserve = newReserve(s.path)
	_ = s.reserve.fill() // who takes in new work asks again
	if s.read, err = sql.Open("sqlite", dataSource(s.path, "query_only(ON)")); err != nil {
		return err
	}
	s.read.SetMaxOpenConns(maxReaders)
	s.read.SetMaxIdleConns(maxReaders)
	return nil
}

// dataSource names the file for the driver. A path is escaped: it may hold any byte.
func dataSource(path string, pragmas ...string) string {
	q := url.Values{"_pragma": append([]string{"busy_timeout(5000)"}, pragmas...), "_txlock": {"immediate"}}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String()
}

// takeLock takes the file that says who has the store open. The kernel drops the
// lock when the process ends, however it ends.
func takeLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, store.ErrLocked
		}
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return f, nil
}

// createPrivate makes the file if it is not there, and reports that it is empty. Only its owner may read it:
// it holds everybody's command lines. SQLite gives its side files the same mode.
func createPrivate(path string) (fresh bool, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return false, err
	}
	info, err := f.Stat()
	if err == nil && info.Mode().Perm() != 0o600 {
		err = f.Chmod(0o600)
	}
	if err = errors.Join(err, f.Close()); err != nil || info.Size() > 0 {
		return false, err
	}
	dir, err := os.Open(filepath.Dir(path)) // the file's name must survive too
	if err != nil {
		return true, err
	}
	return true, errors.Join(dir.Sync(), dir.Close())
}

// Close closes the store. Calls that are under way end first.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed.Store(true)
	var errs []error
	if s.read != nil {
		errs = append(errs, s.read.Close())
	}
	if s.write != nil {
		errs = append(errs, s.stmts.closeAll(), s.write.Close())
		s.write = nil
	}
	if s.db != nil {
		errs = append(errs, s.db.Close())
		s.db = nil
	}
	errs = append(errs, s.witness.closeFile(), s.reserve.close())
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
		s.lock = nil
	}
	if err := errors.Join(errs...); err != nil && !errors.Is(err, fs.ErrClosed) {
		return fmt.Errorf("closing the store %s: %w", s.path, err)
	}
	return nil
}
