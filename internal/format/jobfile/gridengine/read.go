package gridengine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/format/jobfile/batchscript"
	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
)

// readSlots reads -pe NAME 4, 2-8, 2- or -8.
func (g *qsubScript) readSlots(values []string) error {
	text := values[1]
	if rest, ok := strings.CutPrefix(text, "-"); ok {
		text = "1-" + rest
	}
	if strings.HasSuffix(text, "-") {
		text += fmt.Sprint(jobfile.MaxProcs)
	}
	n, err := jobfile.ParseProcs(text)
	if err != nil {
		return g.OptionError("the name of a parallel environment and a number of slots such as smp 4, or two such as smp 2-8")
	}
	g.slots = n.Min
	g.SetProcs(n)
	g.NoteField("procs")
	g.Value = values[0]
	return g.KeepOption("pe", values[0])
}

// readResources reads -l h_rt=1:00:00,h_vmem=2G,gpu=1.
func (g *qsubScript) readResources(values []string) error {
	for item := range strings.SplitSeq(values[0], ",") {
		name, value, given := strings.Cut(item, "=")
		if !given {
			value = "true"
		}
		g.Value = item
		if name == "" || value == "" {
			return g.OptionError("resources such as h_rt=1:00:00 or h_vmem=2G")
		}
		if err := g.readResource(name, value); err != nil {
			return err
		}
	}
	return nil
}

func (g *qsubScript) readResource(name, value string) error {
	if g.softRequests {
		g.WarnOption("left out: it is a wish only, after -soft")
		return nil
	}
	switch name {
	case "h_rt":
		return g.parseDuration(value, &g.limit)
	case "s_rt":
		return g.parseDuration(value, &g.soft)
	case "h_vmem", "s_vmem":
		return g.parseAmount(value, &g.perSlot)
	case "mem_free", "virtual_free", "h_rss", "mem_total", "mf", "vf":
		return g.parseAmount(value, &g.perHost)
	}
	return g.KeepOption("l", name+"="+value)
}

// parseDuration reads seconds or hours:minutes:seconds, parts of which may be empty.
func (g *qsubScript) parseDuration(value string, to *time.Duration) error {
	if strings.EqualFold(value, "INFINITY") {
		*to = 0
		return nil
	}
	parts := strings.Split(value, ":")
	units := []time.Duration{time.Second}
	if len(parts) == 3 {
		units = []time.Duration{time.Hour, time.Minute, time.Second}
	}
	ok := len(parts) == len(units) && value != "::"
	var total time.Duration
	for i, part := range parts {
		if part == "" && len(parts) == 3 || !ok {
			continue
		}
		d, good := batchscript.ParseUnits(part, units[i])
		ok = ok && good
		total += d
	}
	if !ok || total > batchscript.MaxTime || total == 0 {
		return g.OptionError("a time such as 3600 (seconds) or 1:00:00")
	}
	*to = total
	g.limitAt = g.At
	return nil
}

// parseAmount reads bytes with a unit: k m g are thousands, K M G are of 1024.
func (g *qsubScript) parseAmount(value string, to *int64) error {
	text, unit := value, int64(1)
	for letter, factor := range map[string]int64{"k": 1000, "m": 1000 * 1000, "g": 1000 * 1000 * 1000,
		"t": 1000 * 1000 * 1000 * 1000,
		"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40} {
		if rest, ok := strings.CutSuffix(value, letter); ok { // a value ends in one letter
			text, unit = rest, factor
		}
	}
	x, ok := yamlfile.ParseNumber(text)
	if !ok || x <= 0 || x*float64(unit) > 1<<60 {
		return g.OptionError("a size such as 512M or 2G")
	}
	*to = max(*to, int64(x*float64(unit)))
	g.memoryAt = g.At
	return nil
}

// readTasks reads -t 1-10:2. There is no task 0.
func (g *qsubScript) readTasks(values []string) error {
	a, err := jobfile.ParseRange(values[0])
	if err != nil || a.First < 1 {
		return g.OptionError(fmt.Sprintf("indices from 1 on such as 1-100 or 2-10:2, at most %d of them", jobfile.MaxArray))
	}
	g.Array = a
	g.NoteField("array")
	return nil
}

