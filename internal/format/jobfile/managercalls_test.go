package jobfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/format/jobfile/imports"
)

// readScript reads a script, and gives what was said of it.
func readScript(t *testing.T, text string) (*jobfile.Job, string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "job.sh")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	j, warnings, err := imports.Read(file, jobfile.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for _, w := range warnings {
		fmt.Fprintf(&said, "%d: %s: %s\n", w.Line, w.Field, w.Text)
	}
	return j, said.String()
}

func TestCallsOfWhatOnlySomeClustersHaveAreFound(t *testing.T) {
	for text, want := range map[string]string{
		"#!/bin/bash\n#SBATCH -n 2\nmodule load gcc\nif true; then\n  srun -n 2 ./a\nfi\nsrun ./b": "job.sh:5",
		"#!/bin/sh\nX=1 exec srun ./a":                                  "job.sh:2",
		"#!/bin/sh\necho srun # srun\n./srun":                           "",
		"#!/bin/sh\ncommand -v srun >/dev/null && srun ./a || ./a":      "",
		"#!/bin/sh\nsrun() { \"$@\"; }\nsrun ./a":                       "",
		"#!/usr/bin/env python3\n#SBATCH -n 1\nsrun = 1\nprint(srun)\n": "",
	} {
		j, said := readScript(t, text)
		if j.Manager.Srun != want {
			t.Errorf("%q: srun at %q, want %q", text, j.Manager.Srun, want)
		}
		if strings.Contains(said, "srun: works in Slurm jobs only") != (want != "") ||
			strings.Contains(said, "3: module: needs environment modules") != strings.Contains(text, "module") {
			t.Errorf("%q: said %q", text, said)
		}
	}
}

func TestWhatAsksForGPUs(t *testing.T) {
	for line, want := range map[string]string{
		"--gres=gpu:1": "gres=gpu:1", "--gres=gpu:a100:2": "gres=gpu:a100:2", "--gpus=2": "gpus=2", "-G 1": "gpus=1",
		"--gpus-per-node=1": "gpus-per-node=1", "--gres=lustre:1": "", "--gpus=0": "", "-n 2": "",
	} {
		if j, said := readScript(t, "#!/bin/sh\n#SBATCH "+line+"\ntrue\n"); j.RequestedGPUs() != want {
			t.Errorf("%s asks for %q, want %q", line, j.RequestedGPUs(), want)
		} else if want != "" && !strings.Contains(said, "runs on Slurm clusters only") {
			t.Errorf("%s: said %q", line, said)
		}
	}
	for text, want := range map[string]string{
		"accelerators: A100:1": "gpu:a100:1", "accelerators: {V100: 4}": "gpu:v100:4", "accelerators: H100": "gpu:h100:1",
	} {
		j, err := readTaskFile(t, "run: x\nresources:\n  "+text+"\n")
		if err != nil || j.RequestedGPUs() != "gres="+want {
			t.Errorf("%s: %+v, %v", text, j, err)
			continue
		}
		told, left := j.Manager.OptionsFor(jobfile.Slurm)
		if len(told) != 1 || told[0] != (jobfile.Option{Name: "gres", Value: want}) || len(left) != 0 {
			t.Errorf("%s: Slurm is told %v, not %v", text, told, left)
		}
	}
	for _, text := range []string{"accelerators: [A100, V100]", "accelerators: A100:0.5", "accelerators: 'A 1'"} {
		if j, err := readTaskFile(t, "run: x\nresources:\n  "+text+"\n"); err == nil {
			t.Errorf("%s: %+v", text, j.Manager)
		}
	}
}

func readTaskFile(t *testing.T, text string) (*jobfile.Job, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "job.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	j, _, err := imports.Read(file, jobfile.Options{Dir: filepath.Dir(file)})
	return j, err
}
