package daemon_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/api"
	"github.com/godwit-hpc/godwit/internal/driver/remote/sshdtest"
)

// The broker measures between itself and the machines it reaches, says what it
// found, and knows it again after a restart.
func TestTheBrokerMeasuresTheWayToItsSites(t *testing.T) {
	s := sshdtest.Start(t)
	b := up(t, nearAndFar(t, s, "")+"weather: {probe: 1s, budget: 1%}\n")
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
		w, err := b.client.Weather(t.Context(), time.Minute, since)
		if err != nil {
			t.Fatal(err)
		}
		return &w
	}
	until := func(what string, holds func() bool) {
		t.Helper()
		for end := time.Now().Add(3 * time.Minute); !holds(); time.Sleep(100 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("waited in vain for %s: %+v", what, weather(0))
			}
		}
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
	hosts, err := b.client.Hosts(t.Context(), "")
	if err != nil || len(hosts) != 2 {
		t.Fatalf("%+v %v", hosts, err)
	}
	for _, h := range hosts {
		if h.State != "up" || h.Cores == nil || *h.Cores < 1 || h.Free == nil || *h.Free != *h.Cores || h.Share == nil || h.Memory == nil || *h.Memory < 1<<20 {
			t.Errorf("%+v", h)
		}
	}
	if list, err := b.client.Hosts(t.Context(), "far"); err != nil || len(list) != 1 || list[0].Cluster != "far" {
		t.Errorf("%+v %v", list, err)
	}
	before := weather(0)
	b.down()
	b.start()
	w := weather(0)
	for _, x := range w.Series {
		same := func(y api.WeatherSeries) bool { return y.What == x.What && y.From == x.From && y.To == x.To }
		if i := slices.IndexFunc(before.Series, same); i < 0 || x.Values+1 < before.Series[i].Values {
			t.Errorf("after a restart it knows %+v", x)
		}
	}
	if len(w.Series) < len(before.Series) || w.Sensors != 2 {
		t.Errorf("after a restart it knows %+v", w)
	}
}
