package sandbox

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// identity is as whom a program believes to run. It keeps that for life, though
// after a move somebody else may have started it.
type identity struct{ uid, gid int }

// isDirect says whether the sandbox can be made as we are: as root, for a program
// that believes to be root.
func (id identity) isDirect() bool {
	return id == identity{0, 0} && os.Geteuid() == 0 && os.Getegid() == 0 && hasCapability(unix.CAP_SYS_ADMIN)
}

// processAttributes are those of the supervisor's process. It dies with the thread
// that started it. Where it is not made as we are it gets a user namespace in
// which we are the program's identity, may mount, and are nobody else.
func (id identity) processAttributes() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if id.isDirect() {
		return attr
	}
	attr.Cloneflags = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: id.uid, HostID: os.Geteuid(), Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: id.gid, HostID: os.Getegid(), Size: 1}}
	for c := uintptr(0); c <= lastCapability(); c++ {
		attr.AmbientCaps = append(attr.AmbientCaps, c)
	}
	return attr
}

// lastCapability is the highest one this kernel knows.
func lastCapability() uintptr {
	text, err := os.ReadFile("/proc/sys/kernel/cap_last_cap")
	if err == nil {
		if n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 8); err == nil {
			return uintptr(n)
		}
	}
	return unix.CAP_AUDIT_READ
}

// hasCapability says whether this process has a capability. Root in a container often
// has not.
func hasCapability(capability int) bool {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // only read
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if hex, ok := strings.CutPrefix(lines.Text(), "CapEff:"); ok {
			set, err := strconv.ParseUint(strings.TrimSpace(hex), 16, 64)
			return err == nil && set&(1<<capability) != 0
		}
	}
	return false
}
