package net

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/sched/nodesel"
)

// selectReport is the answer of select; programs read its JSON.
type selectReport struct {
	Method     string        `json:"method"`
	Pattern    string        `json:"pattern"`
	Nodes      int           `json:"nodes"`
	Hosts      []string      `json:"hosts"` // in the order of the pattern's nodes
	Bottleneck float64       `json:"bottleneck_mbps"`
	Optimal    bool          `json:"optimal"` // proven
	Bound      float64       `json:"bound_mbps"`
	WallMs     float64       `json:"wall_ms"`
	Groups     []selectGroup `json:"groups"` // the best that differ, the first among them

	of int // hosts in the network
}

type selectGroup struct {
	Hosts      []string `json:"hosts"`
	Bottleneck float64  `json:"bottleneck_mbps"`
	Optimal    bool     `json:"optimal"` // no better one that differs from those before
}

func newSelectReport(f *selectFlags, net *nodesel.Network, p *nodesel.Pattern, sel *nodesel.Selection,
	wall time.Duration) *selectReport {
	r := &selectReport{Method: f.method, Pattern: p.Name, Nodes: p.Nodes, Hosts: hostNames(net, sel.Hosts),
		Bottleneck: sel.Mbps, Optimal: sel.Optimal, Bound: sel.Bound, WallMs: float64(wall.Microseconds()) / 1000,
		of: len(net.Hosts)}
	for _, g := range sel.Groups {
		r.Groups = append(r.Groups, selectGroup{hostNames(net, g.Hosts), g.Mbps, g.Optimal})
	}
	return r
}

func hostNames(net *nodesel.Network, hosts []int) []string {
	names := make([]string, len(hosts))
	for i, h := range hosts {
		names[i] = net.Hosts[h]
	}
	return names
}

func (a *app) printSelection(f *selectFlags, r *selectReport) error {
	if f.output == "json" {
		e := json.NewEncoder(a.Stdout)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	var b strings.Builder
	writeSelection(&b, r)
	if _, err := io.WriteString(a.Stdout, b.String()); err != nil {
		return err
	}
	return selectTable(r).PrintTable(a.Stdout, a.TableWidth())
}

// writeSelection is the answer for people, above the table of the groups.
func writeSelection(b *strings.Builder, r *selectReport) {
	fmt.Fprintf(b, "%s, %d of %d hosts\n", r.Pattern, r.Nodes, r.of)
	proof := "proven best"
	if !r.Optimal {
		proof = "at most " + formatMbps(r.Bound) + " possible"
	}
	var t term.Rows
	t.AddRow("slowest pair", "%s, %s", formatMbps(r.Bottleneck), proof)
	t.AddRow("method", "%s, %s", r.Method, term.FormatDuration(r.WallMs/1000))
	t.WriteRows(b)
	b.WriteString("\n")
}

// selectTable lists the groups.
func selectTable(r *selectReport) *term.Table {
	t := term.NewTable("group", "Mbit/s", "hosts, node 0 first").AlignRight(1)
	for i, g := range r.Groups {
		t.AddRow(intText(i+1), fourDigits(g.Bottleneck), strings.Join(g.Hosts, " "))
	}
	return t
}

func formatMbps(x float64) string { return fourDigits(x) + " Mbit/s" }

// fourDigits writes a bandwidth to four digits: 87.5, 1250, 0.3333.
func fourDigits(x float64) string {
	if x >= 1000 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}

func intText(n int) string { return strconv.Itoa(n) }
