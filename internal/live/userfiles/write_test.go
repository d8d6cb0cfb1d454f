package userfiles

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// cutOff reads so many bytes and then fails, as a broker that is killed.
type cutOff struct {
	text string
	left int
}

func (c *cutOff) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, errors.New("killed")
	}
	n := copy(p, c.text[:min(c.left, len(c.text))])
	c.text, c.left = c.text[n:], c.left-n
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// add appends to a file, as a broker does.
func add(name, marker string, from io.Reader) error {
	return OwnUser{}.Write(context.Background(), &Output{File: name, Append: true}, marker, from)
}

func TestWhatIsAddedToAFileIsAddedOnceHoweverOftenTheBrokerIsKilled(t *testing.T) {
	const ours = "one\ntwo\n"
	for first := range len(ours) + 1 {
		for second := range len(ours) + 1 {
			dir := t.TempDir()
			name, marker := filepath.Join(dir, "all"), filepath.Join(dir, "marks", "m")
			if err := os.WriteFile(name, []byte("before\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			for _, n := range []int{first, second} {
				_ = add(name, marker, &cutOff{ours, n}) // it is killed
			}
			for range 2 { // told twice
				if err := add(name, marker, strings.NewReader(ours)); err != nil {
					t.Fatal(err)
				}
			}
			if text, err := os.ReadFile(name); err != nil || string(text) != "before\n"+ours {
				t.Fatalf("killed after %d and %d bytes: %q, %v", first, second, text, err)
			}
		}
	}
}

func TestWhatSomebodyElseAddedMeanwhileStays(t *testing.T) {
	dir := t.TempDir()
	name, marker := filepath.Join(dir, "all"), filepath.Join(dir, "m")
	_ = add(name, marker, &cutOff{"one\ntwo\n", 4})
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("theirs\n"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := add(name, marker, strings.NewReader("one\ntwo\n")); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(name); err != nil || string(text) != "one\ntheirs\ntwo\n" {
		t.Errorf("%q, %v", text, err)
	}
}

// In a folder that others may write to they could plant links by the names that are
// to come.
func TestAPlantedLinkIsNotWrittenThrough(t *testing.T) {
	home, shared := t.TempDir(), t.TempDir()
	precious := filepath.Join(home, "precious.txt")
	if err := os.WriteFile(precious, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".out.txt.godwit-5", ".out.txt.godwit-5-x"} {
		if err := os.Symlink(precious, filepath.Join(shared, name)); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(shared, "out.txt")
	o := &Output{File: out, Temporary: ".godwit-5"}
	if err := (OwnUser{}).Write(t.Context(), o, "", strings.NewReader("output")); err != nil {
		t.Fatal(err)
	}
	holds(t, precious, "precious")
	holds(t, out, "output")

	// A link of the user's own is what the user wants.
	elsewhere := filepath.Join(home, "elsewhere.txt")
	if err := errors.Join(os.WriteFile(elsewhere, nil, 0o600), os.Remove(out), os.Symlink(elsewhere, out)); err != nil {
		t.Fatal(err)
	}
	if err := (OwnUser{}).Write(t.Context(), o, "", strings.NewReader("again")); err != nil {
		t.Fatal(err)
	}
	holds(t, elsewhere, "again")
	if os.Getuid() != 0 {
		t.Log("not root: no link of another user can be made here")
		return
	}
	if err := errors.Join(os.Remove(out), os.Symlink(precious, out), os.Lchown(out, 12345, 12345)); err != nil {
		t.Fatal(err)
	}
	for _, o := range []*Output{o, {File: out, Append: true}} {
		if err := (OwnUser{}).Write(t.Context(), o, filepath.Join(home, "marker"), strings.NewReader("stolen")); err == nil {
			t.Errorf("append %v: written through a link of somebody else", o.Append)
		}
	}
	holds(t, precious, "precious")
}

func holds(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s holds %q, %v; want %q", path, got, err, want)
	}
}

func TestWhatAProcessOfAUserSaysIsBounded(t *testing.T) {
	var kept bytes.Buffer
	b := &bounded{&kept}
	for range 3 {
		if n, err := b.Write(make([]byte, maxReport/2+7)); n != maxReport/2+7 || err != nil {
			t.Fatal(n, err)
		}
	}
	if kept.Len() != maxReport {
		t.Errorf("%d bytes are kept", kept.Len())
	}
}
