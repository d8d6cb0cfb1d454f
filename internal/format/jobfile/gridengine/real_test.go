package gridengine

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/lab/gridengine/gridenginetest"
)

// TestScriptsAreReadAsGridEngineReadsThem compares what we make of a script with
// what a real Grid Engine does.
func TestScriptsAreReadAsGridEngineReadsThem(t *testing.T) {
	if testing.Short() {
		t.Skip("it needs a Grid Engine")
	}
	cell := gridenginetest.Start(t, 1, 8)
	for _, text := range []string{
		"#$ -N plain -cwd\n#$ -l h_rt=1:30:00,h_vmem=1G -j y -o out/x.log",
		"#$ -N 'quoted' # comment\n#$ -l h_rt=90",
		"#$ -t 2-10:3 -tc 2 -hold_jid plain",
		"#$ -t 5",
		"#$-N glued -wd /tmp",
		"#$ -pe mpi 2-4 -e :/tmp/y",
		"#$ -pe mpi 3",
		"echo\n#$ -N late -r n",
		"#$ -l h_rt=::30 -l h_rt=0:1:0",
	} {
		script := filepath.Join(cell.Dir, "job.sh")
		if err := os.WriteFile(script, []byte("#!/bin/sh\n"+text+"\ntrue\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		theirs, err := queued(cell, script)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		job, _, err := jobfile.Read(script, jobfile.Options{Now: time.Unix(0, 0), Dir: cell.Dir},
			gridOnly)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		for name, ours := range asGridEngineSays(job, theirs) {
			if theirs[name] != ours {
				t.Errorf("%q: %s is %q to us and %q to Grid Engine", text, name, ours, theirs[name])
			}
		}
	}
}

var said = regexp.MustCompile(`(?m)^([a-z_\- ()]+?):\s+(.*)$`)

// queued is what Grid Engine says of a script that is submitted and held.
func queued(c *gridenginetest.Cell, script string) (map[string]string, error) {
	cmd := exec.Command(filepath.Join(c.Commands, "qsub"), "-h", "-terse", script)
	cmd.Dir = c.Dir
	id, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("qsub: %w: %s", err, id)
	}
	number, _, _ := strings.Cut(strings.TrimSpace(string(id)), ".")
	out, err := exec.Command(filepath.Join(c.Commands, "qstat"), "-j", number).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("qstat: %w: %s", err, out)
	}
	says := map[string]string{}
	for _, m := range said.FindAllStringSubmatch(string(out), -1) {
		says[m[1]] = strings.TrimSpace(m[2])
	}
	for item := range strings.SplitSeq(says["hard resource_list"], ",") {
		name, value, _ := strings.Cut(item, "=")
		says[name] = value
	}
	return says, nil
}

// asGridEngineSays writes a job of ours as qstat writes one.
func asGridEngineSays(job *jobfile.Job, theirs map[string]string) map[string]string {
	says := map[string]string{"job_name": job.Name, "merge": "", "job-array tasks": "", "maximum concurrency": "",
		"h_rt": ""}
	if theirs["cwd"] != "" {
		says["cwd"] = job.Workdir
	}
	if job.Merge {
		says["merge"] = "y"
	}
	if a := job.Array; a.Len() > 0 {
		says["job-array tasks"] = fmt.Sprintf("%d-%d:%d", a.First, a.Last, a.Step)
		if a.AtOnce > 0 {
			says["maximum concurrency"] = fmt.Sprint(a.AtOnce)
		}
	}
	if job.Time > 0 {
		says["h_rt"] = fmt.Sprint(job.Time.Seconds())
	}
	if job.Max > 1 {
		says["parallel environment"] = fmt.Sprintf("mpi range: %d-%d", job.Min, job.Max)
		if job.Min == job.Max {
			says["parallel environment"] = fmt.Sprintf("mpi range: %d", job.Min)
		}
	}
	if theirs["stdout_path_list"] != "" {
		says["stdout_path_list"] = "NONE:NONE:" + job.Stdout
	}
	if len(job.After) > 0 {
		says["jid_predecessor_list (req)"] = job.After[0].Job
	}
	return says
}
