package sandbox

import (
	"bufio"
	"slices"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
)

func TestOnlyWhatWouldHaveWorkedOutsideCountsAsDenied(t *testing.T) {
	h := hostView{
		listens: func(port uint16) bool { return port == 80 },
		socket:  func(path string) bool { return strings.HasSuffix(path, ".sock") || strings.HasSuffix(path, "socket") },
		writes:  func(path string) bool { return strings.HasPrefix(path, "/home/") || strings.HasSuffix(path, ".pyc") },
		has:     func(path string) bool { return path == "/tmp/data" },
	}
	got := judgeDenied(deniedNames{
		Connects: []string{"192.0.2.1:443", "127.0.0.1:80", "127.0.0.1:81", "[::1]:80", "/run/x.sock", "/run/gone",
			"/var/run/nscd/socket"},
		Writes:  []string{"/home/a", "/usr/b", "/usr/lib/python3/__pycache__/x.pyc"},
		Missing: []string{"/tmp/data", "/tmp/other"},
		Left:    []string{"/tmp/.cache/x", "/tmp/left"},
	}, true, h)
	var names []string
	for _, d := range got {
		names = append(names, string(d.Kind)+" "+d.Name)
	}
	want := []string{"connect 192.0.2.1:443", "connect 127.0.0.1:80", "connect [::1]:80", "connect /run/x.sock",
		"write /home/a", "read /tmp/data", "keep /tmp/left"}
	if !slices.Equal(names, want) {
		t.Errorf("denied %q\nwant %q", names, want)
	}
	if got := judgeDenied(deniedNames{Left: []string{"/tmp/left"}}, false, h); len(got) != 0 {
		t.Errorf("a program that runs has lost %v", got)
	}
	if _, ok := any((*run)(nil)).(checkpoint.Confined); !ok {
		t.Error("a run does not tell what it denies")
	}
}

func TestAPortThatIsListenedAtIsFound(t *testing.T) {
	const table = `  sl  local_address rem_address   st tx_queue
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000
   1: 0100007F:1F91 0100007F:8000 01 00000000:00000000
   2: 00000000000000000000000001000000:0050 00000000000000000000000000000000:0000 0A 0
`
	for port, want := range map[uint16]bool{8080: true, 8081: false, 80: true, 81: false} {
		if got := listensIn(bufio.NewScanner(strings.NewReader(table)), port); got != want {
			t.Errorf("port %d: %v, want %v", port, got, want)
		}
	}
}
