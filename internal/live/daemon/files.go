package daemon

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/staging"
	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/live/config"
)

// localFiles moves files of this machine.
func localFiles(state string, chunks *depot.Store) driver.Stager {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "/"
	}
	return &staging.Site{Home: home, Dir: filepath.Join(state, "staging"), Depot: chunks}
}

// placeSite says which files a cluster sees. Those that are reached in the same
// way see the same.
func (g *grid) placeSite(b *broker.Cluster, c *config.Cluster) {
	b.Indirect, b.Untrusted = c.Indirect, c.Untrusted
	switch {
	case c.SSH == "":
		b.Files = g.files
	case len(c.SSHHosts) > 0: // several machines, each with files of its own
		b.Site = strings.Join(slices.Concat(c.SSHHosts, c.SSHOptions), " ")
	default:
		b.Site = strings.Join(slices.Concat([]string{c.SSH}, c.SSHOptions), " ")
	}
}
