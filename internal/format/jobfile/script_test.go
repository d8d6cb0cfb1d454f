package jobfile

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile/callertest"
)

func TestAScriptIsAJobWithItsFieldsInComments(t *testing.T) {
	dir := callertest.MakeFolder(t, `jobs/fit.sh=#!/bin/bash -l
# what it does
#GODWIT --deadline 20m --procs=4
#GODWIT --name 'fit-1' --progress "step (\\d+)/(\\d+)"

#GODWIT --on near --on far --env TOKEN
set -e
#GODWIT --procs 8
./fit
`, "elsewhere/x")
	job, warnings, err := readFile(filepath.Join(dir, "jobs/fit.sh"), options(dir))
	if err != nil {
		t.Fatal(err)
	}
	want := plain()
	want.Name, want.Argv, want.Workdir, want.Inputs = "fit-1", []string{"/bin/bash", "-l", "jobs/fit.sh"}, dir,
		[]string{"jobs/fit.sh"}
	want.Deadline, want.Min, want.Max, want.On, want.Env = 20*time.Minute, 4, 4, []string{"near", "far"},
		map[string]string{"TOKEN": "abc"}
	want.Progress = `step (\d+)/(\d+)`
	if diff := cmp.Diff(want, job); diff != "" {
		t.Error(diff)
	}
	if len(warnings) != 1 || warnings[0].Line != 8 || warnings[0].Text != "left out: it stands below the first command" {
		t.Errorf("%+v", warnings)
	}
	// The command line goes over it; a script from elsewhere is put into the work folder.
	job, _, err = readFile(filepath.Join(dir, "jobs/fit.sh"), options(dir, "procs=2", "workdir=elsewhere", "on=here"))
	if err != nil {
		t.Fatal(err)
	}
	want.Min, want.Max, want.On, want.Workdir = 2, 2, []string{"here"}, filepath.Join(dir, "elsewhere")
	want.WorkdirGiven = true
	want.Argv[2], want.Inputs = "fit.sh", []string{filepath.Join(dir, "jobs/fit.sh")}
	if diff := cmp.Diff(want, job); diff != "" {
		t.Error(diff)
	}
}

func TestMistakesInScriptsAreToldWithTheirLine(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"#!\ntrue", "job.sh:1: expected the program that runs the script, such as #!/bin/sh"},
		{"#!/bin/sh\n#GODWIT deadline 5m", `job.sh:2: #GODWIT "deadline": expected flags such as --deadline 20m`},
		{"#!/bin/sh\n#GODWIT --deadline", `job.sh:2: --deadline: needs a value`},
		{"#!/bin/sh\n#GODWIT --deadline soon",
			`job.sh:2: --deadline "soon": expected a time from submission such as 20m or 1h30m, or a moment such as 18:30 or 2030-05-31 18:30`},
		{"#!/bin/sh\n#GODWIT --dedline 5m", "job.sh:2: --dedline: unknown flag, did you mean deadline?"},
		{"#!/bin/sh\n#GODWIT --name $USER",
			"job.sh:2: #GODWIT: plain words as in a shell, quoted where they have spaces; nothing is expanded"},
		{"#!/bin/sh\n#GODWIT --name 'x",
			"job.sh:2: #GODWIT: plain words as in a shell, quoted where they have spaces; nothing is expanded"},
		{"#!/bin/sh\n\n#GODWIT --checkpoint-signal USR1 --checkpoint signal",
			"job.sh: checkpoint.files: method signal needs the files that the program writes when it saves itself"},
	} {
		dir := callertest.MakeFolder(t, "job.sh="+c.text)
		_, _, err := readFile(filepath.Join(dir, "job.sh"), options(dir))
		if !badinput.Is(err) || strings.TrimPrefix(err.Error(), dir+"/") != c.want {
			t.Errorf("%q:\ngot  %v\nwant %s", c.text, err, c.want)
		}
	}
}
