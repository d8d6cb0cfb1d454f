package broker

import (
	"cmp"
	"context"
	"math"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/observe/weather"
	"github.com/godwit-hpc/godwit/internal/observe/weather/measured"
	"github.com/godwit-hpc/godwit/internal/observe/weather/sensor"
	"github.com/godwit-hpc/godwit/internal/observe/weather/watch"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/forecast"
	"github.com/godwit-hpc/godwit/internal/sched/predict"
	"github.com/godwit-hpc/godwit/internal/sched/probeplan"
)

// forecasts is the weather as the broker knows it.
type forecasts struct {
	book   *weather.Book
	watch  *watch.Watch
	hosts  []watch.Host      // with a sensor, the broker's own first
	whose  []string          // cluster of each of them; "": the broker's own machine
	own    string            // cluster of the broker's own machine whose processors are looked at; "": none
	proxy  map[string]string // by cluster: the host that stands for it; "" is the broker's own machine
	sensor *sensor.Sensor    // on this machine
	moved  func(string, string, int64, time.Duration)

	mu    sync.Mutex
	going map[[2]string]*sharedTransfer // by way
}

// sharedTransfer is what went over a way at the same time: each transfer by itself would tell
// of its part of it.
type sharedTransfer struct {
	from, to core.Time
	bytes    int64
}

const (
	// rebuiltFrom is how many values of each series are played again at the start:
	// as many as forecasters look back.
	rebuiltFrom = 300
	// Values are kept as they are for a day, and then one in ten minutes for two weeks.
	readingsMaxAge   = 24 * time.Hour
	thinnedInterval  = 10 * time.Minute
	thinnedMaxAge    = 14 * 24 * time.Hour
	readingInterval  = 5 * time.Second
	thinningInterval = time.Hour
	// So long transfers that overlap may go on until what they achieve is noted.
	maxOverlap = time.Minute
	// Nobody believes that a way carries more.
	maxMbps = 1e6
)

// openWeather reads what was measured before and sees who can measure.
func (b *Broker) openWeather(ctx context.Context) error {
	w := &b.weather
	w.book = weather.NewBook()
	if file := b.opt.Weather.Network; file != "" {
		if err := w.book.ReadDescription(file); err != nil {
			return err
		}
	}
	rows, err := b.opt.Store.ListReadings(ctx, store.Series{Newest: rebuiltFrom})
	if err != nil {
		return err
	}
	entries := make([]weather.Entry, 0, len(rows))
	for _, r := range rows {
		entries = append(entries, weather.Entry{Key: weather.Key{What: measured.Quantity(r.What), From: r.From, To: r.To},
			At: r.At, Value: r.Value})
	}
	w.book.LoadEntries(entries)
	b.findSensors()
	w.watch = watch.New(watch.Options{Hosts: w.hosts, Book: w.book, Unprobed: b.opt.Weather.Off, Now: b.brokerTime,
		Log:  b.opt.Log,
		Plan: probeplan.Config{Budget: b.opt.Weather.Budget, Every: b.opt.Weather.Every}})
	w.going = map[[2]string]*sharedTransfer{}
	w.moved = b.opt.Moved
	b.opt.Moved = b.recordTransfer
	return nil
}

// findSensors finds the hosts that can measure: this machine, and those that an
// outpost runs on. Of a cluster with a manager that is the one from which jobs are
// submitted; it goes by the cluster's name.
func (b *Broker) findSensors() {
	w := &b.weather
	name, err := os.Hostname()
	if err != nil {
		name = "localhost"
	}
	var load func(context.Context) (driver.Load, error)
	for _, c := range b.allClusters() {
		if c.Site == "" && !c.Managed && load == nil {
			load, w.own = c.Driver.MeasureLoad, c.Name
		}
	}
	w.sensor = sensor.New(load, b.opt.Clock)
	w.proxy = map[string]string{"": name}
	b.addSensor(watch.Host{Name: name, Sensor: w.sensor, Machine: load != nil}, "")
	sites := map[string]string{"": name}
	for _, c := range b.allClusters() {
		if at, known := sites[c.Site]; known {
			w.proxy[c.Name] = at
			continue
		}
		for i, s := range sensorsOf(c) {
			if s == nil {
				continue
			}
			h := watch.Host{Name: c.Name, Site: c.Site, Sensor: s, Machine: !c.Managed}
			if !c.Managed && i < len(c.HostNames) {
				h.Name, h.Reach = c.HostNames[i], c.HostNames[i]
			}
			at := b.addSensor(h, c.Name)
			if _, known := sites[c.Site]; !known {
				sites[c.Site], w.proxy[c.Name] = at, at
			}
		}
	}
}

