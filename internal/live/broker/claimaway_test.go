package broker_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// cutOff is a cluster that goes out of reach the moment it is to start something, once.
type cutOff struct {
	*puppet
	once sync.Once
}

func (c *cutOff) StartAttempt(ctx context.Context, a *wire.Attempt) error {
	var err error
	c.once.Do(func() {
		c.setAway(true)
		err = driver.ErrAway
	})
	if err != nil {
		return err
	}
	return c.puppet.StartAttempt(ctx, a)
}

// newCutOffGrid is a grid whose cluster a goes out of reach when it is to start something, and whose engine looks
// through its queue of its own accord so rarely that no test waits for it.
func newCutOffGrid(t *testing.T, sample time.Duration) *grid {
	t.Helper()
	g := newGrid(t)
	g.kill()
	g.driverOfA, g.scanEvery, g.sample = &cutOff{puppet: g.a}, time.Hour, sample
	g.up()
	return g
}

func TestAJobWhoseClaimWasLostIsPlacedAsSoonAsItsClusterIsBack(t *testing.T) {
	g := newCutOffGrid(t, 0)
	id := g.submit(jobfile.Job{On: []string{"a"}})
	waitUntil(t, func() bool { return strings.Contains(g.view(id).Reason, "out of reach") },
		func() string { return "the job waits because: " + g.view(id).Reason })
	g.a.setAway(false)
	if a := g.next(); a.Job != id || a.Cluster != "a" || a.Epoch != 2 {
		t.Errorf("job %d is started in %s, epoch %d", a.Job, a.Cluster, a.Epoch)
	}
}

// It is not waited for the next look at the cluster until that is known.
func TestAJobWhoseClusterIsOutOfReachIsPlacedElsewhereAtOnce(t *testing.T) {
	g := newCutOffGrid(t, time.Hour)
	id := g.submit(jobfile.Job{})
	if a := g.next(); a.Job != id || a.Cluster != "b" {
		t.Errorf("job %d is started in %s", a.Job, a.Cluster)
	}
}
