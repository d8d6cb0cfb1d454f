package pack

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/depot/chunk"
)

// ErrQuota says that a store holds as much as it may.
var ErrQuota = errors.New("the depot is full")

// quota bounds what those who come through Handler may add to a store.
type quota struct {
	mu       sync.Mutex
	limit    int64 // bytes on disk; 0: no limit
	bytes    int64 // in use, about
	measured time.Time
}

// diskClock is the machine's clock.
var diskClock = clock.RealClock()

// measureInterval is how long what was measured of a store is added up to before it
// is measured again: others write to it too, and space is freed.
const measureInterval = 5 * time.Second

// SetLimit bounds how many bytes the store may take on disk for what others bring
// through its Handler; 0: no bound. What this process puts itself is not bounded.
func (s *Store) SetLimit(bytes int64) {
	s.quota.mu.Lock()
	defer s.quota.mu.Unlock()
	s.quota.limit = bytes
}

// AdmitBytes refuses n more bytes if they are more than the store may hold.
func (s *Store) AdmitBytes(n int) error {
	q := &s.quota
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.limit == 0 {
		return nil
	}
	if now := diskClock(); q.bytes+int64(n) > q.limit || now.Sub(q.measured) > measureInterval {
		bytes, err := s.diskBytes()
		if err != nil {
			return err
		}
		q.bytes, q.measured = bytes, now
	}
	if q.bytes+int64(n) > q.limit {
		return fmt.Errorf("%w: it holds %s and may hold %s (limits.depot in the broker's settings); "+
			"godwit depot prune frees what no job needs", ErrQuota, chunk.HumanBytes(q.bytes), chunk.HumanBytes(q.limit))
	}
	q.bytes += int64(n)
	return nil
}

// diskBytes is what all packs take.
func (s *Store) diskBytes() (int64, error) {
	files, err := os.ReadDir(s.dir)
	if err != nil {
		return 0, fmt.Errorf("measuring the depot: %w", err)
	}
	sum := int64(0)
	for _, f := range files {
		if filepath.Ext(f.Name()) != packExt {
			continue
		}
		switch info, err := f.Info(); {
		case err == nil:
			sum += info.Size()
		case !errors.Is(err, fs.ErrNotExist): // else it was collected meanwhile
			return 0, fmt.Errorf("measuring the depot: %w", err)
		}
	}
	return sum, nil
}
