// Package programs measures how far live predictions of ten different kinds of programs
// can be trusted: programs that wait, read and write, compute in Python and in C, in
// threads and over MPI, train, sort, run as a pipeline, or do several of these by turns.
// Each is run again and again by the real broker and agent, alone and beside real
// programs that compete for its processor; what is known of it is the history of the
// runs before. It must not know how the end is predicted.
package programs

import (
	"embed"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

//go:embed scripts
var scripts embed.FS

// Program is one of the ten.
type Program struct {
	Name, Kind string
	needs      []string // commands
	files      []string // of the sources: "scripts/…" or below the folder of examples
	argv       func(scale float64) []string
}

func scaledCount(n int, scale float64) string {
	return strconv.Itoa(max(1, int(math.Round(float64(n)*scale))))
}

// AllPrograms are the ten programs. At scale 1 each takes about a second of CPU time on a core
// of 2026, or four seconds of waiting.
func AllPrograms() []Program {
	return []Program{
		{"waits", "waits for something outside", []string{"sh"}, []string{"scripts/waits.sh"},
			func(s float64) []string { return []string{"sh", "waits.sh", scaledCount(18, s)} }},
		{"orders", "waits for its disk and computes, by turns", []string{"python3"}, []string{"jobs/orders.py"},
			func(s float64) []string { return []string{"python3", "orders.py", scaledCount(70, s)} }},
		{"pi", "computes in Python", []string{"python3"}, []string{"jobs/pi.py"},
			func(s float64) []string { return []string{"python3", "pi.py", scaledCount(900, math.Sqrt(s))} }},
		{"burn", "computes in C", nil, []string{"jobs/burn"},
			func(s float64) []string { return []string{"./burn", strconv.FormatFloat(s, 'f', 2, 64)} }},
		{"threads", "two threads that compute", []string{"python3"}, []string{"scripts/threads.py"},
			func(s float64) []string { return []string{"python3", "threads.py", scaledCount(8, s)} }},
		{"mpi", "two MPI ranks that compute and add up", []string{"mpirun"}, []string{"apps/build/pi"},
			func(s float64) []string {
				return []string{"mpirun", "--allow-run-as-root", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "-n", "2",
					"./pi", scaledCount(550_000_000, s), "20"}
			}},
		{"train", "trains a network without a GPU", []string{"python3"}, []string{"scripts/train.py"},
			func(s float64) []string { return []string{"python3", "train.py", scaledCount(45, s)} }},
		{"pipeline", "a shell pipeline of six filters", []string{"sh", "awk"}, []string{"scripts/pipeline.sh"},
			func(s float64) []string { return []string{"sh", "pipeline.sh", scaledCount(1_200_000, s)} }},
		{"sorts", "writes and sorts files", []string{"sh", "awk"}, []string{"scripts/sorts.sh"},
			func(s float64) []string { return []string{"sh", "sorts.sh", scaledCount(2, s), "400000"} }},
		{"mixed", "sleeps and computes, by turns", []string{"python3"}, []string{"scripts/mixed.py"},
			func(s float64) []string { return []string{"python3", "mixed.py", scaledCount(10, s), "120000"} }},
	}
}

// missingTools says what a program lacks to run here; "" if nothing.
func (p *Program) missingTools(examples string) string {
	for _, name := range p.needs {
		if _, err := exec.LookPath(name); err != nil {
			return "no " + name
		}
	}
	for _, name := range p.files {
		if filepath.Dir(name) == "scripts" {
			continue
		}
		if _, err := os.Stat(filepath.Join(examples, name)); err != nil {
			return fmt.Sprintf("no %s (make examples)", filepath.Join(examples, name))
		}
	}
	return ""
}

// makeFolder makes a folder below parent with the files of the program.
func (p *Program) makeFolder(parent, examples string) (string, error) {
	dir := filepath.Join(parent, "program-"+p.Name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	for _, name := range p.files {
		data, err := scripts.ReadFile(name)
		if err != nil {
			data, err = os.ReadFile(filepath.Join(examples, name))
		}
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), data, 0o700); err != nil {
			return "", err
		}
	}
	return dir, nil
}
