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

	"github.com/godwit-hpc/godwit/internal/capture/capturetest"
	"github.com/godwit-hpc/godwit/internal/mpirun"
)

// cost is what a run took: the number that the program prints before a unit, and the
// processor time of all of it, with mpirun's.
type cost struct{ printed, cpu float64 }

// took runs a program on ranks, captured or not.
func took(b *testing.B, captured bool, unit string, ranks int, program ...string) cost {
	b.Helper()
	root := capturetest.Root(b)
	load := []string{filepath.Join(root, "mpi/yield/built/yield.so")}
	if captured {
		load = slices.Insert(load, 0, filepath.Join(root, "mpi/capture/built/capture.so"))
	}
	cmd := exec.CommandContext(context.Background(), "mpirun", append([]string{"-n", fmt.Sprint(ranks)}, program...)...)
	cmd.Env = append(mpirun.Environment(os.Environ()), "LD_PRELOAD="+strings.Join(load, ":"), "GODWIT_CAPTURE_DIR="+b.TempDir())
	out, err := cmd.CombinedOutput()
	found := regexp.MustCompile(`([0-9.]+) ` + unit + `\n`).FindSubmatch(out)
	if err != nil || found == nil {
		b.Fatalf("%v: %v\n%s", program, err, out)
	}
	x, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		b.Fatal(err)
	}
	return cost{x, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()}
}

// BenchmarkSlowdown runs kernels with and without, in turns: how much longer they take
// by the clock, and how much more of the processor, as the ratio of medians, with its
// 95 % interval.
func BenchmarkSlowdown(b *testing.B) {
	capturetest.Make(b, "yield", "capture", "examples")
	for _, k := range []struct {
		name string
		args []string
	}{{"bt", []string{"64", "240"}}, {"cg", []string{"64000", "80"}}, {"is", []string{"4194304", "90"}}, {"lu", []string{"64", "50"}}, {"mg", []string{"128", "40"}}} {
		b.Run(k.name, func(b *testing.B) {
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
			report(b, "clock", with, without, func(c cost) float64 { return c.printed })
			report(b, "cpu", with, without, func(c cost) float64 { return c.cpu })
		})
	}
}

// report is by how many percent the median of one is above that of the other; how
// certain that is, from drawing pairs again.
func report(b *testing.B, what string, with, without []cost, of func(cost) float64) {
	b.Helper()
	more := func(at func(int) int) float64 {
		x, y := make([]float64, len(with)), make([]float64, len(with))
		for i := range x {
			pair := at(i)
			x[i], y[i] = of(with[pair]), of(without[pair])
		}
		slices.Sort(x)
		slices.Sort(y)
		return 100 * ((x[(len(x)-1)/2]+x[len(x)/2])/(y[(len(y)-1)/2]+y[len(y)/2]) - 1)
	}
	rnd := rand.New(rand.NewPCG(95, uint64(len(with))))
	draws := make([]float64, 2000)
	for i := range draws {
		draws[i] = more(func(int) int { return rnd.IntN(len(with)) })
	}
	slices.Sort(draws)
	b.ReportMetric(more(func(i int) int { return i }), "%more-"+what)
	b.ReportMetric(draws[50], "%low-"+what)
	b.ReportMetric(draws[1949], "%high-"+what)
}

// BenchmarkCall is what a call costs more, in processor time.
func BenchmarkCall(b *testing.B) {
	capturetest.Make(b, "yield", "capture")
	path := filepath.Join(b.TempDir(), "calls")
	if out, err := exec.Command("mpicc", "-O2", "-o", path, "testdata/calls.c").CombinedOutput(); err != nil {
		b.Fatalf("mpicc: %v\n%s", err, out)
	}
	var more []float64
	for b.Loop() {
		more = append(more, took(b, true, "ns", 1, path).printed-took(b, false, "ns", 1, path).printed)
	}
	slices.Sort(more)
	b.ReportMetric(more[len(more)/2], "ns-more/call")
}
