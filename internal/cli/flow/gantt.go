package flow

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/sched/flow"
)

// Measures of a Gantt chart, in pixels.
const (
	ganttLeft   = 130.0
	ganttWidth  = 900.0
	ganttTop    = 50.0
	ganttFoot   = 36.0
	ganttHigh   = 1200.0 // of all rows together, at most
	ganttRow    = 18.0   // of one row, at most
	ganttLabels = 9.0    // rows lower than this have no name
)

// ganttColours are given to kinds of tasks in the order in which they start; where there
// are more, the last is for all others. They can be told apart by people who see colours
// differently (Okabe and Ito).
var ganttColours = []string{"#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999"}

// ganttSVG draws a plan: a row for every core that has work, a bar for every
// task, coloured by the kind of task.
func ganttSVG(d *flow.DAG, g *flow.Grid, s *flow.Schedule, r *flowReport) []byte {
	rows, at := ganttRows(s)
	high := min(ganttRow, ganttHigh/float64(max(1, len(rows))))
	width, height := ganttLeft+ganttWidth+20, ganttTop+high*float64(len(rows))+ganttFoot
	scale := ganttWidth / math.Max(s.Makespan, 1e-9)
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" role="img" font-family="Arial, Helvetica, sans-serif" font-size="11">`+"\n", width, height, width, height)
	title := ganttTitle(r)
	fmt.Fprintf(&b, "<title>%s</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n<text x=\"10\" "+
		"y=\"18\" font-size=\"14\">%s</text>\n", escapeXML(title), escapeXML(title))
	kinds := ganttKinds(d, s)
	ganttLegend(&b, kinds, len(kinds) < countKinds(d))
	ganttAxis(&b, s.Makespan, scale, ganttTop+high*float64(len(rows)))
	for i, row := range rows {
		if high >= ganttLabels {
			fmt.Fprintf(&b, "<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\" font-size=\"%.0f\">%s</text>\n", ganttLeft-6,
				ganttTop+high*(float64(i)+0.75), min(11, high*0.8),
				escapeXML(fmt.Sprintf("%s/%d", g.Hosts[row.host].Name, row.core)))
		}
	}
	for t, slot := range s.Slots {
		y := ganttTop + high*float64(at[ganttLane{slot.Host, slot.Core}])
		fmt.Fprintf(&b, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\" stroke=\"white\" "+
			"stroke-width=\"0.3\"><title>%s: %.6g to %.6g s</title></rect>\n",
			ganttLeft+slot.Start*scale, y+high*0.1, math.Max(0.4, (slot.End-slot.Start)*scale), high*0.8,
			kinds.colourOf(d.Tasks[t].Name), escapeXML(d.Tasks[t].Name), slot.Start, slot.End)
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// ganttTitle names the workflow, the platform, the makespan and, for a plan, how it was
// found.
func ganttTitle(r *flowReport) string {
	title := fmt.Sprintf("%s on %s: makespan %s", r.Workflow, r.Platform, term.FormatSeconds(r.MakespanS))
	if r.Heuristic != "" {
		title += " (" + heuristicName(r.Heuristic) + ")"
	}
	return title
}

type ganttLane struct{ host, core int }

// ganttRows is the cores that have work, and the row of each.
func ganttRows(s *flow.Schedule) ([]ganttLane, map[ganttLane]int) {
	at := map[ganttLane]int{}
	var rows []ganttLane
	for _, slot := range s.Slots {
		lane := ganttLane{slot.Host, slot.Core}
		if _, ok := at[lane]; !ok {
			at[lane] = 0
			rows = append(rows, lane)
		}
	}
	slices.SortFunc(rows, func(a, b ganttLane) int {
		return cmp.Or(cmp.Compare(a.host, b.host), cmp.Compare(a.core, b.core))
	})
	for i, lane := range rows {
		at[lane] = i
	}
	return rows, at
}

// kindList is the kinds of tasks that have a colour of their own, in the order in which
// their first tasks start.
type kindList []string

// ganttKinds reads the kind of a task from its id, which in recorded workflows
// is the program and a number: mProject_ID0000007. Where there are more kinds than
// colours, the most frequent ones have one, and the last colour is for all others.
func ganttKinds(d *flow.DAG, s *flow.Schedule) kindList {
	count, first := map[string]int{}, map[string]float64{}
	var kinds kindList
	for i := range d.Tasks {
		k := kindOf(d.Tasks[i].Name)
		if count[k] == 0 {
			kinds = append(kinds, k)
			first[k] = s.Slots[i].Start
		}
		count[k]++
		first[k] = min(first[k], s.Slots[i].Start)
	}
	if len(kinds) > len(ganttColours) {
		slices.SortStableFunc(kinds, func(a, b string) int { return cmp.Compare(count[b], count[a]) })
		kinds = kinds[:len(ganttColours)-1]
	}
	slices.SortStableFunc(kinds, func(a, b string) int { return cmp.Compare(first[a], first[b]) })
	return kinds
}

func countKinds(d *flow.DAG) int {
	seen := map[string]bool{}
	for i := range d.Tasks {
		seen[kindOf(d.Tasks[i].Name)] = true
	}
	return len(seen)
}

func kindOf(id string) string {
	k := strings.TrimRight(id, "0123456789")
	k = strings.TrimRight(strings.TrimSuffix(k, "ID"), "_-. ")
	if k == "" {
		return "task"
	}
	return k
}

func (k kindList) colourOf(id string) string {
	if i := slices.Index(k, kindOf(id)); i >= 0 {
		return ganttColours[i]
	}
	return ganttColours[len(ganttColours)-1]
}

func ganttLegend(b *bytes.Buffer, kinds kindList, others bool) {
	x := 10.0
	if others {
		kinds = append(slices.Clone(kinds), "others")
	}
	for i, k := range kinds {
		if x > ganttLeft+ganttWidth-60 {
			return
		}
		if r := []rune(k); len(r) > 24 {
			k = string(r[:23]) + "…"
		}
		fmt.Fprintf(b, "<rect x=\"%.0f\" y=\"28\" width=\"10\" height=\"10\" fill=\"%s\"/><text x=\"%.0f\" "+
			"y=\"37\">%s</text>\n", x, ganttColours[i], x+14, escapeXML(k))
		x += 30 + 6.5*float64(len([]rune(k)))
	}
}

// ganttAxis draws the seconds below the rows.
func ganttAxis(b *bytes.Buffer, makespan, scale, y float64) {
	step := math.Pow(10, math.Floor(math.Log10(math.Max(makespan, 1e-9)/4)))
	for _, f := range []float64{5, 2} {
		if makespan/(step*f) >= 4 {
			step *= f
			break
		}
	}
	for i := 0; float64(i)*step <= makespan; i++ {
		x := ganttLeft + float64(i)*step*scale
		fmt.Fprintf(b, "<path d=\"M%.1f %.1fV%.1f\" stroke=\"#ddd\"/><text x=\"%.1f\" y=\"%.1f\" "+
			"text-anchor=\"middle\">%g</text>\n", x, ganttTop, y, x, y+14, float64(i)*step)
	}
	fmt.Fprintf(b, "<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">seconds</text>\n", ganttLeft+ganttWidth, y+28)
}

// escapeXML is text inside an SVG element.
func escapeXML(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s)) // a buffer takes everything
	return b.String()
}
