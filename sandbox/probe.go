package main

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/runsc/version"
)

// probe does the two things a sandbox needs and a host may forbid, a mount of
// its own and a namespace for processes, and says which one failed. It runs
// where supervise would: its parent gives it the namespaces.
func probe() {
	// Namespaces are a thread's: on another one the mounts would be the host's.
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_NEWPID); err != nil {
		exitWithError("making namespaces for mounts and processes", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		exitWithError("making mounts private", err)
	}
	// Any folder will do: nobody else sees what is mounted there.
	dir, err := os.Getwd()
	if err != nil {
		dir = "/"
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		exitWithError("mounting a folder", err)
	}
	fmt.Println(version.Version())
}
