package cli

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/lab"
)

func TestMain(m *testing.M) {
	if code, ours := lab.RunRole(os.Args[1:]); ours {
		os.Exit(code)
	}
	testscript.Main(m, map[string]func(){
		"godwit": func() { os.Exit(RunCommand("v0-test", os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

var update = flag.Bool("update", false, "rewrite the messages in testdata to what is printed")

// TestScripts runs what users do, as they do it: testdata/*.txtar.
func TestScripts(t *testing.T) {
	repo, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
		UpdateScripts:       *update,
		Setup: func(e *testscript.Env) error {
			e.Setenv("REPO", repo)
			return liveScript(e)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits,
			"until": until,
			"pack":  pack,
		},
	})
}

// exits runs a command and wants one exit code: exits 2 godwit sim …
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d; stderr: %s", got, want, ts.ReadFile("stderr"))
	}
}

// until repeats a command until it prints what matches: until PATTERN godwit …
func until(ts *testscript.TestScript, _ bool, args []string) {
	want, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	if !(clocktest.PollLoop{}).Until(func() bool {
		_ = ts.Exec(args[1], args[2:]...)
		return want.MatchString(ts.ReadFile("stdout"))
	}) {
		ts.Fatalf("%v never printed %s; last:\n%s%s", args[1:], args[0], ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

// pack compresses a file, and keeps only the first bytes if so told:
// pack from to [bytes]
func pack(ts *testscript.TestScript, _ bool, args []string) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write([]byte(ts.ReadFile(args[0])))
	ts.Check(err)
	ts.Check(z.Close())
	data := b.Bytes()
	if len(args) > 2 {
		n, err := strconv.Atoi(args[2])
		ts.Check(err)
		data = data[:min(n, len(data))]
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), data, 0o644))
}
