package daemon_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/driver/remote/sshdtest"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// The broker measures between itself and the machines it reaches, says what it
// found, and knows it again after a restart.
func TestTheBrokerMeasuresTheWayToItsSites(t *testing.T) {
	s := sshdtest.Start(t)
	b := up(t, nearAndFar(t, s, "")+"weather: {probe: 1s, budget: 1%}\n").reached()
	has := func(w *api.Weather, what string, n int) bool {
		found := 0
		for _, x := range w.Series {
			if x.What == what && x.Last >= 0 && x.Values > 0 {
				found++
			}
		}
		return found >= n
	}
	known := func(w *api.Weather) bool {
		return has(w, "mbps", 2) && has(w, "ms", 1) && has(w, "cpu", 2) && has(w, "mb", 2)
	}
	weather := func(since time.Duration) *api.Weather {
		w, err := b.client.GetWeather(t.Context(), time.Minute, since)
		if err != nil {
			t.Fatal(err)
		}
		return &w
	}
	until := func(what string, holds func() bool) {
		t.Helper()
		clocktest.WaitFor(t, what, holds, func() string { return fmt.Sprintf("%+v", weather(0)) })
	}
	until("the first measurements", func() bool { return known(weather(0)) })
	until("them to be kept", func() bool { return len(weather(time.Hour).Readings) >= 3 })
	g, err := b.client.WeatherGraph(t.Context(), "", 0)
	if err != nil || len(g.Hosts) != 2 || len(g.Links) != 1 || g.Links[0].Mbps <= 0 {
		t.Errorf("%+v %v", g, err)
	}
	if _, err := b.client.WeatherGraph(t.Context(), "fra", 0); err == nil || !strings.Contains(err.Error(), "far") {
		t.Errorf("%v", err)
	}
	hosts, err := b.client.ListHosts(t.Context(), "")
	if err != nil || len(hosts) != 2 {
		t.Fatalf("%+v %v", hosts, err)
	}
	for _, h := range hosts {
		if h.State != "up" || h.Cores == nil || *h.Cores < 1 || h.Free == nil || *h.Free != *h.Cores || h.Share == nil ||
			h.Memory == nil || *h.Memory < 1<<20 {
			t.Errorf("%+v", h)
		}
	}
	if list, err := b.client.ListHosts(t.Context(), "far"); err != nil || len(list) != 1 || list[0].Cluster != "far" {
		t.Errorf("%+v %v", list, err)
	}
	type series struct{ what, from, to string }
	kept := map[series]int{}
	for _, x := range weather(time.Hour).Readings {
		kept[series{x.What, x.From, x.To}]++
	}
	b.down()
	b.start()
	until("both sensors after a restart", func() bool { return weather(0).Sensors == 2 })
	w := weather(0)
	for s, n := range kept {
		if !slices.ContainsFunc(w.Series,
			func(x api.WeatherSeries) bool { return series{x.What, x.From, x.To} == s && x.Values >= n }) {
			t.Errorf("after a restart it does not know %d values of %v: %+v", n, s, w.Series)
		}
	}
	if len(kept) < 3 {
		t.Errorf("of %d series values were kept", len(kept))
	}
}

// A machine is looked at also where it is the only one, and no way is probed.
func TestTheBrokerLooksAtItsOwnMachineWithoutAnyOther(t *testing.T) {
	b := up(t, "clusters:\n  - {name: near, cpus: [0], slots: 4}\nweather: {probe: off}\n")
	var w api.Weather
	clocktest.WaitFor(t, "what was measured to be kept", func() bool {
		var err error
		if w, err = b.client.GetWeather(t.Context(), 0, time.Hour); err != nil {
			t.Fatal(err)
		}
		return len(w.Readings) >= 2
	}, func() string { return fmt.Sprintf("%+v", w) })
	if len(w.Series) != 2 || w.Series[0].What != "cpu" || w.Series[1].What != "mb" || w.Sensors != 1 {
		t.Errorf("%+v", w)
	}
}

// What a job's files achieve on their way there and back is measured, though nothing
// is probed.
func TestTheFilesOfAJobTellOfTheirWay(t *testing.T) {
	s := sshdtest.Start(t)
	b := up(t, nearAndFar(t, s, "")+"weather: {probe: off}\n")
	spec := job("/bin/sh", "-c", "head -c 20000000 /dev/urandom >new")
	spec.Workdir, spec.On = t.TempDir(), []string{"far"}
	large(t, filepath.Join(spec.Workdir, "data"), 1, 20_000_000)
	if j := b.end(b.submit(spec)); j.State != core.Done {
		t.Fatalf("it is %s: %s", j.State, j.Why)
	}
	var w api.Weather
	clocktest.WaitFor(t, "two ways", func() bool {
		var err error
		if w, err = b.client.GetWeather(t.Context(), 0, 0); err != nil {
			t.Fatal(err)
		}
		ways := 0
		for _, x := range w.Series {
			if x.What == "mbps" && x.Values == 1 && x.Last > 0 {
				ways++
			}
		}
		return ways == 2
	}, func() string { return fmt.Sprintf("known is %+v", w.Series) })
}
