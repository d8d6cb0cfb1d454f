package capture_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/netgraph"
	"github.com/godwit-hpc/godwit/internal/mpi/capture"
	"github.com/godwit-hpc/godwit/internal/mpi/capture/capturetest"
)

// mustCapture captures a program that ends well.
func mustCapture(t *testing.T, program ...string) (p *capture.Pattern, printed string) {
	t.Helper()
	p, printed, code, err := capturetest.CaptureProgram(t, nil, program...)
	if err != nil || code != 0 {
		t.Fatalf("exit code %d, %v\n%s", code, err, printed)
	}
	return p, printed
}

func TestTheMatrixOfAKernelIsWhatItSaysItSent(t *testing.T) {
	for _, c := range []struct {
		name   string
		args   []string
		pairs  int
		rounds int64
	}{
		{"cg", []string{"400", "6"}, 3, 0},
		{"bt", []string{"8", "10"}, 6, 10},
		{"is", []string{"4096", "12"}, 6, 12},
		{"lu", []string{"8", "8"}, 4, 8},
		{"mg", []string{"8", "8"}, 4, 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, printed := mustCapture(t, append([]string{capturetest.ProgramPath(t, c.name)}, c.args...)...)
			got := p.Bytes
			if c.name == "is" { // which sends by collective operations alone
				got = p.Collective
				for _, o := range p.Operations { // those of the usual ways are not what it says
					if o.Kind == "allreduce" || o.Kind == "allgather" {
						subtract(got, p, o)
					}
				}
			}
			if want := capturetest.SentMatrix(t, 4, printed); capturetest.MatrixLines(got) != capturetest.MatrixLines(want) {
				t.Errorf("captured\n%swant\n%s", capturetest.MatrixLines(got), capturetest.MatrixLines(want))
			}
			if len(p.Edges) != c.pairs {
				t.Errorf("%d pairs talk much, want %d: %v", len(p.Edges), c.pairs, p.Edges)
			}
			if c.rounds > 0 && (len(p.Phases) == 0 || p.Phases[0].Rounds < c.rounds-1 || p.Phases[0].Rounds > c.rounds) {
				t.Errorf("phases %+v, want one of %d rounds", p.Phases, c.rounds)
			}
			readAgain(t, p)
		})
	}
}

// subtract takes the bytes of operations between all members, as spread puts them.
func subtract(m [][]int64, p *capture.Pattern, o capture.Collective) {
	one := &capture.Node{Call: o.Kind, Group: o.Group, Peer: o.Root, Bytes: o.Bytes / int64(p.Nodes)}
	seq := make([][]capture.Node, p.Nodes)
	for r := range seq {
		seq[r] = []capture.Node{*one}
	}
	for i, row := range p.TrafficMatrix(seq) {
		for j, x := range row {
			m[i][j] -= x
		}
	}
}

// readAgain writes the pattern to a file that both readers accept.
func readAgain(t *testing.T, p *capture.Pattern) {
	t.Helper()
	text, err := p.EncodeText()
	if err != nil {
		t.Fatal(err)
	}
	again, err := capture.Parse("x.pattern", text)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := again.EncodeText(); err != nil || !bytes.Equal(text, second) {
		t.Errorf("read and written again it differs (%v)", err)
	}
	chosen, err := netgraph.ParsePattern("x.pattern", text)
	if err != nil || chosen.Nodes != p.Nodes || len(chosen.Edges) != len(p.Edges) {
		t.Errorf("select reads %+v, %v", chosen, err)
	}
	if svg := p.DrawSVG(); !bytes.HasPrefix(svg, []byte("<svg ")) || bytes.Count(svg, []byte("<line ")) != len(p.Edges) {
		t.Errorf("it is drawn as %.200s", svg)
	}
}

// compiled is the path of a C program of testdata.
func compiled(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	out, err := exec.Command("mpicc", "-O1", "-Wall", "-Wextra", "-o", path, filepath.Join("testdata", name+".c"),
		"-lmpi_mpifh").CombinedOutput()
	if err != nil {
		t.Fatalf("mpicc: %v\n%s", err, out)
	}
	return path
}

// everything is the program of many ways.
func everything(t *testing.T) string {
	t.Helper()
	return compiled(t, "everything")
}

func TestEveryWayOfSendingIsSeen(t *testing.T) {
	p, printed := mustCapture(t, everything(t), "10")
	if want := capturetest.SentMatrix(t, 4, printed); capturetest.MatrixLines(p.Bytes) != capturetest.MatrixLines(want) {
		t.Errorf("captured\n%swant\n%s", capturetest.MatrixLines(p.Bytes), capturetest.MatrixLines(want))
	}
	if len(p.Groups) != 3 { // the world and its halves
		t.Errorf("groups %v", p.Groups)
	}
	seen := map[string]int64{}
	for _, o := range p.Operations {
		seen[o.Kind] += o.Calls
	}
	if seen["allreduce"] != 20 || seen["bcast"] != 20 || seen["barrier"] != 10 {
		t.Errorf("collective operations %v", seen)
	}
	for r := range p.Ranks {
		if n := len(p.Ranks[r].Calls); n > 40 {
			t.Errorf("rank %d: its ten equal rounds are %d nodes", r, n)
		}
	}
	if len(p.Phases) == 0 || p.Phases[0].Rounds < 9 {
		t.Errorf("phases %+v", p.Phases)
	}
}

