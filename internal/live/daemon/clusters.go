package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/host/calibrate"
	"github.com/godwit-hpc/godwit/internal/host/checkpoint/sandbox"
	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/live/config"
	"github.com/godwit-hpc/godwit/internal/live/drivers"
	"github.com/godwit-hpc/godwit/internal/protocol/rendezvous"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// grid makes the clusters of the settings.
type grid struct {
	Options
	cfg    *config.Config
	socket string
	door   string             // a socket for agents alone
	files  driver.Stager      // of this machine
	users  *users             // besides our own; nil: there are none
	speeds map[string]float64 // by model of CPU, as measured
	gate   string             // where agents of batch systems on this machine find us; "": no gate yet

	mu      sync.Mutex
	makers  map[string]*clusterMaker // by name
	closers map[string][]io.Closer   // by cluster; to be closed even if something fails
}

// prepareClusters does what clusters of the settings need before they can be made.
func (g *grid) prepareClusters(ctx context.Context, cfg *config.Config) error {
	var err error
	if g.users != nil {
		if err := ownAccounts(cfg); err != nil {
			return err
		}
	}
	if g.speeds, err = g.measureSpeeds(ctx, cfg); err != nil {
		return err
	}
	if g.gate == "" && slices.ContainsFunc(cfg.Clusters,
		func(c config.Cluster) bool { return c.IsManaged() && c.SSH == "" }) {
		return g.openRendezvous(ctx)
	}
	return nil
}

// makeAll describes clusters, all at once: none keeps the others from starting.
func makeAll(ctx context.Context, makers []*clusterMaker) []broker.Cluster {
	list := make([]broker.Cluster, len(makers))
	var all sync.WaitGroup
	for i, m := range makers {
		all.Go(func() { list[i] = m.atStart(ctx) })
	}
	all.Wait()
	return list
}

// keepOpen remembers what of a cluster is to be closed.
func (g *grid) keepOpen(cluster string, c io.Closer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closers == nil {
		g.closers = map[string][]io.Closer{}
	}
	g.closers[cluster] = append(g.closers[cluster], c)
}

