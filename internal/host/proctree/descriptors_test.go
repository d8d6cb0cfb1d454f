package proctree

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestInheritedFilesAreNotPassedOn(t *testing.T) {
	f, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	inherited, err := unix.Dup(int(f.Fd())) // without the mark, as one that a shell left open
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(inherited) // nothing was written
	open := func() bool {
		out, err := exec.Command("ls", "-l", "/proc/self/fd").Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(out), "-> /dev/null\n") && strings.Count(string(out), "/dev/null") > 1
	}
	if !open() {
		t.Fatal("the test itself passes nothing on")
	}
	if err := CloseInheritedOnExec(); err != nil {
		t.Fatal(err)
	}
	if open() {
		t.Error("a child has a file that its parent inherited")
	}
}
