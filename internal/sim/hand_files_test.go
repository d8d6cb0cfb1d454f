package sim

import (
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
	"github.com/godwit-hpc/godwit/internal/sim/workload"
)

// Eight Mbit/s carry a megabyte (of a million bytes) in a second.
const storeAndWork = `
clusters:
  - {name: store, hosts: 1}
  - {name: work, hosts: 4}
links:
  - {a: store, b: work, mbps: 8, ms: 10}
files:
  - {name: f0, size: 1000000, at: [store]}
  - {name: f1, size: 1000000, at: [store]}
  - {name: f2, size: 2000000, at: [store]}
  - {name: f3, size: 60000000, at: [store]}
`

const (
	store = core.ClusterID(iota)
	work
)

// reads makes a job need files, and run in one of these clusters.
func reads(j workload.Job, files []core.FileID, clusters ...core.ClusterID) workload.Job {
	return with(j, func(j *workload.Job) {
		j.Spec.Components[0].Inputs, j.Spec.Components[0].Clusters = files, clusters
	})
}

func files(ids ...core.FileID) []core.FileID { return ids }

func TestAFileTakesItsLatencyAndItsBytesOverTheRate(t *testing.T) {
	p := play(t, Config{Platform: gridOf(t, storeAndWork), Engine: engine.DefaultConfig()},
		reads(rigid(0, 1, 5), files(0), work),
		reads(rigid(10, 1, 5), files(0), work),     // is there by now
		reads(rigid(10, 1, 5), files(0, 2), work),  // only the other is brought
		reads(rigid(20, 1, 5), files(0), store),    // was there from the beginning
		reads(rigid(30, 1, 5), files(1, 3), work),  // at once: they share the link
		reads(rigid(200, 1, 5), files(99), work),   // a file that nobody listed is everywhere
		reads(rigid(200, 1, 5), files(2, 2), work), // is there
	)
	// The shorter of the two takes 2 s at half the rate, the longer 61 s in all.
	p.times([2]float64{1.01, 6.01}, [2]float64{10, 15}, [2]float64{12.01, 17.01}, [2]float64{20, 25},
		[2]float64{91.01, 96.01}, [2]float64{200, 205}, [2]float64{200, 205})
}

func TestTwoJobsStagingOverOneLinkShareIt(t *testing.T) {
	p := play(t, Config{Platform: gridOf(t, storeAndWork), Engine: engine.DefaultConfig()},
		reads(rigid(0, 1, 5), files(0), work), reads(rigid(0.5, 1, 5), files(1), work))
	// From 0.51 s on both move at half the rate. The first has half of its
	// bytes to go: until 1.51 s. Then the second has half, at the whole rate.
	p.times([2]float64{1.51, 6.51}, [2]float64{2.01, 7.01})
}

func TestTwoJobsThatNeedTheSameFileBothFetchIt(t *testing.T) {
	p := play(t, Config{Platform: gridOf(t, storeAndWork), Engine: engine.DefaultConfig()},
		reads(rigid(0, 1, 5), files(0), work), reads(rigid(0, 1, 5), files(0), work))
	p.times([2]float64{2.01, 7.01}, [2]float64{2.01, 7.01})
}

const chain = `
clusters: [{name: a, hosts: 2}, {name: b, hosts: 2}, {name: c, hosts: 2}]
links: [{a: a, b: b, mbps: 80, ms: 1}, {a: b, b: c, mbps: 40, ms: 2}]
files: [{name: fa, size: 30000000, at: [a]}, {name: fb, size: 5000000, at: [b]}]
`

func TestFlowsOverSeveralLinksGetMaxMinFairShares(t *testing.T) {
	p := play(t, Config{Platform: gridOf(t, chain), Engine: engine.DefaultConfig()},
		reads(rigid(0, 1, 1), files(0), 1), reads(rigid(0, 1, 1), files(0), 2), reads(rigid(0, 1, 1), files(1), 2))
	// The files from a and b to c share 40: 20 each; the one from a to b gets
	// the other 60 of 80. From b to c: from 2 ms on alone at 40 for 1 ms until
	// the one from a begins at 3 ms, which takes 0.04 of its 40 Mbit; 39.96 at
	// 20 take 1.998 s. The one from a to c has then 240-39.96 = 200.04 Mbit to
	// go, and the one from a to b began at 1 ms, alone at 80 for 2 ms, then at
	// 60: (240-0.16)/60 = 3.9973… s from 3 ms on, if nothing else changes. At
	// 2.001 s the one to c rises to 40, so both have 40 from then on.
	fb := 2.001
	ab := fb + (240-0.16-60*1.998)/40
	ac := fb + (240-20*1.998)/40
	for i, want := range []float64{ab, ac, fb} {
		if got := p.records[i].Start.Seconds(); got < want-2e-9 || got > want+2e-9 {
			t.Errorf("job %d starts at %.9f s, want %.9f s", i+1, got, want)
		}
	}
}

func TestALinkThatChangesChangesWhatIsUnderWay(t *testing.T) {
	changes := []LinkChange{{At: core.AtSecond(0.51), Link: 0, Mbps: 4}, {At: core.AtSecond(1.01), Link: 0, Mbps: 0},
		{At: core.AtSecond(11.01), Link: 0, Mbps: 8}}
	cfg := Config{Platform: gridOf(t, storeAndWork), Engine: engine.DefaultConfig(),
		Disturb: &Disturbances{Links: inTurn(changes...)}}
	p := play(t, cfg, reads(rigid(0, 1, 5), files(0), work))
	// Half is there at 0.51 s, a quarter more at 1.01 s, nothing for 10 s, and
	// the last quarter at the whole rate.
	p.times([2]float64{11.26, 16.26})
}

func TestALinkThatStandsStillLeavesTheJobUnstarted(t *testing.T) {
	cfg := Config{Platform: gridOf(t, storeAndWork), Engine: engine.DefaultConfig(),
		Disturb: &Disturbances{Links: inTurn(LinkChange{At: core.AtSecond(0.51), Link: 0, Mbps: 0})}}
	p := play(t, cfg, reads(rigid(0, 1, 5), files(0), work), rigid(1, 1, 5))
	if p.left != 1 || p.summary.Completed != 1 || p.summary.Unplaced != 1 {
		t.Errorf("%d left, %+v", p.left, p.summary)
	}
}

func TestAJobWhoseFilesCannotBeBroughtGoesWhereTheyAre(t *testing.T) {
	apart := `
clusters: [{name: a, hosts: 1}, {name: b, hosts: 9}]
files: [{name: f, size: 1000000, at: [a]}]
`
	p := play(t, Config{Platform: gridOf(t, apart), Engine: engine.DefaultConfig()},
		reads(rigid(0, 1, 5), files(0)),    // there is no way to b, whatever is idle there
		reads(rigid(1, 1, 5), files(0)),    // so it waits
		reads(rigid(2, 2, 5), files(0)),    // never fits in a
		reads(rigid(3, 1, 5), files(0), 1), // must run in b
	)
	for _, i := range []int{2, 3} {
		if r := p.records[i]; r.State != core.Failed || r.Start != core.Never {
			t.Errorf("job %d is %s", i+1, r.State)
		}
	}
	p.records = p.records[:2]
	p.clusters(0, 0)
	p.times([2]float64{0, 5}, [2]float64{5, 10})
}
