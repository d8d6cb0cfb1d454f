package memory

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

type readingID struct {
	what, from, to string
	at             core.Time
}

func (d *Disk) putWeather(b *store.Batch) {
	for _, r := range b.Weather {
		d.weather[readingID{r.What, r.From, r.To, r.At}] = r.Value
	}
	if b.Thin == nil {
		return
	}
	for id := range d.weather { // order-free: each on its own
		if id.at < b.Thin.Drop {
			delete(d.weather, id)
		}
	}
	step := core.Time(b.Thin.Step)
	first := map[readingID]core.Time{} // of each step of each series
	for id := range d.weather {        // order-free: the earliest
		at := id.at
		id.at = at / step
		if was, known := first[id]; !known || at < was {
			first[id] = at
		}
	}
	for id := range d.weather { // order-free: each on its own
		in := id
		in.at = id.at / step
		if id.at < b.Thin.Before && id.at > first[in] {
			delete(d.weather, id)
		}
	}
}

// ListReadings implements store.Store.
func (s *Store) ListReadings(ctx context.Context, f store.Series) ([]store.Reading, error) {
	leave, err := s.lockDisk(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	var list []store.Reading
	for id, value := range s.d.weather {
		if (f.What == "" || f.What == id.what) && (f.From == "" || f.From == id.from) && (f.To == "" || f.To == id.to) &&
			id.at >= f.Since {
			list = append(list, store.Reading{What: id.what, From: id.from, To: id.to, At: id.at, Value: value})
		}
	}
	slices.SortFunc(list, func(a, b store.Reading) int {
		return cmp.Or(strings.Compare(a.What, b.What), strings.Compare(a.From, b.From), strings.Compare(a.To, b.To),
			cmp.Compare(a.At, b.At))
	})
	if f.Newest > 0 {
		list = slices.DeleteFunc(slices.Clone(list), olderThanNewest(list, f.Newest))
	}
	return list, nil
}

// olderThanNewest says of one reading after the other whether it is older than the newest
// so many of its series.
func olderThanNewest(list []store.Reading, n int) func(store.Reading) bool {
	i := -1
	return func(r store.Reading) bool {
		i++
		later := i + n
		return later < len(list) && list[later].What == r.What && list[later].From == r.From && list[later].To == r.To
	}
}
