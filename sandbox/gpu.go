package main

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"gvisor.dev/gvisor/pkg/abi/linux"
	"gvisor.dev/gvisor/pkg/sentry/control"
	"gvisor.dev/gvisor/pkg/sentry/devices/nvproxy"
	"gvisor.dev/gvisor/pkg/sentry/devices/nvproxy/nvconf"
	"gvisor.dev/gvisor/pkg/sentry/kernel/auth"
	"gvisor.dev/gvisor/pkg/urpc"
)

// built holds cuda, see helper/cuda.c, where there was a C compiler.
//
//go:embed built
var built embed.FS

// helperFile is its name there.
const helperFile = "built/cuda"

var errNoHelper = errors.New("godwit-sandbox was built without a C compiler")

// gpuHelper is where the program that saves and restores what is in GPUs stands
// inside; nothing else needs it there.
const gpuHelper = "/.godwit-cuda"

// A CUDA call that computes holds the lock that a save needs; how long one may take
// is the program's affair. What is saved and restored may be 100 GB and more.
const (
	gpuLockTimeout = 60 * time.Second
	gpuCopyTimeout = 10 * time.Minute
)

// gpuState moves what the program has in GPUs into its memory and back. nil if the
// program was given no GPU.
type gpuState struct {
	s    *supervisor
	spec *specs.Spec
}

// prepareGPUs makes the sandbox of a program with GPUs ready: gVisor is told which
// of the drivers it knows to speak with, and the helper is put where it is found.
func (s *supervisor) prepareGPUs(spec *specs.Spec) error {
	helper, err := built.ReadFile(helperFile)
	if err != nil {
		return errNoHelper
	}
	for _, d := range spec.Linux.Devices {
		if d.Path == "/dev/nvidiactl" {
			if s.conf.NVProxyDriverVersion, err = driverInterface(); err != nil {
				return err
			}
		}
	}
	if err := os.WriteFile(filepath.Join(spec.Root.Path, gpuHelper), helper, 0o755); err != nil {
		return fmt.Errorf("writing the helper for GPUs: %w", err)
	}
	s.gpu = &gpuState{s, spec}
	return nil
}

// driverInterface is the version of NVIDIA's driver that gVisor is to take this
// host's for: the host's own, or the newest one before it on the same branch.
// Drivers of a branch seldom change what gVisor has to know of them.
func driverInterface() (string, error) {
	host, err := nvproxy.HostDriverVersion()
	if err != nil {
		return "", fmt.Errorf("asking for the version of the NVIDIA driver: %w", err)
	}
	here, err := nvconf.DriverVersionFrom(host)
	if err != nil {
		return "", fmt.Errorf("the version of the NVIDIA driver: %w", err)
	}
	nvproxy.Init()
	best := ""
	for _, known := range nvproxy.SupportedDrivers() { // in order
		if known.Major() == here.Major() && !known.IsGreaterThan(here) {
			best = known.String()
		}
	}
	if best == "" {
		return "", fmt.Errorf("the sandbox does not know NVIDIA drivers like %s", host)
	}
	return best, nil
}

// minSavingDriver is the first version of NVIDIA's driver that saves programs.
const minSavingDriver = 570

// probeGPUs says whether programs that use the GPUs of this host can be saved.
func probeGPUs() {
	if _, err := built.ReadFile(helperFile); err != nil {
		exitWithError("saving GPU programs", errNoHelper)
	}
	version, err := driverInterface()
	if err != nil {
		exitWithError("saving GPU programs", err)
	}
	if v, err := nvconf.DriverVersionFrom(version); err != nil || v.Major() < minSavingDriver {
		exitWithError("saving GPU programs", fmt.Errorf("the NVIDIA driver has version %s, and %d is the first that can",
			version, minSavingDriver))
	}
	fmt.Println(version)
}

// save takes what the program has in GPUs into its memory. If it cannot, all is as it was.
func (g *gpuState) save() error {
	return g.runHelper("save", fmt.Sprint(gpuLockTimeout.Milliseconds()))
}

// restore brings it back.
func (g *gpuState) restore() error { return g.runHelper("restore") }

// runHelper runs the helper beside the program, as the program's user, and waits for it.
func (g *gpuState) runHelper(args ...string) error {
	in, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read
	said, out, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = said.Close() }() // only read
	user := g.spec.Process.User
	caps := auth.CapabilitySetOfMany([]linux.Capability{linux.CAP_SYS_PTRACE, linux.CAP_KILL, linux.CAP_DAC_OVERRIDE})
	exec := &control.ExecArgs{
		Filename: gpuHelper, Argv: append([]string{gpuHelper}, args...), Envv: g.spec.Process.Env,
		WorkingDirectory: "/", ContainerID: g.s.c.ID, KUID: auth.KUID(user.UID), KGID: auth.KGID(user.GID),
		Capabilities: &auth.TaskCapabilities{PermittedCaps: caps, EffectiveCaps: caps, BoundingCaps: caps},
		FilePayload: control.FilePayload{
			FilePayload: urpc.FilePayload{Files: []*os.File{in, out, out}}, GuestFDs: []int{0, 1, 2},
		},
	}
	pid, err := g.s.c.Sandbox.Execute(g.s.conf, exec)
	_ = out.Close() // the helper has its own by then
	if err != nil {
		return fmt.Errorf("starting the helper for GPUs: %w", err)
	}
	timeout := time.AfterFunc(gpuLockTimeout+gpuCopyTimeout, func() {
		_ = g.s.c.Sandbox.SignalProcess(g.s.c.ID, pid, unix.SIGKILL, false) // it may just have ended
	})
	defer timeout.Stop()
	status, err := g.s.c.Sandbox.WaitPID(g.s.c.ID, pid)
	switch {
	case err != nil:
		return fmt.Errorf("waiting for the helper for GPUs: %w", err)
	case status.ExitStatus() != 0:
		return errors.New(helperWords(said, status))
	}
	return nil
}

// helperWords is what a helper that failed says of it. The sandbox has closed its end.
func helperWords(said *os.File, status unix.WaitStatus) string {
	text := make([]byte, 4096)
	_ = said.SetReadDeadline(time.Now().Add(time.Second)) // a pipe can
	n, _ := said.Read(text)
	line, _, _ := bytes.Cut(text[:n], []byte("\n"))
	if words := strings.TrimSpace(string(line)); words != "" {
		return words
	}
	return fmt.Sprintf("the helper for GPUs ended with status %#x", uint32(status))
}
