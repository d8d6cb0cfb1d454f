package capture_test

import (
	"context"
	"fmt"
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

// took runs a program on ranks, captured or not, and returns the number that it
// prints before a unit.
func took(b *testing.B, captured bool, unit string, ranks int, program ...string) float64 {
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
	return x
}

// BenchmarkSlowdown runs kernels with and without, in turns: how much longer they take,
// as the median of the pairs, with the quarters around it.
func BenchmarkSlowdown(b *testing.B) {
	capturetest.Make(b, "yield", "capture", "examples")
	for _, k := range []struct {
		name string
		args []string
	}{{"bt", []string{"64", "20"}}, {"cg", []string{"64000", "10"}}, {"is", []string{"4194304", "10"}}, {"lu", []string{"64", "8"}}, {"mg", []string{"128", "5"}}} {
		b.Run(k.name, func(b *testing.B) {
			program := append([]string{capturetest.Program(b, k.name)}, k.args...)
			var more []float64
			for first := true; b.Loop(); first = !first {
				a := took(b, first, "s", 4, program...)
				z := took(b, !first, "s", 4, program...)
				if !first {
					a, z = z, a
				}
				more = append(more, 100*(a/z-1))
			}
			slices.Sort(more)
			b.ReportMetric(more[len(more)/2], "%slower")
			b.ReportMetric(more[len(more)/4], "%low")
			b.ReportMetric(more[len(more)*3/4], "%high")
		})
	}
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
		more = append(more, took(b, true, "ns", 1, path)-took(b, false, "ns", 1, path))
	}
	slices.Sort(more)
	b.ReportMetric(more[len(more)/2], "ns-more/call")
}
