package model

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/datamap"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/netflow"
	"github.com/godwit-hpc/godwit/internal/sched/redist"
)

type redistributeFlags struct {
	shape                    []int64
	from, to                 redist.Layout
	element, oldPer, newPer  int
	mbps, between, latencyMs float64
	byColumns                bool
	output                   string
}

func (a *app) redistributeCommand() *cobra.Command {
	f := &redistributeFlags{element: 8, oldPer: 1, newPer: 1, mbps: 1000, latencyMs: 0.1}
	cmd := &cobra.Command{
		Use:   "redistribute --shape NxN --from LAYOUT --to LAYOUT [flags]",
		Short: "Plan how an array moves from N processes to M",
		Long: `Plans which bytes of an array each process gives to which other when a program is
continued on another number of processes, and says how long that takes if all
begin at once and share the links fairly: each host has a link of its own, both ways,
and the hosts of the old and of the new processes have one between them.

A LAYOUT is ` + datamap.LayoutForms + `.
All but grid divide along one dimension (rows; columns with --by-columns).`,
		Example: `  godwit model redistribute --shape 100000x100000 --by-columns \
    --from grid:8x8:64 --to grid:6x8:64

  # Four processes on two hosts to three on one, 45 Mbit/s between the sites
  godwit model redistribute --shape 8000x8000 --from block:4 --to block:3 \
    --per-old-host 2 --per-new-host 3 --mbps 1000 --between 45 --ms 20 -o json`,
		DisableFlagsInUseLine: true,
		Args:                  term.NoArguments,
		RunE:                  func(*cobra.Command, []string) error { return a.redistribute(f) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.Var(term.CheckedFlag(&f.shape, "NxN", nil, datamap.ParseShape), "shape", "elements along each dimension")
	flags.Var(term.CheckedFlag(&f.from, "LAYOUT", nil, datamap.ParseLayout), "from", "how it is divided")
	flags.Var(term.CheckedFlag(&f.to, "LAYOUT", nil, datamap.ParseLayout), "to", "how it is to be divided")
	flags.Var(term.WholeNumberFlag(&f.element, 1, 255), "element", "bytes of an element")
	flags.BoolVar(&f.byColumns, "by-columns", false, "columns lie together, as in Fortran")
	flags.Var(term.NumberFlag(&f.mbps, 1e-3, 1e9), "mbps", "Mbit/s of the link of each host")
	flags.Var(term.NumberFlag(&f.between, 0, 1e9), "between", "Mbit/s between the old and the new hosts; 0: no limit")
	flags.Var(term.NumberFlag(&f.latencyMs, 0, 1e6), "ms", "latency in ms")
	flags.Var(term.WholeNumberFlag(&f.oldPer, 1, 1<<20), "per-old-host", "processes of the old layout on a host")
	flags.Var(term.WholeNumberFlag(&f.newPer, 1, 1<<20), "per-new-host", "processes of the new layout on a host")
	term.OutputFlag(flags, &f.output)
	return cmd
}

// redistributeReport is what the command prints for programs.
type redistributeReport struct {
	Bytes     int64   `json:"bytes"`
	Transfers int     `json:"transfers"`
	Ranges    int64   `json:"ranges"`
	Largest   int64   `json:"largest_bytes"`
	Place     int64   `json:"most_on_one_process_bytes"`
	Seconds   float64 `json:"seconds"`
	PlanMs    float64 `json:"plan_ms"`
}

func (a *app) redistribute(f *redistributeFlags) error {
	switch {
	case len(f.shape) == 0:
		return &badinput.Error{Field: "--shape", Want: "the shape of the array is needed, like --shape 1000x1000"}
	case f.from.Procs == 0:
		return &badinput.Error{Field: "--from", Want: "how it is divided is needed, like --from block:4"}
	case f.to.Procs == 0:
		return &badinput.Error{Field: "--to", Want: "how it is to be divided is needed, like --to block:3"}
	}
	array := redist.Array{Name: "A", ElementBytes: int64(f.element), Shape: f.shape, ColumnMajor: f.byColumns}
	began := a.Now()
	plan, err := redist.PlanTransfers(array, f.from, f.to)
	if err != nil {
		return &badinput.Error{Field: "--shape", Value: redist.ShapeText(f.shape), Problem: err.Error()}
	}
	r := redistributeReport{Transfers: len(plan), PlanMs: a.Now().Sub(began).Seconds() * 1e3}
	for _, t := range plan {
		r.Bytes, r.Ranges, r.Largest = r.Bytes+t.Bytes, r.Ranges+t.CountExtents(), max(r.Largest, t.Bytes)
	}
	places, err := redist.PlaceBytes(array, f.to)
	if err != nil {
		return err
	}
	r.Place = slices.Max(places)
	links, route := f.network()
	r.Seconds = time.Duration(redist.PredictTime(plan, links, route)).Seconds()
	if f.output == "json" {
		return term.WriteJSON(a.Stdout, r)
	}
	_, err = fmt.Fprintf(a.Stdout, "%s of %s elements, %d to %d processes: %d transfers, %d ranges, about %s\n",
		core.FormatMemory(r.Bytes), redist.ShapeText(f.shape), f.from.Procs, f.to.Procs, r.Transfers, r.Ranges,
		term.FormatDuration(r.Seconds))
	return err
}

// network has a link out of each old host, one into each new host, and one between them.
func (f *redistributeFlags) network() ([]netflow.Link, redist.Route) {
	oldHosts := (f.from.Procs + f.oldPer - 1) / f.oldPer
	newHosts := (f.to.Procs + f.newPer - 1) / f.newPer
	var links []netflow.Link
	for range oldHosts + newHosts {
		links = append(links, netflow.Link{Mbps: f.mbps, Shared: true})
	}
	between := []int{}
	if f.between > 0 {
		between = append(between, len(links))
		links = append(links, netflow.Link{Mbps: f.between, Shared: true})
	}
	latency := time.Duration(f.latencyMs * float64(time.Millisecond))
	return links, func(from, to int) ([]int, time.Duration) {
		return append([]int{from / f.oldPer, oldHosts + to/f.newPer}, between...), latency
	}
}
