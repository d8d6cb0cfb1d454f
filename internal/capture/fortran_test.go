package capture_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/godwit-hpc/godwit/internal/capture/capturetest"
)

// fortran compiles a program of testdata. Debian's Open MPI brings a compiler that
// has no name without its version.
func fortran(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	cmd := exec.Command("mpif90", "-o", path, filepath.Join("testdata", name+".f90"))
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
			p, printed := mustCapture(t, fortran(t, name))
			if want := capturetest.Sent(t, 4, printed); capturetest.Lines(p.Bytes) != capturetest.Lines(want) {
				t.Errorf("captured\n%swant\n%s", capturetest.Lines(p.Bytes), capturetest.Lines(want))
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
