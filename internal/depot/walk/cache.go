package walk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
)

// CachedFile is what a cache knows of one file: if it still looks like this, it
// holds these chunks.
type CachedFile struct {
	Stamp  FileStamp `json:"stamp"`
	Chunks []byte    `json:"chunks,omitempty"` // IDs, 32 bytes each
}

// cacheVersion changes with the way files are cut.
const cacheVersion = 1

type cacheJSON struct {
	Version int                   `json:"godwit-cache"`
	Files   map[string]CachedFile `json:"files"`
}

// ChunkSums are the chunks of the file.
func (c CachedFile) ChunkSums() []chunk.Sum {
	list := make([]chunk.Sum, len(c.Chunks)/32)
	for i := range list {
		list[i] = chunk.Sum(c.Chunks[32*i:])
	}
	return list
}

// ReadCache reads a cache. One that is missing or damaged knows nothing.
func ReadCache(path string) map[string]CachedFile {
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

// NewCachedFile is what a cache says of a file with these chunks.
func NewCachedFile(s FileStamp, chunks []chunk.Sum) CachedFile {
	c := CachedFile{Stamp: s, Chunks: make([]byte, 0, 32*len(chunks))}
	for _, id := range chunks {
		c.Chunks = append(c.Chunks, id[:]...)
	}
	return c
}

// WriteCache remembers files by their paths. It only saves time, so it may fail.
func WriteCache(path string, files map[string]CachedFile) {
	if path == "" {
		return
	}
	b, err := json.Marshal(cacheJSON{Version: cacheVersion, Files: files})
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
