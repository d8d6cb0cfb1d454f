package proctree

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/host/proctable"
)

const aLine = "4242 (a) b (c) S 1 4242 4240 0 -1 4194304 100 200 0 0 12 34 56 78 20 0 3 0 987654 123456789 2048 " +
	"18446744073709551615 0 0"

func TestALineOfStatIsRead(t *testing.T) {
	got, err := parseStat([]byte(aLine), true)
	want := stat{pid: 4242, comm: "a) b (c", state: 'S', ppid: 1, pgrp: 4242, session: 4240, own: 460 * time.Millisecond,
		kids: 1340 * time.Millisecond, threads: 3, start: 987654, rss: 2048}
	if err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	for _, bad := range []string{"", "1", "1 (", "1 )(", "x (a) S 1", "1 (a)", "1 (a) S", "1 (a) SS 1 1 1", aLine[:60],
		strings.Replace(aLine, " 12 ", " y ", 1)} {
		if got, err := parseStat([]byte(bad), true); err == nil {
			t.Errorf("%q is %+v", bad, got)
		}
	}
	if cpu, ok := parseProcessor([]byte(aLine)); ok {
		t.Errorf("a line that is too short says processor %d", cpu)
	}
	if cpu, ok := parseProcessor([]byte(aLine + " 0 0 0 0 0 0 0 0 0 0 17 5 0 0")); !ok || cpu != 5 {
		t.Errorf("processor %d (%v), want 5", cpu, ok)
	}
	var r reader
	own, err := r.readStat(os.Getpid())
	if err != nil || own.pid != os.Getpid() || own.ppid != os.Getppid() || own.threads < 2 || own.rss < 100 {
		t.Errorf("we are %+v, %v", own, err)
	}
}

func TestCountsOfBytesAreRead(t *testing.T) {
	got := parseIO([]byte("rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: " +
		"6\ncancelled_write_bytes: 7\nrchar\nrchar: x\n"))
	if want := (ioCount{1, 2, 5, 6}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestTheMarkIsFoundInAnEnvironment(t *testing.T) {
	for env, want := range map[string]string{
		"A=1\x00GODWIT_ATTEMPT=x y\x00B=2\x00": "x y",
		"GODWIT_ATTEMPT=\x00":                  "",
		"GODWIT_ATTEMPT=last":                  "last",
		"XGODWIT_ATTEMPT=x\x00":                "none",
		"A=\nGODWIT_ATTEMPT=x\x00":             "none",
		"":                                     "none",
	} {
		got, ok := findMark([]byte(env))
		if ok != (want != "none") || ok && got != want {
			t.Errorf("%q: %q, %v", env, got, ok)
		}
	}
}

// Whatever a process calls itself, its line is read as what the kernel wrote.
func FuzzStat(f *testing.F) {
	f.Add("bash", []byte(aLine))
	f.Add(") R 1 1 1 (", []byte("1 (a) R"))
	f.Add("\n\x00(((", []byte("4242 () Z -1 -5 99999999999999999999999 1 1 1 1 1 1 1 -1 -1 -1 -1 1 1 1 1 1 1 1"))
	f.Fuzz(func(t *testing.T, name string, any []byte) {
		line := fmt.Sprintf("77 (%s) D 5 6 7 0 -1 4194304 100 200 0 0 1 2 3 4 20 0 9 0 11 12 13 14 15", name)
		got, err := parseStat([]byte(line), true)
		want := stat{pid: 77, comm: name, state: 'D', ppid: 5, pgrp: 6, session: 7, own: 3 * tick, kids: 7 * tick, threads: 9,
			start: 11, rss: 13}
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v", line, got, err)
		}
		if got, err := parseStat(any, true); err == nil &&
			(got.pid <= 0 || got.own < 0 || got.kids < 0 || got.own+got.kids < 0) {
			t.Errorf("%q: %+v", any, got)
		}
		if cpu, ok := parseProcessor(any); ok && cpu < 0 {
			t.Errorf("%q: processor %d", any, cpu)
		}
		io := parseIO(any)
		if sum := io.addCount(io); io.read >= 0 && sum.read < io.read {
			t.Errorf("%q: %+v", any, io)
		}
		for _, pid := range proctable.ParsePids(any, nil) {
			if pid <= 0 {
				t.Errorf("%q: process %d", any, pid)
			}
		}
		findMark(any)
		afterKey(any, "voluntary_ctxt_switches")
		handlesSignal(any, 10)
	})
}
