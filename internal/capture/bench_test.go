package capture_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/capture"
	"github.com/godwit-hpc/godwit/internal/capture/capturetest"
	"github.com/godwit-hpc/godwit/internal/mpirun"
)

// cost is what a run took: the number that the program prints before a unit, and the
// processor time of all of it, with mpirun's; what was captured is in dir.
type cost struct {
	printed, cpu float64
	dir          string
}

// took runs a program on ranks, captured or not.
func took(b *testing.B, captured bool, unit string, ranks int, program ...string) cost {
	b.Helper()
	root := capturetest.Root(b)
	load := []string{filepath.Join(root, "mpi/yield/built/yield.so")}
	if captured {
		load = slices.Insert(load, 0, filepath.Join(root, "mpi/capture/built/capture.so"))
	}
	cmd := exec.CommandContext(context.Background(), "mpirun", append([]string{"-n", fmt.Sprint(ranks)}, program...)...)
	dir := b.TempDir()
	cmd.Env = append(mpirun.Environment(os.Environ()), "LD_PRELOAD="+strings.Join(load, ":"), "GODWIT_CAPTURE_DIR="+dir)
	out, err := cmd.CombinedOutput()
	found := regexp.MustCompile(`([0-9.]+) ` + unit + `\n`).FindSubmatch(out)
	if err != nil || found == nil {
		b.Fatalf("%v: %v\n%s", program, err, out)
	}
	x, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		b.Fatal(err)
	}
	return cost{x, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), dir}
}

// BenchmarkSlowdown runs kernels with and without, in turns: how much longer they take
// by the clock, as the median of the ratios of runs made one after the other, and of
// the quarter of both that others disturbed least; and how much more of the processor.
// Each with its 95 % interval. These machines change their speed by more than what is
// to be found, so it also counts: how many calls a rank makes in a second, times what a
// call costs more (BenchmarkCall).
func BenchmarkSlowdown(b *testing.B) {
	capturetest.Make(b, "yield", "capture", "examples")
	calls := callsProgram(b)
	var each float64
	for _, k := range []struct {
		name string
		args []string
	}{{"bt", []string{"64", "40"}}, {"cg", []string{"64000", "14"}}, {"is", []string{"4194304", "15"}}, {"lu", []string{"64", "9"}}, {"mg", []string{"64", "110"}}} {
		b.Run(k.name, func(b *testing.B) {
			if each == 0 {
				each = moreForACall(b, calls, 15)
			}
			program := append([]string{capturetest.Program(b, k.name)}, k.args...)
			var with, without []cost
			for first := true; b.Loop(); first = !first {
				a := took(b, first, "s", 4, program...)
				z := took(b, !first, "s", 4, program...)
				if !first {
					a, z = z, a
				}
				with, without = append(with, a), append(without, z)
			}
			clock := func(c cost) float64 { return c.printed }
			report(b, "clock", with, without, clock, ofPairs)
			report(b, "undisturbed", with, without, clock, ofFastest)
			report(b, "cpu", with, without, func(c cost) float64 { return c.cpu }, ofPairs)
			p, err := capture.ReadFolder(with[len(with)-1].dir)
			if err != nil {
				b.Fatal(err)
			}
			most := 0.0
			for _, r := range p.Ranks {
				most = max(most, float64(made(r.Calls)+r.Lost)/r.Seconds)
			}
			b.ReportMetric(most, "calls/s")
			b.ReportMetric(100*most*each/1e9, "%more-calls")
		})
	}
}

// made counts the calls of a sequence.
func made(nodes []capture.Node) int64 {
	var n int64
	for i := range nodes {
		if nodes[i].IsLoop() {
			n += nodes[i].Rounds * made(nodes[i].Body)
		} else {
			n++
		}
	}
	return n
}

// report is by how many percent one is above the other; how certain that is, from
// drawing pairs again.
func report(b *testing.B, what string, with, without []cost, of func(cost) float64, more func(with, without []float64) float64) {
	b.Helper()
	n := len(with)
	rnd := rand.New(rand.NewPCG(95, uint64(n)))
	x, y, draws := make([]float64, n), make([]float64, n), make([]float64, 2000)
	for i := range draws {
		for j := range x {
			k := rnd.IntN(n)
			x[j], y[j] = of(with[k]), of(without[k])
		}
		draws[i] = more(x, y)
	}
	for i := range x {
		x[i], y[i] = of(with[i]), of(without[i])
	}
	slices.Sort(draws)
	b.ReportMetric(more(x, y), "%more-"+what)
	b.ReportMetric(draws[50], "%low-"+what)
	b.ReportMetric(draws[1949], "%high-"+what)
}

// ofPairs is by how much one is more in the median of the pairs.
func ofPairs(with, without []float64) float64 {
	more := make([]float64, len(with))
	for i := range with {
		more[i] = 100 * (with[i]/without[i] - 1)
	}
	return median(more)
}

// ofFastest compares the quarter of both that was fastest: whatever else the machine
// does makes runs slower, never faster.
func ofFastest(with, without []float64) float64 {
	return 100 * (fastQuarter(with)/fastQuarter(without) - 1)
}

// fastQuarter is the mean of the least quarter. It sorts x.
func fastQuarter(x []float64) float64 {
	slices.Sort(x)
	sum, n := 0.0, (len(x)+3)/4
	for _, v := range x[:n] {
		sum += v
	}
	return sum / float64(n)
}

// median sorts x.
func median(x []float64) float64 {
	slices.Sort(x)
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

// BenchmarkCall is what a call costs more, in processor time.
func BenchmarkCall(b *testing.B) {
	capturetest.Make(b, "yield", "capture")
	path := callsProgram(b)
	var more []float64
	for b.Loop() {
		more = append(more, moreForACall(b, path, 1))
	}
	b.ReportMetric(median(more), "ns-more/call")
}

// callsProgram is a program that does nothing but call.
func callsProgram(b *testing.B) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "calls")
	if out, err := exec.Command("mpicc", "-O2", "-o", path, "testdata/calls.c").CombinedOutput(); err != nil {
		b.Fatalf("mpicc: %v\n%s", err, out)
	}
	return path
}

// moreForACall is the nanoseconds that a captured call takes longer, the median of n
// comparisons.
func moreForACall(b *testing.B, path string, n int) float64 {
	b.Helper()
	more := make([]float64, n)
	for i := range more {
		more[i] = took(b, true, "ns", 1, path).printed - took(b, false, "ns", 1, path).printed
	}
	return median(more)
}
