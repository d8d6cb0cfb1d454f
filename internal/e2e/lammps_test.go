package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// lammpsMoves runs LAMMPS, as it is installed, twice: undisturbed, and moved from
// Slurm to Grid Engine while it runs. All that it prints and the last state of all
// atoms must be the same to the last digit.
func lammpsMoves(b *bed) {
	for _, name := range []string{"melt.lmp", "melt.sh"} {
		b.copyOf("examples/jobs/lammps/" + name)
	}
	text, err := os.ReadFile(filepath.Join(root, "examples/jobs/lammps/job.yaml"))
	if err != nil {
		b.t.Fatal(err)
	}
	job := strings.NewReplacer("workdir: examples/jobs/lammps", "workdir: .", "4000", "2000").Replace(string(text))
	final := func() string {
		path := filepath.Join(b.work, "final.txt")
		b.until("the last state to be home", func() bool { _, err := os.Stat(path); return err == nil })
		text, err := os.ReadFile(path)
		if err != nil || len(text) < 100_000 {
			b.t.Fatalf("the last state: %d bytes, %v", len(text), err)
		}
		if err := os.Remove(path); err != nil {
			b.t.Fatal(err)
		}
		return string(text)
	}

	alone := b.submit(job + "on: [east]\n")[0]
	if s := b.wait(alone); s.Code == nil || *s.Code != 0 {
		b.t.Fatalf("undisturbed: %+v\n%s", s, b.godwit("explain", alone))
	}
	want, wantOut := final(), b.godwit("logs", alone)

	// It begins under Slurm because the other cluster is full.
	guest := b.submit("run: sleep 1000\nprocs: 4\ncheckpoint: restart\non: [south]\n")[0]
	b.until("the other cluster to be full", func() bool { return b.show(guest).State == "RUNNING" })
	id := b.submit(job + "on: [north, south]\n")[0]
	b.until("it to be well under way", func() bool {
		return b.show(id).over() || regexp.MustCompile(`(?m)^step \d{3,}/2000`).MatchString(b.godwit("logs", id))
	})
	b.godwit("cancel", guest)
	if s := b.show(id); s.over() || s.Cluster != "north" {
		b.t.Fatalf("it is %+v", s)
	}
	b.wait(guest)
	b.godwit("migrate", id, "--to", "south")
	s := b.wait(id)
	if s.Code == nil || *s.Code != 0 || s.Cluster != "south" || s.Migrations != 1 {
		b.t.Fatalf("moved: %+v\n%s", s, b.godwit("explain", id))
	}
	if out := b.godwit("logs", id); out != wantOut {
		b.t.Errorf("it printed other than undisturbed:\n%s\nwant\n%s", out, wantOut)
	}
	if final() != want {
		b.t.Error("its last state is not that of the undisturbed run")
	}
}
