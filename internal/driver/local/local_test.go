package local

import (
	"testing"

	"github.com/godwit-hpc/godwit/internal/driver/drivertest"
)

func TestConformance(t *testing.T) {
	t.Run("WithCgroupsWhereAllowed", func(t *testing.T) {
		drivertest.Run(t, func(t *testing.T) drivertest.World { return newWorld(t, nil) })
	})
	t.Run("WithTheRealAgent", func(t *testing.T) {
		drivertest.Run(t, func(t *testing.T) drivertest.World { return newWorld(t, withRealAgent) })
	})
	t.Run("WithoutCgroups", func(t *testing.T) {
		drivertest.Run(t, func(t *testing.T) drivertest.World {
			return newWorld(t, func(o *Options) { o.NoCgroups = true })
		})
	})
}
