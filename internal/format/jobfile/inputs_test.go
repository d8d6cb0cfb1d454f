package jobfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestInputsMayBeAtOtherSites(t *testing.T) {
	const id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	text := "run: true\ninputs:\n- leeds:/data/engine.db\n- york:~/runs/wing\n- {from: york:flight.dat}\n- {from: " +
		"leeds:/data/engine.db, as: old.db}\n- {from: depot:" + id + ", as: mesh}\n"
	dir := t.TempDir()
	file := filepath.Join(dir, "job.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	j, _, err := readFile(file, Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	want := []FarInput{{"york:flight.dat", "flight.dat"}, {"leeds:/data/engine.db", "old.db"}, {"depot:" + id, "mesh"},
		{"leeds:/data/engine.db", "engine.db"}, {"york:~/runs/wing", "wing"}}
	if diff := cmp.Diff(want, j.Far); diff != "" || len(j.Inputs) > 0 {
		t.Error(diff, j.Inputs)
	}
	if site, path := j.Far[1].SiteAndPath(); site != "leeds" || path != "/data/engine.db" {
		t.Error(site, path)
	}
	if err := j.CheckFields(); err != nil {
		t.Error(err)
	}
	j.Far[0].As = "../x"
	if err := j.CheckFields(); err == nil {
		t.Error("a name outside the work folder is accepted")
	}
}

func TestOutputsMayBeLeftAtSites(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "job.yaml")
	read := func(outputs string) (*Job, error) {
		if err := os.WriteFile(file, []byte("run: true\noutputs: "+outputs+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		j, _, err := readFile(file, Options{Dir: dir})
		return j, err
	}
	j, err := read("[a.csv, {from: out/*.h5, to: leeds:/data/runs/}, {from: ./log, to: york:last.log}]")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]FarOutput{{"out/*.h5", "leeds:/data/runs/"}, {"log", "york:last.log"}}, j.Leave); diff != "" ||
		len(j.Outputs) != 1 || j.CheckFields() != nil {
		t.Error(diff, j.Outputs, j.CheckFields())
	}
	if site, path := j.Leave[0].SiteAndPath(); site != "leeds" || path != "/data/runs/" {
		t.Error(site, path)
	}
	j.Leave[0].From = "../x"
	if err := j.CheckFields(); err == nil {
		t.Error("a file outside the work folder is accepted")
	}
	if j, err := read("a.csv"); err != nil || len(j.Outputs) != 1 || len(j.Leave) != 0 {
		t.Error(j, err)
	}
	for _, bad := range []string{"[{from: x}]", "[{to: leeds:/x}]", "[{from: x, to: /data}]", "[{from: x, to: depot:x}]",
		"[{from: x, to: s3://x}]",
		"[{from: '*', to: leeds:/x}]", "[{from: /x, to: leeds:/x}]", "[{from: x, to: leeds:}]",
		"[{from: x, to: leeds:/x, as: y}]", "{from: x, to: leeds:/x}"} {
		if j, err := read(bad); err == nil || !strings.Contains(err.Error(), "outputs") ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %+v, %v", bad, j, err)
		}
	}
}
