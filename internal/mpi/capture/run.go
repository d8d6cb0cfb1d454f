package capture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/mpi/capture/sockets"
)

// folderVariable names the folder into which ranks write.
const folderVariable = "GODWIT_CAPTURE_DIR"

// Command is a program to be captured.
type Command struct {
	Argv []string
	Dir  string // where records are written and removed again; all hosts of the program must see it
	// the path of the library that records, which all hosts must see; "": none, MPI programs leave no record
	Library string
	Also    []string // further libraries to load
	Env     []string
	Now     clock.Clock // for programs without MPI, whose sockets are looked at; nil: they are not
}

// ErrNoRecord is that the command ran no MPI program, and nothing else is known of it.
var ErrNoRecord = errors.New("no rank left a record: the command ran no MPI program, or one of another MPI than this " +
	"library is for; and its processes were not seen to talk over TCP")

// Run runs the command with its input and output as they are and returns how it
// ended. The pattern is what its ranks wrote, or else what its processes were seen to
// say over TCP; the error then is about the pattern alone.
func (c *Command) Run(ctx context.Context, in io.Reader, out, errs io.Writer) (code int, p *Pattern, err error) {
	dir, err := os.MkdirTemp(c.Dir, ".godwit-capture-")
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // nobody looks there again
	argv := c.forwardedCommand()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, errs
	cmd.Env = c.commandEnvironment(dir)
	// mpirun ends its ranks when it is asked to, on all hosts.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		return 0, nil, fmt.Errorf("starting %s: %w", argv[0], err)
	}
	seen := c.watchSockets(cmd.Process.Pid)
	runErr := cmd.Wait()
	traffic := seen()
	if ctx.Err() != nil {
		return 0, nil, ctx.Err()
	}
	if exit := new(exec.ExitError); runErr != nil && !errors.As(runErr, &exit) {
		return 0, nil, fmt.Errorf("running %s: %w", argv[0], runErr)
	}
	code = cmd.ProcessState.ExitCode()
	if code < 0 {
		code = 1
	}
	p, err = ReadFolder(dir)
	if errors.Is(err, ErrNoRecord) {
		p, err = traffic()
	}
	return code, p, err
}

// watchSockets looks at the sockets of a command that does not start ranks itself. What it
// returns ends that, and returns what makes a pattern of what was seen.
func (c *Command) watchSockets(pid int) func() func() (*Pattern, error) {
	nothing := func() (*Pattern, error) { return nil, ErrNoRecord }
	if c.Now == nil || c.StartsRanks() {
		return func() func() (*Pattern, error) { return nothing }
	}
	began := c.Now()
	w := sockets.WatchProcess(c.Now, pid)
	return func() func() (*Pattern, error) {
		seconds := c.Now.Since(began).Seconds()
		t, err := w.Stop()
		return func() (*Pattern, error) {
			switch {
			case err != nil:
				return nil, errors.Join(ErrNoRecord, err)
			case len(t.Names) == 0:
				return nil, ErrNoRecord
			}
			return ofSockets(filepath.Base(c.Argv[0]), seconds, t)
		}
	}
}

// StartsRanks reports whether the command is one that starts the ranks of MPI programs.
func (c *Command) StartsRanks() bool {
	return slices.Contains([]string{"mpirun", "mpiexec", "orterun"}, filepath.Base(c.Argv[0]))
}

// preloadLibraries is the libraries that are loaded before all others: ours first.
func (c *Command) preloadLibraries() string {
	var list []string
	if c.Library != "" {
		list = append(list, c.Library)
	}
	list = append(list, c.Also...)
	for _, v := range c.Env {
		if own, ok := strings.CutPrefix(v, "LD_PRELOAD="); ok && own != "" {
			list = append(list, own)
		}
	}
	return strings.Join(list, ":")
}

func (c *Command) commandEnvironment(dir string) []string {
	env := slices.DeleteFunc(slices.Clone(c.Env), func(v string) bool { return strings.HasPrefix(v, "LD_PRELOAD=") })
	return append(env, "LD_PRELOAD="+c.preloadLibraries(), folderVariable+"="+dir)
}

// forwardedCommand is the command; an mpirun of Open MPI is told to give our variables to
// ranks on other hosts as well.
func (c *Command) forwardedCommand() []string {
	if !c.StartsRanks() {
		return c.Argv
	}
	if out, err := exec.Command(c.Argv[0], "--version").Output(); err != nil ||
		!strings.Contains(string(out), "Open MPI") && !strings.Contains(string(out), "OpenRTE") {
		return c.Argv
	}
	return slices.Insert(slices.Clone(c.Argv), 1, "-x", "LD_PRELOAD", "-x", folderVariable)
}

// ReadFolder puts the records in a folder together.
func ReadFolder(dir string) (*Pattern, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	byJob := map[string][]*record{}
	for _, e := range entries {
		job, _, ok := strings.Cut(e.Name(), ".rank-")
		if !ok || strings.HasPrefix(job, ".") || e.Type() != fs.FileMode(0) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		r, err := parseRecord(data)
		if err != nil {
			return nil, fmt.Errorf("the record %s: %w", e.Name(), err)
		}
		byJob[job] = append(byJob[job], r)
	}
	switch len(byJob) {
	case 0:
		return nil, ErrNoRecord
	case 1:
		for _, records := range byJob { // order-free: there is one
			return mergeRecords(records)
		}
	}
	return nil, fmt.Errorf("the command ran %d MPI programs: capture them one by one", len(byJob))
}
