package adaptive

import (
	"fmt"

	"github.com/godwit-hpc/godwit/internal/experiment/measured"
)

// costRow is what watching at one interval costs; parts in per cent.
type costRow struct {
	Name             string
	Plain            bool // nobody watches
	Wall             measured.Spread
	More, MoreHalf   float64 // completion against plain, and half of its confidence interval
	Start, Agent     float64 // milliseconds
	Watch, WatchHalf float64
}

func (r *Results) costRows() []costRow {
	var rows []costRow
	for _, k := range r.costKinds() {
		mean := func(of func(c Cost) float64) measured.Spread { return measured.SpreadOf(r.costValues(k, of)) }
		row := costRow{Name: fmt.Sprint(k), Plain: k.every == 0, Wall: mean(func(c Cost) float64 { return c.Wall })}
		if !row.Plain {
			s, watch := r.relativeToPlain(k), mean(func(c Cost) float64 { return c.Watch })
			row.More, row.MoreHalf = 100*(s.Mean-1), 100*s.HalfWidth()
			row.Start = 1000 * mean(func(c Cost) float64 { return c.Start }).Mean
			row.Agent = 1000 * mean(func(c Cost) float64 { return c.Agent }).Mean
			row.Watch, row.WatchHalf = 100*watch.Mean, 100*watch.HalfWidth()
		}
		rows = append(rows, row)
	}
	return rows
}

func formatShare(n, of int) string {
	if of == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f %% of %d", 100*float64(n)/float64(of), of)
}
