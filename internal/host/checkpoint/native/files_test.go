package native

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAnImageIsPutBackAsItWasOrNotAtAll(t *testing.T) {
	from, image := t.TempDir(), t.TempDir()
	n, err := newNamed(from, []string{"state", "parts", "odd[name]"})
	if err != nil {
		t.Fatal(err)
	}
	write := func(dir, name, text string, mode os.FileMode) {
		t.Helper()
		path := filepath.Join(dir, name)
		os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write(from, "state", "one", 0o600)
	write(from, "parts/deep/a", "two", 0o755)
	write(from, "parts/empty", "", 0o644)
	write(from, "odd[name]", "three", 0o644)
	os.Symlink("..", filepath.Join(from, "parts", "up"))
	write(from, "other", "not named", 0o644)
	if err := n.copyImage(image, "signal", ends); err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	write(to, "state", "something longer and newer", 0o644)
	n.dir = to
	m, err := n.restoreImage(image, "signal")
	if err != nil || m.Habit != ends || len(m.Files) != 4 {
		t.Fatalf("%+v, %v", m, err)
	}
	for name, want := range map[string]string{"state": "one", "parts/deep/a": "two", "parts/empty": "",
		"odd[name]": "three"} {
		if text, err := os.ReadFile(filepath.Join(to, name)); err != nil || string(text) != want {
			t.Errorf("%s is %q, %v", name, text, err)
		}
		a, _ := os.Stat(filepath.Join(from, name))
		b, _ := os.Stat(filepath.Join(to, name))
		if a.Mode() != b.Mode() || !a.ModTime().Equal(b.ModTime()) {
			t.Errorf("%s is %v of %v, was %v of %v", name, b.Mode(), b.ModTime(), a.Mode(), a.ModTime())
		}
	}
	if _, err := os.Stat(filepath.Join(to, "other")); err == nil {
		t.Error("a file that was not named is there")
	}

	if _, err := n.restoreImage(image, "exit85"); err == nil {
		t.Error("the image of another method was taken")
	}
	write(image, "files/odd[name]", "th", 0o644)
	write(to, "state", "untouched", 0o644)
	if _, err := n.restoreImage(image, "signal"); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a shortened file: %v", err)
	}
	if text, _ := os.ReadFile(filepath.Join(to, "state")); string(text) != "untouched" {
		t.Error("a damaged image was put back in part")
	}
	os.Remove(filepath.Join(from, "state"))
	n.dir = from
	if err := n.copyImage(t.TempDir(), "signal", ends); err == nil || err.Error() != "state is missing" {
		t.Errorf("a file that is missing: %v", err)
	}
}

func FuzzManifest(f *testing.F) {
	f.Add([]byte(`{"method":"signal","habit":"ends","files":[{"path":"a/b","size":3,"mode":420,"mtime":5}]}`))
	f.Add([]byte(`{"files":[{"path":"../a"},{"path":"/etc/passwd"},{"path":"a/../../b"},{"path":"."},{"path":""}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := parseManifest(text)
		if err != nil {
			return
		}
		for _, file := range m.Files {
			inside := filepath.Join("/work", file.Path)
			if !strings.HasPrefix(inside, "/work/") || file.Mode != file.Mode.Perm() {
				t.Errorf("%q leads to %s, %v", text, inside, file.Mode)
			}
		}
	})
}

func FuzzInotifyEvents(f *testing.F) {
	one := binary.NativeEndian.AppendUint32(nil, 1)
	one = append(one, make([]byte, 8)...)
	one = binary.NativeEndian.AppendUint32(one, 8)
	one = append(one, "state\x00\x00\x00"...)
	f.Add(one)
	f.Add(one[:20])
	f.Fuzz(func(t *testing.T, b []byte) {
		size := 0
		for _, e := range parseEvents(b) {
			size += 16 + len(e.name)
			if e.name == "" || strings.ContainsRune(e.name, 0) {
				t.Errorf("%q", e.name)
			}
		}
		if size > len(b) {
			t.Errorf("%d bytes of events in %d", size, len(b))
		}
	})
	got := parseEvents(append(one, one...))
	if len(got) != 2 || got[0] != (event{1, "state"}) {
		f.Errorf("%+v", got)
	}
}

func FuzzSignalName(f *testing.F) {
	for _, s := range []string{"USR1", "sigterm", "10", "0", "-1", "65", "KILL", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if sig, err := parseSignal(s); err == nil && (sig <= 0 || sig > 64 || sig == 9 || sig == 19) {
			t.Errorf("%q is %d", s, sig)
		}
	})
}
