package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/pool"
	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/live/config"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// clusterMaker makes one cluster of the settings: opens its driver and asks it what
// it consists of, as often as that takes.
type clusterMaker struct {
	g   *grid
	cfg config.Cluster

	mu     sync.Mutex
	driver driver.Driver // nil: it could not be opened yet
	outer  driver.Driver // as the broker uses it
	sized  []int         // processors of each host of a pool, once they are numbered

	hosts atomic.Pointer[[]world.HostSpec] // as last described
	last  atomic.Pointer[broker.Cluster]
}

// startTimeout is how long a cluster may take to say what it consists of before
// the broker goes on without it.
const startTimeout = 3 * time.Second

// errNoAnswer is why nothing is known of a cluster that has not said anything yet.
var errNoAnswer = errors.New("no answer yet; at first our programs are copied there")

// atStart is the cluster as far as it is known soon. The broker asks again.
func (m *clusterMaker) atStart(ctx context.Context) broker.Cluster {
	if !m.cfg.IsHere() {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, startTimeout)
		defer cancel()
	}
	b, err := m.describeCluster(ctx)
	if err == nil {
		return b
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = errNoAnswer
	}
	m.g.Log.Warn("out of reach", "cluster", m.cfg.Name, "error", err)
	return m.asRemembered(err)
}

// describeCluster opens the cluster's driver, if that has not been done, and asks it what
// the cluster consists of.
func (m *clusterMaker) describeCluster(ctx context.Context) (broker.Cluster, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if last := m.last.Load(); m.cfg.IsHere() && last != nil {
		return *last, nil
	}
	if err := m.openDriver(ctx); err != nil {
		return broker.Cluster{}, err
	}
	if m.cfg.IsHere() {
		return m.finishCluster(*m.last.Load()), nil
	}
	s, ok := m.driver.(driver.Surveyor)
	if !ok {
		return broker.Cluster{}, fmt.Errorf("cluster %s cannot say what it consists of", m.cfg.Name)
	}
	survey, err := s.SurveyHosts(ctx)
	if err != nil {
		return broker.Cluster{}, err
	}
	if survey.TotalProcs() == 0 && m.cfg.Slots == 0 {
		return broker.Cluster{}, errors.New("it reports no cores")
	}
	for _, n := range survey.Notes {
		m.g.Log.Warn(n, "cluster", m.cfg.Name)
	}
	if survey.TotalProcs() > 0 {
		if err := saveSurvey(m.surveyFile(), survey); err != nil {
			m.g.Log.Warn("not remembered", "cluster", m.cfg.Name, "error", err)
		}
	}
	return m.finishCluster(m.buildCluster(survey)), nil
}

// openDriver makes the driver.
func (m *clusterMaker) openDriver(ctx context.Context) error {
	if m.driver != nil {
		return nil
	}
	if m.cfg.IsHere() {
		b, err := m.g.localCluster(&m.cfg)
		if err != nil {
			return err
		}
		m.driver = b.Driver
		m.last.Store(b)
	} else {
		d, err := m.g.openDriver(ctx, &m.cfg)
		if err != nil {
			return err
		}
		m.driver = d
	}
	m.outer = m.driver
	if m.g.users != nil {
		m.outer = m.g.forUsers(m)
	}
	return nil
}

func (m *clusterMaker) surveyFile() string {
	return filepath.Join(m.g.State, "clusters", m.cfg.Name+".survey.json")
}

// buildCluster makes a cluster of what it says of itself and of the settings.
func (m *clusterMaker) buildCluster(survey *driver.Survey) broker.Cluster {
	c := &m.cfg
	b := broker.Cluster{Name: c.Name, Kind: kindOf(c), Managed: c.IsManaged(),
		CPUFeatures: survey.CPUFeatures, KeepFree: c.KeepFree, GrowFree: c.GrowFree,
		MPI: c.MPI, Methods: func(context.Context) []string { return survey.Methods }}
	if len(c.SSHHosts) > 0 {
		m.addPoolHosts(&b, survey)
		return b
	}
	slots := c.Slots
	if slots == 0 {
		slots = survey.TotalProcs()
	}
	if slots > 0 {
		speed, measured := speedOf(c, survey)
		b.Unmeasured = !measured
		b.Hosts = []world.HostSpec{{Procs: slots, Speed: speed, Memory: memoryOf(c, survey.Hosts)}}
	}
	if c.IsManaged() {
		b.Queue = queueOf(c, slots)
	}
	for _, h := range survey.Hosts {
		b.HostNames = append(b.HostNames, h.Name)
	}
	return b
}

// addPoolHosts adds the hosts of a cluster of machines without a manager. Their
// processors are numbered once.
func (m *clusterMaker) addPoolHosts(b *broker.Cluster, survey *driver.Survey) {
	c := &m.cfg
	var hosts []world.HostSpec
	var procs []int
	for i, ssh := range c.SSHHosts {
		h := driver.Host{Name: config.HostFromSSH(ssh)}
		if len(survey.Hosts) == len(c.SSHHosts) { // else it is that of earlier settings, or there is none
			h = survey.Hosts[i]
		}
		if c.Slots > 0 {
			h.Procs = c.Slots
		}
		if m.sized != nil {
			h.Procs = m.sized[i]
		}
		speed, measured := speedOf(c, &driver.Survey{Hosts: []driver.Host{h}})
		b.Unmeasured = b.Unmeasured || !measured
		hosts = append(hosts, world.HostSpec{Procs: h.Procs, Speed: speed, Memory: memoryOf(c, survey.Hosts)})
		b.HostNames = append(b.HostNames, h.Name)
		procs = append(procs, h.Procs)
	}
	if slices.Contains(procs, 0) {
		return // not all of them have answered
	}
	if p, ok := m.driver.(*pool.Driver); ok && m.sized == nil {
		p.SetProcs(procs)
		m.sized = procs
	}
	b.Hosts = hosts
}

// finishCluster adds what all clusters have.
func (m *clusterMaker) finishCluster(b broker.Cluster) broker.Cluster {
	b.Driver, b.Kind = m.outer, kindOf(&m.cfg)
	b.Describe = m.describeCluster
	b.Close = func() {
		if err := m.g.closeCluster(m.cfg.Name); err != nil {
			m.g.Log.Warn("not closed", "cluster", m.cfg.Name, "error", err)
		}
	}
	m.g.placeSite(&b, &m.cfg)
	m.hosts.Store(&b.Hosts)
	m.last.Store(&b)
	return b
}

// asRemembered is a cluster that does not answer: as it was when it last did, or as
// the settings say, or not known at all.
func (m *clusterMaker) asRemembered(why error) broker.Cluster {
	m.mu.Lock()
	defer m.mu.Unlock()
	survey := new(driver.Survey)
	if text, err := os.ReadFile(m.surveyFile()); err == nil && json.Unmarshal(text, survey) != nil {
		survey = new(driver.Survey)
	}
	b := m.buildCluster(survey)
	if m.outer == nil {
		m.outer = driver.Unreachable{Why: why}
		b = m.finishCluster(b)
		m.outer = nil
	} else {
		b = m.finishCluster(b)
	}
	b.Away = why
	return b
}
