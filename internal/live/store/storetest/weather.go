package storetest

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func testWeather(f *fixture) {
	reading := func(what, from, to string, at int) store.Reading {
		return store.Reading{What: what, From: from, To: to, At: core.Time(at), Value: float64(at) / 2}
	}
	b := &store.Batch{}
	for at := range 30 {
		b.Weather = append(b.Weather, reading("mbps", "a", "b", 29-at), reading("cpu", "a", "", 29-at))
	}
	f.commitBatch(b)
	f.commitBatch(&store.Batch{Weather: []store.Reading{{What: "mbps", From: "a", To: "b", At: 29, Value: 77}}})
	list := func(s store.Series) string {
		var text []string
		for _, r := range mustGet[[]store.Reading](f)(f.s.ListReadings(f.ctx, s)) {
			text = append(text, fmt.Sprintf("%s%s%s%d=%g", r.What, r.From, r.To, r.At, r.Value))
		}
		return strings.Join(text, " ")
	}
	for _, c := range []struct {
		series store.Series
		want   string
	}{
		{store.Series{Newest: 2}, "cpua28=14 cpua29=14.5 mbpsab28=14 mbpsab29=77"},
		{store.Series{What: "mbps", From: "a", To: "b", Since: 28}, "mbpsab28=14 mbpsab29=77"},
		{store.Series{To: "b", Newest: 1}, "mbpsab29=77"},
		{store.Series{From: "b"}, ""},
	} {
		if got := list(c.series); got != c.want {
			f.Errorf("%+v lists %s, want %s", c.series, got, c.want)
		}
	}
	f.commitBatch(&store.Batch{Thin: &store.Thin{Before: 25, Step: 10 * time.Nanosecond, Drop: 3}})
	f.crashStore()
	if got, want := list(store.Series{What: "cpu"}),
		"cpua3=1.5 cpua10=5 cpua20=10 cpua25=12.5 cpua26=13 cpua27=13.5 cpua28=14 cpua29=14.5"; got != want {
		f.Errorf("thinned it is %s, want %s", got, want)
	}
	for _, bad := range []*store.Batch{{Weather: []store.Reading{{What: "x", Value: math.NaN()}}},
		{Weather: []store.Reading{{What: "x", Value: math.Inf(1)}}}, {Thin: &store.Thin{}}} {
		if f.s.CommitBatch(f.ctx, bad) == nil {
			f.Errorf("%+v is stored", bad)
		}
	}
}
