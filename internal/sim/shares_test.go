package sim

import (
	"math"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/platform"
	"github.com/godwit-hpc/godwit/internal/recordings"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
	"github.com/godwit-hpc/godwit/internal/sim/workload"
)

// delivered wants a file in a cluster, from the beginning on, and expects it
// there after so many seconds.
type delivered struct {
	file    string
	to      string
	seconds float64
}

// deliver has a job need each file where it is wanted, and compares when they
// start.
func deliver(t *testing.T, p *platform.Platform, wanted ...delivered) {
	t.Helper()
	var jobs []workload.Job
	for _, w := range wanted {
		cluster, ok := p.FindCluster(w.to)
		file := -1
		for i := range p.Files {
			if p.Files[i].Name == w.file {
				file = i
			}
		}
		if !ok || file < 0 {
			t.Fatalf("there is no %s or no %s", w.to, w.file)
		}
		jobs = append(jobs, reads(rigid(0, 1, 1), files(core.FileID(file)), core.ClusterID(cluster)))
	}
	got := play(t, Config{Platform: p, Engine: engine.DefaultConfig()}, jobs...)
	for i, w := range wanted {
		start := got.records[i].Start.Seconds()
		off := math.Abs(start-w.seconds) / w.seconds
		t.Logf("%s to %s: %.4f s, by hand %.4f s", w.file, w.to, start, w.seconds)
		if got.records[i].State != core.Done || off > 0.01 {
			t.Errorf("%s reaches %s after %.4f s, want %.4f s: %.2f %% off", w.file, w.to, start, w.seconds, 100*off)
		}
	}
}

func TestTransfersOverTheExampleGridTakeTheirMaxMinShares(t *testing.T) {
	p, err := platform.Load("../../examples/platforms/grid5.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const (
		flight = 600 * 8 << 20 / 1e6 // Mbit
		mesh   = 8 * 8 << 30 / 1e6
		db     = 40 * 8 << 30 / 1e6
	)
	// Alone: the narrowest link of the way, lab-leeds-york.
	deliver(t, p, delivered{"flight.dat", "york", 0.0025 + flight/100.0})
	// Three from the lab share its 100 Mbit/s. On the way to the cloud one of
	// them leaves 300 - 33.3 to the database from york, and two of them leave
	// 1000 - 66.7 between leeds and york to the mesh, which comes from
	// sheffield as that is nearer than the cloud.
	share := 100.0 / 3
	lab := flight / share
	deliver(t, p,
		delivered{"flight.dat", "york", lab},
		delivered{"flight.dat", "sheffield", lab},
		delivered{"flight.dat", "cloud", lab},
		delivered{"mesh.h5", "york", mesh / (1000 - 2*share)},
		delivered{"engine.db", "cloud", lab + (db-lab*(300-share))/300},
	)
}

const threeZones = `<?xml version='1.0'?>
<platform version="4.1">
  <zone id="all" routing="Full">
    <cluster id="a" prefix="a" suffix="" radical="0-3" speed="1Gf" bw="125MBps" lat="50us"/>
    <cluster id="b" prefix="b" suffix="" radical="0-3" speed="1Gf" bw="125MBps" lat="50us"/>
    <cluster id="c" prefix="c" suffix="" radical="0-3" speed="1Gf" bw="125MBps" lat="50us"/>
    <link id="left" bandwidth="10MBps" latency="2ms"/>
    <link id="right" bandwidth="40MBps" latency="3ms"/>
    <link id="pipe" bandwidth="16MBps" latency="1ms" sharing_policy="FATPIPE"/>
    <zoneRoute src="a" dst="b" gw_src="aa_router" gw_dst="bb_router"><link_ctn id="left"/></zoneRoute>
    <zoneRoute src="a" dst="c" gw_src="aa_router" gw_dst="cc_router"><link_ctn id="left"/><link_ctn id="right"/></zoneRoute>
    <zoneRoute src="b" dst="c" gw_src="bb_router" gw_dst="cc_router"><link_ctn id="pipe"/><link_ctn id="right"/></zoneRoute>
  </zone>
</platform>`

func TestTransfersOverASimGridPlatformTakeTheirMaxMinShares(t *testing.T) {
	p, err := platform.Parse("three.xml", []byte(threeZones))
	if err != nil {
		t.Fatal(err)
	}
	p.Files = []platform.File{{Name: "fromA", Bytes: 100e6, At: []int{0}}, {Name: "fromB", Bytes: 80e6, At: []int{1}},
		{Name: "alsoFromB", Bytes: 160e6, At: []int{1}}}
	// The two from a share 10 MB/s. Those from b get 16 each of the 35 that are
	// left, as the fat pipe gives its whole rate to each.
	deliver(t, p,
		delivered{"fromA", "b", 100.0 / 5}, delivered{"fromA", "c", 100.0 / 5},
		delivered{"fromB", "c", 80.0 / 16}, delivered{"alsoFromB", "c", 160.0 / 16})
}

func TestTransfersOverAPublishedSimGridPlatformTakeTheirMaxMinShares(t *testing.T) {
	file := recordings.Path(t, "net", "simgrid-platforms", "data_center.xml")
	p, err := platform.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	p.Files = []platform.File{{Name: "small", Bytes: 5e9, At: []int{0}}, {Name: "medium", Bytes: 10e9, At: []int{0}},
		{Name: "large", Bytes: 15e9, At: []int{1}}}
	// Each cabinet has 1.25 GB/s, of which two of the three files want a share;
	// when small is there, the others still meet at the third cabinet; the last
	// 5 GB of large have it for themselves.
	deliver(t, p, delivered{"small", "cabinet2", 8}, delivered{"medium", "cabinet3", 16},
		delivered{"large", "cabinet3", 20})
}