func (g *qsubScript) readAtOnce(values []string) error {
	n, err := jobfile.ParseIndex(values[0], 0, jobfile.MaxIndex)
	if err != nil {
		return g.OptionError("how many may run at once, such as 5")
	}
	g.atOnce = n
	return nil
}

// readHold reads jobs to wait for, by number or name; however they end.
func (g *qsubScript) readHold(values []string) error {
	list, err := jobfile.ParseAfter(values[0], jobfile.Over)
	if err != nil || strings.ContainsAny(values[0], ":") {
		return g.OptionError("jobs by number or name, such as 12,prep")
	}
	for i := range list {
		list[i].Each = strings.HasSuffix(g.At.Flag, "_ad")
		if list[i].When == jobfile.Alone { // a job of that name
			list[i] = jobfile.Dependency{Job: "singleton", When: jobfile.Over, Each: list[i].Each}
		}
	}
	g.After = append(g.After, list...)
	g.NoteField("after")
	return nil
}

// readPath reads where output goes: [[host]:]path, with $JOB_NAME and the like;
// a folder, in which the file has its usual name.
func (g *qsubScript) readPath(value string, to *string) error {
	if strings.Contains(value, ",") {
		return g.OptionError("one file: paths for several hosts are not supported")
	}
	if host, path, ok := strings.Cut(value, ":"); ok && !strings.Contains(host, "/") {
		value = path
	}
	if value == "" {
		return g.OptionError("the path of a file")
	}
	name := g.OutputPattern(pseudo.Replace(value))
	if strings.Contains(name, "$HOME") {
		home, _ := g.LookupVariable("HOME")
		name = strings.ReplaceAll(name, "$HOME", jobfile.PlainName(home))
	}
	dir := value
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(g.Options().Dir, dir)
	}
	if info, err := os.Stat(dir); err == nil && info.IsDir() && !strings.HasSuffix(name, "/") {
		name += "/"
	}
	*to = name
	return nil
}

// pseudo are the variables that may stand in paths.
var pseudo = strings.NewReplacer("%", "%%", "$JOB_NAME", "%x", "$JOB_ID", "%A", "$TASK_ID", "%a", "$HOSTNAME", "%N",
	"$USER", "%u",
	"${JOB_NAME}", "%x", "${JOB_ID}", "%A", "${TASK_ID}", "%a", "${HOSTNAME}", "%N", "${USER}", "%u")

func (g *qsubScript) readInput(values []string) error {
	value := values[0]
	if host, path, ok := strings.Cut(value, ":"); ok && !strings.Contains(host, "/") {
		value = path
	}
	if value == "/dev/null" {
		return nil
	}
	if strings.Contains(value, "$") {
		return g.OptionError("the name of one file: variables are not supported for input")
	}
	return g.SetStdin(value)
}

// readVariables reads -v A=1,B: B has the value that it has here.
func (g *qsubScript) readVariables(values []string) error {
	for _, item := range batchscript.SplitExports(values[0]) {
		g.Value = item
		if err := g.SetVariable(item); err != nil {
			return g.OptionError(err.Error())
		}
	}
	g.NoteField("envs")
	return nil
}

// readShell reads what is to run the script, instead of what its first line says.
func (g *qsubScript) readShell(values []string) error {
	if !filepath.IsAbs(values[0]) {
		return g.OptionError("the absolute path of a shell, such as /bin/bash")
	}
	g.SetShell(values[0])
	return nil
}

func (g *qsubScript) readRerun([]string) error {
	again, err := g.parseYes()
	switch {
	case err != nil:
		return err
	case again:
		g.SetRetries(jobfile.DefaultRetries)
	default:
		g.SetRetries(0)
	}
	return nil
}

func (g *qsubScript) readBegin(values []string) error {
	at, ok := batchscript.ParseGridMoment(values[0], g.Options().Now)
	if !ok {
		return g.OptionError("a moment as qsub has it: [[CC]YY]MMDDhhmm[.SS], such as 05311830")
	}
	g.SetBegin(at)
	return nil
}

func (g *qsubScript) readDeadline(values []string) error {
	by, ok := batchscript.ParseGridMoment(values[0], g.Options().Now)
	if !ok || !by.After(g.Options().Now) {
		return g.OptionError("a moment to come as qsub has it: [[CC]YY]MMDDhhmm[.SS], such as 05311830")
	}
	g.SetDeadline(by)
	return nil
}
