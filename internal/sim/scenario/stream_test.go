package scenario_test

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sim/scenario"
)

const day = core.Time(24 * time.Hour)

func backgroundJobs(s *scenario.Scenario, seed uint64, horizon core.Time) (all []scenario.BackgroundJob) {
	for b := s.BackgroundJobs(seed, horizon); ; {
		j, ok := b.NextJob()
		if !ok {
			return all
		}
		all = append(all, j)
	}
}

func hostChanges(s *scenario.Scenario, seed uint64, horizon core.Time) (all []scenario.HostChange) {
	for h := s.HostChanges(seed, horizon); ; {
		c, ok := h.NextChange()
		if !ok {
			return all
		}
		all = append(all, c)
	}
}

func TestBackgroundJobsComeInOrderWithinTheirBoundsAndAtTheirRate(t *testing.T) {
	s := parse(t, good+`background:
  - {cluster: vu, poisson: 5m, procs: [1, 4], run: [10m, 1h]}
  - {cluster: delft, every: 10m, procs: 2, run: 60, from: 1h, until: 90m}
`)
	counts := map[core.ClusterID]int{}
	sizes := map[int]int{}
	last := core.Time(0)
	for _, j := range backgroundJobs(s, 1, 100*day) {
		if j.At < last || j.At >= 100*day {
			t.Fatalf("a job at %v after one at %v", j.At, last)
		}
		last = j.At
		counts[j.Cluster]++
		if j.Cluster == 0 {
			sizes[j.Procs]++
			if j.Run < 10*time.Minute || j.Run > time.Hour {
				t.Fatalf("runs for %v", j.Run)
			}
		} else if want := core.AtSecond(3600 + 600*float64(counts[1]-1)); j.At != want || j.Procs != 2 ||
			j.Run != time.Minute {
			t.Fatalf("%+v, want at %v", j, want)
		}
	}
	if n := float64(counts[0]); math.Abs(n-28800) > 600 || counts[1] != 3 {
		t.Errorf("%v jobs, want about 28800 and 3", counts)
	}
	for n := 1; n <= 4; n++ {
		if sizes[n] < 6800 || sizes[n] > 7600 {
			t.Errorf("sizes %v are not drawn evenly from 1 to 4", sizes)
		}
	}
}

func TestStreamsFollowTheirSeedAndDoNotDisturbOneAnother(t *testing.T) {
	const streams = `
  - {cluster: vu, poisson: 1h, procs: [1, 4], run: [10m, 1h]}
`
	one := backgroundJobs(parse(t, good+"background:"+streams), 1, 10*day)
	again := backgroundJobs(parse(t, good+"background:"+streams), 1, 20*day)
	if !reflect.DeepEqual(one, again[:len(one)]) {
		t.Error("the same seed gives other jobs with another horizon")
	}
	if reflect.DeepEqual(one, backgroundJobs(parse(t, good+"background:"+streams), 2, 10*day)) {
		t.Error("another seed gives the same jobs")
	}
	var ofFirst []scenario.BackgroundJob
	more := parse(t, good+"background:"+streams+"  - {cluster: leiden, poisson: 1m, procs: 1, run: 1m}\n")
	for _, j := range backgroundJobs(more, 1, 10*day) {
		if j.Cluster == 0 {
			ofFirst = append(ofFirst, j)
		}
	}
	if !reflect.DeepEqual(one, ofFirst) {
		t.Error("another stream changes the first one")
	}
}

func TestAHostIsDownUntilTheLastOfItsFailuresIsOver(t *testing.T) {
	s := parse(t, good+`failures:
  - {cluster: vu, hosts: [vu1, vu2], at: 1h, for: 2h}
  - {cluster: vu, hosts: [vu1], at: 2h, for: 2h}
  - {cluster: vu, hosts: [vu1], at: 4h, for: 1h}
  - {cluster: leiden, hosts: [leiden2], at: 0}
`)
	var got []string
	for _, c := range hostChanges(s, 1, core.Never) {
		got = append(got, fmt.Sprintf("%gh %s %v", c.At.Seconds()/3600, s.Platform.Clusters[c.Cluster].Hosts[c.Host].Name,
			c.Up))
	}
	want := "0h leiden2 false, 1h vu1 false, 1h vu2 false, 3h vu2 true, 5h vu1 true"
	if strings.Join(got, ", ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), want)
	}
}

func TestHostsFailAtRandomAsOftenAndAsLongAsAsked(t *testing.T) {
	s := parse(t, good+"failures: [{cluster: vu, mtbf: 200h, repair: 10h}, {cluster: vu, hosts: [vu1], at: 5d, for: "+
		"1d}]\n")
	const horizon = 3000 * day
	changes := hostChanges(s, 3, horizon)
	var failures int
	var down [8]core.Time
	var total core.Time
	for i, c := range changes {
		if i > 0 && c.At < changes[i-1].At {
			t.Fatal("out of order")
		}
		if c.Up == (down[c.Host] == 0) {
			t.Fatalf("host %d: up %v twice", c.Host, c.Up)
		}
		if c.Up {
			total += c.At - down[c.Host]
			down[c.Host] = 0
		} else {
			failures++
			down[c.Host] = c.At
		}
	}
	perHost := float64(failures) / 8
	if want := 3000 * 24 / 210.0; math.Abs(perHost-want) > 0.1*want {
		t.Errorf("%.0f failures a host, want about %.0f", perHost, want)
	}
	if got := time.Duration(total).Hours() / float64(failures); math.Abs(got-10) > 1 {
		t.Errorf("down for %.1f h in the mean, want 10", got)
	}
	if !reflect.DeepEqual(changes, hostChanges(s, 3, horizon)) || reflect.DeepEqual(changes, hostChanges(s, 4, horizon)) {
		t.Error("failures depend on something else than the seed, or not on it")
	}
}
