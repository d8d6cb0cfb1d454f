// Package weather is the book of what was measured between hosts and on them:
// a series of each quantity for each pair, or host, with what it will be next and
// how far off that may be. It answers what lies between two hosts, from what was
// measured between these two, or else between others that stand for them, or from
// a description of a network that may not be measured. It must not know who
// measures, nor where the book is kept.
package weather

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/observe/weather/measured"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/forecast"
	"github.com/godwit-hpc/godwit/internal/sched/predict"
)

// Settings say what is to be measured of the network.
type Settings struct {
	Off     bool          // no way is probed; machines are looked at, which loads no link
	Every   time.Duration // a way is not measured more often; 0: as often as the budget allows
	Budget  float64       // part of each link that may be used for it; 0: the usual one
	Network string        // file that describes what may not be measured; "": none
}

// Key names a series: Mbps from one host to another, Ms between two, CPU and MB
// of one.
type Key struct {
	What     measured.Quantity
	From, To string // To is "" for what is of one host
}

// canonicalKey is the key under which the series is kept: a latency is the same in both
// directions.
func (k Key) canonicalKey() Key {
	if k.What == measured.Ms && k.From > k.To {
		k.From, k.To = k.To, k.From
	}
	return k
}

// Entry is one value of a series.
type Entry struct {
	Key
	At    core.Time
	Value float64
}

// mostSeries bounds the book: more hosts than that are not measured.
const mostSeries = 100_000

// Book is all series. It may be used by several goroutines.
type Book struct {
	mu     sync.Mutex
	series map[Key]*forecast.Forecaster
	sites  map[string]string // of hosts
	static *static           // nil: there is none
	fresh  []Entry           // not taken yet
}

// NewBook is an empty book.
func NewBook() *Book {
	return &Book{series: map[Key]*forecast.Forecaster{}, sites: map[string]string{}}
}

// PlaceHost says at which site a host is: hosts of two sites share the way between
// them.
func (b *Book) PlaceHost(host, site string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sites[host] = site
}

// AddValue adds a value that was just measured. One that cannot be, or is not later
// than the one before, is dropped.
func (b *Book) AddValue(k Key, at core.Time, value float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := (Entry{k.canonicalKey(), at, value}); b.putEntry(e) {
		b.fresh = append(b.fresh, e)
	}
}

// LoadEntries adds values of before, in the order of their times.
func (b *Book) LoadEntries(list []Entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range list {
		b.putEntry(e)
	}
}

func (b *Book) putEntry(e Entry) bool {
	f := b.series[e.Key]
	if f == nil {
		if len(b.series) >= mostSeries || e.From == "" || e.From == e.To {
			return false
		}
		f = forecast.New(e.What.ForecastConfig())
	}
	if f.AddValue(e.At, e.Value) != nil {
		return false
	}
	b.series[e.Key] = f
	return true
}

// TakeFresh is what was added since it was asked last: to be kept.
func (b *Book) TakeFresh() []Entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := b.fresh
	b.fresh = nil
	return list
}

// ForgetSince drops series of which nothing was heard since.
func (b *Book) ForgetSince(since core.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for k, f := range b.series { // order-free: each on its own
		if at, _, ok := f.LastValue(); ok && at < since {
			delete(b.series, k)
		}
	}
}

// Series is one series as it is now.
type Series struct {
	Key
	Values int
	At     core.Time // of the last value
	Last   float64
	Step   time.Duration // usual time between values
	Next   forecast.Forecast
}

// Uncertainty is the error to be expected, as a part of the forecast.
func (s *Series) Uncertainty() float64 {
	if s.Next.Value <= 0 {
		return 1
	}
	return min(1, s.Next.Error/s.Next.Value)
}

// spreadOf is the uncertainty as the standard deviation of a logarithm.
func (s *Series) spreadOf() float64 { return max(0.05, 1.25*s.Uncertainty()) }

// AllSeries are all series, by quantity and name, with the forecast of the mean from
// now on over some time.
func (b *Book) AllSeries(now core.Time, over time.Duration) []Series {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := make([]Series, 0, len(b.series))
	for k, f := range b.series {
		list = append(list, forecastSeries(k, f, now, over))
	}
	order := measured.AllQuantities()
	slices.SortFunc(list, func(x, y Series) int {
		return cmp.Or(cmp.Compare(slices.Index(order, x.What), slices.Index(order, y.What)), cmp.Compare(x.From, y.From),
			cmp.Compare(x.To, y.To))
	})
	return list
}

func forecastSeries(k Key, f *forecast.Forecaster, now core.Time, over time.Duration) Series {
	s := Series{Key: k, Values: f.Len(), Step: f.UsualStep()}
	s.At, s.Last, _ = f.LastValue()
	s.Next, _ = f.ForecastUntil(max(now, s.At).Add(over))
	return s
}

// FindSeries is one series; false if there is none.
func (b *Book) FindSeries(k Key, now core.Time, over time.Duration) (Series, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.findSeries(k, now, over)
}

func (b *Book) findSeries(k Key, now core.Time, over time.Duration) (Series, bool) {
	k = k.canonicalKey()
	f := b.series[k]
	if f == nil {
		return Series{}, false
	}
	return forecastSeries(k, f, now, over), true
}

// ShareOfCPU is the share of a processor that a newcomer will have on a host in the
// mean over some time; unknown if too little was measured.
func (b *Book) ShareOfCPU(host string, now core.Time, over time.Duration) predict.Dist {
	const few = 5
	s, ok := b.FindSeries(Key{What: measured.CPU, From: host}, now, over)
	if !ok || s.Values < few || now.Sub(s.At) > tooOld {
		return predict.Dist{}
	}
	return s.Next.Dist
}

// tooOld is after how long a measurement says little about now.
const tooOld = 15 * time.Minute
