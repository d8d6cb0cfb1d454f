package buildcache

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// folder makes one with these files.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func sourcesOf(t *testing.T, dir string) Sources {
	t.Helper()
	s, err := ReadSources(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAKeyChangesWithEverythingThatGoesIntoAResultAndNothingElse(t *testing.T) {
	h := Host{Arch: "amd64", March: "x86-64-v3", Tools: []string{"cc 12"}, Libraries: []string{"m 6"}}
	dir := folder(t, map[string]string{"a.c": "1", "lib/b.c": "2"})
	base := ResultKey(sourcesOf(t, dir), "make", nil, h)
	same := folder(t, map[string]string{"lib/b.c": "2", "a.c": "1"})
	if err := os.Chtimes(filepath.Join(same, "a.c"), time.Unix(1, 0), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if ResultKey(sourcesOf(t, same), "make", nil, h) != base {
		t.Error("the same files have another key")
	}
	seen := map[string]string{base: "the same"}
	add := func(what, key string) {
		if was, ok := seen[key]; ok {
			t.Errorf("%s has the key of %s", what, was)
		}
		seen[key] = what
	}
	for what, files := range map[string]map[string]string{
		"another file": {"a.c": "1", "lib/b.c": "3"}, "another name": {"a.c": "1", "lib/c.c": "2"},
		"one more": {"a.c": "1", "lib/b.c": "2", "c": ""},
	} {
		add(what, ResultKey(sourcesOf(t, folder(t, files)), "make", nil, h))
	}
	s := sourcesOf(t, dir)
	add("another command", ResultKey(s, "make all", nil, h))
	add("other outputs", ResultKey(s, "make", []string{"x"}, h))
	for what, other := range map[string]Host{
		"another level": {Arch: "amd64", March: "x86-64-v4", Tools: h.Tools, Libraries: h.Libraries},
		"another cc":    {Arch: "amd64", March: "x86-64-v3", Tools: []string{"cc 13"}, Libraries: h.Libraries},
		"another m":     {Arch: "amd64", March: "x86-64-v3", Tools: h.Tools, Libraries: []string{"m 7"}},
		"m as tool":     {Arch: "amd64", March: "x86-64-v3", Tools: []string{"cc 12", "m 6"}},
	} {
		add(what, ResultKey(s, "make", nil, other))
	}
	if err := os.Chmod(filepath.Join(dir, "a.c"), 0o700); err != nil { // to be executed
		t.Fatal(err)
	}
	add("an executable", ResultKey(sourcesOf(t, dir), "make", nil, h))
}

func take(t *testing.T, c Cache, key string) *Result {
	t.Helper()
	r, err := c.TakeResult(context.Background(), key, func() {})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAResultIsThereWholeOrNotAtAll(t *testing.T) {
	c := Cache{filepath.Join(t.TempDir(), "builds")}
	dir := folder(t, map[string]string{"bin/prog": "code", "data": "x"})
	if err := os.Symlink("prog", filepath.Join(dir, "bin/link")); err != nil {
		t.Fatal(err)
	}
	r := take(t, c, "k")
	if r.Ready {
		t.Fatal("it is there before it was made")
	}
	if err := r.KeepFiles(dir, []string{"bin/prog", "missing"}, nil); err == nil || r.Ready {
		t.Fatal("half of a result is one")
	}
	r.ReleaseLock()
	if r = take(t, c, "k"); r.Ready {
		t.Fatal("half of a result is found")
	}
	// One that was killed in the middle leaves this.
	if err := os.MkdirAll(filepath.Join(c.Dir, "k.part", "files", "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := r.KeepFiles(dir, []string{"bin/prog", "bin/link"}, []byte("log")); err != nil {
		t.Fatal(err)
	}
	r.ReleaseLock()
	r = take(t, c, "k")
	defer r.ReleaseLock()
	to := folder(t, map[string]string{"bin/prog": "old", "mine": "y"})
	if err := r.PlaceFiles(to, time.Unix(1e9, 0)); err != nil || !r.Ready {
		t.Fatal(err)
	}
	got := sourcesOf(t, to)
	if text, _ := os.ReadFile(filepath.Join(to, "bin/link")); string(text) != "code" || len(got) != 3 {
		t.Errorf("%v, link leads to %q", got, text)
	}
}

func TestWhoWantsWhatSomebodyBuildsWaitsAndMayGiveUp(t *testing.T) {
	c := Cache{t.TempDir()}
	first := take(t, c, "k")
	waits := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() {
		_, err := c.TakeResult(ctx, "k", func() { close(waits) })
		over <- err
	}()
	<-waits
	cancel()
	if err := <-over; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	first.ReleaseLock()
	take(t, c, "k").ReleaseLock()
}

func TestWhatNobodyUsedForLongIsRemoved(t *testing.T) {
	c := Cache{t.TempDir()}
	dir := folder(t, map[string]string{"x": "1"})
	now := time.Unix(2e9, 0)
	for key, age := range map[string]time.Duration{"old": 40 * 24 * time.Hour, "new": time.Hour,
		"held": 40 * 24 * time.Hour} {
		r := take(t, c, key)
		if err := r.KeepFiles(dir, []string{"x"}, nil); err != nil {
			t.Fatal(err)
		}
		if err := r.PlaceFiles(t.TempDir(), now.Add(-age)); err != nil {
			t.Fatal(err)
		}
		r.ReleaseLock()
	}
	held := take(t, c, "held")
	defer held.ReleaseLock()
	c.RemoveOld(now)
	entries, err := os.ReadDir(c.Dir)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	// All locks are old; only that which is held is needed.
	if !slices.Equal(left, []string{"held", "held.lock", "new"}) {
		t.Errorf("left: %v", left)
	}
	if r := take(t, c, "new"); !r.Ready {
		t.Error("without its lock a result is not found")
	} else {
		r.ReleaseLock()
	}
}

func TestAResultIsOneBuildersAlsoWhenLocksAreRemoved(t *testing.T) {
	c := Cache{t.TempDir()}
	var builders sync.WaitGroup
	var building atomic.Int32
	for range 8 {
		builders.Go(func() {
			for range 200 {
				r, err := c.TakeResult(t.Context(), "k", func() {})
				if err != nil {
					t.Error(err)
					return
				}
				n := building.Add(1)
				runtime.Gosched()
				building.Add(-1)
				gone := os.Remove(r.lock.Name()) // as RemoveOld does, at last: from now on others may
				r.ReleaseLock()
				if n != 1 || gone != nil {
					t.Errorf("%d build the same: %v", n, gone)
					return
				}
			}
		})
	}
	builders.Wait()
}

func TestLibrariesAreFoundOrNamed(t *testing.T) {
	h, err := ThisHost(context.Background(), []string{"m"})
	if err != nil || len(h.Libraries) != 1 || !strings.HasPrefix(h.Libraries[0], "m ") {
		t.Errorf("%+v %v", h, err)
	}
	var missing *MissingError
	if _, err := ThisHost(context.Background(), []string{"m", "no-such-library"}); !errors.As(err, &missing) ||
		missing.Library != "no-such-library" {
		t.Errorf("got %v", err)
	}
}

func TestChangedFilesAreThoseThatAreNewOrDifferent(t *testing.T) {
	got := Sources{"a": "1", "b": "2", "c": "3"}.ChangedFiles(Sources{"a": "1", "b": "9", "d": "4"})
	if !slices.Equal(got, []string{"b", "d"}) {
		t.Errorf("%v", got)
	}
}

func FuzzInLoader(f *testing.F) {
	f.Add("\tlibm.so.6 (libc6,x86-64) => /lib/libm.so.6\n", "m")
	f.Fuzz(func(t *testing.T, list, lib string) {
		if got := inLoader(list, lib); got != "" && !strings.HasPrefix(got, "lib"+lib+".so") {
			t.Errorf("%q for %q", got, lib)
		}
	})
}
