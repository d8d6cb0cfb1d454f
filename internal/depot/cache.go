package depot

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"os"
	"path/filepath"
)

// cached is what a cache knows of one file: if it still looks like this, it
// holds these chunks.
type cached struct {
	Stamp  stamp  `json:"stamp"`
	Chunks []byte `json:"chunks,omitempty"` // IDs, 32 bytes each
}

// cacheVersion changes with the way files are cut.
const cacheVersion = 1

type cacheJSON struct {
	Version int               `json:"godwit-cache"`
	Files   map[string]cached `json:"files"`
}

func (c cached) chunkSums() []chunk.Sum {
	list := make([]chunk.Sum, len(c.Chunks)/32)
	for i := range list {
		list[i] = chunk.Sum(c.Chunks[32*i:])
	}
	return list
}

// readCache reads a cache. One that is missing or damaged knows nothing.
func readCache(path string) map[string]cached {
	if path == "" {
		return nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	check, b, _ := bytes.Cut(b, []byte("\n"))
	var in cacheJSON
	if chunk.ID(check) != chunk.IDOf(b) || json.Unmarshal(b, &in) != nil || in.Version != cacheVersion {
		return nil
	}
	return in.Files
}

// writeCache remembers those files whose next change will show in their stamp.
// It only saves time, so it may fail.
func writeCache(path string, files []*source) {
	if path == "" {
		return
	}
	out := cacheJSON{Version: cacheVersion, Files: map[string]cached{}}
	for _, f := range files {
		if !f.Mode.IsRegular() || !f.trusted {
			continue
		}
		name, odd := textOrBytes(f.Path)
		if odd != nil {
			continue // its name would not come back from the file
		}
		c := cached{Stamp: f.stamp, Chunks: make([]byte, 0, 32*len(f.chunks))}
		for _, s := range f.chunks {
			c.Chunks = append(c.Chunks, s[:]...)
		}
		out.Files[name] = c
	}
	b, err := json.Marshal(out)
	if err != nil {
		return
	}
	writeWhole(path, append([]byte(chunk.IDOf(b)+"\n"), b...)) //nolint:errcheck // see above
}

// writeWhole replaces the file at path, so that a reader sees the old content
// or the new.
func writeWhole(path string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("writing the cache: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("writing the cache: %w", err)
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("writing the cache: %w", err), os.Remove(f.Name()))
	}
	return nil
}
