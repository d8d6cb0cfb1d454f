package jobfile

import (
	"encoding/json"
	goflag "flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
)

var update = goflag.Bool("update", false, "write what scripts are read as")

// surroundings are the files that the scripts of the corpus name.
func surroundings(t testing.TB) string {
	return folder(t, "data.txt", "sub/data.txt", "pre.sh", "post.sh", "out/keep")
}

// told is a job as a golden file has it, and what was said about it.
func told(job *Job, warnings []Warning, dir string) string {
	text, err := json.MarshalIndent(job, "", "  ")
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, w := range warnings {
		fmt.Fprintln(&b, (&badinput.Error{File: filepath.Base(w.File), Line: w.Line, Field: w.Field,
			Problem: w.Text}).Error())
	}
	return strings.ReplaceAll(b.String()+string(text)+"\n", dir, "DIR")
}

func TestScriptsOfBatchSystemsAreReadAsTheyAreMeant(t *testing.T) {
	files, err := filepath.Glob("testdata/import/*")
	if err != nil || len(files) < 10 {
		t.Fatal("no corpus", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			dir := surroundings(t)
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, filepath.Base(file))
			if err := os.WriteFile(path, text, 0o644); err != nil {
				t.Fatal(err)
			}
			job, warnings, err := Read(path, options(dir))
			if err != nil {
				t.Fatal(err)
			}
			if err := job.CheckFields(); err != nil {
				t.Error(err)
			}
			got, golden := told(job, warnings, dir), filepath.Join("testdata/imported", filepath.Base(file)+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if diff := cmp.Diff(string(want), got); err != nil || diff != "" {
				t.Error(err, diff)
			}
		})
	}
}

