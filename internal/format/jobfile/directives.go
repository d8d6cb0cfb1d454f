package jobfile

import (
	"slices"
	"strings"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile/batchscript"
)

// readManagerLines reads the lines of the batch system that a script was written for.
func (d *Draft) readManagerLines(name string, lines []batchscript.CommentLine, importers Importers) error {
	slurm, grid := false, false
	for _, line := range lines {
		slurm = slurm || line.InHead && strings.HasPrefix(line.Text, "#SBATCH")
		rest, ok := batchscript.CutGridPrefix(line.Text)
		grid = grid || ok && strings.HasPrefix(rest, "-")
	}
	d.warnForeignLines(name, lines, slurm && grid)
	hasCR := func(l batchscript.CommentLine) bool { return l.EndsWithCR }
	if i := slices.IndexFunc(lines, hasCR); i >= 0 && (slurm || grid) {
		return &badinput.Error{File: name, Line: lines[i].Number,
			Problem: "Windows line endings (CR LF), which no shell understands; dos2unix converts them"}
	}
	switch {
	case slurm:
		return importers.Slurm(newImport(d), name, lines)
	case grid:
		return importers.GridEngine(newImport(d), name, lines)
	}
	return nil
}

// warnForeignLines says which lines are not read.
func (d *Draft) warnForeignLines(name string, lines []batchscript.CommentLine, grid bool) {
	others := []struct{ prefix, calls, why string }{
		{"#PBS", "PBS", "PBS lines are not supported and all ignored; write them as #SBATCH or #GODWIT lines"},
		{"#BSUB", "LSF", "LSF lines are not supported and all ignored; write them as #SBATCH or #GODWIT lines"},
		{"#COBALT", "Cobalt", "left out, as are all lines of Cobalt"},
		{"#flux:", "Flux", "left out, as are all lines of Flux"},
	}
	if grid {
		others = append(others, struct{ prefix, calls, why string }{"#$ -", "Grid Engine",
			"left out, as are all lines of Grid Engine: the script has lines of Slurm as well"})
	}
	for _, o := range others {
		for _, line := range lines {
			if line.InHead && strings.HasPrefix(line.Text, o.prefix) {
				d.Warnings = append(d.Warnings, Warning{name, line.Number, strings.TrimSuffix(o.prefix, " -"), o.why})
				break
			}
		}
	}
}

// applySaveSignal makes the signal that a batch system is to send before the end the one
// that makes the program save itself, if it is known what it writes then.
func (d *Draft) applySaveSignal() error {
	if d.saveSignal == "" || d.Checkpoint.Signal != "" {
		return nil
	}
	if m := d.Checkpoint.Method; len(d.Checkpoint.Files) > 0 && (m == "auto" || m == "signal") {
		d.Checkpoint.Signal = d.saveSignal
		d.at["checkpoint.signal"] = d.signalAt
		return nil
	}
	d.Warnings = append(d.Warnings,
		Warning{d.signalAt.File, d.signalAt.Line, d.signalAt.Flag + " " + ShortenValue(d.signalText),
			"left out: with #GODWIT --checkpoint-file and the files that the program writes it is saved by this signal"})
	return nil
}

// outputFiles names the files for what the job writes as its batch system would
// where the script does not.
func (d *Draft) outputFiles() error {
	array := d.Array.Len() > 0
	switch d.Manager.Kind {
	case Slurm:
		if d.Stdout == "" && array {
			d.Stdout = "slurm-%A_%a.out"
		} else if d.Stdout == "" {
			d.Stdout = "slurm-%j.out"
		}
	case GridEngine:
		tail := "%A"
		if array {
			tail += ".%a"
		}
		if d.Stdout == "" || strings.HasSuffix(d.Stdout, "/") {
			d.Stdout += "%x.o" + tail
		}
		if !d.Merge && (d.Stderr == "" || strings.HasSuffix(d.Stderr, "/")) {
			d.Stderr += "%x.e" + tail
		}
	}
	return nil
}
