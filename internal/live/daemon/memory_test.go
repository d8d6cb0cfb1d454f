package daemon

import (
	"testing"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/live/config"
)

func TestTheMemoryOfAClusterIsThatOfItsLargestHost(t *testing.T) {
	for _, c := range []struct {
		settings int64
		hosts    []int64
		want     int64
	}{{0, []int64{4, 9, 2}, 9}, {3, []int64{4}, 3}, {0, []int64{4, 0}, 0}, {0, nil, 0}} {
		var hosts []driver.Host
		for _, n := range c.hosts {
			hosts = append(hosts, driver.Host{Memory: n})
		}
		if got := memoryOf(&config.Cluster{Memory: c.settings}, hosts); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}
