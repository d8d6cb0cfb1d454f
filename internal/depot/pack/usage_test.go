package pack_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/depot/pack"
	"github.com/godwit-hpc/godwit/internal/depot/tree"
)

func TestUsageForetellsWhatCollectFrees(t *testing.T) {
	s, err := pack.Open(t.TempDir())
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
		id, _, _, err := depot.PushFolder(t.Context(), dir, s, depot.PushOptions{})
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
