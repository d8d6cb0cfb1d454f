// Package gridengine reads scripts that were written for Grid Engine: what their #$ lines
// mean for a job of ours, which of them only clusters of Grid Engine are told, and which
// are left out or refused. It knows the options of qsub, not what a file says besides.
package gridengine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/format/jobfile/batchscript"
)

// qsubOption is an option of qsub.
type qsubOption struct {
	name   string
	values int // words that follow it
	read   func(g *qsubScript, values []string) error
}

// linePrefix is how the lines begin.
const linePrefix = "#$"

// qsubScript is what the #$ lines of a script say.
type qsubScript struct {
	*jobfile.Import
	slots             int           // at least
	limit, soft       time.Duration // h_rt, s_rt
	perSlot, perHost  int64         // memory
	out, err          string
	join, all, placed bool // -j y, -V, -cwd or -wd
	memoryAt, limitAt jobfile.Origin
	softRequests      bool // after -soft
	atOnce            int
}

// ReadLines reads the #$ lines wherever they stand, as qsub does.
func ReadLines(m *jobfile.Import, file string, lines []batchscript.CommentLine) error {
	m.Manager.Kind = jobfile.GridEngine
	g := &qsubScript{Import: m}
	for _, line := range lines {
		rest, ok := batchscript.CutGridPrefix(line.Text)
		if !ok || !line.InHead && !strings.HasPrefix(rest, "-") {
			continue
		}
		if err := g.readLine(file, line.Number, rest); err != nil {
			return err
		}
	}
	g.finishJob(file)
	return nil
}

// readLine takes in what follows #$ on a line.
func (g *qsubScript) readLine(file string, line int, text string) error {
	g.At, g.Value = jobfile.Origin{File: file, Line: line, Flag: linePrefix}, ""
	words, err := batchscript.SplitOptions(text)
	if err != nil {
		return g.OptionError(err.Error())
	}
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		g.At.Flag, g.Value = linePrefix, word
		if !strings.HasPrefix(word, "-") || len(word) < 2 {
			return g.OptionError("options of qsub such as -l h_rt=1:00:00 or -N name")
		}
		o, err := g.findOption(word[1:])
		if err != nil {
			return err
		}
		g.At.Flag, g.Value = linePrefix+" "+word, ""
		n := o.values
		if o.name == "binding" && len(words) > 1 && slices.Contains([]string{"env", "pe", "set"}, words[0]) {
			n++ // where it is bound comes before how
		}
		if len(words) < n {
			return g.OptionError("a value after it")
		}
		values := words[:n]
		words = words[n:]
		g.Value = strings.Join(values, " ")
		if err := o.read(g, values); err != nil {
			return err
		}
	}
	return nil
}

func (g *qsubScript) findOption(name string) (*qsubOption, error) {
	var known []string
	for i := range qsubOptions {
		if qsubOptions[i].name == name {
			return &qsubOptions[i], nil
		}
		known = append(known, qsubOptions[i].name)
	}
	g.At.Flag, g.Value = linePrefix+" -"+jobfile.ShortenValue(name), ""
	want := "unknown option of qsub"
	if near := badinput.NearestName(name, known); near != "" && len(name) > 1 {
		want += ", did you mean -" + near + "?"
	}
	return nil, g.OptionError(want)
}

// finishJob makes the job of what all the lines said together.
func (g *qsubScript) finishJob(file string) {
	g.Append = true // as its output files are opened
	if g.Array.Len() > 0 {
		g.Array.AtOnce = g.atOnce
	}
	g.setMemory()
	g.setLimits()
	if g.all {
		g.InheritEnvironment()
		g.Export = jobfile.ExportAll
	}
	if !g.placed {
		g.AddWarning(jobfile.Warning{File: file, Field: "#$ -cwd",
			Text: "is missing: Grid Engine would run it in the home folder, here it runs in " + g.Options().Dir})
	}
	g.Stdout, g.Stderr, g.Merge = g.out, g.err, g.join
	if g.join {
		g.Stderr = ""
	}
}

// setMemory is that of each host: what every slot may have, times the slots.
func (g *qsubScript) setMemory() {
	slots := int64(max(1, g.slots))
	if most := int64(1) << 60; g.perSlot > most/slots {
		g.perSlot = most / slots
	}
	g.Memory = max(g.perHost, g.perSlot*slots)
	if g.Memory > 0 {
		g.NoteFieldAt("resources.memory", g.memoryAt)
	}
}

func (g *qsubScript) setLimits() {
	if g.Time = g.limit; g.Time > 0 {
		g.NoteFieldAt("resources.time", g.limitAt)
	}
	if g.soft == 0 {
		return
	}
	g.At = g.limitAt
	g.Value = "s_rt"
	if g.limit > 0 {
		g.WarnOption("left out: the program is not signalled before h_rt")
		return
	}
	g.Time = g.soft
	g.WarnOption(fmt.Sprintf("the program is ended after %s, without a signal before", g.soft))
	g.NoteFieldAt("resources.time", g.limitAt)
}

// parseYes reads y or n.
func (g *qsubScript) parseYes() (bool, error) {
	switch strings.ToLower(g.Value) {
	case "y", "yes":
		return true, nil
	case "n", "no":
		return false, nil
	}
	return false, g.OptionError("y or n")
}