// badLines are scripts with one mistake each, and what is said.
var badLines = []struct{ text, want string }{
	{"#SBATCH -n 4\r", `job.sh:2: Windows line endings (CR LF), which no shell understands; dos2unix converts them`},
	{"#SBATCH -n four", `job.sh:2: #SBATCH -n "four": expected a whole number from 1 to 1048576`},
	{"#SBATCH -n0", `job.sh:2: #SBATCH -n "0": expected a whole number from 1 to 1048576`},
	{"#SBATCH --ntasks", `job.sh:2: #SBATCH --ntasks: expected a value after it`},
	{"#SBATCH -n", `job.sh:2: #SBATCH -n: expected a value after it`},
	{"#SBATCH --tim 5x", `job.sh:2: #SBATCH --tim: expected an option in full: time and time-min begin like this`},
	{"#SBATCH --tyme=5", `job.sh:2: #SBATCH --tyme: unknown option of sbatch, did you mean --time?`},
	{"#SBATCH --frobnicate", `job.sh:2: #SBATCH --frobnicate: unknown option of sbatch`},
	{"#SBATCHX -n 2", `job.sh:2: #SBATCH "X": expected options of sbatch such as --time=1:00:00 or -n 4`},
	{"#SBATCH -Z", `job.sh:2: #SBATCH -Z: unknown option of sbatch`},
	{"#SBATCH time=5", `job.sh:2: #SBATCH "time=5": expected options of sbatch such as --time=1:00:00 or -n 4`},
	{"#SBATCH hetjob", `job.sh:2: #SBATCH "hetjob": expected one job: jobs of several parts with different needs are not supported`},
	{"#SBATCH --time=1:2:3:4", `job.sh:2: #SBATCH --time "1:2:3:4": expected a time as Slurm has it: minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes or days-hours:minutes:seconds`},
	{"#SBATCH --mem=lots", `job.sh:2: #SBATCH --mem "lots": expected a size such as 4096 (megabytes), 512M or 4G`},
	{"#SBATCH --array=9-1", `job.sh:2: #SBATCH --array "9-1": expected ` + wantArray + "; the last comes after the first"},
	{"#SBATCH -d expand:12", `job.sh:2: #SBATCH -d "expand:12": expected ` + wantAfter},
	{"#SBATCH -d after:12+5", `job.sh:2: #SBATCH -d "after:12+5": expected ` + wantAfter},
	{"#SBATCH -d afterok:1?afterok:2",
		`job.sh:2: #SBATCH -d "afterok:1?afterok:2": expected jobs separated by commas, all of which are waited for; that one of several is enough is not supported`},
	{"#SBATCH --requeue=yes", `job.sh:2: #SBATCH --requeue "yes": no value`},
	{"#SBATCH --hold", `job.sh:2: #SBATCH --hold: not supported: a job cannot be submitted to be released by hand; --begin names a moment, --dependency other jobs`},
	{"#SBATCH --test-only", `job.sh:2: #SBATCH --test-only: not supported: the script would be run; godwit quote says what would become of it`},
	{"#SBATCH --wrap=hostname", `job.sh:2: #SBATCH --wrap "hostname": not supported: it makes sense on sbatch's own command line only`},
	{"#SBATCH --job-name='x", `job.sh:2: #SBATCH: expected a quote that is closed on the same line`},
	{"#SBATCH --begin=yesterday", `job.sh:2: #SBATCH --begin "yesterday": expected ` + wantMoment},
	{"#SBATCH --deadline=2020-01-01", `job.sh:2: #SBATCH --deadline "2020-01-01": expected ` + wantMoment},
	{"#SBATCH --signal=NEVER@60", `job.sh:2: #SBATCH --signal "NEVER@60": expected a signal and when, such as USR1@60 or B:TERM@120`},
	{"#SBATCH --chdir=nowhere", `job.sh:2: #SBATCH --chdir "nowhere": no such directory`},
	{"#SBATCH --input=nothing", `job.sh:2: #SBATCH --input "nothing": no such file`},
	{"#SBATCH --export=1A=2", `job.sh:2: #SBATCH --export "1A=2": expected a variable's name of letters, digits and _`},
	{"#SBATCH --nodes=two", `job.sh:2: #SBATCH --nodes "two": expected a number of hosts such as 2, or the least and the most such as 1-4`},
	{"#SBATCH -n 1000000 -c 1000", `job.sh:2: #SBATCH -n: expected at most 1048576 cores in all`},

	{"#$ -pe smp", `job.sh:2: #$ -pe: expected a value after it`},
	{"#$ -pe smp four", `job.sh:2: #$ -pe "smp four": expected the name of a parallel environment and a number of slots such as smp 4, or two such as smp 2-8`},
	{"#$ -l h_rt=1:2", `job.sh:2: #$ -l "h_rt=1:2": expected a time such as 3600 (seconds) or 1:00:00`},
	{"#$ -l h_vmem=much", `job.sh:2: #$ -l "h_vmem=much": expected a size such as 512M or 2G`},
	{"#$ -t 0-5", `job.sh:2: #$ -t "0-5": expected indices from 1 on such as 1-100 or 2-10:2, at most 100000 of them`},
	{"#$ -tc x", `job.sh:2: #$ -tc "x": expected how many may run at once, such as 5`},
	{"#$ -hold_jid a:b", `job.sh:2: #$ -hold_jid "a:b": expected jobs by number or name, such as 12,prep`},
	{"#$ -j maybe", `job.sh:2: #$ -j "maybe": expected y or n`},
	{"#$ -S bash", `job.sh:2: #$ -S "bash": expected the absolute path of a shell, such as /bin/bash`},
	{"#$ -a tomorrow", `job.sh:2: #$ -a "tomorrow": expected a moment as qsub has it: [[CC]YY]MMDDhhmm[.SS], such as 05311830`},
	{"#$ -h", `job.sh:2: #$ -h: not supported: a job cannot be submitted to be released by hand; -a names a moment, -hold_jid other jobs`},
	{"#$ -hold_jids 3", `job.sh:2: #$ -hold_jids: unknown option of qsub, did you mean -hold_jid?`},
	{"#$ -cwd now", `job.sh:2: #$ "now": expected options of qsub such as -l h_rt=1:00:00 or -N name`},
	{"#$ -v NOWHERE", `job.sh:2: #$ -v "NOWHERE": expected a variable that is set here, or NAME=VALUE`},
	{"#$ -C #!", `job.sh:2: #$ -C: expected a value after it`},
}

