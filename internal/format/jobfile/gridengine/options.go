package gridengine

import (
	"slices"
	"strings"
)

// qsubOptions are all options of qsub, sorted as those of sbatch are.
var qsubOptions = slices.Concat(
	[]qsubOption{
		{"N", 1, func(g *qsubScript, v []string) error { return g.SetName(v[0]) }},
		{"pe", 2, (*qsubScript).readSlots},
		{"l", 1, (*qsubScript).readResources},
		{"t", 1, (*qsubScript).readTasks},
		{"tc", 1, (*qsubScript).readAtOnce},
		{"h", 0, func(g *qsubScript, _ []string) error { g.SetHold(); return nil }},
		{"hold_jid", 1, (*qsubScript).readHold},
		{"hold_jid_ad", 1, (*qsubScript).readHold},
		{"o", 1, func(g *qsubScript, v []string) error { return g.readPath(v[0], &g.out) }},
		{"e", 1, func(g *qsubScript, v []string) error { return g.readPath(v[0], &g.err) }},
		{"j", 1, func(g *qsubScript, _ []string) (err error) { g.join, err = g.parseYes(); return err }},
		{"i", 1, (*qsubScript).readInput},
		{"cwd", 0, func(g *qsubScript, _ []string) error { g.placed = true; return nil }},
		{"wd", 1, func(g *qsubScript, v []string) error { g.placed = true; return g.SetFolder(v[0]) }},
		{"v", 1, (*qsubScript).readVariables},
		{"V", 0, func(g *qsubScript, _ []string) error { g.all = true; g.NoteField("envs"); return nil }},
		{"S", 1, (*qsubScript).readShell},
		{"r", 1, (*qsubScript).readRerun},
		{"a", 1, (*qsubScript).readBegin},
		{"dl", 1, (*qsubScript).readDeadline},
		{"hard", 0, func(g *qsubScript, _ []string) error { g.softRequests = false; return nil }},
		{"soft", 0, func(g *qsubScript, _ []string) error { g.softRequests = true; return nil }},
	},
	keptOptions("q P A p ot ar ckpt masterq binding ac dc sc js c jsv"),
	ignoredOptions(1, "m M", "left out: nobody is sent mail; godwit wait waits for a job"),
	ignoredOptions(0, "notify", "left out: the program is not signalled before it is ended or moved; #GODWIT "+
		"--checkpoint-signal does that"),
	ignoredOptions(1, "R", "left out: it is for the manager's queue, which the broker asks for the earliest place by "+
		"itself"),
	ignoredOptions(1, "w", "left out: a job that could never run is always refused"),
	ignoredOptions(1, "sync", "left out: godwit wait waits for a job"),
	ignoredOptions(1, "b", "left out: this is a script, and a script it is"),
	ignoredOptions(1, "shell now he", "left out: it makes sense on qsub's own command line only"),
	ignoredOptions(0, "terse noshell clear", "left out: it makes sense on qsub's own command line only"),
	refusedOptions(0, "verify help", "not supported: the script would be run; godwit quote says what would become of it"),
	refusedOptions(1, "C", "lines that begin with #$"),
	refusedOptions(1, "@", "options in the script itself"),
)

func makeOptions(values int, names string, read func(name string) func(*qsubScript, []string) error) []qsubOption {
	var list []qsubOption
	for _, name := range strings.Fields(names) {
		list = append(list, qsubOption{name, values, read(name)})
	}
	return list
}

func keptOptions(names string) []qsubOption {
	return makeOptions(1, names, func(name string) func(*qsubScript, []string) error {
		return func(g *qsubScript, values []string) error { return g.KeepOption(name, strings.Join(values, " ")) }
	})
}

func ignoredOptions(values int, names, why string) []qsubOption {
	return makeOptions(values, names, func(string) func(*qsubScript, []string) error {
		return func(g *qsubScript, _ []string) error { g.WarnOption(why); return nil }
	})
}

func refusedOptions(values int, names, want string) []qsubOption {
	return makeOptions(values, names, func(string) func(*qsubScript, []string) error {
		return func(g *qsubScript, _ []string) error { return g.OptionError(want) }
	})
}
