package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/pool"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/host/calibrate"
	"github.com/godwit-hpc/godwit/internal/host/checkpoint/sandbox"
	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/live/config"
	"github.com/godwit-hpc/godwit/internal/live/drivers"
	"github.com/godwit-hpc/godwit/internal/protocol/rendezvous"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
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
	closers []io.Closer // to be closed even if something fails
}

// clusters makes all of them.
func (g *grid) clusters(ctx context.Context) ([]broker.Cluster, error) {
	var err error
	if g.users != nil {
		if err := ownAccounts(g.cfg); err != nil {
			return nil, err
		}
	}
	if g.speeds, err = g.measure(ctx); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(g.cfg.Clusters, func(c config.Cluster) bool { return c.Managed() && c.SSH == "" }) {
		if err := g.openGate(ctx); err != nil {
			return nil, err
		}
	}
	list, errs := make([]broker.Cluster, len(g.cfg.Clusters)), make([]error, len(g.cfg.Clusters))
	var all sync.WaitGroup
	for i := range g.cfg.Clusters {
		all.Go(func() { // those that are far away take their time
			c, err := g.cluster(ctx, &g.cfg.Clusters[i])
			if err != nil {
				errs[i] = complain(g.cfg.Clusters[i].Name, err)
				return
			}
			g.placeSite(c, &g.cfg.Clusters[i])
			if g.users != nil {
				g.forUsers(c, &g.cfg.Clusters[i])
			}
			list[i] = *c
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err // one at a time: the first in the file
		}
	}
	return list, nil
}

// keepOpen remembers what is to be closed.
func (g *grid) keepOpen(c io.Closer) {
	g.mu.Lock()
	g.closers = append(g.closers, c)
	g.mu.Unlock()
}

func (g *grid) close() error {
	var errs []error
	for _, c := range g.closers {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

func (g *grid) cluster(ctx context.Context, c *config.Cluster) (*broker.Cluster, error) {
	if c.Here() {
		return g.here(c)
	}
	d, err := g.open(ctx, c)
	if err != nil {
		return nil, err
	}
	survey, err := g.survey(ctx, c, d)
	if err != nil {
		return nil, err
	}
	for _, n := range survey.Notes {
		g.Log.Warn(n, "cluster", c.Name)
	}
	if p, ok := d.(*pool.Driver); ok {
		return pooled(c, p, survey)
	}
	elastic := c.Slots == 0
	if elastic {
		c.Slots = survey.Procs()
	}
	slots := c.Slots
	if slots == 0 {
		return nil, &badinput.Error{Field: "slots", Want: "how many processors the cluster offers; it says that it has none"}
	}
	b := &broker.Cluster{Name: c.Name, Kind: kindOf(c), Driver: d, Managed: c.Managed(), Elastic: elastic, Queue: queueOf(c, slots), CPUFeatures: survey.CPUFeatures, MPI: wire.MPI(c.MPI),
		Methods: func(context.Context) []string { return survey.Methods },
		Hosts:   []world.HostSpec{{Procs: slots, Speed: speedOf(c, survey), Memory: memoryOf(c, survey.Hosts)}}}
	for _, h := range survey.Hosts {
		b.HostNames = append(b.HostNames, h.Name)
	}
	return b, nil
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
// the reference host.
func speedOf(c *config.Cluster, s *driver.Survey) float64 {
	speed := c.Speed
	for _, h := range s.Hosts {
		if c.Speed == 0 && h.Speed > 0 && (speed == 0 || h.Speed < speed) {
			speed = h.Speed
		}
	}
	if speed == 0 {
		return 1
	}
	return speed
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

// here makes a cluster of a part of this machine.
func (g *grid) here(c *config.Cluster) (*broker.Cluster, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	speed := c.Speed
	if speed == 0 {
		speed = g.speeds[calibrate.Model(c.CPUs[0])]
	}
	settings := g.settings(c)
	if g.users != nil {
		owner, err := g.identity()
		if err != nil {
			return nil, err
		}
		settings.Kin = g.kin(c, owner)
	}
	d, err := drivers.Open(settings, drivers.Around{Broker: g.socket, Agent: g.Agent, Log: g.Log})
	if err != nil {
		return nil, err
	}
	g.keepOpen(d)
	for _, n := range d.Notes() {
		g.Log.Warn(n, "cluster", c.Name)
	}
	return &broker.Cluster{Name: c.Name, Kind: config.Local, Driver: d, HostNames: []string{host}, Nice: c.Nice, MPI: wire.MPI(c.MPI), Methods: methods,
		Hosts: []world.HostSpec{{Procs: c.Slots, Speed: speed, Memory: memoryOf(c, []driver.Host{{Memory: calibrate.TotalMemory()}})}}}, nil
}

func (g *grid) settings(c *config.Cluster) *driver.Settings {
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

// open makes the driver of a cluster that has a manager, or is elsewhere.
func (g *grid) open(ctx context.Context, c *config.Cluster) (driver.Driver, error) {
	if c.SSH != "" {
		return g.far(c)
	}
	d, err := drivers.Open(g.settings(c), drivers.Around{Broker: g.gate, Agent: g.Agent, Log: g.Log})
	if err != nil {
		return nil, err
	}
	g.keepOpen(d)
	return d, nil
}

// openGate lets agents in that run on other hosts than this one.
func (g *grid) openGate(ctx context.Context) error {
	file := filepath.Join(g.State, "rendezvous.json")
	door, err := rendezvous.Listen(ctx, rendezvous.Options{Rendezvous: file, Handle: func(c net.Conn) { rendezvous.Relay(c, g.door) }})
	if err != nil {
		return err
	}
	g.gate = file
	g.keepOpen(door)
	return nil
}

// toBeSurveyed is how long a cluster may take to say what it consists of before
// we go by what it said last time.
const toBeSurveyed = 20 * time.Second

// survey asks a cluster what it consists of. One that cannot be reached is taken
// to be as it was.
func (g *grid) survey(ctx context.Context, c *config.Cluster, d driver.Driver) (*driver.Survey, error) {
	file := filepath.Join(g.State, "clusters", c.Name+".survey.json")
	s, ok := d.(driver.Surveyor)
	if !ok {
		return &driver.Survey{}, nil
	}
	text, err := os.ReadFile(file)
	old := new(driver.Survey)
	known := err == nil && json.Unmarshal(text, old) == nil
	if known || c.Slots > 0 { // else there is nothing to go by
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, toBeSurveyed)
		defer cancel()
	}
	survey, err := insist(ctx, s)
	if err == nil && survey.Procs() > 0 { // else it has just been started and knows none of its hosts
		return survey, keep(file, survey)
	}
	if known {
		g.Log.Warn("does not say what it has; taken to be as it was", "cluster", c.Name, "error", err)
		return old, nil
	}
	if err == nil {
		return survey, nil
	}
	if c.Slots > 0 {
		g.Log.Warn("out of reach", "cluster", c.Name, "error", err)
		return &driver.Survey{}, nil
	}
	return nil, fmt.Errorf("it has never been reached, and the settings do not say how many slots it has: %w", err)
}

// insist asks until there is an answer or no time left. A cluster that is out of
// reach is asked for a while; one that does not answer yet may just be getting
// our binaries for the first time.
func insist(ctx context.Context, s driver.Surveyor) (*driver.Survey, error) {
	enough := time.After(toBeSurveyed)
	for {
		survey, err := s.Survey(ctx)
		if err == nil || !errors.Is(err, driver.ErrAway) {
			return survey, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-enough:
			return nil, err
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func keep(file string, s *driver.Survey) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}

// measure measures the models of CPUs whose speed the settings do not say. All of
// one model are equally fast, whatever disturbed the measurement of one.
func (g *grid) measure(ctx context.Context) (map[string]float64, error) {
	list := map[string]float64{}
	for i := range g.cfg.Clusters {
		c := &g.cfg.Clusters[i]
		if c.Speed != 0 || !c.Here() {
			continue
		}
		speed, err := calibrate.Speed(ctx, c.CPUs[0], filepath.Join(g.State, "speed.json"))
		if err != nil {
			return nil, complain(c.Name, err)
		}
		model := calibrate.Model(c.CPUs[0])
		list[model] = max(list[model], speed)
	}
	return list, nil
}

// methods lists the checkpoint methods that work on this machine.
func methods(ctx context.Context) []string {
	list := []string{"signal", "exit85", "restart"}
	if ok, _ := sandbox.Available(ctx); ok {
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
