package depot

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

func TestAFileIsKnownByItsContentWhateverItsTime(t *testing.T) {
	noise := make([]byte, 9<<20)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	sparse := append(bytes.Repeat([]byte{0}, 5<<20), "end"...)
	for name, content := range map[string][]byte{
		"empty": {}, "small": []byte("text"), "zeros": make([]byte, 3<<20), "noise": noise, "pages": noise[:8<<20],
		"sparse": sparse,
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		store, err := Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		_, tree, _, err := PushFolder(context.Background(), dir, store, PushOptions{})
		if err != nil {
			t.Fatal(err)
		}
		e := &tree.Entries[0]
		same := func() bool {
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = f.Close() }()
			ok, err := HasContent(f, e)
			if err != nil {
				t.Fatal(err)
			}
			return ok
		}
		if !same() {
			t.Errorf("%s: not known again", name)
		}
		if len(content) > 0 {
			other := bytes.Clone(content)
			other[len(other)-1] ^= 1
			if err := os.WriteFile(path, other, 0o600); err != nil {
				t.Fatal(err)
			}
			if same() {
				t.Errorf("%s: other content is taken for the same", name)
			}
		}
		if err := os.WriteFile(path, append(bytes.Clone(content), 'x'), 0o600); err != nil {
			t.Fatal(err)
		}
		if same() {
			t.Errorf("%s: a longer file is taken for the same", name)
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
