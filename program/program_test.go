package program_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/protocol/selfreport"
	"github.com/godwit-hpc/godwit/program"
)

// newFolder is a folder as an agent makes it, named in the environment.
func newFolder(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "godwit-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	writeFile(t, filepath.Join(dir, selfreport.PageFile), selfreport.NewPage())
	t.Setenv(selfreport.FolderVariable, dir)
	for _, name := range []string{"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"} {
		t.Setenv(name, "")
	}
	return dir
}

func writeFile(t testing.TB, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func setField(t testing.TB, dir string, at int64, value uint64) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, selfreport.PageFile), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(selfreport.FieldBytes(value), at); err != nil {
		t.Fatal(err)
	}
}

func field(t testing.TB, dir string, at int) uint64 {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(dir, selfreport.PageFile))
	if err != nil {
		t.Fatal(err)
	}
	return selfreport.FieldValue(page[at:])
}

// lines are what is said through the socket of the folder, each answered.
func lines(t *testing.T, dir string) <-chan string {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(dir, selfreport.SocketFile))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	said := make(chan string, 100)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			for in := bufio.NewScanner(c); in.Scan(); {
				said <- in.Text()
			}
			_ = c.Close()
		}
	}()
	return said
}

// reporter is one client, in its language, which reports and says what it sees.
type reporter struct {
	name string
	run  func(t *testing.T) string
}

func reporters(t *testing.T) []reporter {
	t.Helper()
	list := []reporter{{"go", reportInGo}}
	if _, err := exec.LookPath("python3"); err == nil {
		list = append(list, reporter{"python", func(t *testing.T) string {
			t.Setenv("PYTHONPATH", "python")
			t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
			return output(t, "python3", "testdata/report.py")
		}})
	}
	if _, err := exec.LookPath("cc"); err == nil {
		binary := compile(t, "report.c")
		list = append(list, reporter{"c", func(t *testing.T) string { return output(t, binary) }})
	}
	return list
}

// reportInGo does what testdata/report.c does.
func reportInGo(*testing.T) string {
	link := program.OpenLink()
	link.SetSteps(1, 8)
	link.AddSteps(2)
	link.BeginPhase(`so"lve`)
	link.SendMessage("half\n\"done\" \\ é")
	number := map[bool]int{true: 1}
	return fmt.Sprintf("agent %d checkpoint %d stop %d\n", number[link.HasAgent()], number[link.CheckpointWanted()],
		number[link.StopWanted()])
}

// output runs a program to its end, which does not take long unless it waits for somebody.
func output(t testing.TB, argv ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil || errors.Len() > 0 {
		t.Errorf("%v: %v, %v: %s", argv, err, ctx.Err(), errors.Bytes())
	}
	return string(out)
}

func compile(t testing.TB, source string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), strings.TrimSuffix(source, ".c"))
	output(t, "cc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-Ic", "-o", binary,
		filepath.Join("testdata", source), "c/godwit.c")
	return binary
}

func TestEveryClientReportsOnThePageAndThroughTheSocket(t *testing.T) {
	for _, r := range reporters(t) {
		t.Run(r.name, func(t *testing.T) {
			dir := newFolder(t)
			said := lines(t, dir)
			if got := r.run(t); got != "agent 1 checkpoint 0 stop 0\n" {
				t.Errorf("it sees %q", got)
			}
			if done, all, phase := field(t, dir, selfreport.StepsDoneAt), field(t, dir, selfreport.StepsAllAt),
				field(t, dir, selfreport.PhaseAt); done != 3 || all != 8 || phase != 1 {
				t.Errorf("step %d of %d, phase %d", done, all, phase)
			}
			for range 2 { // each in a connection of its own
				m, err := selfreport.ParseMessage([]byte(<-said))
				if err != nil || m.Kind == selfreport.MessagePhase && m.Name != `so"lve` ||
					m.Kind == selfreport.MessageText && m.Text != `half "done" \ é` {
					t.Errorf("it says %+v, %v", m, err)
				}
			}
		})
	}
}