// closeCluster closes what a cluster has open; its attempts run on.
func (g *grid) closeCluster(name string) error {
	g.mu.Lock()
	closers := g.closers[name]
	delete(g.closers, name)
	g.mu.Unlock()
	var errs []error
	for _, c := range slices.Backward(closers) { // what is built on others first
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

func (g *grid) closeAll() error {
	g.mu.Lock()
	names := slices.Sorted(maps.Keys(g.closers))
	g.mu.Unlock()
	var errs []error
	for _, name := range names {
		errs = append(errs, g.closeCluster(name))
	}
	return errors.Join(errs...)
}

func kindOf(c *config.Cluster) string {
	switch {
	case c.SSH != "" && c.Driver == config.Local:
		return "ssh"
	case c.SSH != "":
		return c.Driver + " over ssh"
	}
	return c.Driver
}

// speedOf is what the settings say, else that of the slowest host, else that of
// the reference host, not measured.
func speedOf(c *config.Cluster, s *driver.Survey) (_ float64, measured bool) {
	speed := c.Speed
	for _, h := range s.Hosts {
		if c.Speed == 0 && h.Speed > 0 && (speed == 0 || h.Speed < speed) {
			speed = h.Speed
		}
	}
	if speed == 0 {
		return 1, false
	}
	return speed, true
}

// memoryOf is what the settings say, else that of the host with the most: a job that
// needs more can run nowhere there. 0 if it is not known of every host.
func memoryOf(c *config.Cluster, hosts []driver.Host) int64 {
	if c.Memory > 0 {
		return c.Memory
	}
	most := int64(0)
	for _, h := range hosts {
		if h.Memory <= 0 {
			return 0
		}
		most = max(most, h.Memory)
	}
	return most
}

// localCluster makes a cluster of a part of this machine.
func (g *grid) localCluster(c *config.Cluster) (*broker.Cluster, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	speed := c.Speed
	if speed == 0 {
		speed = g.speeds[calibrate.ModelName(c.CPUs[0])]
	}
	settings := g.driverSettings(c)
	if g.users != nil {
		owner, err := g.brokerIdentity()
		if err != nil {
			return nil, err
		}
		settings.Kin = g.otherUsersFolder(c, owner)
	}
	d, err := drivers.Open(settings, drivers.Environment{Broker: g.socket, Agent: g.Agent, Log: g.Log})
	if err != nil {
		return nil, err
	}
	g.keepOpen(c.Name, d)
	notes := d.UserNotes()
	if g.users != nil {
		notes = g.userLimitNotes(c) // what holds for them holds for root
	}
	for _, n := range notes {
		g.Log.Warn(n, "cluster", c.Name)
	}
	return &broker.Cluster{Name: c.Name, Notes: notes, Kind: config.Local, Driver: d, HostNames: []string{host},
		KeepFree: c.KeepFree, GrowFree: c.GrowFree,
		Nice: c.Nice, MPI: c.MPI, Methods: workingMethods,
		Hosts: []world.HostSpec{{Procs: c.Slots, Speed: speed,
			Memory: memoryOf(c, []driver.Host{{Memory: calibrate.TotalMemory()}})}}}, nil
}

func (g *grid) driverSettings(c *config.Cluster) *driver.Settings {
	dir := c.Dir
	if g.users != nil {
		dir = strings.ReplaceAll(dir, "%u", userName())
	}
	if dir == "" && c.SSH == "" {
		dir = filepath.Join(g.State, "clusters", c.Name)
	}
	return &driver.Settings{Cluster: c.Name, Kind: c.Driver, Dir: dir, Sample: g.cfg.Sample, CPUs: c.CPUs, Slots: c.Slots,
		Quota: c.Quota, Memory: c.Memory, Nice: c.Nice, Partition: c.Partition, PE: c.PE, Options: c.Options, Time: c.Time,
		Poll: c.Poll, Env: c.Env, Commands: c.Commands}
}

// openDriver makes the driver of a cluster that has a manager, or is elsewhere.
func (g *grid) openDriver(ctx context.Context, c *config.Cluster) (driver.Driver, error) {
	if c.SSH != "" {
		return g.openRemote(c)
	}
	d, err := drivers.Open(g.driverSettings(c), drivers.Environment{Broker: g.gate, Agent: g.Agent, Log: g.Log})
	if err != nil {
		return nil, err
	}
	g.keepOpen(c.Name, d)
	return d, nil
}

// openRendezvous lets agents in that run on other hosts than this one.
func (g *grid) openRendezvous(ctx context.Context) error {
	file := filepath.Join(g.State, "rendezvous.json")
	door, err := rendezvous.OpenListener(ctx,
		rendezvous.Options{Rendezvous: file, Handle: func(c net.Conn) { rendezvous.RelayToSocket(c, g.door) }})
	if err != nil {
		return err
	}
	g.gate = file
	g.keepOpen("", door)
	return nil
}

func saveSurvey(file string, s *driver.Survey) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}

// measureSpeeds measures the models of CPUs whose speed the settings do not say. All of
// one model are equally fast, whatever disturbed the measurement of one.
func (g *grid) measureSpeeds(ctx context.Context, cfg *config.Config) (map[string]float64, error) {
	list := map[string]float64{}
	for i := range cfg.Clusters {
		c := &cfg.Clusters[i]
		if c.Speed != 0 || !c.IsHere() {
			continue
		}
		speed, err := calibrate.CachedSpeed(ctx, c.CPUs[0], filepath.Join(g.State, "speed.json"))
		if err != nil {
			return nil, clusterError(c.Name, err)
		}
		model := calibrate.ModelName(c.CPUs[0])
		list[model] = max(list[model], speed)
	}
	return list, nil
}

// workingMethods lists the checkpoint methods that work on this machine.
func workingMethods(ctx context.Context) []string {
	list := []string{"signal", "exit85", "srs", "restart"}
	if ok, _ := sandbox.IsAvailable(ctx); ok {
		list = append([]string{"sandbox"}, list...)
	}
	return list
}

// queueOf is how many processors jobs may wait for in the cluster's own queue:
// enough to keep it busy, not so many that jobs wait there which could run
// elsewhere.
func queueOf(c *config.Cluster, slots int) int {
	if c.Queue > 0 {
		return c.Queue
	}
	return slots
}
