package store

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// Stores of earlier versions hold inputs in this form.
func TestAnInputIsWrittenAsItWas(t *testing.T) {
	const text = `{"name":"x","from":"leeds:x","path":"/home/x","tree":"t","site":"leeds","size":5,"modTime":6,"away":"gone"}`
	want := Input{Input: wire.Input{Name: "x", From: "leeds:x", Path: "/home/x", Tree: "t"}, Site: "leeds", Size: 5,
		ModTime: 6, Away: "gone"}
	var read Input
	if err := json.Unmarshal([]byte(text), &read); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, read); diff != "" {
		t.Errorf("read:\n%s", diff)
	}
	written, err := json.Marshal(want)
	if err != nil || string(written) != text {
		t.Errorf("written as %s, %v", written, err)
	}
}