func TestAProgramThatNeverRepeatsItselfTakesLittleRoom(t *testing.T) {
	p, printed := mustCapture(t, everything(t), "2", "9000")
	if want := capturetest.SentMatrix(t, 4, printed); capturetest.MatrixLines(p.Bytes) != capturetest.MatrixLines(want) {
		t.Errorf("captured\n%swant\n%s", capturetest.MatrixLines(p.Bytes), capturetest.MatrixLines(want))
	}
	for r := range p.Ranks {
		if n := len(p.Ranks[r].Calls); n > 8192 {
			t.Errorf("rank %d: %d nodes", r, n)
		}
		if p.Ranks[r].Coarse == 0 || p.Ranks[r].Lost > 0 {
			t.Errorf("rank %d: coarse %d, lost %d", r, p.Ranks[r].Coarse, p.Ranks[r].Lost)
		}
	}
}

func TestWhatIsFetchedCountsForWhoHasIt(t *testing.T) {
	p, printed := mustCapture(t, compiled(t, "onesided"))
	if want := capturetest.SentMatrix(t, 4, printed); capturetest.MatrixLines(p.Bytes) != capturetest.MatrixLines(want) {
		t.Errorf("captured\n%swant\n%s", capturetest.MatrixLines(p.Bytes), capturetest.MatrixLines(want))
	}
	if len(p.Edges) != 4 || p.Unlike != 4*11 {
		t.Errorf("edges %v, %d calls that a skeleton lacks", p.Edges, p.Unlike)
	}
	readAgain(t, p)
}

func TestAHandleThatIsUsedAgainIsAnotherCommunicator(t *testing.T) {
	program := compiled(t, "communicators")
	for _, how := range []string{"free", "disconnect", "fortran-free", "fortran-disconnect"} {
		p, printed := mustCapture(t, program, how)
		if want := capturetest.SentMatrix(t, 4, printed); capturetest.MatrixLines(p.Bytes) != capturetest.MatrixLines(want) {
			t.Errorf("%s: captured\n%swant\n%s", how, capturetest.MatrixLines(p.Bytes), capturetest.MatrixLines(want))
		}
		if !strings.Contains(printed, "the handle of other ranks") {
			t.Errorf("%s: MPI gave no handle twice, so nothing was tested", how)
		}
	}
}

func TestTheExitCodeIsThatOfTheProgram(t *testing.T) {
	p, printed, code, err := capturetest.CaptureProgram(t, nil, everything(t), "1", "0", "7")
	if err != nil || code != 7 || p == nil {
		t.Errorf("exit code %d, %v\n%s", code, err, printed)
	}
	if _, _, code, err = capturetest.CaptureProgram(t, nil, "sh", "-c", "exit 3"); code != 3 ||
		!errors.Is(err, capture.ErrNoRecord) {
		t.Errorf("a program without MPI: exit code %d, %v", code, err)
	}
}

func TestARankThatIsMissingIsNamed(t *testing.T) {
	dir := t.TempDir()
	for _, rank := range []string{"0", "2"} {
		if err := os.WriteFile(filepath.Join(dir, "1.rank-"+rank), []byte(sampleRecord(rank)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := capture.ReadFolder(dir); err == nil || !strings.Contains(err.Error(), "rank 1 of 3 left no record") {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "2.rank-1"), []byte(sampleRecord("1")), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := capture.ReadFolder(dir); err == nil || !strings.Contains(err.Error(), "2 MPI programs") {
		t.Errorf("%v", err)
	}
}

func sampleRecord(rank string) string {
	return "godwit-capture 1\nrank " + rank +
		" 3\nhost h\nprogram p\nstate finalized\nseconds 1 0.5 0.5 0.5\nspin 1000\nodd 0\ngroup 0 3 0 1 2\n" +
		"sequence 1 0 10 0\nloop 5 2\ncall allreduce 0 -2 0 -2 0 -1 8 5 0.1 0.1 0.1 0\ncall barrier 0 -2 0 -2 0 -1 0 5 0 0 " +
		"0 0\nend\n"
}

// A program that was built without mpicc carries no library.
func TestACommandWithoutRanksNeedsNoLibrary(t *testing.T) {
	c := &capture.Command{Argv: []string{"sh", "-c", `test -z "$LD_PRELOAD"`}, Dir: t.TempDir(), Env: os.Environ()}
	if c.StartsRanks() {
		t.Error("sh starts no ranks")
	}
	code, _, err := c.Run(t.Context(), nil, io.Discard, io.Discard)
	if code != 0 || !errors.Is(err, capture.ErrNoRecord) {
		t.Errorf("exit code %d, %v", code, err)
	}
	if c.Argv = []string{"/usr/bin/mpirun", "-n", "2", "true"}; !c.StartsRanks() {
		t.Error("mpirun starts ranks")
	}
}
