package slurm

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/format/jobfile/callertest"
	"github.com/godwit-hpc/godwit/internal/format/jobfile/jobfiletest"
)

// slurmOnly reads lines of no other system.
var slurmOnly = jobfile.Importers{Slurm: ReadLines}

// wantAfter is what may be waited for.
const wantAfter = "jobs by number or name such as 12 or prep, or afterany:12, afternotok:12, after:12, aftercorr:12, " +
	"singleton"

// badLines have one mistake each.
var badLines = []jobfiletest.Mistake{
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
	{"#SBATCH --array=9-1", `job.sh:2: #SBATCH --array "9-1": expected indices such as 1-100, 0-90:10, 1,5,7-9 or, for at most 20 at once, 1-100%20; the last comes after the first`},
	{"#SBATCH -d expand:12", `job.sh:2: #SBATCH -d "expand:12": expected ` + wantAfter},
	{"#SBATCH -d after:12+5", `job.sh:2: #SBATCH -d "after:12+5": expected ` + wantAfter},
	{"#SBATCH -d afterok:1?afterok:2",
		`job.sh:2: #SBATCH -d "afterok:1?afterok:2": expected jobs separated by commas, all of which are waited for; that one of several is enough is not supported`},
	{"#SBATCH --requeue=yes", `job.sh:2: #SBATCH --requeue "yes": no value`},
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
}

func TestMistakesInLinesAreToldWithLineOptionAndValue(t *testing.T) {
	jobfiletest.CheckMistakes(t, slurmOnly, "job.sh", "#!/bin/sh\n%s\ntrue\n", badLines)
}

// readSubmitted reads the script job.sh in a folder.
func readSubmitted(dir string, set ...string) (*jobfile.Job, []jobfile.Warning, error) {
	return jobfile.Read(filepath.Join(dir, "job.sh"), jobfiletest.CallerOptions(dir, set...), slurmOnly)
}

func TestMomentsAreCountedFromTheSubmission(t *testing.T) {
	dir := callertest.MakeFolder(t, "job.sh=#!/bin/sh\n#SBATCH --begin=now+1hour --deadline=now+2hours\ntrue\n")
	job, _, err := readSubmitted(dir)
	if err != nil {
		t.Fatal(err)
	}
	job.FixMoments(callertest.SubmitTime.Add(90 * time.Minute))
	if job.Begin != 0 || job.Deadline != 30*time.Minute {
		t.Errorf("begin in %v, done in %v", job.Begin, job.Deadline)
	}
}

func TestTheCommandLineGoesOverOurLinesAndThoseOverTheManagers(t *testing.T) {
	dir := callertest.MakeFolder(t, "job.sh=#!/bin/sh\n#SBATCH -n 2 -t 5 -J manager -d afterok:1\n"+
		"#GODWIT --time 7m --name ours --after 2 --after 3\ntrue\n")
	job, _, err := readSubmitted(dir, "name=line", "after=4")
	if err != nil {
		t.Fatal(err)
	}
	if job.Name != "line" || job.Time != 7*time.Minute || job.Min != 2 || len(job.After) != 1 || job.After[0].Job != "4" {
		t.Errorf("%+v", job)
	}
	job, _, err = readSubmitted(dir)
	if err != nil || job.Name != "ours" || len(job.After) != 2 || job.After[0].Job != "2" {
		t.Errorf("%+v %v", job, err)
	}
}

// FuzzSlurmLine reads anything as options.
func FuzzSlurmLine(f *testing.F) {
	for _, c := range badLines {
		f.Add(strings.TrimPrefix(c.Text, "#SBATCH"))
	}
	f.Add(` -J "a b" --array=1-9%2 -o x%4a --export=ALL,A='1,2' --mem-per-cpu=1G -t 1-2:3 --begin=now+1hour -d afterok:3`)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<12 || strings.Contains(text, "\n") {
			return
		}
		job := jobfiletest.CheckParsed(t, slurmOnly, "job.sh", []byte("#!/bin/sh\n#SBATCH "+text+"\ntrue\n"))
		if job != nil && job.Stdout == "" {
			t.Fatalf("accepted: %+v", job)
		}
	})
}
