package jobfile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestInputsMayBeAtOtherSites(t *testing.T) {
	const id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	text := "run: true\ninputs:\n- leeds:/data/engine.db\n- york:~/runs/wing\n- {from: york:flight.dat}\n- {from: leeds:/data/engine.db, as: old.db}\n- {from: depot:" + id + ", as: mesh}\n"
	dir := t.TempDir()
	file := filepath.Join(dir, "job.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	j, _, err := Read(file, Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	want := []FarInput{{"york:flight.dat", "flight.dat"}, {"leeds:/data/engine.db", "old.db"}, {"depot:" + id, "mesh"},
		{"leeds:/data/engine.db", "engine.db"}, {"york:~/runs/wing", "wing"}}
	if diff := cmp.Diff(want, j.Far); diff != "" || len(j.Inputs) > 0 {
		t.Error(diff, j.Inputs)
	}
	if site, path := j.Far[1].Where(); site != "leeds" || path != "/data/engine.db" {
		t.Error(site, path)
	}
	if err := j.Check(); err != nil {
		t.Error(err)
	}
	j.Far[0].As = "../x"
	if err := j.Check(); err == nil {
		t.Error("a name outside the work folder is accepted")
	}
}
