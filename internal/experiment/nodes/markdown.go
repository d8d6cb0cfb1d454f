package nodes

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/godwit-hpc/godwit/internal/experiment/measured"
)

func (r *Results) reportMarkdown() string {
	var b strings.Builder
	b.WriteString("# Choosing hosts by communication pattern (papers/002)\n\nWritten by `godwit-experiments nodes`.\n")
	if len(r.Runs) > 0 {
		r.writeSetting(&b)
		r.writeStatements(&b)
		r.writeTable(&b)
		r.writeDiffering(&b)
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

Ten hosts of a lab (network namespaces, each with 0.4 of a core), where the way between each
pair of them has 100 Mbit/s and carries streams of others: with S of them a newcomer gets 1/(S+1)
of it, from 10 to 100 Mbit/s. Every %.0f s one stream comes or goes somewhere. As in the paper the
streams are rates that are set, not traffic. %d rounds, each with a network by chance.

Programs of the patterns of the NAS benchmarks BT, CG, IS, LU and MG (examples/apps) run on four of
the hosts, chosen in four ways at the same time, and run there in an order by chance; where two ways
chose the same hosts in the same order there is one run for both; of BT and IS, whose ranks all send
each other as much, the order does not count:

| method | how |
| --- | --- |
| random | any four |
| all-all | the four whose slowest pair is fastest, as probes say (every pair is probed before each program) |
| pattern | the hosts whose slowest pair *that talks* is fastest for its traffic, with bandwidths to %.0f %%; of equal ones those whose pairs need the least time together. Who talks to whom was captured once, with the network empty |
| pattern + skeleton | the %d best such groups; a skeleton of %.1f s, made from the capture, runs on each; if the first is not the fastest, both run up to three times more, and the first is left if it is slower by 3 %% in these runs and in each of them slower than the other in any |

A slowdown is how much longer a program takes than in the median of %d runs with the network for
itself. Trial runs and probes are not counted, as in the paper; they took %s and %s in the median.
The probes were off by %.0f %% in the median of their absolute errors.

%s, %d cores, %s; load before %s, after %s; %s.
`, r.Plan.Every.Seconds(), r.RoundCount(), 100*bandwidthTolerance, candidates, r.Plan.Trial.Seconds(), r.Plan.Alone, formatSeconds(measured.Median(r.trialSeconds())), formatSeconds(measured.Median(r.Probe.Seconds)),
		100*measured.Median(absoluteValues(r.Probe.Error)), m.Model, m.CPUs, m.Kernel, m.LoadBefore, m.LoadAfter, m.At.Format("2006-01-02"))
}

// trialSeconds are the seconds of all skeletons of one choice.
func (r *Results) trialSeconds() []float64 {
	var list []float64
	for _, run := range r.Runs {
		sum := 0.0
		for _, t := range run.Trials {
			sum += t.Seconds * float64(t.Runs)
		}
		if sum > 0 {
			list = append(list, sum)
		}
	}
	return list
}

func absoluteValues(list []float64) []float64 {
	out := make([]float64, len(list))
	for i, x := range list {
		out[i] = math.Abs(x)
	}
	return out
}

func formatSeconds(s float64) string { return fmt.Sprintf("%.1f s", s) }

func (r *Results) writeStatements(b *strings.Builder) {
	b.WriteString("\n## What should come out, and did\n\n" +
		"Networks differ much from round to round, and in a round all methods have the same one. So methods are compared\n" +
		"round by round: what stands in brackets or after \"in pairs\" is the middle 95 % of what comes out if rounds are drawn\n" +
		"from those measured, as many, with all their methods, 10,000 times. A statement holds if all of that agrees with it.\n\n" +
		"| statement | seen | holds |\n| --- | --- | --- |\n")
	for _, s := range r.CheckStatements() {
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
		alone := measured.SpreadOf(r.Alone[p.Name])
		fmt.Fprintf(b, "| %s | %.2f ± %.2f s |", strings.ToUpper(p.Name), measured.Median(r.Alone[p.Name]), alone.Sd)
		for _, m := range methods {
			fmt.Fprintf(b, " %s |", formatInterval(measured.SpreadOf(r.byRound(p.Name, m))))
		}
		b.WriteString("\n")
	}
	b.WriteString("| mean of a round | |")
	for _, m := range methods {
		fmt.Fprintf(b, " %s |", formatInterval(measured.SpreadOf(r.byRound("", m))))
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

// writeDiffering says how often the methods disagree at all.
func (r *Results) writeDiffering(b *strings.Builder) {
	b.WriteString(`
## Where the methods differ

On four ranks BT and IS talk all to all, so that the pattern asks for what all-all asks for; the paper saw the
least difference there too, and says that all of it comes from the trial runs. Trials can correct two things: a network that
is not as probes say, which here are good, and a program whose time is not that of its slowest pair. BT waits for its
three partners in turn, so that each of them counts. IS sends to all at once (so does Open MPI's alltoallv with 4 to
63 ranks) and waits for the slowest: all-all's choice is among the best for it, and what is left to gain is which of equal
choices has fewer slow pairs. On the other programs the first group that is tried, which is pattern's choice, mostly is the
fastest: then both methods have one run, and no difference.

| program | pattern chose all-all's hosts | trials chose other hosts than pattern | gain over pattern there |
| --- | ---: | ---: | ---: |
`)
	for _, p := range r.Plan.Programs {
		same, other, gain := r.countDiffering(p.Name)
		text := "–"
		if other > 0 {
			text = fmt.Sprintf("%.0f points", 100*gain)
		}
		fmt.Fprintf(b, "| %s | %d of %d | %d | %s |\n", strings.ToUpper(p.Name), same, r.RoundCount(), other, text)
	}
}

// countDiffering counts the rounds in which pattern chose the hosts that all-all did, and
// those in which trial runs chose others than pattern, with the mean of what the
// slowdown was less there.
func (r *Results) countDiffering(program string) (same, other int, gain float64) {
	alone := measured.Median(r.Alone[program])
	for round := 1; round <= r.RoundCount(); round++ {
		pairs, pattern, trial := r.findRun(round, program, byPairs), r.findRun(round, program, byPattern), r.findRun(round, program, byTrialRun)
		if slices.Equal(slices.Sorted(slices.Values(pairs.Hosts)), slices.Sorted(slices.Values(pattern.Hosts))) {
			same++
		}
		if !slices.Equal(pattern.Hosts, trial.Hosts) {
			other++
			gain += (pattern.Seconds - trial.Seconds) / alone
		}
	}
	return same, other, gain / float64(max(1, other))
}

func (r *Results) findRun(round int, program, method string) *Run {
	return &r.Runs[slices.IndexFunc(r.Runs, func(run Run) bool { return run.Round == round && run.Program == program && run.Method == method })]
}

func (r *Results) writeCosts(b *strings.Builder) {
	b.WriteString("\n## What choosing costs\n\nComplete networks with bandwidths by chance from 1 to 1,000 Mbit/s: seconds until the best choice was\nproven, the longest of several networks; in brackets what the bound left open after ")
	fmt.Fprintf(b, "%.0f s.\n\n![Time against the number of hosts](%s/cost.svg)\n\n| hosts |", budget, folder)
	for _, p := range sized {
		fmt.Fprintf(b, " %s of %d |", p.name, p.nodes)
	}
	b.WriteString("\n| ---: |" + strings.Repeat(" ---: |", len(sized)) + "\n")
	for _, n := range r.networkSizes() {
		fmt.Fprintf(b, "| %d |", n)
		for _, p := range sized {
			b.WriteString(" " + r.costCell(p.name, n) + " |")
		}
		b.WriteString("\n")
	}
}

func (r *Results) costCell(pattern string, hosts int) string {
	s, proven := slowestCost(r.Costs, pattern, hosts)
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
