package walk

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
)

// No pattern makes matching fail or take long.
func FuzzIgnore(f *testing.F) {
	f.Add("**/a/**/b*[!x]", "x/a/y/z/b1")
	f.Add("!/a/", "a")
	f.Add(strings.Repeat("**/", 50)+"x", strings.Repeat("a/", 50)+"y")
	f.Fuzz(func(t *testing.T, line, name string) {
		if len(line) > 300 || len(name) > 300 {
			return
		}
		r, ok := parseRule(line)
		if !ok {
			return
		}
		fits := matchParts(r.parts, strings.Split(name, "/"))
		if want := matchSlowly(r.parts, strings.Split(name, "/"), 3000); want != unsure && fits != (want == yes) {
			t.Errorf("%q fits %q: %v", line, name, fits)
		}
	})
}

const (
	no = iota
	yes
	unsure
)

// matchSlowly is matchParts written down as it is meant.
func matchSlowly(pattern, name []string, steps int) int {
	var try func(p, n int) int
	try = func(p, n int) int {
		if steps--; steps < 0 {
			return unsure
		}
		switch {
		case p == len(pattern):
			if n == len(name) {
				return yes
			}
			return no
		case pattern[p] == "**" && p == len(pattern)-1:
			if n < len(name) {
				return yes
			}
			return no
		case pattern[p] == "**":
			for k := n; k <= len(name); k++ {
				if got := try(p+1, k); got != no {
					return got
				}
			}
			return no
		case n < len(name) && matchPart(pattern[p], name[n]):
			return try(p+1, n+1)
		}
		return no
	}
	return try(0, 0)
}

// Whatever stands in a cache file, reading it ends.
func FuzzCache(f *testing.F) {
	good, _ := json.Marshal(cacheJSON{Version: cacheVersion,
		Files: map[string]CachedFile{"a": {Chunks: make([]byte, 33)}}})
	f.Add(good)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, in []byte) {
		p := filepath.Join(dir, "cache")
		if err := os.WriteFile(p, append([]byte(chunk.IDOf(in)+"\n"), in...), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, c := range ReadCache(p) {
			c.ChunkSums()
		}
	})
}