func TestMistakesInLinesOfBatchSystemsAreToldWithLineOptionAndValue(t *testing.T) {
	for _, c := range badLines {
		dir := folder(t, "job.sh=#!/bin/sh\n"+c.text+"\ntrue\n")
		_, _, err := Read(filepath.Join(dir, "job.sh"), options(dir))
		if !badinput.Is(err) || strings.TrimPrefix(err.Error(), dir+"/") != c.want {
			t.Errorf("%q:\ngot  %v\nwant %s", c.text, err, c.want)
		}
	}
}

// badSpecs are job descriptions with one mistake each.
var badSpecs = []struct{ text, want string }{
	{`{"executable": }`, `job.yaml:1: expected a PSI/J job description in JSON (invalid character '}' looking for beginning of value)`},
	{`{"executable": null}`, `job.yaml: executable: missing, expected what to run`},
	{"{\"executable\": \"x\",\n\"argumants\": []}", `job.yaml:2: argumants: unknown field, did you mean arguments?`},
	{`{"executable": "x", "launcher": "jsrun"}`,
		`job.yaml:1: launcher "jsrun": expected one of single, multiple, mpirun, srun`},
	{`{"executable": "x", "resources": {"process_count": 5, "node_count": 2}}`,
		`job.yaml:1: resources.node_count: expected process_count = node_count × processes_per_node, and at most 1048576 cores in all`},
	{`{"executable": "x", "attributes": {"duration": "soon"}}`,
		`job.yaml:1: attributes.duration "soon": expected a time such as "1:30:00", "0:30", "90" (minutes), "2 h" or 600 (seconds, without quotes)`},
	{`{"executable": "x", "environment": {"A-B": "1"}}`,
		`job.yaml:1: environment "A-B": expected a variable's name of letters, digits and _`},
	{`{"executable": "x", "directory": "nowhere"}`, `job.yaml:1: directory "nowhere": no such directory`},
	{`{"executable": "x", "stdin_path": "nothing"}`, `job.yaml:1: stdin_path "nothing": no such file`},
}

func TestMistakesInJobDescriptionsAreToldWithTheirField(t *testing.T) {
	for _, c := range badSpecs {
		dir := t.TempDir()
		_, _, err := readText(t, dir, c.text)
		if !badinput.Is(err) || strings.TrimPrefix(err.Error(), dir+"/") != c.want {
			t.Errorf("%q:\ngot  %v\nwant %s", c.text, err, c.want)
		}
	}
}

func TestMomentsAreCountedFromTheSubmission(t *testing.T) {
	dir := folder(t, "job.sh=#!/bin/sh\n#SBATCH --begin=now+1hour --deadline=now+2hours\ntrue\n")
	job, _, err := Read(filepath.Join(dir, "job.sh"), options(dir))
	if err != nil {
		t.Fatal(err)
	}
	job.FixMoments(noon.Add(90 * time.Minute))
	if job.Begin != 0 || job.Deadline != 30*time.Minute {
		t.Errorf("begin in %v, done in %v", job.Begin, job.Deadline)
	}
}

func TestNamesOfOutputFiles(t *testing.T) {
	w := Writer{Job: 17, Array: 12, Index: 5, Name: "fit", Host: "n1", User: "eve", NoIndex: "none"}
	for pattern, want := range map[string]string{
		"slurm-%A_%a.out": "slurm-12_5.out", "%x-%j": "fit-17", "%4a": "0005", "%N.%u": "n1.eve", "100%%": "100%", "%": "%",
		"a%":   "a%",
		"%q%a": "%q5", "%3": "%3", "%99j": "0000000017", "%5x": "fit",
	} {
		if got := OutputName(pattern, w); got != want {
			t.Errorf("%s is %s, want %s", pattern, got, want)
		}
	}
	w.Array = 0
	if got := OutputName("%A_%a", w); got != "17_none" {
		t.Error(got)
	}
}

