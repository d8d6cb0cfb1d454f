package remote

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/linefile/linefiletest"
)

func TestTheRegisterKnowsWhatMayHaveBeenSent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sent")
	a, b, c := driver.ID{Job: 1, Epoch: 2}, driver.ID{Job: 3, Epoch: 4}, driver.ID{Job: 1, Epoch: 2, Part: 1}
	r, err := openRegister(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []driver.ID{a, b, a} {
		if err := r.addAttempt(id); err != nil {
			t.Fatal(err)
		}
	}
	r.removeAttempt(b)
	if err := r.closeFile(); err != nil {
		t.Fatal(err)
	}
	// The broker was killed while it wrote the next line.
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("+5.6"); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	if r, err = openRegister(path); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.closeFile() }()
	if !r.mayKnow(a) || r.isUnsent(a) || r.mayKnow(b) || !r.isUnsent(b) || r.mayKnow(c) {
		t.Errorf("known are %v", r.known)
	}
	memory, err := openRegister("")
	if err != nil || memory.isUnsent(a) {
		t.Errorf("without a file nothing is certain: %v", err)
	}
}

func TestWhatIsSentAfterTheDiskWasFullIsRemembered(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sent")
	first, second, third, fourth := driver.ID{Job: 11, Epoch: 1}, driver.ID{Job: 12, Epoch: 1},
		driver.ID{Job: 13, Epoch: 1}, driver.ID{Job: 14, Epoch: 1}
	r, err := openRegister(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.addAttempt(first); err != nil {
		t.Fatal(err)
	}
	linefiletest.WithRoomFor(t, path, 3, func() {
		if err := r.addAttempt(second); !errors.Is(err, errRegister) {
			t.Errorf("what cannot be remembered may be sent: %v", err)
		}
	})
	if err := r.addAttempt(third); err != nil {
		t.Fatal(err)
	}
	linefiletest.WithRoomFor(t, path, 3, func() { r.removeAttempt(first) })
	if err := r.addAttempt(fourth); err != nil {
		t.Fatal(err)
	}
	if err := r.closeFile(); err != nil {
		t.Fatal(err)
	}
	if r, err = openRegister(path); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.closeFile() }()
	if r.isUnsent(third) || r.isUnsent(fourth) || !r.isUnsent(second) {
		t.Errorf("known are %v", r.known)
	}
}

func FuzzParseRegister(f *testing.F) {
	f.Add([]byte("+1.2\n-1.2\n+3.4\n+5"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for id := range parseRegister(data) {
			if id == (driver.ID{}) && !strings.Contains(string(data), "0") {
				t.Errorf("%q", data)
			}
		}
	})
}

// FuzzShellLine: whatever the words are, every shell hands them to the script
// as they are.
func FuzzShellLine(f *testing.F) {
	f.Add("a b", "$(reboot)")
	f.Add("`x`", "~/;&|<>*?[]{}\"#")
	f.Fuzz(func(t *testing.T, a, b string) {
		line, err := shellLine(`printf "%s|" "$@"`, a, b)
		if err != nil {
			return
		}
		for _, shell := range []string{"sh", "bash", "dash"} {
			if _, err := exec.LookPath(shell); err != nil {
				continue
			}
			out, err := exec.Command(shell, "-c", line).CombinedOutput()
			if err != nil || string(out) != a+"|"+b+"|" {
				t.Errorf("%s says %q for %q and %q: %v", shell, out, a, b, err)
			}
		}
	})
}

func TestTheUsersOwnControlPathIsRespected(t *testing.T) {
	for text, want := range map[string]bool{
		"user a\ncontrolpath none\n": false, "controlpath /home/a/.ssh/cm-%C\n": true, "": false,
		"controlmaster auto\n": false,
	} {
		if hasControlPath([]byte(text)) != want {
			t.Errorf("%q", text)
		}
	}
}

func TestAMachineOfAnotherKindIsRefused(t *testing.T) {
	if checkArchitecture(" Darwin arm64") == nil || checkArchitecture("Linux sparc64") == nil ||
		checkArchitecture("") == nil {
		t.Error("it is taken")
	}
	out, err := exec.Command("uname", "-sm").Output()
	if err != nil || checkArchitecture(string(out)) != nil {
		t.Errorf("this machine is refused: %v %v", err, checkArchitecture(string(out)))
	}
}

// The scripts do what they say under every shell that is here, also for a user
// whose shell is not one of them.
func TestTheScriptsAreForEveryShell(t *testing.T) {
	for _, script := range []string{beginScript, reuseScript, bringScript} {
		if err := checkQuotable(script); err != nil {
			t.Error(err)
		}
	}
}
