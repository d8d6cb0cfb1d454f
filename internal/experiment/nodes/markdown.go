package nodes

import (
	"fmt"
	"math"
	"strings"

	"github.com/godwit-hpc/godwit/internal/experiment/measured"
)

func (r *Results) markdown() string {
	var b strings.Builder
	b.WriteString("# Choosing hosts by communication pattern (papers/002)\n\nWritten by `godwit experiment nodes`.\n")
	if len(r.Runs) > 0 {
		r.writeSetting(&b)
		r.writeStatements(&b)
		r.writeTable(&b)
	}
	if len(r.Costs) > 0 {
		r.writeCosts(&b)
	}
	return b.String()
}

func (r *Results) writeSetting(b *strings.Builder) {
	m := &r.Machine
	fmt.Fprintf(b, `
## The experiment

Ten hosts of a lab (network namespaces, each with 0.4 of a processor), where the way between each
pair of them has 100 Mbit/s and carries streams of others: with S of them a newcomer gets 1/(S+1)
of it, from 10 to 100 Mbit/s. Every %.0f s one stream comes or goes somewhere. As in the paper the
streams are rates that are set, not traffic. %d rounds, each with a network by chance.

Programs of the patterns of the NAS benchmarks BT, CG, IS, LU and MG (examples/apps) run on four of
the hosts, chosen in four ways at the same time, and run there in an order by chance; where two ways
chose the same hosts in the same order there is one run for both:

| method | how |
| --- | --- |
| random | any four |
| all-all | the four whose slowest pair is fastest, as probes say (every pair is probed before each program) |
| pattern | the hosts whose slowest pair *that talks* is fastest for its traffic; who talks to whom was captured once, with the network empty |
| pattern + skeleton | the %d best such groups; a skeleton of %.1f s, made from the capture, runs on each, and the fastest is taken |

A slowdown is how much longer a program takes than in the median of %d runs with the network for
itself. Trial runs and probes are not counted, as in the paper; they took %s and %s in the median.
The probes were off by %.0f %% in the median of their absolute errors.

%s, %d processors, %s; load before %s, after %s; %s.
`, r.Plan.Every.Seconds(), r.Rounds(), candidates, r.Plan.Trial.Seconds(), r.Plan.Alone, seconds(measured.Median(r.trials())), seconds(measured.Median(r.Probe.Seconds)),
		100*measured.Median(absolute(r.Probe.Error)), m.Model, m.CPUs, m.Kernel, m.LoadBefore, m.LoadAfter, m.At.Format("2006-01-02"))
}

// trials are the seconds of all skeletons of one choice.
func (r *Results) trials() []float64 {
	var list []float64
	for _, run := range r.Runs {
		sum := 0.0
		for _, t := range run.Trials {
			sum += t
		}
		if sum > 0 {
			list = append(list, sum)
		}
	}
	return list
}

func absolute(list []float64) []float64 {
	out := make([]float64, len(list))
	for i, x := range list {
		out[i] = math.Abs(x)
	}
	return out
}

func seconds(s float64) string { return fmt.Sprintf("%.1f s", s) }

func (r *Results) writeStatements(b *strings.Builder) {
	b.WriteString("\n## What should come out, and did\n\n" +
		"Networks differ much from round to round, and in a round all methods have the same one. So methods are compared\n" +
		"round by round: what stands in brackets or after \"in pairs\" is the middle 95 % of what comes out if rounds are drawn\n" +
		"from those measured, as many, with all their methods, 10,000 times. A statement holds if all of that agrees with it.\n\n" +
		"| statement | seen | holds |\n| --- | --- | --- |\n")
	for _, s := range r.Check() {
		word := "**no**"
		if s.Holds {
			word = "yes"
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", s.Says, s.Saw, word)
	}
}

func (r *Results) writeTable(b *strings.Builder) {
	b.WriteString("\n## Figure 3 of the paper, and ours\n\n![Slowdown of each program by method](" + folder + "/slowdown.svg)\n")
	b.WriteString("\nMean slowdown with the 95 % confidence interval of the mean.\n\n| program | alone |")
	for _, m := range methods {
		fmt.Fprintf(b, " %s |", m)
	}
	b.WriteString("\n| --- | ---: |" + strings.Repeat(" ---: |", len(methods)) + "\n")
	for _, p := range r.Plan.Programs {
		alone := measured.Of(r.Alone[p.Name])
		fmt.Fprintf(b, "| %s | %.2f ± %.2f s |", strings.ToUpper(p.Name), measured.Median(r.Alone[p.Name]), alone.Sd)
		for _, m := range methods {
			fmt.Fprintf(b, " %s |", interval(measured.Of(r.byRound(p.Name, m))))
		}
		b.WriteString("\n")
	}
	b.WriteString("| mean of a round | |")
	for _, m := range methods {
		fmt.Fprintf(b, " %s |", interval(measured.Of(r.byRound("", m))))
	}
	b.WriteString("\n| the paper | |")
	for _, m := range methods {
		if x, ok := paper[m]; ok {
			fmt.Fprintf(b, " %.1f %% |", 100*x)
		} else {
			b.WriteString(" – |")
		}
	}
	b.WriteString("\n")
}

func (r *Results) writeCosts(b *strings.Builder) {
	b.WriteString("\n## What choosing costs\n\nComplete networks with bandwidths by chance from 1 to 1,000 Mbit/s: seconds until the best choice was\nproven, the longest of several networks; in brackets what the bound left open after ")
	fmt.Fprintf(b, "%.0f s.\n\n![Time against the number of hosts](%s/cost.svg)\n\n| hosts |", budget, folder)
	for _, p := range sized {
		fmt.Fprintf(b, " %s of %d |", p.name, p.nodes)
	}
	b.WriteString("\n| ---: |" + strings.Repeat(" ---: |", len(sized)) + "\n")
	for _, n := range r.sizes() {
		fmt.Fprintf(b, "| %d |", n)
		for _, p := range sized {
			b.WriteString(" " + r.costCell(p.name, n) + " |")
		}
		b.WriteString("\n")
	}
}

func (r *Results) costCell(pattern string, hosts int) string {
	s, proven := slowest(r.Costs, pattern, hosts)
	switch {
	case math.IsNaN(s):
		return "–"
	case proven:
		return fmt.Sprintf("%.2g s", s)
	}
	gap := 0.0
	for _, c := range r.Costs {
		if c.Pattern == pattern && c.Hosts == hosts {
			gap = max(gap, c.Gap)
		}
	}
	return fmt.Sprintf("(%.1f %%)", 100*gap)
}
