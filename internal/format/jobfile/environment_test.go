package jobfile_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/format/jobfile/imports"
)

var callersEnvironment = []string{"HOME=/home/me", "PATH=/home/me/bin:/usr/bin", "USER=me", "TOKEN=secret",
	"LANG=C.UTF-8", "SEED=7", "SLURM_JOB_ID=9"}

// sets are the names of the variables that a job sets, in order.
func sets(j *jobfile.Job, sameAccount bool) []string {
	return slices.Sorted(maps.Keys(j.Environment(sameAccount)))
}

func TestWhatOfTheEnvironmentGoesToAnotherAccount(t *testing.T) {
	script := func(line string) func(jobfile.Options) (*jobfile.Job, error) {
		return func(o jobfile.Options) (*jobfile.Job, error) {
			file := filepath.Join(o.Dir, "job.sh")
			if err := os.WriteFile(file, []byte("#!/bin/sh\n"+line+"\ntrue\n"), 0o600); err != nil {
				return nil, err
			}
			j, _, err := imports.Read(file, o)
			return j, err
		}
	}
	command := func(set ...jobfile.Setting) func(jobfile.Options) (*jobfile.Job, error) {
		return func(o jobfile.Options) (*jobfile.Job, error) {
			o.Set = set
			j, _, err := jobfile.FromCommand([]string{"true"}, o)
			return j, err
		}
	}
	named, all := []string{"LANG", "SEED"}, []string{"LANG", "SEED", "TOKEN"}
	for name, c := range map[string]struct {
		read func(jobfile.Options) (*jobfile.Job, error)
		home bool // at the same account it has the caller's
		away []string
	}{
		"a command":                       {command(), true, []string{"LANG"}},
		"a command that names a variable": {command(jobfile.Setting{Name: "env", Value: "SEED"}), true, named},
		"a command that names its path": {command(jobfile.Setting{Name: "env", Value: "PATH"}), true,
			[]string{"LANG", "PATH"}},
		"a script for Slurm":               {script("#SBATCH -n 1"), true, []string{"LANG"}},
		"a script that exports all":        {script("#SBATCH --export=ALL"), true, all},
		"a script that exports a variable": {script("#SBATCH --export=SEED"), false, []string{"SEED"}},
		"a script for Grid Engine":         {script("#$ -cwd"), false, nil},
		"one for Grid Engine with -V":      {script("#$ -cwd -V"), true, all},
	} {
		j, err := c.read(jobfile.Options{Dir: t.TempDir(), Environ: callersEnvironment})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := sets(j, false); !slices.Equal(got, c.away) {
			t.Errorf("%s: %q goes elsewhere, want %q", name, got, c.away)
		}
		if got := slices.Contains(sets(j, true), "TOKEN"); got != c.home {
			t.Errorf("%s: the caller's environment is kept at the same account: %v", name, got)
		}
	}
}

func TestAVariableThatCannotBePassedOnIsNamed(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "job.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n#SBATCH -n 1\ntrue\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := jobfile.Options{Dir: dir, Environ: []string{"SEED=7", "NAME=J\xfcrgen", "SSH_X=\xff"}}
	for what, read := range map[string]func() (*jobfile.Job, []jobfile.Warning, error){
		"a command": func() (*jobfile.Job, []jobfile.Warning, error) { return jobfile.FromCommand([]string{"true"}, o) },
		"a script":  func() (*jobfile.Job, []jobfile.Warning, error) { return imports.Read(script, o) },
	} {
		j, warnings, err := read()
		if err != nil {
			t.Fatal(err)
		}
		if got := sets(j, true); !slices.Equal(got, []string{"SEED"}) {
			t.Errorf("%s sets %q", what, got)
		}
		named := slices.ContainsFunc(warnings, func(w jobfile.Warning) bool { return w.Field == "NAME" })
		if !named || slices.ContainsFunc(warnings, func(w jobfile.Warning) bool { return w.Field == "SSH_X" }) {
			t.Errorf("%s: the warnings are %v", what, warnings)
		}
	}
}
