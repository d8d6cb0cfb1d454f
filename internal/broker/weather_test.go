package broker

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/agent/wire"
	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/core"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/fake"
	"github.com/godwit-hpc/godwit/internal/history"
	"github.com/godwit-hpc/godwit/internal/store"
	"github.com/godwit-hpc/godwit/internal/store/memory"
	"github.com/godwit-hpc/godwit/internal/weather"
	"github.com/godwit-hpc/godwit/internal/weather/measured"
)

// sensing is a driver with a sensor.
type sensing struct{ *fake.Driver }

func (sensing) Sense(context.Context, driver.Sensing) (driver.Sensed, error) {
	return driver.Sensed{}, errors.ErrUnsupported
}

// underTheSky is a broker with clusters near, leeds and leeds-long that measures.
func underTheSky(t *testing.T, w Weather) (*Broker, string) {
	t.Helper()
	b := sites()
	b.opt.Store, b.opt.Weather = memory.New(), w
	b.opt.Clock = clock.Real()
	b.began = b.opt.Clock()
	b.base = core.Time(b.began.UnixNano())
	for _, c := range b.clusters {
		c.Driver = sensing{}
		c.HostNames = []string{c.Name + "1"}
	}
	if err := b.openWeather(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.closeWeather)
	return b, b.weather.proxy[""]
}

func TestTransfersAreExpectedToBeAsFastAsTheWayIs(t *testing.T) {
	b, here := underTheSky(t, Weather{})
	if b.weather.watch == nil || len(b.weather.hosts) != 2 || b.weather.proxy["leeds"] != "leeds1" || b.weather.proxy["leeds-long"] != "leeds1" || b.weather.proxy["near"] != here {
		t.Fatalf("%+v", b.weather)
	}
	const mb = 1 << 20
	rows := []history.Transfer{{What: history.StageIn, To: "leeds", Sent: 50 * mb, Seconds: 1}}
	in := &store.Input{Site: "near", Path: "/x", Size: 100 * mb}
	leeds := b.clusterNamed("leeds")
	before, spread := b.bringTime(t.Context(), rows, in, leeds), b.bringSpread(leeds)
	for i := range 20 {
		b.weather.book.Add(weather.Key{What: measured.Mbps, From: here, To: "leeds1"}, b.now().Add(time.Duration(i-20)*time.Minute), 80) // 10 MB/s
	}
	took := b.bringTime(t.Context(), rows, in, leeds).Seconds()
	if want := 100 * mb / 10e6; math.Abs(took-want) > 0.15*want || before.Seconds() > 5 {
		t.Errorf("it is expected to take %.1f s, want %.1f; before it was %v", took, want, before)
	}
	if s := b.bringSpread(leeds); s >= spread || s <= 0 {
		t.Errorf("the spread is %v, before it was %v", s, spread)
	}
}

func TestWhatTransfersAchieveIsNoted(t *testing.T) {
	b, here := underTheSky(t, Weather{})
	b.opt.Moved("leeds", "", 20_000_000, 2*time.Second)
	b.opt.Moved("", "leeds-long", 100, time.Second)            // too little to tell
	b.opt.Moved("", "near", 20_000_000, 2*time.Second)         // it did not go anywhere
	b.opt.Moved("nowhere", "leeds", 20_000_000, 2*time.Second) // nobody knows where that is
	b.opt.Moved("", "leeds", 3_000_000, 2*time.Second)         // most of that may have been to find each other
	list := b.weather.book.Take()
	if len(list) != 1 || list[0].From != "leeds1" || list[0].To != here || math.Abs(list[0].Value-80) > 1e-9 {
		t.Errorf("%+v", list)
	}
}

func TestWhatCheckpointsAchieveOnTheirWayIsNoted(t *testing.T) {
	b, here := underTheSky(t, Weather{})
	b.sawSaved("leeds", &wire.Saved{Bytes: 50_000_000, Moved: 20_000_000, Took: 5 * time.Second, Sending: 2 * time.Second})
	b.sawSaved("leeds", &wire.Saved{Bytes: 50_000_000, Moved: 20_000_000, Took: 5 * time.Second})   // it was interrupted
	b.sawSaved("leeds", &wire.Saved{Bytes: 50_000_000, Sending: 2 * time.Second})                   // nothing was new
	b.sawSaved("near", &wire.Saved{Bytes: 50_000_000, Moved: 20_000_000, Sending: 2 * time.Second}) // it went nowhere
	list := b.weather.book.Take()
	if len(list) != 1 || list[0].From != "leeds1" || list[0].To != here || math.Abs(list[0].Value-80) > 1e-9 {
		t.Errorf("%+v", list)
	}
}

func TestNothingIsMeasuredWhereThatIsNotWanted(t *testing.T) {
	b, here := underTheSky(t, Weather{Off: true})
	if b.weather.watch != nil || b.Weather(0).Watching != 0 {
		t.Error("it is")
	}
	if b.opt.Moved("", "leeds", 20_000_000, 2*time.Second); len(b.weather.book.Take()) != 1 {
		t.Error("what a transfer achieved is not noted")
	}
	b.weather = forecasts{}
	b.opt.Moved = nil
	file := filepath.Join(t.TempDir(), "net.csv")
	if err := os.WriteFile(file, []byte(here+",leeds\n0,8\n8,0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.opt.Weather.Network = file
	if err := b.openWeather(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r, ok := b.weatherRate("", "leeds"); !ok || math.Abs(r-1e6) > 1 {
		t.Errorf("%v bytes/s", r)
	}
	b.opt.Weather.Network = file + ".gone"
	if err := b.openWeather(t.Context()); err == nil {
		t.Error("a file that is not there is no mistake")
	}
}

func TestTheShareOfAProcessorIsForetoldUnlessItIsOtherwiseNow(t *testing.T) {
	b, _ := underTheSky(t, Weather{})
	leeds := b.clusterNamed("leeds")
	if b.shareAhead(leeds, driver.Load{Share: 0.5}).Known() {
		t.Error("it is known without having been measured")
	}
	for i := range 20 {
		b.weather.book.Add(weather.Key{What: measured.CPU, From: "leeds1"}, b.now().Add(time.Duration(i-20)*30*time.Second), 0.5)
	}
	if d := b.shareAhead(leeds, driver.Load{Share: 0.52}); !d.Known() || math.Abs(d.Median()-0.5) > 0.05 {
		t.Errorf("%+v", d)
	}
	if b.shareAhead(leeds, driver.Load{Share: 0.9}).Known() {
		t.Error("what is now does not count")
	}
}

func TestTheShareOfSeveralHostsIsThatOfTheBusiest(t *testing.T) {
	b, _ := underTheSky(t, Weather{})
	leeds := b.clusterNamed("leeds")
	leeds.HostNames = []string{"leeds1", "leeds2"}
	measure := func(host string, share float64) {
		for i := range 20 {
			b.weather.book.Add(weather.Key{What: measured.CPU, From: host}, b.now().Add(time.Duration(i-20)*30*time.Second), share)
		}
	}
	measure("leeds1", 0.9)
	if b.shareAhead(leeds, driver.Load{Share: 0.9}).Known() {
		t.Error("it is known without one of the hosts having been measured")
	}
	measure("leeds2", 0.4)
	if d := b.shareAhead(leeds, driver.Load{Share: 0.42}); !d.Known() || math.Abs(d.Median()-0.4) > 0.05 {
		t.Errorf("%+v", d)
	}
	if b.shareAhead(leeds, driver.Load{Share: 0.9}).Known() {
		t.Error("what is now does not count")
	}
}
