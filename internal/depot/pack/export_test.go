package pack

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// What tests need to know of the files.
const (
	PackHeader = packHeader
	PackExt    = packExt
	IndexExt   = indexExt
)

// BlockSpan is where in a pack a block is.
type BlockSpan struct{ Offset, Size uint32 }

// BlocksOf lists the blocks of a pack as its index says.
func BlocksOf(packFile string) ([]BlockSpan, error) {
	name, _ := parsePackName(strings.TrimSuffix(filepath.Base(packFile), packExt))
	said, err := readIndex(indexPath(filepath.Dir(packFile), name))
	var list []BlockSpan
	for _, block := range said.blocks {
		list = append(list, BlockSpan{block.off, block.size})
	}
	return list, err
}

// SetWrite has packs written by another function.
func (s *Store) SetWrite(write func(*os.File, []byte, int64) (int, error)) { s.write = write }

// SetTouchClock has touches noted by another clock.
func (s *Store) SetTouchClock(now func() time.Duration) { s.touch.now = now }
