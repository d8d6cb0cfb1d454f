package nodesel

import (
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/godwit-hpc/godwit/internal/recordings"
)

// regions is the throughput between 63 cloud regions, measured by the Skyplane
// project: of each pair the smaller of the two directions' best. Without the
// data it is as many hosts with random bandwidths.
func regions(t testing.TB) *Bandwidths {
	t.Helper()
	path := recordings.OrGenerated(t, "net", "skyplane", "throughput.csv.gz")
	if path == "" {
		return randomBandwidths(rand.New(rand.NewPCG(63, 63)), 63, 1, 0)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(z).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return throughput(t, rows)
}

func throughput(t testing.TB, rows [][]string) *Bandwidths {
	t.Helper()
	from, to, bits := slices.Index(rows[0], "src_region"), slices.Index(rows[0], "dst_region"),
		slices.Index(rows[0], "throughput_sent")
	best := map[[2]string]float64{}
	var names []string
	for _, row := range rows[1:] {
		x, err := strconv.ParseFloat(row[bits], 64)
		if err != nil {
			continue // a failed measurement
		}
		pair := [2]string{row[from], row[to]}
		best[pair] = max(best[pair], x/1e6)
		names = append(names, pair[:]...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	b := NewBandwidths(len(names))
	for u, a := range names {
		for v, c := range names[:u] {
			if x := min(best[[2]string{a, c}], best[[2]string{c, a}]); x > 0 {
				b.RaisePair(u, v, x)
			}
		}
	}
	return b
}

func TestEveryPatternIsProvenOnTheMatrixOfCloudRegions(t *testing.T) {
	b := regions(t)
	for _, c := range regionCases {
		t.Run(fmt.Sprintf("%s of %d", c.name, c.m), func(t *testing.T) { proven(t, b, named(t, c.name, c.m)) })
	}
}

// regionCases are the patterns to prove there, and some more.
var regionCases = []struct {
	name string
	m    int
}{
	{"ring", 8}, {"ring", 16}, {"ring", 32}, {"all", 12}, {"mesh:3x3", 9}, {"mesh:4x4", 16}, {"mesh:5x5", 25},
	{"mesh:5x6", 30},
	{"tree:2", 15}, {"tree:2", 31}, {"path", 16}, {"path", 40}, {"star", 20}, {"hypercube", 16}, {"torus:4x4", 16},
	{"ring", 48},
}
