package skeleton

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// RunPlace is where skeletons run.
type RunPlace struct {
	Mpirun string   // the command; "" for mpirun
	Runner string   // the path of the runner, on all hosts
	Yield  string   // the path of the library that lets waiting ranks sleep; "" for none
	Hosts  []string // one for each rank, in order; none: this machine
	Env    []string
	Limit  time.Duration // after which the runner is ended
}

// Outcome is how a skeleton ran.
type Outcome struct {
	Seconds float64 `json:"seconds"`
	Ranks   []struct {
		Seconds   float64 `json:"seconds"`
		Computing float64 `json:"computing"`
	} `json:"ranks"`
}

// hostName is what may be one: nothing that mpirun or ssh could take for something
// else.
var hostName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)
})

// GoodHost reports whether a name can be that of a host.
func GoodHost(name string) bool { return hostName().MatchString(name) }

// Run runs the skeleton and returns how long it took.
func (s *Skeleton) Run(ctx context.Context, at RunPlace) (*Outcome, error) {
	argv, remove, err := at.launchCommand(s.Pattern.Nodes)
	if err != nil {
		return nil, err
	}
	defer remove()
	limited, cancel := context.WithTimeout(ctx, at.Limit)
	defer cancel()
	cmd := exec.CommandContext(limited, argv[0], argv[1:]...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(s.EncodeText()), &out, &errs
	cmd.Env = at.launchEnvironment()
	// mpirun ends its ranks when it is asked to, on all hosts; if not, it is killed.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case limited.Err() != nil:
		return nil, fmt.Errorf("the skeleton was not done after %v", at.Limit)
	case err != nil:
		return nil, fmt.Errorf("running the skeleton on %s: %w: %s", at.placeName(), err, failureCause(errs.String()))
	}
	return parseOutcome(out.Bytes(), s.Pattern.Nodes)
}

func parseOutcome(out []byte, ranks int) (*Outcome, error) {
	var o Outcome
	if err := json.Unmarshal(out, &o); err != nil || len(o.Ranks) != ranks || !(o.Seconds > 0) {
		return nil, errors.Join(fmt.Errorf("the runner of skeletons said %q", string(out[:min(len(out), 200)])), err)
	}
	return &o, nil
}

func (at *RunPlace) placeName() string {
	if len(at.Hosts) == 0 {
		return "this machine"
	}
	return strings.Join(at.Hosts, " ")
}

// failureCause is why mpirun failed: what ssh says of hosts that it cannot reach, around
// which Open MPI guesses at length; else the last lines that were written.
func failureCause(text string) string {
	var said []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		fromSSH := strings.HasPrefix(line, "ssh: ") || strings.HasPrefix(line, "Host key verification failed") ||
			strings.Contains(line, ": Permission denied (")
		if fromSSH && !slices.Contains(said, line) {
			said = append(said, line)
		}
	}
	if len(said) > 0 {
		return strings.Join(said, "; ")
	}
	return lastLines(text)
}

// lastLines is the last lines that somebody wrote, without frames.
func lastLines(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.Trim(line, "-") != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-6):], " ")
}

// launchCommand is the line that starts as many ranks as the skeleton has.
func (at *RunPlace) launchCommand(ranks int) (argv []string, remove func(), err error) {
	argv, remove = []string{"mpirun"}, func() {}
	if at.Mpirun != "" {
		argv[0] = at.Mpirun
	}
	argv = append(argv, "-n", fmt.Sprint(ranks), "--bind-to", "none")
	if at.Yield != "" {
		argv = append(argv, "--mca", "mpi_yield_when_idle", "1", "-x", "LD_PRELOAD")
	}
	if len(at.Hosts) > 0 {
		if len(at.Hosts) != ranks {
			return nil, nil, fmt.Errorf("%d hosts for %d ranks", len(at.Hosts), ranks)
		}
		file, err := hostFile(at.Hosts)
		if err != nil {
			return nil, nil, err
		}
		remove = func() { _ = os.Remove(file) } // it is among temporary files
		argv = append(argv, "--mca", "btl", "tcp,self,vader", "--hostfile", file, "--map-by", "seq")
	}
	return append(argv, at.Runner), remove, nil
}

// hostFile lists the hosts, one for each rank.
func hostFile(hosts []string) (string, error) {
	for _, h := range hosts {
		if !GoodHost(h) {
			return "", fmt.Errorf("%q is no name of a host", h)
		}
	}
	f, err := os.CreateTemp("", "godwit-hosts-")
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(strings.Join(hosts, "\n") + "\n")
	if err := errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(f.Name()) // it is not whole
		return "", err
	}
	return f.Name(), nil
}

func (at *RunPlace) launchEnvironment() []string {
	env := slices.Clone(at.Env)
	if at.Yield == "" {
		return env
	}
	preload := at.Yield
	for _, v := range env {
		if own, ok := strings.CutPrefix(v, "LD_PRELOAD="); ok && own != "" {
			preload += ":" + own
		}
	}
	return append(env, "LD_PRELOAD="+preload)
}
