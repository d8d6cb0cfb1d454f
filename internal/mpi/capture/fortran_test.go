package capture_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/godwit-hpc/godwit/internal/mpi/capture/capturetest"
)

// fortran compiles a program of testdata. Debian's Open MPI brings a compiler that
// has no name without its version.
func fortran(t *testing.T, file string, options ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	cmd := exec.Command("mpif90", append(options, "-o", path, filepath.Join("testdata", file))...)
	if _, err := exec.LookPath("gfortran"); err != nil {
		found, err := filepath.Glob("/usr/bin/gfortran-[0-9]*")
		if err != nil || len(found) == 0 {
			t.Fatal("no gfortran: make deps installs it with Open MPI")
		}
		cmd.Env = append(os.Environ(), "OMPI_FC="+found[len(found)-1])
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("mpif90: %v\n%s", err, out)
	}
	return path
}

func TestFortranProgramsAreSeen(t *testing.T) {
	for _, name := range []string{"classic", "modern"} {
		t.Run(name, func(t *testing.T) {
			p, printed := mustCapture(t, fortran(t, name+".f90"))
			if want := capturetest.SentMatrix(t, 4, printed); capturetest.MatrixLines(p.Bytes) != capturetest.MatrixLines(want) {
				t.Errorf("captured\n%swant\n%s", capturetest.MatrixLines(p.Bytes), capturetest.MatrixLines(want))
			}
			seen := map[string]int64{}
			for _, o := range p.Operations {
				seen[o.Kind] += o.Calls
			}
			if seen["allreduce"] != 10 || seen["bcast"] != 10 {
				t.Errorf("collective operations %v", seen)
			}
		})
	}
}

func TestFortranProgramsAreSeenInWhatTheySeldomDo(t *testing.T) {
	for _, c := range []struct {
		name    string
		options []string
	}{{"classic", nil}, {"modern", []string{"-DMODERN"}}} {
		t.Run(c.name, func(t *testing.T) {
			p, printed := mustCapture(t, fortran(t, "more.F90", c.options...))
			if want := capturetest.SentMatrix(t, 4, printed); capturetest.MatrixLines(p.Bytes) != capturetest.MatrixLines(want) {
				t.Errorf("captured\n%swant\n%s", capturetest.MatrixLines(p.Bytes), capturetest.MatrixLines(want))
			}
			seen := map[string]int64{}
			for _, o := range p.Operations {
				seen[o.Kind] += o.Calls
			}
			for _, kind := range []string{"barrier", "allreduce", "exscan", "reduce_scatter_block", "alltoallv"} {
				if seen[kind] != 8 {
					t.Errorf("%d of %s, want 8: %v", seen[kind], kind, seen)
				}
			}
			if len(p.Groups) != 5 { // the world, and two pairs of each kind
				t.Errorf("groups %v", p.Groups)
			}
			// Requests whose end is not seen would be others in each round.
			for r := range p.Ranks {
				if n := len(p.Ranks[r].Calls); n > 40 {
					t.Errorf("rank %d: its equal rounds are %d nodes", r, n)
				}
			}
		})
	}
}
