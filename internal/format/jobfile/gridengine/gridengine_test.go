package gridengine

import (
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/format/jobfile/jobfiletest"
)

// gridOnly reads lines of no other system.
var gridOnly = jobfile.Importers{GridEngine: ReadLines}

// badLines have one mistake each.
var badLines = []jobfiletest.Mistake{
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
	{"#$ -hold_jids 3", `job.sh:2: #$ -hold_jids: unknown option of qsub, did you mean -hold_jid?`},
	{"#$ -cwd now", `job.sh:2: #$ "now": expected options of qsub such as -l h_rt=1:00:00 or -N name`},
	{"#$ -v NOWHERE", `job.sh:2: #$ -v "NOWHERE": expected a variable that is set here, or NAME=VALUE`},
	{"#$ -C #!", `job.sh:2: #$ -C: expected a value after it`},
}

func TestMistakesInLinesAreToldWithLineOptionAndValue(t *testing.T) {
	jobfiletest.CheckMistakes(t, gridOnly, "job.sh", "#!/bin/sh\n%s\ntrue\n", badLines)
}

// FuzzGridLine reads anything as options.
func FuzzGridLine(f *testing.F) {
	for _, c := range badLines {
		f.Add(strings.TrimPrefix(c.Text, "#$"))
	}
	f.Add(` -N x -pe smp 2-8 -l h_rt=1:0:0,h_vmem=2G -t 1-9:2 -tc 3 -o a/$JOB_ID -j y -hold_jid 3,x -v A=1 -cwd`)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<12 || strings.Contains(text, "\n") {
			return
		}
		job := jobfiletest.CheckParsed(t, gridOnly, "job.sh", []byte("#!/bin/sh\n#$ -cwd "+text+"\ntrue\n"))
		if job != nil && job.Stdout == "" {
			t.Fatalf("accepted: %+v", job)
		}
	})
}
