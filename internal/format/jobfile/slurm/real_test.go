package slurm

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
	"github.com/godwit-hpc/godwit/internal/lab/slurm/slurmtest"
)

// lines are #SBATCH lines that are easily read wrongly.
var lines = []string{
	"#SBATCH -J plain",
	"#SBATCH --job-name='two words' # a comment",
	`#SBATCH -J "x#y" -t 5   #comment -n 3`,
	`#SBATCH --job-name=it\'s`,
	`#SBATCH --job-name="say \"x\"" --time 7`,
	"#SBATCH\t-n\t4\t-c2",
	"#SBATCH -n4 -c 2 -t1:30",
	"#SBATCH --ntasks 3 --cpus-per-t=2",
	"#SBATCH -N1 --ntasks-per-node=3",
	"#SBATCH -N 1-1 --mem 100",
	"#SBATCH --mem=1G --time=1-2",
	"#SBATCH --mem-per-cpu=10M -n 2 --time=1-2:3",
	"#SBATCH --time=1-2:3:4",
	"#SBATCH --time=90",
	"#SBATCH --time=0:59:30",
	"#SBATCH -o logs/%x_%j.out",
	"#SBATCH -o out.%j -e err.%j",
	"#SBATCH -o %u_%j.txt",
	"#SBATCH -e only.err",
	"#SBATCH --array=0-15:4",
	"#SBATCH --array=1,3,5-9:2%2 -o %A_%3a",
	"#SBATCH --array=7",
	"#SBATCH -D /tmp -o here",
	"#SBATCH --no-requeue\n\n# something else\n#SBATCH -J late",
	"#SBATCH --requeue\n##SBATCH -J other\n# SBATCH -J other\n#sbatch -J other",
	"#SBATCH -J one\necho\n#SBATCH -J two",
	"#SBATCH -J $USER --comment=`date`",
}

// TestScriptsAreReadAsSlurmReadsThem compares what we make of a script with what
// a real Slurm does.
func TestScriptsAreReadAsSlurmReadsThem(t *testing.T) {
	if testing.Short() {
		t.Skip("it needs a Slurm")
	}
	cluster := slurmtest.Start(t, 1, 16)
	for _, text := range lines {
		dir := filepath.Join(cluster.Dir, "submit")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		script := filepath.Join(dir, "job.sh")
		if err := os.WriteFile(script, []byte("#!/bin/sh\n"+text+"\ntrue\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		theirs, err := submitted(cluster, dir, script)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		job, _, err := jobfile.Read(script, jobfile.Options{Now: time.Unix(0, 0), Dir: dir},
			slurmOnly)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		for name, ours := range asSlurmSays(job, theirs) {
			if theirs[name] != ours {
				t.Errorf("%q: %s is %q to us and %q to Slurm", text, name, ours, theirs[name])
			}
		}
	}
}

var field = regexp.MustCompile(`(\w+)(?:/Task)?=(.*?)(?: \w+(?::\w+)*(?:/\w+)?=|$)`)

// unfit is what cannot stand in a name of ours.
var unfit = regexp.MustCompile(`[^A-Za-z0-9._-]`)

// submitted is what Slurm says of a script that is submitted and held.
func submitted(c *slurmtest.Cluster, dir, script string) (map[string]string, error) {
	cmd := exec.Command(filepath.Join(c.Commands, "sbatch"), "--hold", "--parsable", "-D", dir, script)
	if text, err := os.ReadFile(script); err == nil && strings.Contains(string(text), "-D ") {
		cmd = exec.Command(filepath.Join(c.Commands, "sbatch"), "--hold", "--parsable", script)
	}
	cmd.Dir = dir
	id, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("sbatch: %w: %s", err, id)
	}
	out, err := exec.Command(filepath.Join(c.Commands, "scontrol"), "show", "job",
		strings.TrimSpace(string(id))).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("scontrol: %w: %s", err, out)
	}
	says := map[string]string{"id": strings.TrimSpace(string(id))}
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(line)
		for line != "" { // names may have blanks in them: a value ends where the next begins
			at := field.FindStringSubmatchIndex(line)
			if at == nil {
				break
			}
			if name := line[at[2]:at[3]]; says[name] == "" {
				says[name] = line[at[4]:at[5]]
			}
			line = strings.TrimSpace(line[at[5]:])
		}
	}
	return says, nil
}

// asSlurmSays writes a job of ours as scontrol writes one.
func asSlurmSays(job *jobfile.Job, theirs map[string]string) map[string]string {
	threads := max(1, job.Manager.Threads)
	limit := "UNLIMITED"
	if job.Time > 0 {
		minutes := (job.Time + time.Minute - 1) / time.Minute // Slurm counts in minutes
		limit = fmt.Sprintf("%02d:%02d:00", minutes/60%24, minutes%60)
		if minutes >= 24*60 {
			limit = fmt.Sprintf("%d-%s", minutes/60/24, limit)
		}
	}
	says := map[string]string{"NumTasks": fmt.Sprint(job.Min / threads), "CPUs": fmt.Sprint(threads), "TimeLimit": limit,
		"WorkDir": job.Workdir}
	theirs["JobName"] = unfit.ReplaceAllString(theirs["JobName"], "-")
	says["JobName"] = job.Name
	if a := job.Array; a.Len() == 0 {
		w := jobfile.Writer{User: "root", Name: job.Name, NoIndex: "4294967294"}
		_, _ = fmt.Sscan(theirs["id"], &w.Job)
		name := func(pattern string) string {
			if name := jobfile.OutputName(pattern, w); filepath.IsAbs(name) {
				return name
			} else {
				return filepath.Join(job.Workdir, name)
			}
		}
		says["StdOut"] = name(job.Stdout)
		says["StdErr"] = says["StdOut"]
		if job.Stderr != "" {
			says["StdErr"] = name(job.Stderr)
		}
	} else {
		says["ArrayTaskId"] = arrayText(a, theirs["ArrayTaskId"])
	}
	if job.Memory > 0 && strings.HasPrefix(theirs["MinMemoryNode"], "1") {
		says["MinMemoryNode"] = map[int64]string{100 << 20: "100M", 1 << 30: "1G"}[job.Memory]
	}
	return says
}

func arrayText(a jobfile.ArrayRange, theirs string) string {
	text := fmt.Sprintf("%d-%d", a.First, a.Last)
	if a.First == a.Last {
		text = fmt.Sprint(a.First)
	}
	if a.Step > 1 {
		text += fmt.Sprintf(":%d", a.Step)
	}
	if strings.Contains(theirs, ",") { // Slurm lists what is few
		var list []string
		for _, i := range a.Indices() {
			list = append(list, fmt.Sprint(i))
		}
		text = strings.Join(list, ",")
	}
	if a.AtOnce > 0 {
		text += fmt.Sprintf("%%%d", a.AtOnce)
	}
	return text
}