func TestEveryClientSeesWhatIsWanted(t *testing.T) {
	for _, r := range reporters(t) {
		t.Run(r.name, func(t *testing.T) {
			dir := newFolder(t)
			setField(t, dir, selfreport.StopAt, 1)
			setField(t, dir, selfreport.CheckpointAt, 3) // before it began: not wanted any more
			if got := r.run(t); got != "agent 1 checkpoint 0 stop 1\n" {
				t.Errorf("it sees %q", got)
			}
		})
	}
}

// sizersIn are the clients, each of which says what size it has and could have, takes what is offered or the number of
// its argument, and what it has then.
func sizersIn(t *testing.T) map[string]func(accept int) string {
	t.Helper()
	list := map[string]func(int) string{"go": func(accept int) string {
		link := program.OpenLink()
		had, offered := link.Size(), link.OfferedSize()
		link.AcceptSize(accept)
		link.WantSize(5)
		return fmt.Sprintf("has %d offered %d then %d offered %d\n", had, offered, link.Size(), link.OfferedSize())
	}}
	if _, err := exec.LookPath("python3"); err == nil {
		t.Setenv("PYTHONPATH", "python")
		t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
		list["python"] = func(accept int) string { return output(t, "python3", "testdata/size.py", fmt.Sprint(accept)) }
	}
	if _, err := exec.LookPath("cc"); err == nil {
		binary := compile(t, "size.c")
		list["c"] = func(accept int) string { return output(t, binary, fmt.Sprint(accept)) }
	}
	return list
}

func TestEveryClientAnswersOffers(t *testing.T) {
	for name, run := range sizersIn(t) {
		t.Run(name, func(t *testing.T) {
			dir := newFolder(t)
			setField(t, dir, selfreport.SizeAt, 4)
			setField(t, dir, selfreport.OfferSizeAt, 6)
			setField(t, dir, selfreport.OfferSerialAt, 3)
			// What it takes it has when it is granted.
			if got := run(6); got != "has 4 offered 6 then 4 offered 0\n" {
				t.Errorf("offered more: %q", got)
			}
			for at, want := range map[int]uint64{selfreport.AcceptSizeAt: 6, selfreport.AcceptSerialAt: 3,
				selfreport.WantSizeAt: 5, selfreport.WantSerialAt: 1} {
				if got := field(t, dir, at); got != want {
					t.Errorf("at %d stands %d, want %d", at, got, want)
				}
			}
			setField(t, dir, selfreport.SizeAt, 6)
			setField(t, dir, selfreport.SizeSerialAt, 3)
			setField(t, dir, selfreport.OfferSizeAt, 2)
			setField(t, dir, selfreport.OfferSerialAt, 4)
			// What it gives back it has not any more.
			if got := run(2); got != "has 6 offered 2 then 2 offered 0\n" {
				t.Errorf("offered less: %q", got)
			}
		})
	}
}

func TestACheckpointIsWantedOnce(t *testing.T) {
	dir := newFolder(t)
	setField(t, dir, selfreport.CheckpointAt, 3)
	link := program.OpenLink()
	for number := uint64(4); number < 6; number++ {
		before := link.CheckpointWanted()
		setField(t, dir, selfreport.CheckpointAt, number)
		if first, second := link.CheckpointWanted(), link.CheckpointWanted(); before || !first || second {
			t.Errorf("%d: %v, %v, %v", number, before, first, second)
		}
	}
}

