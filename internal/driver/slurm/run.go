package slurm

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver"
)

// How long commands may take. Those of Slurm wait by themselves for a controller
// that is busy; these are for when they hang.
const (
	commandTimeout = 45 * time.Second
	surveyTimeout  = 20 * time.Second // which others wait for
	submitTimeout  = 90 * time.Second
)

// command is one call of a command of Slurm.
type command struct {
	name    string
	args    []string
	limit   time.Duration
	submits bool   // it changes something; else it only asks, for times in UTC
	utc     bool   // it names times in UTC, too
	dir     string // where it runs; "": in the root
}

// answer is what a command said.
type answer struct {
	out  string // on stdout
	said string // on stderr
}

// runner runs commands; tests have their own.
type runner func(ctx context.Context, c command) (answer, error)

// commands runs the real ones.
type commands struct {
	dir string
	env []string
}

func (c commands) runCommand(ctx context.Context, w command) (answer, error) {
	path, err := c.findCommand(w.name)
	if err != nil {
		return answer{}, fmt.Errorf("%w: %w", driver.ErrAway, err)
	}
	limited, cancel := context.WithTimeout(ctx, w.limit)
	defer cancel()
	var out, said bytes.Buffer
	cmd := exec.CommandContext(limited, path, w.args...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = c.env, cmp.Or(w.dir, "/"), &out, &said
	if !w.submits || w.utc {
		cmd.Env = append(slices.Clone(c.env), "TZ=UTC")
	}
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	a := answer{out.String(), said.String()}
	switch exit := new(exec.ExitError); {
	case err == nil:
		return a, nil
	case ctx.Err() != nil:
		return a, fmt.Errorf("%s: %w", w.name, ctx.Err())
	case limited.Err() != nil && w.submits:
		return a, fmt.Errorf("%s took longer than %v", w.name, w.limit)
	case limited.Err() != nil:
		return a, fmt.Errorf("%w: Slurm did not answer %s within %v", driver.ErrAway, w.name, w.limit)
	case errors.As(err, &exit):
		return a, fmt.Errorf("%s: %w", w.name, err)
	default: // it was never started
		return a, fmt.Errorf("%w: %w", driver.ErrAway, err)
	}
}

// findCommand looks where the commands are.
func (c commands) findCommand(name string) (string, error) {
	if c.dir != "" {
		return filepath.Join(c.dir, name), nil
	}
	for _, dir := range filepath.SplitList(valueOf(c.env, "PATH")) {
		path := filepath.Join(dir, name)
		if st, err := os.Stat(path); err == nil && filepath.IsAbs(path) && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is not in $PATH: %w", name, fs.ErrNotExist)
}

func valueOf(env []string, name string) string {
	for _, e := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(e, name+"="); ok {
			return value
		}
	}
	return ""
}

// meddling are the beginnings of variables that change what the commands do or
// print: those around us are not meant for us.
var meddling = []string{"SLURM_", "SLURMD_", "SBATCH_", "SQUEUE_", "SACCT_", "SINFO_", "SCANCEL_", "SCONTROL_",
	"SALLOC_", "SRUN_", "LC_", "LANG"}

// commandEnvironment is what commands find around them: what is around us, without what
// would change their answers, and what the settings say.
func commandEnvironment(more map[string]string) []string {
	var env []string
	for _, e := range os.Environ() {
		name, _, _ := strings.Cut(e, "=")
		meddles := slices.ContainsFunc(meddling, func(p string) bool { return strings.HasPrefix(name, p) })
		if _, named := more[name]; named || meddles && name != "SLURM_CONF" {
			continue
		}
		env = append(env, e)
	}
	for _, name := range slices.Sorted(maps.Keys(more)) {
		env = append(env, name+"="+more[name])
	}
	if valueOf(env, "PATH") == "" {
		env = append(env, "PATH=/usr/local/bin:/usr/bin:/bin")
	}
	return append(env, "LC_ALL=C")
}
