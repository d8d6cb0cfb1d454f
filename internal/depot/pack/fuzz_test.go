package pack

import (
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
)

// Whatever an index or a list of touches says, reading it ends and it names
// nothing twice as long as it is.
func FuzzPackIndex(f *testing.F) {
	b := appendRecord(nil, record{kind: recordAdd, off: 8, size: 100, ids: []chunk.Sum{{1}, {2}}})
	b = appendRecord(b, record{kind: recordDead, off: 8})
	f.Add(appendRecord(b, record{kind: recordEnd}))
	f.Add(b[:50])
	f.Fuzz(func(t *testing.T, in []byte) {
		said := parseIndex(in)
		if said.good > int64(len(in)) || len(said.blocks)*recordHeader > len(in) {
			t.Errorf("%d sound bytes and %d blocks in %d bytes", said.good, len(said.blocks), len(in))
		}
		if again := parseIndex(in[:said.good]); len(again.blocks) != len(said.blocks) || again.good != said.good {
			t.Error("the sound part alone says something else")
		}
		blocks := map[touchedBlock]time.Duration{}
		tr := toucher{now: func() time.Duration { return time.Hour }}
		tr.readTouched(in, time.Minute, blocks)
		if len(blocks)*touchEntry > len(in) {
			t.Errorf("%d touches in %d bytes", len(blocks), len(in))
		}
	})
}
