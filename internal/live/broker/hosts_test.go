package broker

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/live/store/memory"
	"github.com/godwit-hpc/godwit/internal/observe/weather"
	"github.com/godwit-hpc/godwit/internal/observe/weather/measured"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// many is a driver with several sensors.
type many struct {
	sensing
	hosts int
}

func (m many) HostSensors() []driver.Sensor {
	list := make([]driver.Sensor, m.hosts)
	for i := range list {
		list[i] = m.sensing
	}
	return list
}

// measuring is a broker of these clusters that measures, or has a file instead. Those
// with a site have as many hosts as they have names for.
func measuring(t *testing.T, network string, clusters ...Cluster) (b *Broker, here string) {
	t.Helper()
	b = &Broker{}
	b.opt.Store, b.opt.Clock = memory.New(), clock.RealClock()
	b.began = b.opt.Clock()
	b.base = core.Time(b.began.UnixNano())
	if network != "" {
		b.opt.Weather = weather.Settings{Off: true, Network: filepath.Join(t.TempDir(), "network")}
		if err := os.WriteFile(b.opt.Weather.Network, []byte(network), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i, c := range clusters {
		c.Driver = many{hosts: max(1, len(c.HostNames))}
		c.Hosts = make([]world.HostSpec, len(c.HostNames))
		b.putCluster(newCluster(c, core.ClusterID(i)))
	}
	if err := b.openWeather(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.closeWeather)
	return b, b.weather.proxy[""]
}

// have says what was measured between two hosts, or of one, in the last minutes.
func (b *Broker) have(what measured.Quantity, from, to string, value float64) {
	for i := range 10 {
		b.weather.book.AddValue(weather.Key{What: what, From: from, To: to},
			b.brokerTime().Add(time.Duration(i-10)*time.Minute), value)
	}
}

func names(prefix string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprint(prefix, i)
	}
	return list
}

func TestJobsAreOfferedHostsAndNothingElse(t *testing.T) {
	east, local, slurm := Cluster{Name: "east", Site: "e", HostNames: names("e", 2)}, Cluster{Name: "home"},
		Cluster{Name: "batch", Site: "s", Managed: true}
	const platform = "clusters:\n  - {name: east, hosts: 1}\n  - {name: batch, hosts: 1}\n  - {name: n, hosts: " +
		"1}\nlinks:\n  - {a: east, b: batch, mbps: 45, ms: 20}\n  - {a: n, b: batch, mbps: 45, ms: 20}\n"
	away := errors.New("gone")
	for _, c := range []struct {
		what     string
		clusters []Cluster
		network  string
		on       string
		away     error // of the first
		want     string
	}{
		{"the broker's machine is none", []Cluster{east}, "", "", nil, "e0 e1"},
		{"it is one", []Cluster{east, local}, "", "", nil, "HERE e0 e1"},
		{"and may be asked for", []Cluster{east, local}, "", "east", nil, "e0 e1"},
		{"where jobs are submitted they do not run", []Cluster{east, slurm}, "", "", nil, "e0 e1"},
		{"nor if that is the broker's", []Cluster{east, {Name: "here", Managed: true}}, "", "", nil, "e0 e1"},
		{"nobody is there", []Cluster{east}, "", "", away, ""},
		{"a file names front ends, and hosts of nobody",
			[]Cluster{{Name: "east", Site: "e", HostNames: []string{"east1"}},
				{Name: "n", Site: "n", HostNames: []string{"n1"}}}, platform, "", nil, "east1 n1"},
		{"or maybe those of a manager", []Cluster{{Name: "n", Site: "n", HostNames: []string{"n1"}}, slurm}, platform, "",
			nil, "n1 batch1 east1"},
		{"which is away", []Cluster{slurm, {Name: "n", Site: "n", HostNames: []string{"n1"}},
			{Name: "east", Site: "e", HostNames: []string{"east1"}}}, platform, "", away, "n1 east1"},
	} {
		b, here := measuring(t, c.network, c.clusters...)
		b.allClusters()[0].away = c.away
		if c.network == "" {
			for i, h := range b.weather.hosts {
				for _, o := range b.weather.hosts[:i] {
					b.have(measured.Mbps, h.Name, o.Name, 100)
				}
			}
		}
		g, err := b.NetworkGraph(c.on, 0)
		if got := strings.ReplaceAll(strings.Join(g.Hosts, " "), here, "HERE"); err != nil || got != c.want {
			t.Errorf("%s: offered are %q, want %q (%v)", c.what, got, c.want, err)
		}
	}
}

func TestJobsArePlacedByTheNetworkThatHostsAreSelectedBy(t *testing.T) {
	b, _ := measuring(t, "", Cluster{Name: "big", Site: "b", HostNames: names("h", 20)},
		Cluster{Name: "other", Site: "o", HostNames: names("o", 3)})
	for i := 1; i < 20; i++ { // so many are measured to the first only
		b.have(measured.Mbps, "h0", fmt.Sprint("h", i), float64(10*i))
	}
	net := b.networkOf(b.allClusters()[0])
	if !net.CoversHosts(20) || math.Abs(net.PairBandwidth(7, 12)/70-1) > 0.05 ||
		math.Abs(net.PairBandwidth(0, 12)/120-1) > 0.05 {
		t.Fatalf("%+v", net)
	}
	g, err := b.NetworkGraph("big", forecastSpan)
	if err != nil || len(g.Hosts) != 20 || len(g.Links) != 190 {
		t.Fatalf("%+v, %v", g, err)
	}
	for _, l := range g.Links {
		if math.Abs(net.PairBandwidth(l.A, l.B)/l.Mbps-1) > 1e-6 {
			t.Errorf("%s and %s have %v to be selected by and %v to be placed by", g.Hosts[l.A], g.Hosts[l.B], l.Mbps,
				net.PairBandwidth(l.A, l.B))
		}
	}
	if net := b.networkOf(b.allClusters()[1]); !net.CoversHosts(3) || net.HasMeasurements() {
		t.Errorf("of a cluster that was not measured is known %+v", net)
	}
}
