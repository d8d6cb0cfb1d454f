package daemon

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/peruser"
	"github.com/godwit-hpc/godwit/internal/driver/pool"
	"github.com/godwit-hpc/godwit/internal/driver/remote"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/host/account"
	"github.com/godwit-hpc/godwit/internal/live/config"
)

// forUsers has a cluster used by each user as themselves.
func (g *grid) forUsers(m *clusterMaker) driver.Driver {
	c := &m.cfg
	if hasUserGroups(c) {
		groups := &userGroups{beginning: g.userGroupNames(c), log: g.Log.With("cluster", c.Name)}
		groups.removeEmpty() // what a broker left that was killed
		g.keepOpen(c.Name, groups)
	}
	d := peruser.New(peruser.Options{
		Cluster: c.Name, Own: m.driver, Owner: g.users.ownerOf, Log: g.Log,
		Open: func(user uint32) (peruser.Member, error) { return g.openFor(m, user) },
		Left: func() ([]uint32, error) { return g.usersWithAttempts(c) },
		Sent: func(user uint32, id driver.ID) bool { return g.sentAttempts(c, user)[id] },
	})
	g.keepOpen(c.Name, d)
	return d
}

// openFor makes the driver of a cluster for a user: an outpost on this machine, or
// over an SSH connection of that user, with their keys and to their account.
func (g *grid) openFor(m *clusterMaker, user uint32) (peruser.Member, error) {
	c := &m.cfg
	as, err := g.users.account(user)
	if err != nil {
		return nil, err
	}
	if len(c.SSHHosts) == 0 {
		return g.openSSHHost(c, c.SSH, "", as)
	}
	known := m.hosts.Load()
	if known == nil || len(*known) != len(c.SSHHosts) {
		return nil, fmt.Errorf("%w: nobody knows yet how large its hosts are", driver.ErrAway)
	}
	hosts := new(pooledMember)
	var members []pool.Member
	for i, ssh := range c.SSHHosts {
		d, err := g.openSSHHost(c, ssh, memberWord(i), as)
		if err != nil {
			return nil, errors.Join(err, hosts.Close())
		}
		hosts.hosts = append(hosts.hosts, d)
		members = append(members, pool.Member{Name: config.HostFromSSH(ssh), Procs: (*known)[i].Procs, Driver: d})
	}
	hosts.Driver, err = pool.New(c.Name, members)
	return hosts, err
}

// pooledMember is several hosts as one user reaches them.
type pooledMember struct {
	*pool.Driver
	hosts []*remote.Driver
}

// IsIdle says that none of them is needed.
func (p *pooledMember) IsIdle() bool {
	for _, d := range p.hosts {
		if !d.IsIdle() {
			return false
		}
	}
	return true
}

// Close ends the connections.
func (p *pooledMember) Close() error {
	var errs []error
	for _, d := range p.hosts {
		errs = append(errs, d.Close())
	}
	return errors.Join(errs...)
}

// connectAs makes a connection that of a user.
func (g *grid) connectAs(o *remote.Options, c *config.Cluster, as *account.User) (err error) {
	o.As = as.RunAs
	o.Control = "" // where theirs are, their own settings of ssh say
	o.Log = g.Log.With("user", as.Name)
	if c.SSH == "" {
		o.Here = append(g.users.self[:1:1], "outpost")
		if hasUserGroups(c) {
			o.Place = g.userGroup(c, as).placeOutpost
		}
	}
	// Of a folder that was given, everybody has a part of their own.
	o.Settings.Dir = strings.ReplaceAll(c.Dir, "%u", as.Name)
	o.Socket, err = g.users.agentSocket(as.ID)
	return err
}

// otherUsersFolder is a part of the path of every folder in which users other than our own have
// attempts on a machine of the cluster; "": there are none.
func (g *grid) otherUsersFolder(c *config.Cluster, owner string) string {
	if g.users == nil || c.Driver != config.Local {
		return ""
	}
	dir := cmp.Or(c.Dir, filepath.Join(".local", "state", "godwit", "outposts", c.Name))
	if i := strings.LastIndex(dir, "%u"); i >= 0 {
		dir = dir[i+len("%u"):]
	}
	return filepath.Join("/", dir, owner, "attempts") + "/"
}

// sentFile remembers which attempts may be known to a cluster.
func (g *grid) sentFile(c *config.Cluster, word string, as *account.User) string {
	if as == nil {
		return filepath.Join(g.State, "clusters", c.Name+word+".sent")
	}
	return filepath.Join(g.users.userDir(as.ID), c.Name+word+".sent")
}

// sentAttempts are the attempts of a user that a cluster may know.
func (g *grid) sentAttempts(c *config.Cluster, user uint32) map[driver.ID]bool {
	words := []string{""}
	if n := len(c.SSHHosts); n > 0 {
		words = nil
		for i := range n {
			words = append(words, memberWord(i))
		}
	}
	all := map[driver.ID]bool{}
	for _, w := range words {
		known, err := remote.SentAttempts(g.sentFile(c, w, &account.User{ID: user}))
		if err != nil {
			g.Log.Warn("not known what was sent", "cluster", c.Name, "user", strconv.FormatUint(uint64(user), 10), "error", err)
		}
		for id := range known { // order-free: a set
			all[id] = true
		}
	}
	return all
}

// usersWithAttempts are the users of whom a cluster may know attempts.
func (g *grid) usersWithAttempts(c *config.Cluster) ([]uint32, error) {
	users, err := g.users.allUsers()
	var list []uint32
	for _, u := range users {
		if len(g.sentAttempts(c, u)) > 0 {
			list = append(list, u)
		}
	}
	return list, err
}

// ownAccounts complains about a cluster at which all users would be the same one.
func ownAccounts(cfg *config.Config) error {
	for i := range cfg.Clusters {
		c := &cfg.Clusters[i]
		for _, ssh := range slices.Concat(c.SSHHosts, []string{c.SSH}) {
			if strings.Contains(ssh, "@") {
				return &badinput.Error{File: cfg.File, Field: "clusters." + c.Name + ".ssh", Value: ssh,
					Want: "a host without an account: with --shared every user connects as themselves, and the account of the " +
						"broker is in root's ~/.ssh/config"}
			}
		}
	}
	return nil
}
