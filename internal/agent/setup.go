package agent

import (
	"context"
	"os"
	"slices"
	"strings"
)

// setupFile is where the environment is written that the setup line leaves behind.
func (f folder) setupFile() string { return f.filePath("setup-environment") }

// setUp runs the job's setup line to its end. The program gets what the line exports: it
// is one environment, as if the line stood before the program in a script.
func (p *preparation) setUp(ctx context.Context, s *started) error {
	line := p.attempt.Spec.Setup
	if line == "" {
		return nil
	}
	file := p.folder.setupFile()
	_ = os.Remove(file) // of an earlier try, if any
	program := *s.program
	// The trap is set before the line, which may end in the middle.
	program.Argv = []string{"/bin/sh", "-c", `trap 'cat /proc/self/environ >"$GODWIT_SETUP" 2>/dev/null' EXIT; ` + line}
	program.Env = setEnvironment(program.Env, []string{"GODWIT_SETUP=" + file})
	program.Restart, program.Stdin = nil, ""
	r, err := p.runToEnd(ctx, &program, "setup")
	if err == nil && r.Code != 0 {
		err = failedOutcome(r.Code, "setup failed: "+endingText(r))
	}
	if err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil //nolint:nilerr // the line ended in a way that leaves no environment, as with exec
	}
	s.exported = changedVariables(strings.Split(strings.TrimRight(string(text), "\x00"), "\x00"), program.Env)
	s.program.Env = setEnvironment(s.program.Env, s.exported)
	return nil
}

// shells are variables that every shell sets for itself.
var shells = []string{"PWD", "OLDPWD", "SHLVL", "_", "IFS", "PPID", "PS1", "PS2", "PS4", "OPTIND"}

// changedVariables are the variables of an environment that are not as they were before.
func changedVariables(after, before []string) []string {
	var list []string
	for _, v := range after {
		name, _, ok := strings.Cut(v, "=")
		if !ok || name == "" || slices.Contains(shells, name) || strings.HasPrefix(name, "GODWIT_") ||
			slices.Contains(before, v) {
			continue
		}
		list = append(list, v)
	}
	slices.Sort(list)
	return list
}
