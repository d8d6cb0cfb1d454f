package replica

import (
	"testing"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func TestWhatIsWhereIsRememberedAndForgotten(t *testing.T) {
	var r Table
	r.NoteUse(Record{Site: "leeds", Path: "/x", Size: 1, Tree: "old", Used: 1})
	r.NoteUse(Record{Site: "leeds", Path: "/x", Size: 2, Tree: "new", At: []string{"york"}, Used: 2})
	r.NoteUse(Record{Site: "leeds", Path: "/x", Size: 2, Tree: "new", At: []string{"hull"}, Used: 3})
	if r.ContentOf("leeds", "/x", 1, 0) != "old" || r.ContentOf("leeds", "/x", 2, 0) != "new" ||
		r.ContentOf("leeds", "/x", 3, 0) != "" || r.ContentOf("", "/x", 1, 0) != "" {
		t.Errorf("%+v", r.list)
	}
	if last, ok := r.LastContent("leeds", "/x"); !ok || last.Tree != "new" || !r.HasCopyAt("new", "york") ||
		!r.HasCopyAt("new", "hull") || r.HasCopyAt("old", "york") {
		t.Errorf("%+v", r.list)
	}
	r.dropUnused(core.Time(maxAge) + 3)
	if got := r.DepotTrees(); len(got) != 1 || got[0] != "new" {
		t.Errorf("kept are %v", got)
	}
	for i := range maxRecords + 10 {
		r.NoteUse(Record{Path: "/y", Size: int64(i), Tree: "t"})
	}
	if len(r.DepotTrees()) != maxRecords {
		t.Errorf("%d are remembered", len(r.DepotTrees()))
	}
	r.LoadJSON("rubbish")
	if len(r.DepotTrees()) != 0 {
		t.Error("rubbish is remembered")
	}
}

func TestAFileThatWasJustSeenIsNotReadAgain(t *testing.T) {
	var r Table
	f := &driver.File{Path: "/x", Size: 5, ModTime: 7}
	r.NoteUse(Record{Site: "leeds", Path: "/x", Size: 5, ModTime: 7, Tree: "t", Used: core.AtSecond(100)})
	if r.RecentContent("leeds", f, core.AtSecond(110)) != "t" || r.RecentContent("leeds", f, core.AtSecond(1000)) != "" ||
		r.RecentContent("", f, core.AtSecond(110)) != "" {
		t.Error("what was seen long ago, or elsewhere, is trusted, or what was not is not")
	}
	f.ModTime++
	if r.RecentContent("leeds", f, core.AtSecond(110)) != "" {
		t.Error("a file that has changed is trusted")
	}
}