// sensorsOf are the sensors of a cluster, by host.
func sensorsOf(c *cluster) []driver.Sensor {
	switch d := c.Driver.(type) {
	case interface{ HostSensors() []driver.Sensor }:
		return d.HostSensors()
	case driver.Sensor:
		return []driver.Sensor{d}
	}
	return nil
}

// addSensor takes a host in, under a name that no other has.
func (b *Broker) addSensor(h watch.Host, cluster string) string {
	w := &b.weather
	for _, o := range w.hosts {
		if o.Name == h.Name {
			h.Name = cluster + "/" + h.Name
		}
	}
	w.hosts, w.whose = append(w.hosts, h), append(w.whose, cluster)
	w.book.PlaceHost(h.Name, h.Site)
	return h.Name
}

// watchWeather measures, and keeps what was measured, until the broker ends.
func (b *Broker) watchWeather(ctx context.Context) {
	w := &b.weather
	b.runUntilStopped(w.watch.Run)
	thinned := b.brokerTime()
	for clock.SleepContext(ctx, readingInterval) {
		var thin *store.Thin
		if now := b.brokerTime(); now.Sub(thinned) > thinningInterval {
			thinned = now
			thin = &store.Thin{Before: now.Add(-readingsMaxAge), Step: thinnedInterval, Drop: now.Add(-thinnedMaxAge)}
			w.book.ForgetSince(now.Add(-thinnedMaxAge))
		}
		w.noteGone(b.brokerTime(), readingInterval)
		if list := w.book.TakeFresh(); len(list) > 0 || thin != nil {
			b.postToLoop(func(t *turn) {
				for _, e := range list {
					t.batch.Weather = append(t.batch.Weather,
						store.Reading{What: string(e.What), From: e.From, To: e.To, At: e.At, Value: e.Value})
				}
				t.batch.Thin = thin
			})
		}
	}
}

func (b *Broker) closeWeather() { _ = b.weather.sensor.Close() }

// recordTransfer takes in a transfer that has just ended. What it achieved is noted when
// no other can have gone at the same time.
func (b *Broker) recordTransfer(from, to string, bytes int64, took time.Duration) {
	w := &b.weather
	a, known := w.proxy[from]
	z, alsoKnown := w.proxy[to]
	if known && alsoKnown && a != z && bytes >= history.MinMeasuredBytes && megabitsPerSecond(bytes, took) < maxMbps {
		w.addTransfer([2]string{a, z}, b.brokerTime(), took, bytes)
	}
	if w.moved != nil {
		w.moved(from, to, bytes, took)
	}
}

// addTransfer takes in that so many bytes went over a way until now.
func (w *forecasts) addTransfer(way [2]string, now core.Time, took time.Duration, bytes int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	from := now.Add(-took)
	g := w.going[way]
	if g != nil && (from > g.to || now.Sub(g.from) > maxOverlap) {
		w.noteRate(way, g, now)
		g = nil
	}
	if g == nil {
		g = &sharedTransfer{from: from}
		w.going[way] = g
	}
	g.from, g.to, g.bytes = min(g.from, from), now, g.bytes+bytes
}

// noteGone notes what transfers achieved of which the last ended so long ago.
func (w *forecasts) noteGone(now core.Time, ago time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for way, g := range w.going { // order-free: each is of a way of its own
		if now.Sub(g.to) >= ago {
			w.noteRate(way, g, now)
			delete(w.going, way)
		}
	}
}

func (w *forecasts) noteRate(way [2]string, g *sharedTransfer, now core.Time) {
	if took := g.to.Sub(g.from); history.IsInformative(g.bytes, took) {
		rate := megabitsPerSecond(g.bytes, took)
		w.book.AddValue(weather.Key{What: measured.Mbps, From: way[0], To: way[1]}, now, rate)
		w.watch.PathMeasured(way[0], way[1], rate)
	}
}

