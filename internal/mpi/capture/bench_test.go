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

	"github.com/godwit-hpc/godwit/internal/mpi/capture"
	"github.com/godwit-hpc/godwit/internal/mpi/capture/capturetest"
	"github.com/godwit-hpc/godwit/internal/mpi/mpirun"
)

// run runs a program on ranks with libraries of ours loaded, and returns what it printed
// and the folder with what was captured, if one of them does that.
func run(b *testing.B, load []string, ranks int, program ...string) (printed, dir string) {
	b.Helper()
	cmd := exec.CommandContext(context.Background(), "mpirun", append([]string{"-n", fmt.Sprint(ranks)}, program...)...)
	dir = b.TempDir()
	load = append(load, filepath.Join(capturetest.ProjectRoot(b), "mpi/yield/built/yield.so"))
	cmd.Env = append(mpirun.RunEnvironment(os.Environ()), "LD_PRELOAD="+strings.Join(load, ":"), "GODWIT_CAPTURE_DIR="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.Fatalf("%v: %v\n%s", program, err, out)
	}
	return string(out), dir
}

// library is what captures.
func library(b *testing.B) string {
	return filepath.Join(capturetest.ProjectRoot(b), "mpi/capture/built/capture.so")
}

// BenchmarkSlowdown is by how much kernels are slower when they are captured: by the
// clock, with the 95 % interval, and counted, the calls that a rank makes in a second
// times what one costs more (BenchmarkCall). Two runs of the same program differ by more
// than what is to be found, so that rounds of one run are compared, captured or not in
// turns: the median of one kind with that of the other.
func BenchmarkSlowdown(b *testing.B) {
	capturetest.MakeTargets(b, "yield", "capture", "examples")
	calls := compile(b, "calls")
	turns := compile(b, "turns", "-shared", "-fPIC")
	var each float64
	for _, k := range []struct {
		name string
		args []string
	}{{"bt", []string{"64", "250"}}, {"cg", []string{"64000", "80"}}, {"is", []string{"4194304", "140"}},
		{"lu", []string{"64", "80"}}, {"mg", []string{"64", "180"}}} {
		b.Run(k.name, func(b *testing.B) {
			if each == 0 {
				each = moreForACall(b, calls, 15)
			}
			program := append([]string{capturetest.ProgramPath(b, k.name)}, k.args...)
			var list []fourRounds
			for b.Loop() {
				printed, _ := run(b, []string{turns, library(b)}, 4, program...)
				list = append(list, roundsOf(b, printed)...)
			}
			report(b, list)
			_, dir := run(b, []string{library(b)}, 4, program...)
			p, err := capture.ReadFolder(dir)
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

// fourRounds are two rounds that were captured and two that were not, with one kind
// around the other, so that a machine that becomes slower counts for both alike.
type fourRounds struct{ with, without [2]float64 }

// roundsOf reads what testdata/turns.c prints. The first four warm up.
func roundsOf(b *testing.B, printed string) (list []fourRounds) {
	b.Helper()
	all := regexp.MustCompile(`round ([01]) ([0-9.]+)\n`).FindAllStringSubmatch(printed, -1)
	if len(all) < 8 {
		b.Fatalf("%d rounds:\n%s", len(all), printed)
	}
	for i := 4; i+4 <= len(all); i += 4 {
		var four fourRounds
		var n [2]int
		for _, m := range all[i : i+4] {
			x, err := strconv.ParseFloat(m[2], 64)
			if err != nil {
				b.Fatal(err)
			}
			if m[1] == "1" {
				four.with[n[1]], n[1] = x, n[1]+1
			} else {
				four.without[n[0]], n[0] = x, n[0]+1
			}
		}
		list = append(list, four)
	}
	return list
}

// report is by how many percent captured rounds take longer; how certain that is, from
// drawing fours again.
func report(b *testing.B, list []fourRounds) {
	b.Helper()
	rnd := rand.New(rand.NewPCG(95, uint64(len(list))))
	draws, drawn := make([]float64, 2000), make([]fourRounds, len(list))
	for i := range draws {
		for j := range drawn {
			drawn[j] = list[rnd.IntN(len(list))]
		}
		draws[i] = more(drawn)
	}
	slices.Sort(draws)
	b.ReportMetric(more(list), "%more")
	b.ReportMetric(draws[50], "%low")
	b.ReportMetric(draws[1949], "%high")
	b.ReportMetric(float64(4*len(list)), "rounds")
}

// more is by how many percent the median of the captured rounds is longer.
func more(list []fourRounds) float64 {
	var with, without []float64
	for i := range list {
		with, without = append(with, list[i].with[:]...), append(without, list[i].without[:]...)
	}
	return 100 * (median(with)/median(without) - 1)
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

// median sorts x.
func median(x []float64) float64 {
	slices.Sort(x)
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

// BenchmarkCall is what a call costs more, in processor time.
func BenchmarkCall(b *testing.B) {
	capturetest.MakeTargets(b, "yield", "capture")
	calls := compile(b, "calls")
	var more []float64
	for b.Loop() {
		more = append(more, moreForACall(b, calls, 1))
	}
	b.ReportMetric(median(more), "ns-more/call")
}

// compile compiles a program, or a library, of testdata.
func compile(b *testing.B, name string, flags ...string) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), name)
	if out, err := exec.Command("mpicc",
		append([]string{"-O2", "-o", path, "testdata/" + name + ".c"}, flags...)...).CombinedOutput(); err != nil {
		b.Fatalf("mpicc: %v\n%s", err, out)
	}
	return path
}

// moreForACall is the nanoseconds that a captured call takes longer, the median of n
// comparisons of a program that does nothing but call.
func moreForACall(b *testing.B, calls string, n int) float64 {
	b.Helper()
	took := func(load ...string) float64 {
		printed, _ := run(b, load, 1, calls)
		var ns float64
		if _, err := fmt.Sscanf(printed, "%f ns", &ns); err != nil {
			b.Fatalf("%q: %v", printed, err)
		}
		return ns
	}
	more := make([]float64, n)
	for i := range more {
		more[i] = took(library(b)) - took()
	}
	return median(more)
}
