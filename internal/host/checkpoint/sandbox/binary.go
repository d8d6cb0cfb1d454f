package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
)

// binaryName is the name of the second binary of Godwit.
const binaryName = "godwit-sandbox"

// binaryVariable names it where it is not beside the first one.
const binaryVariable = "GODWIT_SANDBOX"

// FindBinary is the path of godwit-sandbox: beside the running binary, else where
// $GODWIT_SANDBOX says, else in $PATH.
func FindBinary() (string, error) {
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), binaryName)
		if _, err := exec.LookPath(beside); err == nil {
			return beside, nil
		}
	}
	if named := os.Getenv(binaryVariable); named != "" {
		if _, err := exec.LookPath(named); err != nil {
			return "", fmt.Errorf("$%s does not name a program: %w", binaryVariable, err)
		}
		return filepath.Abs(named)
	}
	if path, err := exec.LookPath(binaryName); err == nil {
		return filepath.Abs(path)
	}
	return "", fmt.Errorf("there is no %s beside godwit, in $%s or in $PATH: `make build` makes it", binaryName,
		binaryVariable)
}

// probed are the answers of this process to IsAvailable: what a host allows does
// not change while it runs.
var probed struct {
	mu   sync.Mutex
	done map[string]string // path of the binary to what is missing, "" if nothing is
}

// IsAvailable says whether this host lets this user run programs in a sandbox,
// and if not, what exactly is missing. The first call takes some 20 ms, the
// others nothing.
func IsAvailable(ctx context.Context) (ok bool, why string) {
	binary, err := FindBinary()
	if err != nil {
		return false, err.Error()
	}
	probed.mu.Lock()
	defer probed.mu.Unlock()
	if why, ok := probed.done[binary]; ok {
		return why == "", why
	}
	why, killed := probeHost(ctx, binary)
	for n := 1; killed && n < maxProbes && ctx.Err() == nil; n++ { // that says nothing of the host
		why, killed = probeHost(ctx, binary)
	}
	if ctx.Err() != nil {
		return false, ctx.Err().Error()
	}
	if probed.done == nil {
		probed.done = map[string]string{}
	}
	probed.done[binary] = why
	return why == "", why
}

// maxProbes is how often it is tried if somebody kills the probe.
const maxProbes = 5

// probeHost tries what a sandbox needs and says what is missing, and whether it was
// killed before it could tell.
func probeHost(ctx context.Context, binary string) (why string, killed bool) {
	// The probe dies with the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	id := identity{os.Geteuid(), os.Getegid()}
	cmd := exec.CommandContext(ctx, binary, "probe")
	cmd.Env = []string{}
	cmd.SysProcAttr = id.processAttributes()
	var said bytes.Buffer
	cmd.Stderr = &said
	err := cmd.Run()
	if err == nil {
		return "", false
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		status, ok := exit.Sys().(syscall.WaitStatus)
		killed = ok && status.Signaled()
		if said.Len() > 0 {
			err = errors.New(strings.TrimSpace(said.String()))
		}
	}
	if id.isDirect() {
		return fmt.Sprintf("this host does not let root make a sandbox: %v", err), killed
	}
	return fmt.Sprintf("an ordinary user needs user namespaces for a sandbox, and this host does not give them: %v%s", err,
		namespaceHint(err)), killed
}

// namespaceHint is the setting of the host that most likely forbids user
// namespaces.
func namespaceHint(cause error) string {
	for _, s := range []struct{ path, forbids string }{
		{"/proc/sys/user/max_user_namespaces", "0"},
		{"/proc/sys/kernel/unprivileged_userns_clone", "0"},
		{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"},
	} {
		text, err := os.ReadFile(s.path)
		if err == nil && strings.TrimSpace(string(text)) == s.forbids {
			name := strings.ReplaceAll(strings.TrimPrefix(s.path, "/proc/sys/"), "/", ".")
			return fmt.Sprintf(" (%s is %s)", name, s.forbids)
		}
	}
	if errors.Is(cause, syscall.ENOSPC) {
		return " (too many of them)"
	}
	return ""
}

// CPUFeatures are the features of this host's processors, by the names that
// Program.CPUFeatures takes. A program that has seen only those that all
// clusters share can be moved between all of them.
func CPUFeatures(ctx context.Context) ([]string, error) {
	binary, err := FindBinary()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, binary, "cpu-features")
	cmd.Env = []string{}
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("asking %s for the CPU's features: %w", binary, err)
	}
	list := strings.Split(strings.TrimSpace(string(out)), ",")
	if len(list) == 0 || list[0] == "" {
		return nil, fmt.Errorf("%s knows no features of this CPU", binary)
	}
	return list, nil
}
