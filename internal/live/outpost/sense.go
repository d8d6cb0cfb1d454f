package outpost

import "github.com/godwit-hpc/godwit/internal/observe/weather/sensor"

// sensorHere measures this machine, and the ways from here. What a machine has to
// offer from which jobs are only submitted is nobody's business.
func (p *post) sensorHere() *sensor.Sensor {
	if p.hello.Settings.Kind != localKind {
		return sensor.New(nil, p.Clock)
	}
	return sensor.New(p.driver.MeasureLoad, p.Clock)
}
