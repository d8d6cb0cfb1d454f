package jobfile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/jobfile/batchscript"
	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
)

// readSlots reads -pe NAME 4, 2-8, 2- or -8.
func (g *gridScript) readSlots(values []string) error {
	text := values[1]
	if rest, ok := strings.CutPrefix(text, "-"); ok {
		text = "1-" + rest
	}
	if strings.HasSuffix(text, "-") {
		text += fmt.Sprint(maxProcs)
	}
	n, err := parseProcs(text)
	if err != nil {
		return g.optionError("the name of a parallel environment and a number of slots such as smp 4, or two such as smp 2-8")
	}
	g.draft.procs = n
	g.noteField("procs")
	g.value = values[0]
	return g.keepOption("pe", values[0])
}

// readResources reads -l h_rt=1:00:00,h_vmem=2G,gpu=1.
func (g *gridScript) readResources(values []string) error {
	for item := range strings.SplitSeq(values[0], ",") {
		name, value, given := strings.Cut(item, "=")
		if !given {
			value = "true"
		}
		g.value = item
		if name == "" || value == "" {
			return g.optionError("resources such as h_rt=1:00:00 or h_vmem=2G")
		}
		if err := g.readResource(name, value); err != nil {
			return err
		}
	}
	return nil
}

func (g *gridScript) readResource(name, value string) error {
	if g.softRequests {
		g.warnOption("left out: it is a wish only, after -soft")
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
	return g.keepOption("l", name+"="+value)
}

// parseDuration reads seconds or hours:minutes:seconds, parts of which may be empty.
func (g *gridScript) parseDuration(value string, to *time.Duration) error {
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
		return g.optionError("a time such as 3600 (seconds) or 1:00:00")
	}
	*to = total
	g.limitAt = g.at
	g.limitAt.under = true
	return nil
}

// parseAmount reads bytes with a unit: k m g are thousands, K M G are of 1024.
func (g *gridScript) parseAmount(value string, to *int64) error {
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
		return g.optionError("a size such as 512M or 2G")
	}
	*to = max(*to, int64(x*float64(unit)))
	g.memoryAt = g.at
	g.memoryAt.under = true
	return nil
}

// readTasks reads -t 1-10:2. There is no task 0.
func (g *gridScript) readTasks(values []string) error {
	a, err := parseRange(values[0])
	if err != nil || a.First < 1 {
		return g.optionError(fmt.Sprintf("indices from 1 on such as 1-100 or 2-10:2, at most %d of them", maxArray))
	}
	g.Array = a
	g.noteField("array")
	return nil
}

func (g *gridScript) readAtOnce(values []string) error {
	n, err := parseIndex(values[0], 0, maxIndex)
	if err != nil {
		return g.optionError("how many may run at once, such as 5")
	}
	g.atOnce = n
	return nil
}

// readHold reads jobs to wait for, by number or name; however they end.
func (g *gridScript) readHold(values []string) error {
	list, err := parseAfter(values[0], Over)
	if err != nil || strings.ContainsAny(values[0], ":") {
		return g.optionError("jobs by number or name, such as 12,prep")
	}
	for i := range list {
		list[i].Each = strings.HasSuffix(g.at.flag, "_ad")
		if list[i].When == Alone { // a job of that name
			list[i] = Dependency{Job: "singleton", When: Over, Each: list[i].Each}
		}
	}
	if before, ok := g.draft.at["after"]; !ok || !before.under {
		g.After = nil
	}
	g.After = append(g.After, list...)
	g.noteField("after")
	return nil
}

// readPath reads where output goes: [[host]:]path, with $JOB_NAME and the like;
// a folder, in which the file has its usual name.
func (g *gridScript) readPath(value string, to *string) error {
	if strings.Contains(value, ",") {
		return g.optionError("one file: paths for several hosts are not supported")
	}
	if host, path, ok := strings.Cut(value, ":"); ok && !strings.Contains(host, "/") {
		value = path
	}
	if value == "" {
		return g.optionError("the path of a file")
	}
	name := g.redirectPattern(pseudo.Replace(value))
	if strings.Contains(name, "$HOME") {
		home, _ := g.lookupVariable("HOME")
		name = strings.ReplaceAll(name, "$HOME", plainName(home))
	}
	dir := value
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(g.opt.Dir, dir)
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

func (g *gridScript) readInput(values []string) error {
	value := values[0]
	if host, path, ok := strings.Cut(value, ":"); ok && !strings.Contains(host, "/") {
		value = path
	}
	if value == "/dev/null" {
		return nil
	}
	if strings.Contains(value, "$") {
		return g.optionError("the name of one file: variables are not supported for input")
	}
	return g.setStdin(value)
}

// readVariables reads -v A=1,B: B has the value that it has here.
func (g *gridScript) readVariables(values []string) error {
	for _, item := range batchscript.SplitExports(values[0]) {
		g.value = item
		if err := applyEnv(g.draft, item); err != nil {
			return g.optionError(err.Error())
		}
	}
	g.noteField("envs")
	return nil
}

// readShell reads what is to run the script, instead of what its first line says.
func (g *gridScript) readShell(values []string) error {
	if !filepath.IsAbs(values[0]) {
		return g.optionError("the absolute path of a shell, such as /bin/bash")
	}
	g.shell = values[0]
	return nil
}

func (g *gridScript) readRerun([]string) error {
	again, err := g.parseYes()
	switch {
	case err != nil:
		return err
	case again:
		return g.setRetries(DefaultRetries)
	}
	return g.setRetries(0)
}

func (g *gridScript) readBegin(values []string) error {
	at, ok := batchscript.ParseGridMoment(values[0], g.opt.Now)
	if !ok {
		return g.optionError("a moment as qsub has it: [[CC]YY]MMDDhhmm[.SS], such as 05311830")
	}
	return g.notBefore(at)
}

func (g *gridScript) readDeadline(values []string) error {
	by, ok := batchscript.ParseGridMoment(values[0], g.opt.Now)
	if !ok || !by.After(g.opt.Now) {
		return g.optionError("a moment to come as qsub has it: [[CC]YY]MMDDhhmm[.SS], such as 05311830")
	}
	g.setDeadline(deadline{in: by.Sub(g.opt.Now), by: by})
	g.noteField("deadline")
	return nil
}
