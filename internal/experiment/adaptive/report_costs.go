package adaptive

import (
	"fmt"
	"strings"

	"github.com/godwit-hpc/godwit/internal/experiment/measured"
)

func (r *Results) writeOverhead(b *strings.Builder) {
	b.WriteString("\n## (d) What the service costs\n\n")
	fmt.Fprintf(b, "The program that only computes, plainly and as a job that is watched at several intervals, "+
		"in\nturn, %d rounds. Completion is from the start of the program to its end, as a part of the plain\none of the "+
		"same round; with the 95 %% confidence interval of its mean. The agent's CPU time is that\nof its own threads; its "+
		"share while watching is counted from a second after its start on. Nobody\nlooks at the job meanwhile.\n",
		r.Plan.OverheadRepeat)
	b.WriteString("\n![Completion times and CPU time of the agent by interval](" + folder + "/overhead.svg)\n")
	b.WriteString("\n| | completion | against plain | until it starts | CPU time of the agent | share while watching " +
		"|\n| --- | ---: | ---: | ---: | ---: | ---: |\n")
	for _, k := range r.costKinds() {
		wall := measured.SpreadOf(r.costValues(k, func(c Cost) float64 { return c.Wall }))
		if k.every == 0 {
			fmt.Fprintf(b, "| %s | %.2f ± %.2f s | – | – | – | – |\n", k, wall.Mean, wall.Sd)
			continue
		}
		s := r.relativeToPlain(k)
		start := measured.SpreadOf(r.costValues(k, func(c Cost) float64 { return c.Start }))
		agent := measured.SpreadOf(r.costValues(k, func(c Cost) float64 { return c.Agent }))
		watch := measured.SpreadOf(r.costValues(k, func(c Cost) float64 { return c.Watch }))
		fmt.Fprintf(b, "| %s | %.2f ± %.2f s | %+.2f ± %.2f %% | %.0f ms | %.0f ms | %.4f ± %.4f %% |\n", k, wall.Mean,
			wall.Sd,
			100*(s.Mean-1), 100*s.HalfWidth(), 1000*start.Mean, 1000*agent.Mean, 100*watch.Mean, 100*watch.HalfWidth())
	}
	fmt.Fprintf(b, "\nThe paper: within ±%.0f %% from 2 s to 120 s, and no trend.\n", 100*paperNoise)
}

func formatShare(n, of int) string {
	if of == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f %% of %d", 100*float64(n)/float64(of), of)
}