// Whatever is or is not there: a client does nothing, and that is a success.
func TestWithoutAnAgentEveryCallDoesNothing(t *testing.T) {
	for what, spoil := range map[string]func(t *testing.T, dir string){
		"no folder is named":  func(t *testing.T, _ string) { t.Setenv(selfreport.FolderVariable, "") },
		"the folder is gone":  func(_ *testing.T, dir string) { _ = os.RemoveAll(dir) },
		"the page is empty":   func(t *testing.T, dir string) { writeFile(t, filepath.Join(dir, "page"), nil) },
		"it is no page":       func(t *testing.T, dir string) { writeFile(t, filepath.Join(dir, "page"), make([]byte, 4096)) },
		"it is another's":     func(t *testing.T, dir string) { setField(t, dir, 8, 4096<<32|2) },
		"it is a pipe":        func(t *testing.T, dir string) { replaceByPipe(t, filepath.Join(dir, "page")) },
		"the name is no path": func(t *testing.T, _ string) { t.Setenv(selfreport.FolderVariable, "elsewhere") },
	} {
		for _, r := range reporters(t) {
			t.Run(what+"/"+r.name, func(t *testing.T) {
				spoil(t, newFolder(t))
				if got := r.run(t); got != "agent 0 checkpoint 0 stop 0\n" {
					t.Errorf("it sees %q", got)
				}
			})
		}
	}
}

func replaceByPipe(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestOnlyTheFirstRankReports(t *testing.T) {
	for _, r := range reporters(t) {
		t.Run(r.name, func(t *testing.T) {
			dir := newFolder(t)
			t.Setenv("OMPI_COMM_WORLD_RANK", "3")
			setField(t, dir, selfreport.StopAt, 1)
			if got := r.run(t); got != "agent 0 checkpoint 0 stop 1\n" {
				t.Errorf("it sees %q", got)
			}
			if done, all := field(t, dir, selfreport.StepsDoneAt), field(t, dir, selfreport.StepsAllAt); done != 0 || all != 0 {
				t.Errorf("rank 3 reports %d of %d", done, all)
			}
		})
	}
}

// An agent that was killed leaves a socket that nobody serves; one that is stopped leaves one on which
// connections and lines pile up. Neither keeps a program from its work: one that waited would do so for
// ever.
func TestNobodyWaitsForAnAgentThatIsDeadOrStopped(t *testing.T) {
	for what, backlog := range map[string]int{"dead": -1, "stopped": 0} {
		for _, r := range reporters(t) {
			t.Run(what+"/"+r.name, func(t *testing.T) {
				dir := newFolder(t)
				fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
				if err == nil {
					defer unix.Close(fd) //nolint:errcheck // of the test alone
					err = unix.Bind(fd, &unix.SockaddrUnix{Name: filepath.Join(dir, selfreport.SocketFile)})
				}
				if err == nil && backlog >= 0 {
					err = unix.Listen(fd, backlog) // and it never accepts
				}
				if err != nil {
					t.Fatal(err)
				}
				for range 3 { // more connections than the kernel keeps
					if got := r.run(t); got != "agent 1 checkpoint 0 stop 0\n" {
						t.Errorf("it sees %q", got)
					}
				}
				if done := field(t, dir, selfreport.StepsDoneAt); done != 3 {
					t.Errorf("%d steps", done)
				}
			})
		}
	}
}

// A look is to cost less than 100 ns and a bump less than 200 ns; docs/benchmarks.md has the figures.
func BenchmarkPage(b *testing.B) {
	newFolder(b)
	link := program.OpenLink()
	link.SetSteps(0, selfreport.MaxSteps)
	b.Run("look", func(b *testing.B) {
		for b.Loop() {
			if link.StopWanted() {
				b.Fatal("nobody wants that")
			}
		}
	})
	b.Run("bump", func(b *testing.B) {
		for b.Loop() {
			link.AddSteps(1)
		}
	})
	b.Run("set", func(b *testing.B) {
		n := uint64(0)
		for b.Loop() {
			n++
			link.SetSteps(n, selfreport.MaxSteps)
		}
	})
	b.Run("c", func(b *testing.B) {
		if _, err := exec.LookPath("cc"); err != nil {
			b.Skip(err)
		}
		binary := compile(b, "bench.c")
		var agent, wanted int
		var look, bump float64
		for b.Loop() {
			if _, err := fmt.Sscan(output(b, binary), &agent, &wanted, &look, &bump); err != nil || agent != 1 || wanted != 0 {
				b.Fatal(agent, wanted, err)
			}
		}
		b.ReportMetric(look, "ns/look")
		b.ReportMetric(bump, "ns/bump")
	})
}