func TestTheCommandLineGoesOverOurLinesAndThoseOverTheManagers(t *testing.T) {
	dir := folder(t, "job.sh=#!/bin/sh\n#SBATCH -n 2 -t 5 -J manager -d afterok:1\n#GODWIT --time 7m --name ours "+
		"--after 2 --after 3\ntrue\n")
	job, _, err := Read(filepath.Join(dir, "job.sh"), options(dir, "name=line", "after=4"))
	if err != nil {
		t.Fatal(err)
	}
	if job.Name != "line" || job.Time != 7*time.Minute || job.Min != 2 || len(job.After) != 1 || job.After[0].Job != "4" {
		t.Errorf("%+v", job)
	}
	job, _, err = Read(filepath.Join(dir, "job.sh"), options(dir))
	if err != nil || job.Name != "ours" || len(job.After) != 2 || job.After[0].Job != "2" {
		t.Errorf("%+v %v", job, err)
	}
}

// FuzzSlurmLine and FuzzGridLine read anything as options: mistakes are one line.
func FuzzSlurmLine(f *testing.F) {
	for _, c := range badLines {
		f.Add(strings.TrimPrefix(c.text, "#SBATCH"))
	}
	f.Add(` -J "a b" --array=1-9%2 -o x%4a --export=ALL,A='1,2' --mem-per-cpu=1G -t 1-2:3 --begin=now+1hour -d afterok:3`)
	f.Fuzz(func(t *testing.T, text string) { fuzzLine(t, "#SBATCH "+text) })
}

func FuzzGridLine(f *testing.F) {
	for _, c := range badLines {
		f.Add(strings.TrimPrefix(c.text, "#$"))
	}
	f.Add(` -N x -pe smp 2-8 -l h_rt=1:0:0,h_vmem=2G -t 1-9:2 -tc 3 -o a/$JOB_ID -j y -hold_jid 3,x -v A=1 -cwd`)
	f.Fuzz(func(t *testing.T, text string) { fuzzLine(t, "#$ -cwd "+text) })
}

func fuzzLine(t *testing.T, line string) {
	if len(line) > 1<<12 || strings.ContainsAny(line, "\n") {
		return
	}
	d := newDraft(options("/nowhere"))
	err := d.parseContent("job.sh", []byte("#!/bin/sh\n"+line+"\ntrue\n"))
	var job *Job
	if err == nil {
		job, err = d.finishJob()
	}
	for _, w := range d.warnings {
		if strings.ContainsAny(w.Field+w.Text, "\n\r\x1b") {
			t.Fatalf("not one line: %+v", w)
		}
	}
	if err != nil {
		if !badinput.Is(err) || strings.ContainsAny(err.Error(), "\n\r\x1b") {
			t.Fatalf("not one line of bad input: %q", err)
		}
		return
	}
	job.Workdir = d.absolutePath(job.Workdir) // as when files are looked at
	if err := job.CheckFields(); err != nil || job.Stdout == "" {
		t.Fatalf("accepted: %+v %v", job, err)
	}
	if _, err := json.Marshal(job); err != nil {
		t.Fatal(err)
	}
	OutputName(job.Stdout, Writer{Job: 1})
}

// FuzzJobSpec reads anything as a job description of PSI/J.
func FuzzJobSpec(f *testing.F) {
	for _, c := range badSpecs {
		f.Add([]byte(c.text))
	}
	files, err := filepath.Glob("testdata/import/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<13 {
			return
		}
		d := newDraft(options("/nowhere"))
		err := d.parseJobSpec("spec.json", data)
		var job *Job
		if err == nil {
			job, err = d.finishJob()
		}
		if err != nil {
			if !badinput.Is(err) || strings.ContainsAny(err.Error(), "\n\r\x1b") {
				t.Fatalf("not one line of bad input: %q", err)
			}
			return
		}
		job.Workdir = d.absolutePath(job.Workdir)
		if err := job.CheckFields(); err != nil {
			t.Fatalf("accepted: %+v %v", job, err)
		}
	})
}

func TestTheExamplesForBatchSystemsAreRead(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	for name, said := range map[string]int{"array.sbatch": 0, "threads.sge": 1, "pi.json": 0} {
		job, warnings, err := Read(filepath.Join(root, "examples/jobs", name), options(root))
		if err != nil || len(warnings) != said || job.Stdout == "" {
			t.Errorf("%s: %+v, %v, %v", name, job, warnings, err)
		}
	}
}
