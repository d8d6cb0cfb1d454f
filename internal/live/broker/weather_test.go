package broker

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/fake"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/broker/transfer"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/live/store/memory"
	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/observe/weather"
	"github.com/godwit-hpc/godwit/internal/observe/weather/measured"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// sensing is a driver with a sensor.
type sensing struct{ *fake.Driver }

func (sensing) MeasureHosts(context.Context, driver.Sensing) (driver.Sensed, error) {
	return driver.Sensed{}, errors.ErrUnsupported
}

// sites is a broker of three clusters, two of which see the same files.
func sites() *Broker {
	b := new(Broker)
	for i, c := range []Cluster{{Name: "near"}, {Name: "leeds", Site: "leeds"}, {Name: "leeds-long", Site: "leeds"}} {
		b.putCluster(newCluster(c, core.ClusterID(i)))
	}
	return b
}

// underTheSky is a broker with clusters near, leeds and leeds-long that measures.
func underTheSky(t *testing.T, w weather.Settings) (*Broker, string) {
	t.Helper()
	b := sites()
	b.opt.Store, b.opt.Weather = memory.New(), w
	b.opt.Clock = clock.RealClock()
	b.began = b.opt.Clock()
	b.base = core.Time(b.began.UnixNano())
	b.mover = transfer.NewMover(transferGrid{b}, b.opt.Store, slog.New(slog.DiscardHandler))
	for _, c := range b.allClusters() {
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
	b, here := underTheSky(t, weather.Settings{})
	if b.weather.watch == nil || len(b.weather.hosts) != 2 || b.weather.proxy["leeds"] != "leeds1" ||
		b.weather.proxy["leeds-long"] != "leeds1" || b.weather.proxy["near"] != here {
		t.Fatalf("%+v", b.weather.hosts)
	}
	const mb = 1 << 20
	rows := []history.Transfer{{What: history.StageIn, To: "leeds", Sent: 50 * mb, Seconds: 1}}
	if err := b.opt.Store.CommitBatch(t.Context(), &store.Batch{Transfers: rows}); err != nil {
		t.Fatal(err)
	}
	in := []store.Input{{Input: wire.Input{Path: "/x"}, Site: "near", Size: 100 * mb}}
	leeds := b.clusterNamed("leeds")
	before := b.mover.BringTimes(t.Context(), in)[leeds.id]
	for i := range 20 {
		// 10 MB/s
		b.weather.book.AddValue(weather.Key{What: measured.Mbps, From: here, To: "leeds1"},
			b.brokerTime().Add(time.Duration(i-20)*time.Minute), 80)
	}
	took := b.mover.BringTimes(t.Context(), in)[leeds.id].Seconds()
	if want := 100 * mb / 10e6; math.Abs(took-want) > 0.15*want || before.Seconds() > 5 {
		t.Errorf("it is expected to take %.1f s, want %.1f; before it was %v", took, want, before)
	}
}

// noted is what transfers that have ended achieved.
func noted(b *Broker) []weather.Entry {
	b.weather.noteGone(b.brokerTime(), 0)
	return b.weather.book.TakeFresh()
}

func TestTransfersThatGoAtTheSameTimeCountTogether(t *testing.T) {
	b, _ := underTheSky(t, weather.Settings{})
	way, at := [2]string{"leeds1", "here"}, b.brokerTime()
	second := func(n int) core.Time { return at.Add(time.Duration(n) * time.Second) }
	for i := range 10 { // a tenth of the way each
		b.weather.addTransfer(way, second(20+i), time.Duration(20+i)*time.Second, 25_000_000)
	}
	b.weather.noteGone(second(30), 5*time.Second)
	if list := b.weather.book.TakeFresh(); len(list) > 0 {
		t.Errorf("another may be on its way, and %+v is noted", list)
	}
	b.weather.addTransfer(way, second(35), 5*time.Second, 25_000_000) // when they were through
	b.weather.noteGone(second(40), 5*time.Second)
	for i := range 100 { // without an end
		b.weather.addTransfer(way, second(50+i), 10*time.Second, 12_500_000)
	}
	list := b.weather.book.TakeFresh()
	if len(list) < 3 || math.Abs(list[0].Value-2000./29) > 1e-6 || math.Abs(list[1].Value-40) > 1e-6 {
		t.Fatalf("%+v", list)
	}
	for _, e := range list[2:] {
		if e.Value < 80 || e.Value > 100 {
			t.Errorf("it noted %v Mbit/s", e.Value)
		}
	}
}

func TestWhatTransfersAchieveIsNoted(t *testing.T) {
	b, here := underTheSky(t, weather.Settings{})
	b.opt.Moved("leeds", "", 20_000_000, 2*time.Second)
	b.opt.Moved("", "leeds-long", 100, time.Second)            // too little to tell
	b.opt.Moved("", "near", 20_000_000, 2*time.Second)         // it did not go anywhere
	b.opt.Moved("nowhere", "leeds", 20_000_000, 2*time.Second) // nobody knows where that is
	b.opt.Moved("", "leeds", 3_000_000, 2*time.Second)         // most of that may have been to find each other
	b.opt.Moved("leeds-long", "", 1e15, time.Millisecond)      // nobody believes that
	list := noted(b)
	if len(list) != 1 || list[0].From != "leeds1" || list[0].To != here || math.Abs(list[0].Value-80) > 1e-9 {
		t.Errorf("%+v", list)
	}
}

// carrier is a driver that moves 20 MB of whatever it is asked for, and says that
// they were under way for a second, though it takes next to no time.
type carrier struct {
	sensing
	err error
}

func (c *carrier) moved() (driver.Moved, error) {
	return driver.Moved{Tree: "t", Bytes: 50_000_000, Sent: 20_000_000, Took: time.Second}, c.err
}
func (c *carrier) StatFile(context.Context, string) (driver.File, error) {
	return driver.File{Size: 50_000_000}, nil
}
func (c *carrier) PushFiles(context.Context, string) (driver.Moved, error)       { return c.moved() }
func (c *carrier) BringTree(context.Context, string) (driver.Moved, error)       { return c.moved() }
func (c *carrier) TakeOffer(context.Context, driver.Offer) (driver.Moved, error) { return c.moved() }
func (c *carrier) PlaceResults(context.Context, driver.ResultPlacement) ([]driver.Placed, error) {
	return nil, nil
}
func (c *carrier) DropResults(context.Context, string) error { return nil }
func (c *carrier) OfferFiles(context.Context, driver.FileRequest) (driver.Offer, func(), error) {
	return driver.Offer{}, func() {}, nil
}

// toldJob is a job that is given up as soon as its files wait for a cluster.
type toldJob struct {
	transfer.Job
	cancel func()
	waits  bool
}

func (j *toldJob) ExplainMove(string, string, string) {
	j.waits = true
	j.cancel()
}
func (j *toldJob) NoteMove(transfer.Report) {}

func TestWhatResultsAchieveThatAreLeftElsewhereIsNoted(t *testing.T) {
	for _, c := range []struct {
		name, from, to string
		indirect       bool
		err            error
		want           []string // ways, "broker" being its own machine
	}{
		{name: "from one site to another", from: "leeds", to: "york", want: []string{"leeds1 york1"}},
		{name: "through the broker", from: "leeds", to: "york", indirect: true,
			want: []string{"broker york1", "leeds1 broker"}},
		{name: "from where the broker is", from: "near", to: "york", want: []string{"broker york1"}},
		{name: "to where the broker is", from: "leeds", to: "near", want: []string{"leeds1 broker"}},
		{name: "cut off", from: "leeds", to: "near", err: driver.ErrAway},
	} {
		b, here := underTheSky(t, weather.Settings{})
		b.putCluster(newCluster(Cluster{Name: "york", Site: "york", Indirect: c.indirect}, 3))
		b.weather.proxy["york"] = "york1"
		for _, cl := range b.allClusters() {
			cl.Driver = &carrier{err: c.err}
		}
		ctx, cancel := context.WithCancel(t.Context())
		told := &toldJob{cancel: cancel}
		err := b.mover.LeaveResults(ctx, told, []jobfile.FarOutput{{From: "out", To: c.to + ":out"}}, c.from, "/aside")
		if (err == nil) != (c.err == nil) || told.waits != (c.err != nil) {
			t.Fatal(err)
		}
		var got []string
		for _, e := range noted(b) {
			got = append(got, strings.ReplaceAll(e.From+" "+e.To, here, "broker"))
			if math.Abs(e.Value-160) > 1e-9 {
				t.Errorf("%s: %s went at %v Mbit/s", c.name, got, e.Value)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: noted is %q, want %q", c.name, got, c.want)
		}
	}
}

func TestWhatFilesOfJobsAchieveOnTheirWayIsNoted(t *testing.T) {
	b, here := underTheSky(t, weather.Settings{})
	b.recordCarried("leeds", "", wire.Carried{Bytes: 20_000_000, Took: 2 * time.Second})
	b.recordCarried("leeds", "", wire.Carried{Bytes: 20_000_000})                       // it was interrupted
	b.recordCarried("leeds", "", wire.Carried{Took: 2 * time.Second})                   // nothing was new
	b.recordCarried("near", "", wire.Carried{Bytes: 20_000_000, Took: 2 * time.Second}) // it went nowhere
	list := noted(b)
	if len(list) != 1 || list[0].From != "leeds1" || list[0].To != here || math.Abs(list[0].Value-80) > 1e-9 {
		t.Errorf("%+v", list)
	}
}

func TestNoWayIsProbedWhereThatIsNotWanted(t *testing.T) {
	b, here := underTheSky(t, weather.Settings{Off: true})
	if !b.weather.watch.Unprobed || b.WeatherForecast(0).Watching != 2 {
		t.Errorf("ways are probed; %d machines are looked at, want 2", b.WeatherForecast(0).Watching)
	}
	if b.opt.Moved("", "leeds", 20_000_000, 2*time.Second); len(noted(b)) != 1 {
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
	if way, ok := b.wayBetween("", "leeds"); !ok || math.Abs(transfer.RateOf(way)-1e6) > 1 {
		t.Errorf("%v bytes/s", transfer.RateOf(way))
	}
	b.opt.Weather.Network = file + ".gone"
	if err := b.openWeather(t.Context()); err == nil {
		t.Error("a file that is not there is no mistake")
	}
}

func TestTheShareOfAProcessorIsForetoldUnlessItIsOtherwiseNow(t *testing.T) {
	b, _ := underTheSky(t, weather.Settings{})
	leeds := b.clusterNamed("leeds")
	if b.shareAhead(leeds, driver.Load{Share: 0.5}).IsKnown() {
		t.Error("it is known without having been measured")
	}
	for i := range 20 {
		b.weather.book.AddValue(weather.Key{What: measured.CPU, From: "leeds1"},
			b.brokerTime().Add(time.Duration(i-20)*30*time.Second), 0.5)
	}
	if d := b.shareAhead(leeds, driver.Load{Share: 0.52}); !d.IsKnown() || math.Abs(d.Median()-0.5) > 0.05 {
		t.Errorf("%+v", d)
	}
	if b.shareAhead(leeds, driver.Load{Share: 0.9}).IsKnown() {
		t.Error("what is now does not count")
	}
}

// What is measured of a machine is of the cluster that its sensor looks at: another
// on the same machine may have other processors of it.
func TestTheShareOfAClusterIsNotThatOfAnotherOnTheSameMachine(t *testing.T) {
	b, here := underTheSky(t, weather.Settings{})
	b.weather.proxy["beside"] = here
	beside := &cluster{Cluster: Cluster{Name: "beside", HostNames: []string{"beside1"}}}
	for i := range 20 {
		at := b.brokerTime().Add(time.Duration(i-20) * 30 * time.Second)
		b.weather.book.AddValue(weather.Key{What: measured.CPU, From: here}, at, 0.5)
		b.weather.book.AddValue(weather.Key{What: measured.CPU, From: "leeds1"}, at, 0.5)
	}
	for _, c := range []struct {
		cluster *cluster
		known   bool
	}{{b.clusterNamed("near"), true}, {beside, false}, {b.clusterNamed("leeds"), true},
		{b.clusterNamed("leeds-long"), false}} {
		if d := b.shareAhead(c.cluster, driver.Load{Share: 0.5}); d.IsKnown() != c.known {
			t.Errorf("%s: %+v", c.cluster.Name, d)
		}
	}
}

func TestTheShareOfSeveralHostsIsThatOfTheBusiest(t *testing.T) {
	b, _ := underTheSky(t, weather.Settings{})
	leeds := b.clusterNamed("leeds")
	leeds.HostNames = []string{"leeds1", "leeds2"}
	measure := func(host string, share float64) {
		for i := range 20 {
			b.weather.book.AddValue(weather.Key{What: measured.CPU, From: host},
				b.brokerTime().Add(time.Duration(i-20)*30*time.Second), share)
		}
	}
	measure("leeds1", 0.9)
	if b.shareAhead(leeds, driver.Load{Share: 0.9}).IsKnown() {
		t.Error("it is known without one of the hosts having been measured")
	}
	measure("leeds2", 0.4)
	if d := b.shareAhead(leeds, driver.Load{Share: 0.42}); !d.IsKnown() || math.Abs(d.Median()-0.4) > 0.05 {
		t.Errorf("%+v", d)
	}
	if b.shareAhead(leeds, driver.Load{Share: 0.9}).IsKnown() {
		t.Error("what is now does not count")
	}
}
