package pack

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/zeebo/blake3"
	"golang.org/x/sys/unix"
)

// Every block that a push put, or was told is there already, is written down
// with the time before the push hears of it. Collect spares what was touched a
// short while ago; since it stands in a file, so does the CollectGarbage of another
// process, or of this one after it was killed and started again. The time is
// that since the machine was started: nobody sets it forward by an hour.
//
// A file of touches is a list of batches: "gwT1", number of blocks uint32, time
// in ns uint64, which boot uint64, and for each block the name of its pack and
// its offset, uint32.
const (
	touchMagic  = "gwT1"
	touchHeader = 24
	touchEntry  = 12
	touchMax    = 8 << 20 // then another file is begun, so that old ones can go
)

// touchedBlock names a block beyond the life of this process.
type touchedBlock struct {
	pack packName
	off  uint32
}

// toucher writes touches down.
type toucher struct {
	dir  string
	now  func() time.Duration // since the machine was started
	boot uint64

	mu   sync.Mutex
	f    *os.File // locked, which says that its writer lives
	size int64
}

// SinceBoot is the time since the machine was started, sleep included.
func SinceBoot() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		panic(fmt.Sprintf("depot: reading the time since boot: %v", err)) // every Linux since 2.6.39 has it
	}
	return time.Duration(ts.Nano())
}

// thisBoot tells one start of the machine from another.
func thisBoot() uint64 {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return 0 // then a touch before a restart counts as one after it at worst
	}
	h := blake3.Sum256(b)
	return binary.LittleEndian.Uint64(h[:])
}

// touchNow writes down that blocks are relied on from now on.
func (t *toucher) touchNow(blocks []touchedBlock) error { return t.touchAt(blocks, t.now()) }

// touchAt writes down that blocks are relied on since the time at.
func (t *toucher) touchAt(blocks []touchedBlock, at time.Duration) error {
	if len(blocks) == 0 {
		return nil
	}
	b := make([]byte, 0, touchHeader+touchEntry*len(blocks))
	b = append(b, touchMagic...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(blocks)))
	b = binary.LittleEndian.AppendUint64(b, uint64(at))
	b = binary.LittleEndian.AppendUint64(b, t.boot)
	for _, block := range blocks {
		b = append(b, block.pack[:]...)
		b = binary.LittleEndian.AppendUint32(b, block.off)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.f != nil && t.size > touchMax {
		if err := t.f.Close(); err != nil {
			return fmt.Errorf("noting what a push relies on: %w", err)
		}
		t.f = nil
	}
	if t.f == nil {
		if err := t.beginFile(); err != nil {
			return err
		}
	}
	if _, err := t.f.WriteAt(b, t.size); err != nil {
		return errors.Join(fmt.Errorf("noting what a push relies on: %w", err), t.f.Truncate(t.size))
	}
	t.size += int64(len(b))
	return nil
}

func (t *toucher) beginFile() error {
	var name [8]byte
	if _, err := rand.Read(name[:]); err != nil {
		return fmt.Errorf("noting what a push relies on: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(t.dir, hex.EncodeToString(name[:])), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("noting what a push relies on: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return errors.Join(fmt.Errorf("noting what a push relies on: %w", err), f.Close())
	}
	t.f, t.size = f, 0
	return nil
}

func (t *toucher) closeFile() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.f == nil {
		return nil
	}
	err := t.f.Close()
	t.f = nil
	return err
}

// recentBlocks are the blocks that anybody touched within the time d, and when.
func (t *toucher) recentBlocks(d time.Duration) (map[touchedBlock]time.Duration, error) {
	files, err := os.ReadDir(t.dir)
	if err != nil {
		return nil, fmt.Errorf("reading what pushes rely on: %w", err)
	}
	blocks := map[touchedBlock]time.Duration{}
	for _, file := range files {
		path := filepath.Join(t.dir, file.Name())
		b, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading what pushes rely on: %w", err)
		}
		if !t.readTouched(b, d, blocks) {
			removeUnlocked(path)
		}
	}
	return blocks, nil
}

// readTouched adds the blocks of b that were touched within d to blocks, and reports
// whether there was one.
func (t *toucher) readTouched(b []byte, d time.Duration, blocks map[touchedBlock]time.Duration) bool {
	found := false
	now := t.now()
	for len(b) >= touchHeader && string(b[:4]) == touchMagic {
		n := int(binary.LittleEndian.Uint32(b[4:]))
		size := touchHeader + n*touchEntry
		if size > len(b) {
			break // its writer died before anybody heard of it
		}
		age := now
		if binary.LittleEndian.Uint64(b[16:]) == t.boot {
			age -= time.Duration(binary.LittleEndian.Uint64(b[8:]))
		}
		if age < d {
			found = true
			for i := range n {
				e := b[touchHeader+i*touchEntry:]
				block := touchedBlock{packName(e[:8]), binary.LittleEndian.Uint32(e[8:])}
				blocks[block] = max(blocks[block], now-age)
			}
		}
		b = b[size:]
	}
	return found
}

// removeUnlocked removes a file unless somebody holds a lock on it. It is a
// matter of tidiness, so it may fail.
func removeUnlocked(path string) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer f.Close() //nolint:errcheck // nothing was written
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
		os.Remove(path) //nolint:errcheck // the next CollectGarbage tries again
	}
}
