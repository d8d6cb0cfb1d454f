package native

import (
	"context"
	"fmt"
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

	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
	"github.com/godwit-hpc/godwit/internal/protocol/selfreport"
)

// srsProgram compiles one of the example programs with SRS.
func srsProgram(t testing.TB, name string) string {
	t.Helper()
	return compileSRS(t, name, filepath.Join("..", "..", "..", "..", "examples", "apps", "srs", name+".c"))
}

func compileSRS(t testing.TB, name, source string) string {
	t.Helper()
	root, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	c := filepath.Join(root, "program", "c")
	out := filepath.Join(t.TempDir(), name)
	args := []string{"-O2", "-I" + c, "-o", out, source}
	for _, f := range []string{"srs", "srs_layout", "srs_map", "srs_part", "godwit"} {
		args = append(args, filepath.Join(c, f+".c"))
	}
	if said, err := exec.Command("mpicc", append(args, "-lscalapack-openmpi", "-lm")...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return out
}

// mpiEnvironment lets several ranks share few processors.
var mpiEnvironment = []string{"PATH=/usr/bin:/bin", "HOME=/tmp", "OMPI_ALLOW_RUN_AS_ROOT=1",
	"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_rmaps_base_oversubscribe=1", "OMPI_MCA_mpi_yield_when_idle=1",
	"OMPI_MCA_hwloc_base_binding_policy=none", "OMPI_MCA_btl_vader_single_copy_mechanism=none"}

// srsRun is a program with SRS that runs beside a page on which it is told what is wanted.
type srsRun struct {
	*job
	page string
}

// startSRS starts an MPI program on so many processes, from an image or from the beginning.
func startSRS(t *testing.T, argv []string, procs int, image string) *srsRun {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "godwit-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	r := &srsRun{page: filepath.Join(dir, selfreport.PageFile)}
	if err := os.WriteFile(r.page, selfreport.NewPage(), 0o600); err != nil {
		t.Fatal(err)
	}
	line := fmt.Sprintf("exec mpirun -n %d %s", procs, strings.Join(argv, " "))
	r.job = scriptFrom(t, SRSMethod(Options{}), line, image, func(p *checkpoint.Program) {
		p.Env = append(mpiEnvironment, selfreport.FolderVariable+"="+dir, "OMPI_MCA_orte_tmpdir_base="+dir)
	})
	return r
}

func (r *srsRun) setField(at int64, value uint64) {
	r.t.Helper()
	f, err := os.OpenFile(r.page, os.O_WRONLY, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(selfreport.FieldBytes(value), at); err != nil {
		r.t.Fatal(err)
	}
}

// steps is how many the program says it has done.
func (r *srsRun) steps() uint64 {
	page, err := os.ReadFile(r.page)
	if err != nil {
		r.t.Fatal(err)
	}
	return selfreport.FieldValue(page[selfreport.StepsDoneAt:])
}

// stopSRS has the program save itself and end; the image.
func (r *srsRun) stopSRS() string {
	r.t.Helper()
	r.setField(selfreport.StopAt, 1)
	image := r.t.TempDir()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if err := r.SaveImage(ctx, image, true, func() error { return nil }); err != nil {
		r.t.Fatalf("%v; printed %q", err, r.printed())
	}
	return image
}

func (r *srsRun) awaitResult() string {
	r.t.Helper()
	select {
	case <-r.Done():
	case <-time.After(5 * time.Minute):
		r.t.Fatalf("it does not end; printed %q", r.printed())
	}
	if res := r.Result(); res.Code != 0 || res.Saved {
		r.t.Fatalf("ended with %+v; printed %q", res, r.printed())
	}
	r.waitFor("its line", func() bool { return strings.HasSuffix(r.printed(), "\n") })
	return r.printed()
}

// isSameResult says whether two programs have printed the same, but for the order of sums in ScaLAPACK.
func isSameResult(got, want string) bool {
	g, w := strings.Fields(got), strings.Fields(want)
	for i := range w {
		if len(g) != len(w) {
			return false
		}
		x, e := strconv.ParseFloat(g[i], 64)
		y, f := strconv.ParseFloat(w[i], 64)
		inOrder := w[0] != "qr" && w[0] != "lu"
		if g[i] != w[i] && (inOrder || e != nil || f != nil || math.Abs(x-y) > 1e-12*math.Abs(y)) {
			return false
		}
	}
	return true
}

// srsMoves is how often each program is stopped; GODWIT_SRS_MOVES says otherwise.
func srsMoves(t *testing.T) int {
	text := os.Getenv("GODWIT_SRS_MOVES")
	if text == "" {
		return 2
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("GODWIT_SRS_MOVES is %q, which is no number from 1 on", text)
	}
	return n
}

// Stopped at random steps and continued on other numbers of processes, to the same result as
// without; each move is a run of its own from the beginning to the end.
func TestProgramsWithSRSGoOnOnOtherNumbersOfProcesses(t *testing.T) {
	for _, argv := range [][]string{{"heat", "120", "600"}, {"cg", "60", "300"}, {"bodies", "100", "300"},
		{"qr", "400", "8"}, {"lu", "400", "8"}} {
		t.Run(argv[0], func(t *testing.T) {
			argv = append([]string{srsProgram(t, argv[0])}, argv[1:]...)
			want := startSRS(t, argv, 1, "").awaitResult()
			sizes := []int{1, 2, 3, 4, 6, 8}
			procs := 2
			for range srsMoves(t) / 2 {
				image, end := "", filepath.Join(t.TempDir(), "end")
				held := append(slices.Clone(argv), end)
				for range 2 {
					r := startSRS(t, held, procs, image)
					least := 1 + rand.Uint64N(200)
					r.waitFor("steps", func() bool { return r.steps() >= least })
					image = r.stopSRS()
					old := procs
					procs = sizes[rand.IntN(len(sizes))]
					t.Logf("%d to %d processes from step %d on", old, procs, r.steps())
				}
				if err := os.WriteFile(end, nil, 0o600); err != nil {
					t.Fatal(err)
				}
				if got := startSRS(t, held, procs, image).awaitResult(); !isSameResult(got, want) {
					t.Errorf("stopped twice: %q, else %q", got, want)
				}
			}
		})
	}
}
