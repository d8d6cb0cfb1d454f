package local

import (
	"context"
	"fmt"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/local/load"
)

// MeasureLoad says what part of a processor a newcomer would get. It answers at once.
func (d *Driver) MeasureLoad(ctx context.Context) (driver.Load, error) {
	if err := ctx.Err(); err != nil {
		return driver.Load{}, err
	}
	share, err := d.meter.EstimateShare()
	if err != nil {
		return driver.Load{}, fmt.Errorf("how busy %s is: %w", d.opt.Cluster, err)
	}
	return share, nil
}

// allOwnAttempts are the attempts that run here, for us and for others of the same broker.
func (d *Driver) allOwnAttempts() []load.OwnAttempt { return d.kin.addOtherUsers(d.ourAttempts()) }

// ourAttempts are those that run here for us.
func (d *Driver) ourAttempts() []load.OwnAttempt {
	d.mu.Lock()
	defer d.mu.Unlock()
	var list []load.OwnAttempt
	for _, a := range d.attempts {
		a.known.Lock()
		if a.agent != nil && a.agent.isAlive() {
			o := load.OwnAttempt{Agent: a.agent.pid, Name: a.id, CPUs: a.cpus}
			if a.group != nil {
				o.Used = a.group.cpuUsed
			}
			list = append(list, o)
		}
		a.known.Unlock()
	}
	for _, p := range d.idle { // they do nothing, and are no strangers
		list = append(list, load.OwnAttempt{Agent: p.pid, Used: func() time.Duration { return 0 }})
	}
	return list
}
