package redist

import (
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/netflow"
)

// A matrix that nobody could plan element by element.
var huge = Array{Name: "A", ElementBytes: 8, Shape: []int64{100_000, 100_000}, ColumnMajor: true}

func grid(rows, cols int, block int64) Layout {
	return Layout{Kind: Grid, Procs: rows * cols, Grid: [2]int{rows, cols}, Blocks: [2]int64{block, block}, ByRows: true}
}

func TestAllOfAHugeMatrixMoves(t *testing.T) {
	plan, err := PlanTransfers(huge, grid(8, 8, 64), grid(6, 8, 64))
	if err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	for _, tr := range plan {
		sum += tr.Bytes
	}
	if want := int64(100_000 * 100_000 * 8); sum != want {
		t.Errorf("%d bytes, not %d", sum, want)
	}
}

func BenchmarkPlanTransfers(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := PlanTransfers(huge, grid(8, 8, 64), grid(6, 8, 64)); err != nil {
			b.Fatal(err)
		}
	}
}

func TestNeighboursMoveAsOne(t *testing.T) {
	a := Array{Name: "x", ElementBytes: 8, Shape: []int64{1_000_000, 100}}
	plan, err := PlanTransfers(a, Layout{Kind: Block, Procs: 4}, Layout{Kind: Block, Procs: 3})
	if err != nil {
		t.Fatal(err)
	}
	if len(plan) != 6 {
		t.Errorf("%d transfers between 4 and 3 blocks, not 6", len(plan))
	}
	for _, tr := range plan {
		if tr.CountExtents() != 1 {
			t.Errorf("%d to %d in %d pieces, not in one", tr.From, tr.To, tr.CountExtents())
		}
	}
	// what each keeps is one piece too, although others' lie between
	plan, err = PlanTransfers(a, Layout{Kind: Cyclic, Procs: 2}, Layout{Kind: Cyclic, Procs: 2})
	if err != nil || len(plan) != 2 || plan[0].CountExtents() != 1 {
		t.Errorf("the same layout again: %d transfers, %v", len(plan), err)
	}
}

func TestWhatIsWrongIsSaidWithArrayAndShape(t *testing.T) {
	a := Array{Name: "plate", ElementBytes: 8, Shape: []int64{10, 4}}
	block := Layout{Kind: Block, Procs: 2}
	for name, c := range map[string]struct {
		a    Array
		l    Layout
		want string
	}{
		"overlap": {a, Layout{Kind: Ranges, Procs: 2, PerProc: [][]Run{{{0, 6}}, {{5, 5}}}},
			"array plate of 10 x 4: the range of process 1 from 5 on overlaps one of process 0"},
		"hole": {a, Layout{Kind: Ranges, Procs: 2, PerProc: [][]Run{{{0, 4}}, {{5, 5}}}},
			"nobody has the elements from 4 to 5"},
		"end missing": {a, Layout{Kind: Ranges, Procs: 1, PerProc: [][]Run{{{0, 9}}}}, "from 9 to 10"},
		"outside":     {a, Layout{Kind: Ranges, Procs: 1, PerProc: [][]Run{{{0, 11}}}}, "not within 0 to 10"},
		"too few":     {a, Layout{Kind: Ranges, Procs: 2, PerProc: [][]Run{{{0, 10}}}}, "ranges of 1 processes, not of 2"},
		"no block":    {a, Layout{Kind: BlockCyclic, Procs: 2}, "blocks of 0 elements"},
		"no process":  {a, Layout{Kind: Block}, "over 0 processes"},
		"wrong grid": {a, Layout{Kind: Grid, Procs: 6, Grid: [2]int{2, 2}, Blocks: [2]int64{1, 1}},
			"a grid of 2 x 2 processes is not one of 6"},
		"no matrix": {Array{Name: "v", ElementBytes: 8, Shape: []int64{7}}, grid(1, 1, 1), "this has 1 dimensions"},
		"no extent": {Array{Name: "v", ElementBytes: 8, Shape: []int64{0}}, block, "at least one element"},
		"huge":      {Array{Name: "v", ElementBytes: 8, Shape: []int64{1 << 40, 1 << 40}}, block, "less than"},
	} {
		if _, err := PlanTransfers(c.a, block, c.l); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		}
	}
}

// Four processes give what they have to two others, each pair of hosts over its own link of 100
// Mbit/s, all over one of 200 between the sites.
func TestTheTimeIsThatOfLinksSharedFairly(t *testing.T) {
	a := Array{Name: "x", ElementBytes: 8, Shape: []int64{12_500_000}} // 100 MB
	plan, err := PlanTransfers(a, Layout{Kind: Block, Procs: 4}, Layout{Kind: Block, Procs: 2})
	if err != nil {
		t.Fatal(err)
	}
	links := []netflow.Link{{Mbps: 200, Shared: true}}
	for range 6 {
		links = append(links, netflow.Link{Mbps: 100, Shared: true})
	}
	took := PredictTime(plan, links, func(from, to int) ([]int, time.Duration) {
		return []int{1 + from, 0, 5 + to}, 10 * time.Millisecond
	})
	if want := core.AtSecond(4.01); took < want-1000 || took > want+1000 { // 800 Mbit over 200 Mbit/s
		t.Errorf("%v, want %v", took, want)
	}
	if PredictTime(plan, []netflow.Link{{Mbps: 0, Shared: true}}, func(int, int) ([]int, time.Duration) {
		return []int{0}, 0
	}) != core.Never {
		t.Error("over a link that carries nothing it arrives")
	}
}
