package pack

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// generationLock keeps those who rely on chunks apart from those who take chunks away,
// in this process and in others: MissingChunks and PutChunk pass it together, CollectGarbage
// alone. Its file holds the generation, a number that grows whenever something
// was taken away, so that whoever passes knows whether his index still holds.
type generationLock struct {
	path string
	mu   sync.RWMutex
}

// enterShared lets the caller through with others, until he calls leave.
func (g *generationLock) enterShared() (generation uint64, leave func(), err error) {
	g.mu.RLock()
	f, generation, err := g.openLock(unix.LOCK_SH)
	if err != nil {
		g.mu.RUnlock()
		return 0, nil, err
	}
	return generation, func() {
		f.Close() //nolint:errcheck // closing unlocks, and nothing was written
		g.mu.RUnlock()
	}, nil
}

// enterExclusive waits until nobody is inside and lets nobody in until leave is called.
// took says that something was taken away; the new generation is returned.
func (g *generationLock) enterExclusive() (generation uint64, took func() (uint64, error), leave func(), err error) {
	g.mu.Lock()
	f, generation, err := g.openLock(unix.LOCK_EX)
	if err != nil {
		g.mu.Unlock()
		return 0, nil, nil, err
	}
	took = func() (uint64, error) {
		generation++
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], generation)
		if _, err := f.WriteAt(b[:], 0); err != nil {
			return generation, fmt.Errorf("writing %s: %w", g.path, err)
		}
		return generation, nil
	}
	return generation, took, func() {
		f.Close() //nolint:errcheck // closing unlocks; a failed write was told
		g.mu.Unlock()
	}, nil
}

func (g *generationLock) openLock(how int) (*os.File, uint64, error) {
	f, err := os.OpenFile(g.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, 0, fmt.Errorf("opening the gate of the depot: %w", err)
	}
	for {
		if err = unix.Flock(int(f.Fd()), how); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		return nil, 0, errors.Join(fmt.Errorf("locking %s: %w", g.path, err), f.Close())
	}
	var b [8]byte
	if n, err := f.ReadAt(b[:], 0); err != nil && (!errors.Is(err, io.EOF) || n != 0) {
		return nil, 0, errors.Join(fmt.Errorf("reading %s: %w", g.path, err), f.Close())
	}
	return f, binary.LittleEndian.Uint64(b[:]), nil
}
