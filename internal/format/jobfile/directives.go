package jobfile

import (
	"slices"
	"strings"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
)

// gridLine is what follows #$ on a line for Grid Engine.
func gridLine(line string) (string, bool) {
	rest, ok := strings.CutPrefix(line, "#$")
	return strings.TrimSpace(rest), ok && (rest == "" || strings.ContainsRune(" \t-", rune(rest[0])))
}

// readManagerLines reads the lines of the batch system that a script was written for.
func (d *draft) readManagerLines(name string, lines []scriptLine) error {
	slurm, grid := false, false
	for _, line := range lines {
		slurm = slurm || line.head && strings.HasPrefix(line.text, "#SBATCH")
		rest, ok := gridLine(line.text)
		grid = grid || ok && strings.HasPrefix(rest, "-")
	}
	d.warnForeignLines(name, lines, slurm && grid)
	if i := slices.IndexFunc(lines, func(l scriptLine) bool { return l.windows }); i >= 0 && (slurm || grid) {
		return &badinput.Error{File: name, Line: lines[i].n,
			Problem: "Windows line endings (CR LF), which no shell understands; dos2unix converts them"}
	}
	switch {
	case slurm:
		return d.fromSlurm(name, lines)
	case grid:
		return d.fromGridEngine(name, lines)
	}
	return nil
}

// warnForeignLines says which lines are not read.
func (d *draft) warnForeignLines(name string, lines []scriptLine, grid bool) {
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
			if line.head && strings.HasPrefix(line.text, o.prefix) {
				d.warnings = append(d.warnings, Warning{name, line.n, strings.TrimSuffix(o.prefix, " -"), o.why})
				break
			}
		}
	}
}

// fromSlurm reads the #SBATCH lines, up to the first command, as sbatch does.
func (d *draft) fromSlurm(name string, lines []scriptLine) error {
	s := newSlurm(d)
	for _, line := range lines {
		rest, ok := strings.CutPrefix(line.text, "#SBATCH")
		switch {
		case !ok:
		case !line.head:
			d.warnings = append(d.warnings,
				Warning{name, line.n, "#SBATCH",
					"left out: it stands below the first command, where Slurm does not read it either"})
		default:
			if err := s.readLine(name, line.n, rest); err != nil {
				return err
			}
		}
	}
	return s.finishJob()
}

// fromGridEngine reads the #$ lines wherever they stand, as qsub does.
func (d *draft) fromGridEngine(name string, lines []scriptLine) error {
	g := newGrid(d)
	for _, line := range lines {
		rest, ok := gridLine(line.text)
		if !ok || !line.head && !strings.HasPrefix(rest, "-") {
			continue
		}
		if err := g.readLine(name, line.n, rest); err != nil {
			return err
		}
	}
	return g.finishJob()
}

// applySaveSignal makes the signal that a batch system is to send before the end the one
// that makes the program save itself, if it is known what it writes then.
func (d *draft) applySaveSignal() error {
	if d.saveSignal == "" || d.Checkpoint.Signal != "" {
		return nil
	}
	if m := d.Checkpoint.Method; len(d.Checkpoint.Files) > 0 && (m == "auto" || m == "signal") {
		d.Checkpoint.Signal = d.saveSignal
		d.at["checkpoint.signal"] = d.signalAt
		return nil
	}
	d.warnings = append(d.warnings,
		Warning{d.signalAt.file, d.signalAt.line, d.signalAt.flag + " " + shortenValue(d.signalText),
			"left out: with #GODWIT --checkpoint-file and the files that the program writes it is saved by this signal"})
	return nil
}

// outputFiles names the files for what the job writes as its batch system would
// where the script does not.
func (d *draft) outputFiles() error {
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
