package tree

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
)

// treeOf makes one of words such as a/b=1: the file a/b with the content 1.
func treeOf(words string) *Tree {
	t := &Tree{}
	for _, w := range strings.Fields(words) {
		name, content, isFile := strings.Cut(w, "=")
		e := Entry{Path: name, Mode: fs.ModeDir | 0o755}
		if isFile {
			e = Entry{Path: name, Mode: 0o644, Size: 1, Chunks: []chunk.ID{chunk.ID(content)}}
		}
		t.Entries = append(t.Entries, e)
	}
	return t
}

// wordsOf is the words that make a tree.
func wordsOf(t *Tree) string {
	var list []string
	for _, e := range t.Entries {
		w := e.Path
		if len(e.Chunks) > 0 {
			w += "=" + string(e.Chunks[0])
		}
		list = append(list, w)
	}
	return strings.Join(list, " ")
}

func TestWhoWaitedFindsWhatTheOthersWrote(t *testing.T) {
	for what, c := range map[string]struct{ from, to, base, result, mine, want string }{
		"new and changed":           {"/w", "/w", "in=1", "in=2 out=3", "in=1", "in=2 out=3"},
		"in a new folder":           {"/w", "/w", "", "d d/out=3", "x=1", "d d/out=3 x=1"},
		"changed by somebody else":  {"/w", "/w", "in=1", "in=2 out=3", "in=7", "in=7 out=3"},
		"written by somebody else":  {"/w", "/w", "", "out=3", "out=7", "out=7"},
		"removed by somebody else":  {"/w", "/w", "in=1", "in=2", "", ""},
		"there already":             {"/w", "/w", "in=1", "in=2", "in=2", "in=2"},
		"removed by the job stays":  {"/w", "/w", "in=1", "", "in=1", "in=1"},
		"its folder lies in ours":   {"/w/sub", "/w", "", "out=3", "x=1", "sub sub/out=3 x=1"},
		"ours lies in its folder":   {"/w", "/w/sub", "", "out=3 sub sub/in=4", "x=1", "in=4 x=1"},
		"a file in place of a dir":  {"/w/sub", "/w", "", "out=3", "sub=1", "sub=1"},
		"folders of other programs": {"/v", "/w", "", "out=3", "x=1", "x=1"},
	} {
		got, changed := MergeTrees(treeOf(c.base), treeOf(c.result), treeOf(c.mine), PathMover(c.from, c.to))
		if wordsOf(got) != c.want || changed != (c.want != c.mine) {
			t.Errorf("%s: %q, %v, want %q", what, wordsOf(got), changed, c.want)
		}
	}
}
