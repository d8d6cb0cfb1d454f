package depot

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/depot/tree"
)

func TestUsageForetellsWhatCollectFrees(t *testing.T) {
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	push := func(name string, n int) chunk.ID {
		dir := t.TempDir()
		data := make([]byte, n)
		for i := range data {
			data[i] = byte(i*i + i>>8*len(name))
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
		id, _, _, err := PushFolder(t.Context(), dir, s, PushOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	kept := push("kept", 300_000)
	push("left", 900_000)
	all, err := s.DiskUsage(t.Context(), nil, 0)
	if err != nil || all.Bytes == 0 || all.Unused != all.Bytes {
		t.Fatalf("without roots all is unused: %+v, %v", all, err)
	}
	some, err := s.DiskUsage(t.Context(), []chunk.ID{kept}, 0)
	if err != nil || some.Bytes != all.Bytes || some.Unused <= 0 || some.Unused >= all.Bytes {
		t.Fatalf("what a root reaches is used: %+v, %v", some, err)
	}
	c, err := s.CollectGarbage(t.Context(), []chunk.ID{kept}, 0)
	if err != nil || c.Chunks != some.Chunks {
		t.Errorf("collecting freed %+v, foretold were %+v, %v", c, some, err)
	}
	if _, err := tree.LoadTree(t.Context(), s, kept); err != nil {
		t.Error("what a root reaches is gone:", err)
	}
}

func TestAPushTellsHowFarItHasCome(t *testing.T) {
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name+" content"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var last, total int64
	for range 2 { // what is there already counts as done
		last, total = 0, 0
		told := func(done, all int64) {
			if done < last || done > all {
				t.Errorf("%d of %d after %d", done, all, last)
			}
			last, total = done, all
		}
		if _, _, _, err := PushFolder(t.Context(), dir, s,
			PushOptions{Cache: filepath.Join(t.TempDir(), "cache"), Progress: told}); err != nil {
			t.Fatal(err)
		}
		if last != 18 || total != 18 {
			t.Errorf("ends at %d of %d bytes, want 18 of 18", last, total)
		}
	}
}
