package workflow

import (
	"context"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/live/flowrun"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

// clusterInterval is how old the list of clusters may be: every run looks at it every two
// seconds, and making it asks each cluster.
const clusterInterval = time.Second

// clusterCache is the clusters as they were a moment ago.
type clusterCache struct {
	mu   sync.Mutex
	at   time.Time
	list []api.Cluster
}

// cachedClusters is a broker whose clusters all runs look at together.
type cachedClusters struct {
	flowrun.Broker
	cache *clusterCache
	clock clock.Clock
}

// ListClusters implements flowrun.Broker.
func (c *cachedClusters) ListClusters(ctx context.Context) ([]api.Cluster, error) {
	c.cache.mu.Lock()
	defer c.cache.mu.Unlock()
	if c.cache.list != nil && c.clock.Since(c.cache.at) < clusterInterval {
		return c.cache.list, nil
	}
	list, err := c.Broker.ListClusters(ctx)
	if err == nil {
		c.cache.list, c.cache.at = list, c.clock()
	}
	return list, err
}
