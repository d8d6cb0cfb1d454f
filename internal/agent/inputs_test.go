package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/driver/staging"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// atSite makes files of a site and says where they are.
func atSite(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// pushed is an input that is in the depot.
func (h *harness) pushed(dir, name, as string) wire.Input {
	h.t.Helper()
	s := &staging.Site{Dir: h.t.TempDir(), Depot: h.store}
	m, err := s.PushFiles(h.t.Context(), filepath.Join(dir, name))
	if err != nil {
		h.t.Fatal(err)
	}
	return wire.Input{Name: as, From: "leeds:" + name, Tree: m.Tree}
}

func TestInputsAreCopiesAndComeHomeOnlyIfChanged(t *testing.T) {
	for _, c := range []struct{ run, want, home string }{
		{"cat here there folder/sub/x", "onetwothree", ""},
		{"cat here there folder/sub/x; echo new >made", "onetwothree", "made"},
		{"echo more >>here; echo more >>folder/sub/x; rm there", "", "folder folder/sub folder/sub/x here"},
	} {
		h := newHarness(t, "/bin/sh", "-c", c.run)
		dir := atSite(t, map[string]string{"one": "one", "two": "two", "data/sub/x": "three"})
		h.pushWork(map[string]string{"prog": "#!/bin/sh\n"})
		h.attempt.Inputs = []wire.Input{{Name: "here", From: "leeds:/one", Path: filepath.Join(dir, "one")},
			h.pushed(dir, "two", "there"),
			{Name: "folder", From: "leeds:/data", Path: filepath.Join(dir, "data")}}
		h.run()
		m := h.ended()
		if m.Code != 0 || h.output(1) != c.want {
			t.Errorf("%s: told %+v, output %q", c.run, m, h.output(1))
		}
		if (m.Result == "") != (c.home == "") {
			t.Errorf("%s: the result is %q", c.run, m.Result)
		} else if m.Result != "" {
			tree, err := depot.LoadTree(t.Context(), h.store, depot.ID(m.Result))
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, e := range tree.Entries {
				if e.Path != "prog" {
					names = append(names, e.Path)
				}
			}
			if got := strings.Join(names, " "); got != c.home {
				t.Errorf("%s: home come %s, want %s", c.run, got, c.home)
			}
		}
		for name, want := range map[string]string{"one": "one", "two": "two", "data/sub/x": "three"} {
			if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(text) != want {
				t.Errorf("the original of %s is %q now: %v", name, text, err)
			}
		}
	}
}

func TestInputsThatAreNotThere(t *testing.T) {
	for _, c := range []struct {
		in   wire.Input
		kind wire.Kind
		why  string
	}{
		{wire.Input{Name: "x", From: "leeds:/none", Path: "/nowhere/at/all"}, wire.Ended, "input leeds:/none, as seen from "},
		{wire.Input{Name: "x", From: "leeds:/dev/null", Path: "/dev/null"}, wire.Ended, "neither a file nor a folder"},
		{wire.Input{Name: "../x", From: "leeds:/one", Path: "/etc/hostname"}, wire.Ended, "no name for it"},
		{wire.Input{Name: "x", From: "leeds:/one"}, wire.Lost, "has not been brought"},
		{wire.Input{Name: "x", From: "leeds:/one", Tree: string(chunk.IDOf([]byte("what nobody has")))}, wire.Lost,
			"input leeds:/one: "},
	} {
		h := newHarness(t, "/bin/echo", "it runs")
		h.attempt.Inputs = []wire.Input{c.in}
		h.run()
		m := h.ended()
		if m.Kind != c.kind || !strings.Contains(m.Why, c.why) || h.output(1) != "" {
			t.Errorf("%+v: told %+v, output %q", c.in, m, h.output(1))
		}
	}
}

func TestWhatWasBroughtToTheClusterIsTakenFromThere(t *testing.T) {
	h := newHarness(t, "/bin/cat", "in")
	dir := atSite(t, map[string]string{"two": "two"})
	in := h.pushed(dir, "two", "in")
	there := &staging.Site{Dir: t.TempDir(), Depot: h.store}
	if _, err := there.BringTree(t.Context(), in.Tree); err != nil {
		t.Fatal(err)
	}
	if err := there.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := h.store.CollectGarbage(t.Context(), nil, 0); err != nil { // the broker has it no more
		t.Fatal(err)
	}
	h.attempt.Inputs, h.attempt.Brought = []wire.Input{in}, staging.KeptFolder(there.Dir)
	h.run()
	if m := h.ended(); m.Code != 0 || h.output(1) != "two" || m.Result != "" {
		t.Errorf("told %+v, output %q", m, h.output(1))
	}
}
