package memory

import (
	"testing"

	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/live/store/storetest"
)

type place struct{ *Disk }

func (p place) Open() (store.Store, error) {
	s, err := Open(p.Disk)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func TestTheStoreInMemoryPassesTheSuite(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Backend { return place{NewDisk()} })
}
