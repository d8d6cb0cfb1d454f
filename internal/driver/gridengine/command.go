package gridengine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver/batch"
)

// commandTimeout is how long one command of Grid Engine may take. They answer within
// milliseconds, or try for some seconds to reach a qmaster that is not there.
const commandTimeout = 40 * time.Second

// maxOutput bounds what is kept of a command's output.
const maxOutput = 256 << 20

// debian is where Debian keeps the commands themselves. Those in /usr/bin are
// wrappers that take ten times as long.
const debian, debianRoot = "/usr/lib/gridengine", "/var/lib/gridengine"

// commands runs the commands of Grid Engine. They are executed directly: no
// shell sees a word of ours.
type commands struct {
	dir string // as the settings say; "": to be found
	env map[string]string
}

// inherited are the variables of ours that the commands get, besides those of
// the settings. Others change what they print.
var inherited = []string{"PATH", "HOME", "USER", "LOGNAME", "LD_LIBRARY_PATH", "SGE_ROOT", "SGE_CELL",
	"SGE_CLUSTER_NAME",
	"SGE_QMASTER_PORT", "SGE_EXECD_PORT", "SGE_ARCH"}

// getVariable is what the commands find in a variable.
func (c *commands) getVariable(name string) string {
	if v, ok := c.env[name]; ok {
		return v
	}
	if v := os.Getenv(name); v != "" || name != "SGE_ROOT" {
		return v
	}
	if _, err := os.Stat(debianRoot); err == nil {
		return debianRoot
	}
	return ""
}

// commandEnvironment is what the commands get. Moments are printed in UTC, so that nobody
// has to guess.
func (c *commands) commandEnvironment() []string {
	env := []string{"LC_ALL=C"}
	for _, name := range inherited {
		if v := c.getVariable(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	for name, v := range c.env {
		env = append(env, name+"="+v) // of two the last counts
	}
	return env
}

// findCommand is the path of a command.
func (c *commands) findCommand(name string) (string, error) {
	if c.dir != "" {
		return exec.LookPath(filepath.Join(c.dir, name))
	}
	if path, err := exec.LookPath(filepath.Join(debian, name)); err == nil {
		return path, nil
	}
	path, err := exec.LookPath(name)
	if err == nil {
		return filepath.Abs(path)
	}
	// A shell that nobody logged in to may not have been told.
	if root := c.getVariable("SGE_ROOT"); root != "" {
		found, _ := filepath.Glob(filepath.Join(root, "bin", "*", name)) // the pattern is sound
		for _, path := range found {
			if path, err := exec.LookPath(path); err == nil {
				return path, nil
			}
		}
	}
	return "", err
}

// failure is a command that did not work.
type failure struct {
	Command string
	Says    string // in one line
	Lines   []string
	Code    int // -1: it did not end by itself
	Err     error
}

func (f *failure) Error() string {
	if f.Says == "" {
		return fmt.Sprintf("%s: %v", f.Command, f.Err)
	}
	return f.Command + ": " + f.Says
}

func (f *failure) Unwrap() error { return f.Err }

// runCommand runs a command and returns what it printed.
func (c *commands) runCommand(ctx context.Context, name string, args ...string) ([]byte, error) {
	path, err := c.findCommand(name)
	if err != nil {
		return nil, &missing{name, err}
	}
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = c.commandEnvironment(), "/", time.Second
	if name != "qsub" {
		cmd.Env = append(cmd.Env, "TZ=UTC") // that of qsub is remembered for the job
	}
	var out, said limited
	cmd.Stdout, cmd.Stderr = &out, &said
	err = cmd.Run()
	if err == nil {
		return out.Bytes(), nil
	}
	text := said.String()
	if name != "qstat" && name != "qhost" { // what those print is no complaint
		text += "\n" + out.String()
	}
	f := &failure{Command: name, Says: oneLine(text), Lines: strings.Split(text, "\n"), Code: -1, Err: err}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		f.Code = exit.ExitCode()
	}
	if ctx.Err() != nil {
		f.Says, f.Err = "", fmt.Errorf("it does not answer: %w", ctx.Err())
	}
	return out.Bytes(), f
}

// missing is a command that is not there.
type missing struct {
	name string
	err  error
}

func (m *missing) Error() string {
	return fmt.Sprintf("%s of Grid Engine is not found (the setting commands names its folder): %v", m.name, m.err)
}

// limited keeps so much and forgets the rest.
type limited struct{ bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if room := maxOutput - l.Len(); room < len(p) {
		_, _ = l.Buffer.Write(p[:max(room, 0)]) // never fails
		return len(p), nil
	}
	return l.Buffer.Write(p)
}

// oneLine is what a command said, for a message.
func oneLine(text string) string {
	return strings.TrimSuffix(batch.OneLine(text), " Exiting.")
}
