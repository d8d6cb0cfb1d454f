package userfiles

import (
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
	return Own{}.Write(context.Background(), &Output{File: name, Append: true}, marker, from)
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