func megabitsPerSecond(bytes int64, took time.Duration) float64 {
	return float64(bytes) * 8 / 1e6 / took.Seconds()
}

// recordCarried takes in how fast files of a job went from a cluster to another, "" being
// the broker.
func (b *Broker) recordCarried(from, to string, c wire.Carried) {
	if b.opt.Moved != nil && c.Bytes > 0 && c.Took > 0 {
		b.opt.Moved(from, to, c.Bytes, c.Took)
	}
}

// forecastSpan is how far what is forecast for a transfer or a job is looked ahead.
const forecastSpan = 10 * time.Minute

// wayBetween is what lies between two clusters, "" being the broker.
func (b *Broker) wayBetween(from, to string) (weather.PathForecast, bool) {
	w := &b.weather
	if w.book == nil {
		return weather.PathForecast{}, false
	}
	a, known := w.proxy[from]
	z, alsoKnown := w.proxy[to]
	if known && alsoKnown {
		if a == z {
			return weather.PathForecast{}, false
		}
		if way, ok := w.book.ForecastBetween(a, z, b.brokerTime(), forecastSpan); ok {
			return way, true
		}
	}
	// A file may know clusters by their own names.
	return w.book.ForecastBetween(cmp.Or(from, w.proxy[""]), cmp.Or(to, w.proxy[""]), b.brokerTime(), forecastSpan)
}

// shareAhead is the share that a newcomer will have of a processor of the
// cluster, as its hosts were of late; unknown if nothing was measured of one of
// them, or if what it is now is not like that. Of several hosts it is that of the
// busiest, as the load of now is.
func (b *Broker) shareAhead(c *cluster, now driver.Load) predict.Dist {
	w := &b.weather
	const often = 10 * time.Second
	hosts, at := b.shareHosts(c), b.brokerTime()
	var busiest predict.Dist
	var next forecast.Forecast
	for _, host := range hosts {
		k := weather.Key{What: measured.CPU, From: host}
		s, ok := w.book.FindSeries(k, at, 0)
		if !ok {
			return predict.Dist{}
		}
		if len(hosts) == 1 && at.Sub(s.At) > often {
			w.book.AddValue(k, at, min(1, max(0, now.Share)))
		}
		d := w.book.ShareOfCPU(host, at, forecastSpan)
		if !d.IsKnown() {
			return predict.Dist{}
		}
		if !busiest.IsKnown() || d.Median() < busiest.Median() {
			busiest, next = d, s.Next
		}
	}
	if math.Abs(next.Value-now.Share) > 2*(next.Error+now.Sd)+0.05 {
		return predict.Dist{}
	}
	return busiest
}

// shareHosts are the hosts of a cluster by the names that their processors are
// measured under; none if they are not.
func (b *Broker) shareHosts(c *cluster) []string {
	w := &b.weather
	if w.watch == nil || c.Managed || len(c.HostNames) == 0 {
		return nil
	}
	if len(c.HostNames) == 1 {
		// Another cluster of the same machine may have other processors of it.
		host := w.proxy[c.Name]
		i := slices.IndexFunc(w.hosts, func(h watch.Host) bool { return h.Name == host })
		if i < 0 || w.whose[i] != c.Name && (w.whose[i] != "" || w.own != c.Name) {
			return nil
		}
		return []string{host}
	}
	return b.sensorNames(c)
}

// WeatherView is what is known of the network and its hosts.
type WeatherView struct {
	Now      core.Time
	Watching int // hosts that are looked at, or between which is measured; 0: nothing is measured
	Series   []weather.Series
}

// WeatherForecast is what was measured, with forecasts of the mean over some time.
func (b *Broker) WeatherForecast(over time.Duration) WeatherView {
	w := &b.weather
	v := WeatherView{Now: b.brokerTime(), Series: w.book.AllSeries(b.brokerTime(), over)}
	ways := len(w.hosts) > 1 && !b.opt.Weather.Off
	for i := range w.hosts {
		if ways || w.hosts[i].Machine {
			v.Watching++
		}
	}
	return v
}

// WeatherReadings are the values of all series that are kept, since a moment.
func (b *Broker) WeatherReadings(ctx context.Context, since core.Time) ([]store.Reading, error) {
	return b.opt.Store.ListReadings(ctx, store.Series{Since: since})
}
