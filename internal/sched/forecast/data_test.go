package forecast

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/recordings"
)

// dataSet is series of one kind. Those for choosing the constants and what is
// known beforehand, and those for judging, share nothing.
type dataSet struct {
	name   string
	tuning [][]float64
	judged [][]float64
}

// unpacked calls f for each file in an archive of the recorded data.
func unpacked(tb testing.TB, file string, f func(name, text string)) {
	tb.Helper()
	plain, err := exec.Command("xz", "-dc", file).Output()
	if err != nil {
		tb.Logf("left out: %s cannot be unpacked here: %v", filepath.Base(file), err)
		return
	}
	for r := tar.NewReader(bytes.NewReader(plain)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			tb.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		text, err := io.ReadAll(r)
		if err != nil {
			tb.Fatal(err)
		}
		f(h.Name, string(text))
	}
}

// column is the last number of each line.
func column(tb testing.TB, text string) []float64 {
	var list []float64
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		x, err := strconv.ParseFloat(fields[len(fields)-1], 64)
		if err != nil {
			tb.Fatal(err)
		}
		list = append(list, x)
	}
	return list
}

// bandwidths are the recordings of throughput: every other one for tuning.
// Those that were cut into parts are joined, so that no recording is in both.
func bandwidths(tb testing.TB) []dataSet {
	tb.Helper()
	sets := []dataSet{{name: "3G, Norway"}, {name: "Oboe"}, {name: "FCC, HSDPA"}}
	folders := []string{"traces_3gp", "traces_oboe", "fcc_ori/cooked_traces"}
	file := recordings.OrGenerated(tb, "net", "bwtraces", "bandwidth-timeseries-3gp-oboe-fcc.tar.xz")
	if file == "" {
		return nil
	}
	parts := make([]map[string]string, len(sets))
	unpacked(tb, file, func(name, text string) {
		if i := slices.Index(folders, path.Dir(name)); i >= 0 {
			if parts[i] == nil {
				parts[i] = map[string]string{}
			}
			parts[i][name] = text
		}
	})
	for i, files := range parts {
		joined := map[string][]float64{}
		for _, name := range sortedKeys(files) {
			whole, _, _ := strings.Cut(name, "_part")
			joined[whole] = append(joined[whole], column(tb, files[name])...)
		}
		for n, name := range sortedKeys(joined) {
			if n%2 == 0 {
				sets[i].tuning = append(sets[i].tuning, joined[name])
			} else {
				sets[i].judged = append(sets[i].judged, joined[name])
			}
		}
	}
	return slices.DeleteFunc(sets, func(s dataSet) bool { return len(s.judged) == 0 })
}

func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// loads are the recordings of CPU use: of PlanetLab's hosts, one day for
// tuning and two to judge; of a data centre of Alibaba, hours of the first half
// of a day and of the second.
func loads(tb testing.TB) []dataSet {
	tb.Helper()
	var sets []dataSet
	if file := recordings.OrGenerated(tb, "load", "planetlab-cpu-3days.tar.xz"); file != "" {
		s := dataSet{name: "PlanetLab"}
		unpacked(tb, file, func(name, text string) {
			if strings.HasPrefix(name, "20110303/") {
				s.tuning = append(s.tuning, column(tb, text))
			} else {
				s.judged = append(s.judged, column(tb, text))
			}
		})
		if len(s.judged) > 0 {
			sets = append(sets, s)
		}
	}
	if file := recordings.OrGenerated(tb, "load",
		"alibaba2018_day_1_machine_usage_day_1_grouped_10_seconds.csv.gz"); file != "" {
		sets = append(sets, alibaba(tb, file))
	}
	return sets
}

// alibaba are CPU, memory, network in and out, and disk, every 10 seconds, two
// hours a series.
func alibaba(tb testing.TB, file string) dataSet {
	tb.Helper()
	const hours2 = 720
	packed, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	plain, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		tb.Fatal(err)
	}
	rows, err := csv.NewReader(plain).ReadAll()
	if err != nil {
		tb.Fatal(err)
	}
	s := dataSet{name: "Alibaba"}
	for c := range rows[0] {
		var use []float64
		for _, row := range rows[1:] {
			if x, err := strconv.ParseFloat(row[c], 64); err == nil { // else a gap in the record
				use = append(use, x)
			}
		}
		for piece := range slices.Chunk(use[:len(use)/2], hours2) {
			s.tuning = append(s.tuning, piece)
		}
		for piece := range slices.Chunk(use[len(use)/2:], hours2) {
			s.judged = append(s.judged, piece)
		}
	}
	long := func(list [][]float64) [][]float64 {
		return slices.DeleteFunc(list, func(v []float64) bool { return len(v) < hours2 })
	}
	s.tuning, s.judged = long(s.tuning), long(s.judged)
	return s
}

// generated stand for the recorded series where those are not here.
func generated() []dataSet {
	kinds := []struct {
		name string
		make func(r *rand.Rand) func() float64
	}{
		{"steady with noise", func(r *rand.Rand) func() float64 {
			mean := 1 + 99*r.Float64()
			return func() float64 { return mean * (1 + 0.1*r.NormFloat64()) }
		}},
		{"random walk", func(r *rand.Rand) func() float64 {
			x := 50.0
			return func() float64 { x = math.Abs(x + r.NormFloat64()); return x }
		}},
		{"streams that come and go", func(r *rand.Rand) func() float64 {
			streams := 0
			return func() float64 {
				if r.IntN(20) == 0 {
					streams = min(max(streams+2*r.IntN(2)-1, 0), 9)
				}
				return 100 / float64(1+streams) * (1 + 0.02*r.NormFloat64())
			}
		}},
		{"steady with outliers", func(r *rand.Rand) func() float64 {
			return func() float64 {
				if r.IntN(10) == 0 {
					return 5 * r.Float64()
				}
				return 20 + r.NormFloat64()
			}
		}},
	}
	var sets []dataSet
	for k, kind := range kinds {
		s := dataSet{name: kind.name}
		for i := range 100 {
			next := kind.make(rand.New(rand.NewPCG(uint64(k), uint64(i))))
			v := make([]float64, 300)
			for j := range v {
				v[j] = max(next(), 0)
			}
			if i%2 == 0 {
				s.tuning = append(s.tuning, v)
			} else {
				s.judged = append(s.judged, v)
			}
		}
		sets = append(sets, s)
	}
	return sets
}
