package adaptive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/godwit-hpc/godwit/internal/cli/demo/testbed"
	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
)

// Program is one of the programs of the experiment: of any size, and it takes
// time in proportion to it.
type Program struct {
	Name     string
	Like     string // the paper's program that it stands for
	Progress string // pattern of its progress, "" if it is not to be used
	file     string // what has to be in the folder where it runs
	argv     func(size float64) []string
}

// The programs that the experiment runs, by the names of their files.
const (
	burnName   = "burn"
	piName     = "pi"
	ordersName = "orders"
)

// FindPrograms are the programs in a folder: burn if it has been compiled, and
// those for which Python is needed if there is one.
func FindPrograms(dir string) ([]Program, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, &badinput.Error{Field: "--jobs", Value: dir, Want: "the folder examples/jobs of Godwit"}
	}
	var list []Program
	if path := filepath.Join(dir, burnName); isExecutable(path) {
		list = append(list, Program{Name: burnName, Like: "π", file: path, argv: func(size float64) []string {
			return []string{"./burn", strconv.FormatFloat(size, 'f', 2, 64)}
		}})
	}
	python, _ := exec.LookPath("python3") // "" if there is none
	if python == "" {
		return list, nil
	}
	if path := filepath.Join(dir, "pi.py"); isReadable(path) {
		list = append(list, Program{Name: piName, Like: "π", file: path, argv: func(size float64) []string {
			// its time grows with the square
			return []string{python, "pi.py", strconv.Itoa(max(1, int(800*math.Sqrt(size)+0.5)))}
		}})
	}
	if path := filepath.Join(dir, "orders.py"); isReadable(path) {
		list = append(list, Program{Name: ordersName, Like: "XTO", Progress: `record (\d+)/(\d+)`, file: path,
			argv: func(size float64) []string {
				return []string{python, "orders.py", strconv.Itoa(max(1, int(40*size+0.5)))}
			}})
	}
	return list, nil
}

// shortCommand leaves out the folders of a command.
func shortCommand(argv []string) []string {
	var list []string
	for _, a := range argv {
		list = append(list, filepath.Base(a))
	}
	return list
}

func isExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

func isReadable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// usage is what one run of a program took.
type usage struct {
	Wall, CPU float64 // seconds
}

// makeFolder makes a folder below parent with nothing but the program in it.
func (p *Program) makeFolder(parent string) (string, error) {
	dir, err := os.MkdirTemp(parent, "godwit-"+p.Name+"-")
	if err != nil {
		return "", err
	}
	data, err := os.ReadFile(p.file)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, filepath.Base(p.file)), data, 0o700)
	}
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return dir, nil
}

// runPlain runs the program plainly, on one processor, in a folder of its own.
func (p *Program) runPlain(ctx context.Context, size float64, cpu int) (usage, error) {
	dir, err := p.makeFolder("")
	if err != nil {
		return usage{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	argv := p.argv(size)
	// The shell waits until it is on the right processor.
	c := exec.CommandContext(ctx, "/bin/sh", append([]string{"-c", `read go && exec "$@"`, "sh"}, argv...)...)
	c.Dir = dir
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	in, err := c.StdinPipe()
	if err != nil {
		return usage{}, err
	}
	if err := c.Start(); err != nil {
		return usage{}, err
	}
	now := clock.RealClock()
	err = testbed.PinProcess(c.Process.Pid, cpu)
	began := now()
	_, e := in.Write([]byte("go\n"))
	err = errors.Join(err, e, c.Wait())
	u := usage{Wall: now.Since(began).Seconds()}
	if err != nil {
		return u, fmt.Errorf("running %s: %w: %s", p.Name, err, bytes.TrimSpace(out.Bytes()))
	}
	u.CPU = (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds()
	return u, nil
}

// withoutOutput is the program without its output: to carry that is work, but not that
// of watching.
func (p Program) withoutOutput() Program {
	loud := p.argv
	p.argv = func(size float64) []string {
		return append([]string{"/bin/sh", "-c", `exec "$@" >/dev/null`, "sh"}, loud(size)...)
	}
	return p
}

// probe is the size of the short plain run that shows how fast the machine is.
const probe = 1.5

// measureUnit is what a program of size 1 takes on a processor, from a short run.
func (p *Program) measureUnit(ctx context.Context, cpu int) (usage, error) {
	u, err := p.runPlain(ctx, probe, cpu)
	return usage{Wall: u.Wall / probe, CPU: u.CPU / probe}, err
}
