package net

import (
	"fmt"
	"strings"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/mpi/capture"
)

// maxRanksShown is how many ranks a matrix may have to be printed.
const maxRanksShown = 16

// captureText is a pattern for people.
func captureText(b *strings.Builder, p *capture.Pattern, width int) {
	if p.Source == capture.OfSockets {
		socketsText(b, p, width)
		return
	}
	fmt.Fprintf(b, "%s, %d ranks, %s, %.0f %% of it in calls of MPI\n", p.Program, p.Nodes, term.FormatDuration(p.Seconds),
		100*p.Share)
	var t term.Rows
	var messages, bytes int64
	for i := range p.Nodes {
		for j := range p.Nodes {
			messages += p.Messages[i][j]
			bytes += p.Bytes[i][j]
		}
	}
	t.AddRow("messages", "%d, %s", messages, capture.BytesText(bytes))
	t.AddRow("communicating pairs", "%d of %d", len(p.Edges), p.Nodes*(p.Nodes-1)/2)
	t.AddRow("computing", "%s CPU time per rank", term.FormatDuration(meanCompute(p)))
	for i, ph := range p.Phases {
		if ph.Seconds >= 0.05*p.Seconds {
			t.AddRow(fmt.Sprintf("loop %d", i+1), "%d rounds, %s", ph.Rounds, term.FormatDuration(ph.Seconds))
		}
	}
	t.WriteRows(b)
	if p.Nodes <= maxRanksShown {
		b.WriteString("\n")
		matrixText(b, p, width)
	}
	if len(p.Operations) > 0 {
		b.WriteString("\n")
		collectivesText(b, p, width)
	}
	if p.Unlike > 0 {
		fmt.Fprintf(b, "\n%d one-sided and other calls are counted, but a skeleton will lack them\n", p.Unlike)
	}
	for i := range p.Ranks {
		if p.Ranks[i].Lost > 0 {
			fmt.Fprintf(b, "\nrank %d never repeats itself: a skeleton will lack its last %d calls\n", i, p.Ranks[i].Lost)
		}
	}
}

// socketsText is a pattern of processes.
func socketsText(b *strings.Builder, p *capture.Pattern, width int) {
	fmt.Fprintf(b, "%s, %d processes that talk over TCP, %s\n", p.Program, p.Nodes, term.FormatDuration(p.Seconds))
	var t term.Rows
	var bytes int64
	for i := range p.Nodes {
		for j := range p.Nodes {
			bytes += p.Bytes[i][j]
		}
	}
	t.AddRow("data exchanged", "%s", capture.BytesText(bytes))
	t.AddRow("communicating pairs", "%d of %d", len(p.Edges), p.Nodes*(p.Nodes-1)/2)
	for i, name := range p.Names {
		if i < maxRanksShown {
			t.AddRow("node "+intText(i), "%s", name)
		}
	}
	for _, o := range p.Others {
		t.AddRow(fmt.Sprintf("node %d and %s", o.Node, o.Host), "sent %s, received %s", capture.BytesText(o.Sent),
			capture.BytesText(o.Received))
	}
	t.WriteRows(b)
	if p.Nodes <= maxRanksShown {
		b.WriteString("\n")
		matrixText(b, p, width)
	}
	b.WriteString("\nsockets do not tell when what was said: there is no skeleton of it\n")
}

func meanCompute(p *capture.Pattern) float64 {
	sum := 0.0
	for i := range p.Ranks {
		sum += p.Ranks[i].Compute
	}
	return sum / float64(p.Nodes)
}

// matrixText is who sends how much to whom, messages and collective operations.
func matrixText(b *strings.Builder, p *capture.Pattern, width int) {
	head := []string{"from \\ to"}
	for j := range p.Nodes {
		head = append(head, intText(j))
	}
	cells := [][]string{head}
	for i := range p.Nodes {
		row := []string{intText(i)}
		for j := range p.Nodes {
			text := "–"
			if x := p.Bytes[i][j] + p.Collective[i][j]; x > 0 {
				text = capture.BytesText(x)
			}
			row = append(row, text)
		}
		cells = append(cells, row)
	}
	term.WriteCells(b, cells, width)
}

func collectivesText(b *strings.Builder, p *capture.Pattern, width int) {
	cells := [][]string{{"collective", "calls", "bytes", "members", "root", "time"}}
	for _, o := range p.Operations {
		root := "–"
		if o.Root >= 0 {
			root = intText(o.Root)
		}
		cells = append(cells, []string{o.Kind, fmt.Sprint(o.Calls), capture.BytesText(o.Bytes),
			intText(len(p.Groups[o.Group])), root, term.FormatDuration(o.Seconds)})
	}
	term.WriteCells(b, cells, width)
}
