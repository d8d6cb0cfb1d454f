package pool

import "github.com/godwit-hpc/godwit/internal/driver"

// HostSensors are those of the hosts, in their order; nil for one that has none.
func (d *Driver) HostSensors() []driver.Sensor {
	list := make([]driver.Sensor, len(d.members))
	for i := range d.members {
		list[i], _ = d.members[i].Driver.(driver.Sensor)
	}
	return list
}
