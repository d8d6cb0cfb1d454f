package sandbox_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
)

// outside is a folder that a program could write if it were not in a sandbox.
func outside(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "godwit-outside")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// confined is what a run says that it was denied.
func confined(t *testing.T, a *attempt) []checkpoint.Denial {
	t.Helper()
	c, ok := a.run.(checkpoint.Confined)
	if !ok {
		t.Fatalf("%T does not tell what it denies", a.run)
	}
	return c.DeniedCalls()
}

func TestWhatAProgramIsDeniedIsNoted(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	dir := outside(t)
	hidden := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(hidden, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	p := program(t, t.TempDir(), "python3", "-c", fmt.Sprintf(`
import os, socket, tempfile
def attempt(what, *args):
    try: what(*args)
    except OSError as e: print(e.errno)
attempt(open, %[1]q + "/new", "w")
attempt(os.mkdir, %[1]q + "/folder")
os.chdir(%[1]q)
attempt(open, "relative", "a")
attempt(open, "/proc/nothing", "w")
attempt(socket.create_connection, ("192.0.2.1", 80), 3)
attempt(socket.create_connection, ("127.0.0.1", %[2]d))
attempt(open, %[3]q)
attempt(open, "/tmp/nobody-has-this")
with tempfile.NamedTemporaryFile() as f: f.write(b"x")
with tempfile.TemporaryDirectory() as d: open(d + "/x", "w").close()
open("/tmp/left", "w").close()
`, dir, l.Addr().(*net.TCPAddr).Port, hidden))
	a, err := try(t, p, "")
	if err != nil {
		t.Fatal(err)
	}
	if out, res := a.end(); res.Code != 0 {
		t.Fatalf("%+v %s", res, out)
	}
	want := []checkpoint.Denial{
		{Kind: checkpoint.DeniedConnect, Name: "192.0.2.1:80"}, {Kind: checkpoint.DeniedConnect, Name: l.Addr().String()},
		{Kind: checkpoint.DeniedWrite, Name: dir + "/new"}, {Kind: checkpoint.DeniedWrite, Name: dir + "/folder"},
		{Kind: checkpoint.DeniedWrite, Name: dir + "/relative"},
		{Kind: checkpoint.DeniedRead, Name: hidden}, {Kind: checkpoint.DeniedKeep, Name: "/tmp/left"},
	}
	if got := confined(t, a); !slices.Equal(got, want) {
		t.Errorf("denied %v\nwant %v", got, want)
	}
}

func TestWhatAProgramIsDeniedIsKnownWhileItRuns(t *testing.T) {
	dir := outside(t)
	p := program(t, t.TempDir(), "sh", "-c", "echo x 2>/dev/null >"+dir+"/new; echo tried; sleep 1000")
	a, err := try(t, p, "")
	if err != nil {
		t.Fatal(err)
	}
	a.awaitLines(1)
	if got, want := confined(t, a),
		[]checkpoint.Denial{{Kind: checkpoint.DeniedWrite, Name: dir + "/new"}}; !slices.Equal(got, want) {
		t.Errorf("denied %v, want %v", got, want)
	}
	a.run.KillProgram()
}

func TestAProgramThatKeepsToItsFolderIsDeniedNothing(t *testing.T) {
	a := begin(t, t.TempDir(), "", "python3", "-c", `
import json, os, socket, tempfile, urllib.request
open("here", "w").write("x")
s = socket.create_server(("127.0.0.1", 0))
c = socket.create_connection(s.getsockname(), 3)
free = socket.create_server(("127.0.0.1", 0)); port = free.getsockname()[1]; free.close()
try: socket.create_connection(("127.0.0.1", port), 3)
except ConnectionRefusedError: print("nobody")
open("/etc/passwd").read()
`)
	out, res := a.end()
	if res.Code != 0 || out != "nobody\n" {
		t.Fatalf("%+v %s", res, out)
	}
	if got := confined(t, a); len(got) != 0 {
		t.Errorf("denied %v", got)
	}
}

// The sandbox is taken down while it is still being asked.
func TestASandboxMayBeAskedWhileItsProgramEnds(t *testing.T) {
	for range 5 {
		a := begin(t, t.TempDir(), "", "sh", "-c", "exit 7")
		for asking := true; asking; {
			select {
			case <-a.run.Done():
				asking = false
			default:
				confined(t, a)
			}
		}
		if _, res := a.end(); res.Lost || res.Code != 7 {
			t.Fatalf("%+v", res)
		}
	}
}
