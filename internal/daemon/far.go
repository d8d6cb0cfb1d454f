package daemon

import (
	"errors"

	"github.com/godwit-hpc/godwit/internal/config"
	"github.com/godwit-hpc/godwit/internal/driver"
)

// far makes the driver of a cluster that is reached by SSH.
func (g *grid) far(*config.Cluster) (driver.Driver, error) {
	return nil, errors.New("clusters over ssh are not supported yet")
}
