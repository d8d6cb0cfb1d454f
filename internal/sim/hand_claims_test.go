package sim

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
	"github.com/godwit-hpc/godwit/internal/sim/app"
)

func TestProcessorsAreClaimedLateSoThatOthersCanUseThemMeanwhile(t *testing.T) {
	p := play(t, Config{Platform: gridOf(t, storeAndWork), Engine: engine.DefaultConfig()},
		reads(rigid(0, 4, 5), files(3), work), reads(rigid(10, 4, 30), nil, work))
	// 60.01 s of staging; claimed 10 s before.
	p.times([2]float64{60.01, 65.01}, [2]float64{10, 40})
	held := core.Never
	for _, ev := range p.events {
		if ev.Kind == core.PartHeld && ev.Job == 1 {
			held = ev.At
		}
	}
	if held != core.AtSecond(50.01) {
		t.Errorf("held at %g s", held.Seconds())
	}
}

func TestProcessorsThatCanBeReservedAreHeldFromThePlacementOn(t *testing.T) {
	grid := gridOf(t, strings.Replace(storeAndWork, "hosts: 4}", "hosts: 4, reserve: true}", 1))
	p := play(t, Config{Platform: grid, Engine: engine.DefaultConfig()},
		reads(rigid(0, 4, 5), files(3), work), reads(rigid(10, 4, 30), nil, work))
	p.times([2]float64{60.01, 65.01}, [2]float64{65.01, 95.01})
}

func TestALateClaimThatFindsNoRoomIsPlacedAgainAndStagesAnew(t *testing.T) {
	p := play(t, Config{Platform: gridOf(t, storeAndWork), Engine: engine.DefaultConfig()},
		reads(rigid(0, 4, 5), files(3), work), reads(rigid(10, 4, 45), nil, work), reads(rigid(30, 1, 1), files(0), store))
	// At 50.01 s the other runs until 55 s. What had been sent by then is lost.
	p.same("states", p.states(1), "0 SUBMITTED, 0 SELECTED, 0 STAGING, 50.01 SUBMITTED, 55 SELECTED, 55 STAGING, 115.01 "+
		"QUEUED, 115.01 RUNNING, 120.01 DONE")
	p.times([2]float64{115.01, 120.01}, [2]float64{10, 55}, [2]float64{30, 31})
}

func TestWhatIsBroughtForAPlacementThatIsGivenUpNoLongerUsesTheLink(t *testing.T) {
	p := play(t, Config{Platform: gridOf(t, storeAndWork), Engine: engine.DefaultConfig()},
		reads(rigid(0, 4, 5), files(3), work), reads(rigid(10, 3, 60), nil, work), reads(rigid(50.02, 1, 1), files(2), work))
	// The first gives up at 50.01 s, so the third has the link for itself.
	if r := &p.records[2]; r.Start != core.AtSecond(52.03) {
		t.Errorf("started at %g s", r.Start.Seconds())
	}
}

func TestWhatOthersWereShrunkForIsHeldWhileFilesAreBrought(t *testing.T) {
	a := &app.App{Name: "a", Speedup: app.Linear{}, Resize: 100 * second}
	p := play(t, Config{Platform: gridOf(t, storeAndWork), Engine: policies(engine.PWA, "fpsma")},
		reads(elastic(0, 2, 4, a, 4000), nil, work), reads(rigid(500, 1, 5), files(3), work))
	// At 500 s it has done 2000 of 4000. It has 3 from 600 s on and 4 again 100 s
	// after the other is over: until 565.01 s it stood still anyway.
	p.same("sizes", p.sizes(1), "0 4, 500 -1, 565.01 +1")
	p.times([2]float64{0, 1165.01}, [2]float64{560.01, 565.01})
}

// users is the streams of local users only.
func users(jobs ...BackgroundJob) *Disturbances { return &Disturbances{Background: inTurn(jobs...)} }

func local(at float64, c core.ClusterID, procs int, seconds float64) BackgroundJob {
	return BackgroundJob{At: core.AtSecond(at), Cluster: c, Procs: procs, Run: core.DurationFromSeconds(seconds)}
}

func TestAClaimLostToALocalUserBetweenTwoPollsIsPlacedAgainAtOnce(t *testing.T) {
	cfg := Config{Platform: clustersOf(t, 4, 3), Engine: engine.DefaultConfig(), PollEvery: time.Minute,
		Disturb: users(local(10, 0, 2, 1000))}
	p := play(t, cfg, rigid(20, 3, 5))
	p.clusters(1)
	p.times([2]float64{20, 25})
	var log []string
	for _, ev := range p.events {
		switch ev.Kind {
		case core.PartPlanned:
			log = append(log, fmt.Sprintf("epoch %d in %d", ev.Epoch, ev.Cluster))
		case core.OthersPolled:
			log = append(log, fmt.Sprintf("others %v in %d", ev.Procs, ev.Cluster))
		}
	}
	p.same("events", strings.Join(log, ", "), "epoch 1 in 0, others 2-3 in 0, epoch 2 in 1")
}

func TestAJobWaitsForTheLocalUserToBeSeenGone(t *testing.T) {
	cfg := Config{Platform: clustersOf(t, 4), Engine: engine.DefaultConfig(), PollEvery: time.Minute,
		Disturb: users(local(10, 0, 2, 100))}
	p := play(t, cfg, rigid(20, 3, 5), rigid(30, 2, 7), rigid(61, 1, 1))
	// They are seen gone at the poll at 120 s. Who needs no more than they
	// leave is not disturbed.
	p.times([2]float64{120, 125}, [2]float64{30, 37}, [2]float64{61, 62})
}

func TestALocalUserWithNothingToUseGoesAway(t *testing.T) {
	cfg := Config{Platform: clustersOf(t, 4), Engine: engine.DefaultConfig(), PollEvery: time.Minute,
		Disturb: users(local(5, 0, 2, 100), local(6, 0, 9, 100), local(70, 0, 1, 1))}
	p := play(t, cfg, rigid(0, 4, 50), rigid(10, 4, 5))
	p.times([2]float64{0, 50}, [2]float64{50, 55})
}

func TestAHostThatComesBackIsUsedAlthoughAClaimWasLostMeanwhile(t *testing.T) {
	d := users(local(10, 0, 1, 1e6))
	d.Hosts = inTurn(HostChange{At: core.AtSecond(5), Cluster: 0, Host: 0},
		HostChange{At: core.AtSecond(30), Cluster: 0, Host: 0, Up: true})
	cfg := Config{Platform: clustersOf(t, 4), Engine: engine.DefaultConfig(), PollEvery: time.Minute, Disturb: d}
	p := play(t, cfg, rigid(20, 3, 5))
	// One of four hosts is down and one in use when the claim of three is lost.
	// With the first there again, three are free.
	p.times([2]float64{30, 35})
}

func TestGrowingTakesWhatALocalUserHasLeftAndTheRestLater(t *testing.T) {
	a := &app.App{Name: "a", Speedup: app.Linear{}}
	cfg := Config{Platform: clustersOf(t, 8), Engine: policies(engine.PRA, "fpsma"), PollEvery: 100 * second,
		Disturb: users(local(50, 0, 4, 40))}
	p := play(t, cfg, initially(2, elastic(60, 1, 8, a, 240)))
	// It is offered 6 more, of which a local user has 4; he is seen gone at
	// 100 s, when 160 are done.
	p.same("sizes", p.sizes(1), "60 2, 60 +2, 100 +4")
	p.times([2]float64{60, 110})
}
