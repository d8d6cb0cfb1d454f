package jobfile

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile/batchscript"
)

// gridOption is an option of qsub.
type gridOption struct {
	name   string
	values int // words that follow it
	read   func(g *gridScript, values []string) error
}

// gridScript is what the #$ lines of a script say.
type gridScript struct {
	imported
	limit, soft       time.Duration // h_rt, s_rt
	perSlot, perHost  int64         // memory
	out, err          string
	join, all, placed bool // -j y, -V, -cwd or -wd
	memoryAt, limitAt fieldOrigin
	softRequests      bool // after -soft
	atOnce            int
}

func newGrid(d *draft) *gridScript {
	return &gridScript{imported: imported{draft: d, kind: GridEngine, calls: "Grid Engine", prefix: "#$"}}
}

// readLine takes in what follows #$ on a line.
func (g *gridScript) readLine(file string, line int, text string) error {
	g.at, g.value = fieldOrigin{file: file, line: line, flag: g.prefix}, ""
	words, err := batchscript.SplitOptions(text)
	if err != nil {
		return g.optionError(err.Error())
	}
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		g.at.flag, g.value = g.prefix, word
		if !strings.HasPrefix(word, "-") || len(word) < 2 {
			return g.optionError("options of qsub such as -l h_rt=1:00:00 or -N name")
		}
		o, err := g.findOption(word[1:])
		if err != nil {
			return err
		}
		g.at.flag, g.value = g.prefix+" "+word, ""
		n := o.values
		if o.name == "binding" && len(words) > 1 && slices.Contains([]string{"env", "pe", "set"}, words[0]) {
			n++ // where it is bound comes before how
		}
		if len(words) < n {
			return g.optionError("a value after it")
		}
		values := words[:n]
		words = words[n:]
		g.value = strings.Join(values, " ")
		if err := o.read(g, values); err != nil {
			return err
		}
	}
	return nil
}

func (g *gridScript) findOption(name string) (*gridOption, error) {
	var known []string
	for i := range gridOptions {
		if gridOptions[i].name == name {
			return &gridOptions[i], nil
		}
		known = append(known, gridOptions[i].name)
	}
	g.at.flag, g.value = g.prefix+" -"+shortenValue(name), ""
	want := "unknown option of qsub"
	if near := badinput.NearestName(name, known); near != "" && len(name) > 1 {
		want += ", did you mean -" + near + "?"
	}
	return nil, g.optionError(want)
}

// finishJob makes the job of what all the lines said together.
func (g *gridScript) finishJob() error {
	g.Manager.Kind = GridEngine
	g.Append = true // as its output files are opened
	if g.Array.Len() > 0 {
		g.Array.AtOnce = g.atOnce
	}
	g.setMemory()
	g.setLimits()
	if g.all {
		g.inheritEnvironment(batchscript.IsManagerVariable)
		g.Export = ExportAll
	}
	if !g.placed {
		g.warnings = append(g.warnings,
			Warning{g.draft.at[""].file, 0, "#$ -cwd",
				"is missing: Grid Engine would run it in the home folder, here it runs in " + g.opt.Dir})
	}
	g.Stdout, g.Stderr, g.Merge = g.out, g.err, g.join
	if g.join {
		g.Stderr = ""
	}
	return nil
}

// setMemory is that of each host: what every slot may have, times the slots.
func (g *gridScript) setMemory() {
	slots := int64(max(1, g.draft.procs.min))
	if most := int64(1) << 60; g.perSlot > most/slots {
		g.perSlot = most / slots
	}
	g.Memory = max(g.perHost, g.perSlot*slots)
	if g.Memory > 0 {
		g.draft.at["resources.memory"] = g.memoryAt
	}
}

func (g *gridScript) setLimits() {
	if g.Time = g.limit; g.Time > 0 {
		g.draft.at["resources.time"] = g.limitAt
	}
	if g.soft == 0 {
		return
	}
	g.at = g.limitAt
	g.value = "s_rt"
	if g.limit > 0 {
		g.warnOption("left out: the program is not signalled before h_rt")
		return
	}
	g.Time = g.soft
	g.warnOption(fmt.Sprintf("the program is ended after %s, without a signal before", g.soft))
	g.draft.at["resources.time"] = g.limitAt
}

// parseYes reads y or n.
func (g *gridScript) parseYes() (bool, error) {
	switch strings.ToLower(g.value) {
	case "y", "yes":
		return true, nil
	case "n", "no":
		return false, nil
	}
	return false, g.optionError("y or n")
}
