package predict

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
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// load says what share of its CPU a program gets in the next interval.
type load func() float64

// kindOfLoad makes loads for runs of about n samples.
type kindOfLoad struct {
	name string
	runs int
	make func(r *rand.Rand, n float64) load
}

// dataFile is a file of the recorded data, or nothing if it is not here: in
// $GODWIT_DATA, or in ../shared/data beside the module.
func dataFile(tb testing.TB, path ...string) string {
	tb.Helper()
	dir := os.Getenv("GODWIT_DATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "data")
	}
	file := filepath.Join(append([]string{dir}, path...)...)
	if _, err := os.Stat(file); err != nil {
		tb.Logf("%s is not here", filepath.Join(path...))
		return ""
	}
	return file
}

// planetLab reads the CPU use of PlanetLab hosts on some days, every 5
// minutes. Hosts whose use hardly changes or is almost full are left out.
func planetLab(tb testing.TB, days ...string) [][]float64 {
	tb.Helper()
	file := dataFile(tb, "load", "planetlab-cpu-3days.tar.xz")
	if file == "" {
		return nil
	}
	plain, err := exec.Command("xz", "-dc", file).Output()
	if err != nil {
		tb.Logf("the PlanetLab loads cannot be unpacked here: %v", err)
		return nil
	}
	var all [][]float64
	for r := tar.NewReader(bytes.NewReader(plain)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			tb.Fatal(err)
		}
		if day, _, _ := strings.Cut(h.Name, "/"); h.Typeflag != tar.TypeReg || !slices.Contains(days, day) {
			continue
		}
		text, err := io.ReadAll(r)
		if err != nil {
			tb.Fatal(err)
		}
		var use []float64
		var all1 block
		for _, field := range strings.Fields(string(text)) {
			x, err := strconv.ParseFloat(field, 64)
			if err != nil {
				tb.Fatalf("%s: %v", h.Name, err)
			}
			use = append(use, x/100)
			all1.join(block{n: 1, tame: x / 100})
		}
		if all1.n > 100 && math.Sqrt(all1.m2/all1.n) > 0.05 && all1.tame < 0.8 {
			all = append(all, use)
		}
	}
}

// alibaba reads the mean CPU use of a data centre, every 10 seconds of a day.
func alibaba(tb testing.TB) []float64 {
	tb.Helper()
	file := dataFile(tb, "load", "alibaba2018_day_1_machine_usage_day_1_grouped_10_seconds.csv.gz")
	if file == "" {
		return nil
	}
	f, err := os.Open(file)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	plain, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	rows, err := csv.NewReader(plain).ReadAll()
	if err != nil {
		tb.Fatal(err)
	}
	var use []float64
	for _, row := range rows[1:] {
		if x, err := strconv.ParseFloat(row[0], 64); err == nil { // else a gap in the record
			use = append(use, x/100)
		}
	}
	return use
}

// recorded plays a record of the CPU use of others from a random moment on,
// each value for hold samples.
func recorded(r *rand.Rand, use []float64, hold int) load {
	at, left := r.IntN(len(use)), hold
	return func() float64 {
		if left == 0 {
			at, left = (at+1)%len(use), hold
		}
		left--
		return max(1-use[at], 0.05)
	}
}

// wavering stands for the recorded loads where they are not here: each value
// depends on the one before.
func wavering(r *rand.Rand, hold int) load {
	mean, sd, keep := 0.2+0.5*r.Float64(), 0.05+0.1*r.Float64(), 0.8*r.Float64()
	use := make([]float64, 300)
	x := 0.0
	for i := range use {
		x = keep*x + sd*math.Sqrt(1-keep*keep)*r.NormFloat64()
		use[i] = min(max(mean+x, 0), 0.95)
	}
	return recorded(r, use, hold)
}

// competing: other programs come and go at random, all get the same part of
// one CPU. In a run of n samples come 1.2 of them in the mean, to stay for 0.7
// runs: the share changes about twice a run.
func competing(r *rand.Rand, n float64) load {
	const coming, stay, parts = 1.2, 0.7, 10
	var leaving []float64
	next, now := r.ExpFloat64()*n/coming, 0.0
	return func() float64 {
		sum := 0.0
		for range parts {
			now += 1.0 / parts
			if now >= next {
				leaving = append(leaving, now+r.ExpFloat64()*n*stay)
				next = now + r.ExpFloat64()*n/coming
			}
			leaving = slices.DeleteFunc(leaving, func(end float64) bool { return end < now })
			sum += 1 / float64(1+len(leaving))
		}
		return sum / parts
	}
}

// stairs: one program comes, then another, then both leave: a share of 1, 1/2,
// 1/3, 1, changing at random moments, mostly after a third of the run.
func stairs(r *rand.Rand, n float64) load {
	at := []float64{n * (0.1 + 0.4*r.Float64()), n * (0.4 + 0.6*r.Float64()), n * (0.9 + 2*r.Float64())}
	slices.Sort(at)
	shares := []float64{1, 1. / 2, 1. / 3, 1}
	now := 0.0
	return func() float64 {
		now++
		i := 0
		for i < len(at) && now > at[i] {
			i++
		}
		return shares[i]
	}
}

func alone(*rand.Rand, float64) load { return func() float64 { return 0.98 } }

// noisy is what a sensor sees of a share: scheduling is not quite even.
func noisy(r *rand.Rand, l load) load {
	sd := 0.01 + 0.02*r.Float64()
	return func() float64 { return min(max(l()*(1+sd*r.NormFloat64()), 0.01), 1) }
}

// judged is one prediction and what came.
type judged struct {
	run    uint64
	moment float64 // part of the run that was over
	actual float64 // remaining seconds
	asNow  float64 // by the median need and the share of the last interval
	dist   Dist
}

var moments = []float64{1. / 3, 1. / 2, 2. / 3, 5. / 6}

// play runs a program of 40 to 200 samples' CPU time under a load, and judges
// what is predicted at the moments. Its need is known to half a percent up to
// three percent, as from a history of runs.
func (k kindOfLoad) play(seed uint64, rule Rule) []judged {
	const dt = 2.0
	r := rand.New(rand.NewPCG(seed, 99))
	n := 40 * math.Pow(5, r.Float64())
	sigma := []float64{0.005, 0.01, 0.02, 0.03}[r.IntN(4)]
	need := n * dt
	prior := LogNormal(need*math.Exp(sigma*r.NormFloat64()), sigma)
	l := noisy(r, k.make(r, n))
	var cpu []float64 // at the end of each sample
	sum, end := 0.0, 0.0
	for end == 0 {
		x := l() * dt
		if sum+x >= need {
			end = (float64(len(cpu)) + (need-sum)/x) * dt
		}
		sum += x
		cpu = append(cpu, sum)
	}
	w := NewWatch(Config{Need: prior, Rule: rule})
	var all []judged
	for i, c := range cpu[:len(cpu)-1] {
		at := float64(i+1) * dt
		// CPU time is counted in hundredths of a second.
		w.Add(Sample{At: seconds(at), CPU: seconds(c).Truncate(10 * time.Millisecond)})
		if m := len(all); m < len(moments) && at >= moments[m]*end {
			d, _ := w.Remaining()
			now, _ := w.Share()
			all = append(all, judged{seed, moments[m], end - at, max(prior.Median()-c, 0) / max(now, 0.01), d})
		}
	}
	return all
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
