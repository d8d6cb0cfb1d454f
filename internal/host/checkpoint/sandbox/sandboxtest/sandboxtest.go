// Package sandboxtest finds the sandbox for tests. On a clone where nothing has been built it
// builds it, which takes a minute or two, once for all packages that are tested at the same
// time. It must not know what the tests do with it.
package sandboxtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// BuiltBinary is the path of build/godwit-sandbox.
func BuiltBinary() (string, error) {
	root, err := repositoryRoot()
	if err != nil {
		return "", err
	}
	binary := filepath.Join(root, "build", "godwit-sandbox")
	if _, err := os.Stat(binary); err == nil {
		return binary, nil
	}
	if err := os.MkdirAll(filepath.Dir(binary), 0o755); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(binary+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer func() { _ = lock.Close() }()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return "", err
	}
	cmd := exec.Command("make", "--no-print-directory", "sandbox") // nothing, if another was quicker
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("make sandbox: %w\n%s", err, out)
	}
	return binary, nil
}

// repositoryRoot is the folder of the repository, in which or below which the test runs.
func repositoryRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "sandbox", "patch.sh")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("no repository of Godwit above this folder")
		}
	}
}
