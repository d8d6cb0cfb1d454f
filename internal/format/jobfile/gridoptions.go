package jobfile

import (
	"slices"
	"strings"
)

// gridOptions are all options of qsub, sorted as those of sbatch are.
var gridOptions = slices.Concat(
	[]gridOption{
		{"N", 1, func(g *gridScript, v []string) error { return g.setName(v[0]) }},
		{"pe", 2, (*gridScript).readSlots},
		{"l", 1, (*gridScript).readResources},
		{"t", 1, (*gridScript).readTasks},
		{"tc", 1, (*gridScript).readAtOnce},
		{"hold_jid", 1, (*gridScript).readHold},
		{"hold_jid_ad", 1, (*gridScript).readHold},
		{"o", 1, func(g *gridScript, v []string) error { return g.readPath(v[0], &g.out) }},
		{"e", 1, func(g *gridScript, v []string) error { return g.readPath(v[0], &g.err) }},
		{"j", 1, func(g *gridScript, _ []string) (err error) { g.join, err = g.parseYes(); return err }},
		{"i", 1, (*gridScript).readInput},
		{"cwd", 0, func(g *gridScript, _ []string) error { g.placed = true; return nil }},
		{"wd", 1, func(g *gridScript, v []string) error { g.placed = true; return g.inFolder(v[0]) }},
		{"v", 1, (*gridScript).readVariables},
		{"V", 0, func(g *gridScript, _ []string) error { g.all = true; g.noteField("envs"); return nil }},
		{"S", 1, (*gridScript).readShell},
		{"r", 1, (*gridScript).readRerun},
		{"a", 1, (*gridScript).readBegin},
		{"dl", 1, (*gridScript).readDeadline},
		{"hard", 0, func(g *gridScript, _ []string) error { g.softRequests = false; return nil }},
		{"soft", 0, func(g *gridScript, _ []string) error { g.softRequests = true; return nil }},
	},
	keptByGrid("q P A p ot ar ckpt masterq binding ac dc sc js c jsv"),
	ignoredOfGrid(1, "m M", "left out: nobody is sent mail; godwit wait waits for a job"),
	ignoredOfGrid(0, "notify", "left out: the program is not signalled before it is ended or moved; #GODWIT "+
		"--checkpoint-signal does that"),
	ignoredOfGrid(1, "R", "left out: it is for the manager's queue, which the broker asks for the earliest place by "+
		"itself"),
	ignoredOfGrid(1, "w", "left out: a job that could never run is always refused"),
	ignoredOfGrid(1, "sync", "left out: godwit wait waits for a job"),
	ignoredOfGrid(1, "b", "left out: this is a script, and a script it is"),
	ignoredOfGrid(1, "shell now he", "left out: it makes sense on qsub's own command line only"),
	ignoredOfGrid(0, "terse noshell clear", "left out: it makes sense on qsub's own command line only"),
	refusedOfGrid(0, "h", "not supported: a job cannot be submitted to be released by hand; -a names a moment, "+
		"-hold_jid other jobs"),
	refusedOfGrid(0, "verify help", "not supported: the script would be run; godwit quote says what would become of it"),
	refusedOfGrid(1, "C", "lines that begin with #$"),
	refusedOfGrid(1, "@", "options in the script itself"),
)

func gridEach(values int, names string, read func(name string) func(*gridScript, []string) error) []gridOption {
	var list []gridOption
	for _, name := range strings.Fields(names) {
		list = append(list, gridOption{name, values, read(name)})
	}
	return list
}

func keptByGrid(names string) []gridOption {
	return gridEach(1, names, func(name string) func(*gridScript, []string) error {
		return func(g *gridScript, values []string) error { return g.keepOption(name, strings.Join(values, " ")) }
	})
}

func ignoredOfGrid(values int, names, why string) []gridOption {
	return gridEach(values, names, func(string) func(*gridScript, []string) error {
		return func(g *gridScript, _ []string) error { g.warnOption(why); return nil }
	})
}

func refusedOfGrid(values int, names, want string) []gridOption {
	return gridEach(values, names, func(string) func(*gridScript, []string) error {
		return func(g *gridScript, _ []string) error { return g.optionError(want) }
	})
}
