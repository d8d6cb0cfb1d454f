package jobfile

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/godwit-hpc/godwit/internal/format/hostlist"
)

// Option is an option that a manager is told, by its own name for it.
type Option struct {
	Name  string
	Value string // "": it has none
}

// String is how people read it.
func (o Option) String() string {
	if o.Value == "" {
		return o.Name
	}
	return o.Name + " " + o.Value
}

// OptionsFor is what clusters of a manager of this kind are told of what the job says to
// managers, by name; left is what they are not, and why. Only names from a list of
// ours pass, and values that are written as one of that name is: whoever wrote the
// job, nothing of it can be a command, another option or a file.
func (m *Manager) OptionsFor(kind string) (told []Option, left []string) {
	for _, name := range slices.Sorted(maps.Keys(m.Options)) { // the same each time
		for _, value := range m.Options[name] {
			o, why := translateOption(m.Kind, kind, Option{name, value})
			if why != "" {
				left = append(left, ShortenValue(name)+": "+why)
				continue
			}
			told = append(told, o)
		}
	}
	return told, left
}

// translateOption says how an option of a script for one manager, or for nobody's, reads on
// clusters of another, or why it does not.
func translateOption(from, to string, o Option) (Option, string) {
	if from != "" && from != to {
		return o, "it is for clusters of " + ManagerName(from) + " only"
	}
	syntax := slurmSyntax
	if to == GridEngine {
		syntax = gridSyntax
	}
	if from == "" {
		o = translateUnbound(to, o)
	}
	check := syntax[o.Name]
	switch {
	case check == nil:
		return o, "clusters are not told it"
	case len(o.Value) > longestValue || !check(o.Value):
		return o, "no cluster is told " + ShortenValue(o.Value)
	}
	return o, ""
}

// longestValue bounds what a manager is told at a time.
const longestValue = 500

// ManagerName is what people call a kind of manager.
func ManagerName(kind string) string {
	switch kind {
	case Slurm:
		return "Slurm"
	case GridEngine:
		return "Grid Engine"
	}
	return kind
}

// translateUnbound translates an option of a description for any manager, such as PSI/J's,
// which names them as Slurm does, or after the manager that is meant.
func translateUnbound(to string, o Option) Option {
	if to == GridEngine {
		if name, ok := map[string]string{"partition": "q", "account": "P", "reservation": "ar"}[o.Name]; ok {
			return Option{name, o.Value}
		}
		if name, ok := strings.CutPrefix(o.Name, "sge."); ok {
			return Option{name, o.Value}
		}
		return Option{"", o.Value}
	}
	o.Name = strings.TrimPrefix(o.Name, "slurm.")
	if o.Name == "exclusive" && strings.EqualFold(o.Value, "true") {
		o.Value = ""
	}
	return o
}

// The ways in which values are written. None of them begins with a hyphen.
var (
	isWord   = matchesPattern(`^[A-Za-z0-9_][A-Za-z0-9_.+@-]*$`)
	isWords  = matchesPattern(`^[A-Za-z0-9_][A-Za-z0-9_.+@,-]*$`)
	isNumber = matchesPattern(`^[0-9]{1,9}$`)
	isSigned = matchesPattern(`^-?[0-9]{1,9}$`)
	isSize   = matchesPattern(`^[0-9]{1,15}[KMGTkmgt]?$`)
	// isFeatures: a&b, a|b, [a|b]*2, a*2&b.
	isFeatures = matchesPattern(`^[A-Za-z0-9_(\[][A-Za-z0-9_.,&|*()\[\]:=-]*$`)
	// isAmounts: gpu:a100:2, matlab@server:1,x, gpu:2(S:0).
	isAmounts = matchesPattern(`^[A-Za-z0-9_][A-Za-z0-9_.,:@()=-]*$`)
	// isQueues: all.q, all.q@host, *@@group.
	isQueues = matchesPattern(`^[A-Za-z0-9_*][A-Za-z0-9_.*@,-]*$`)
	// isResource: name=value, compared as Grid Engine does: lx*|sol*, !a&b.
	isResource = matchesPattern(`^[A-Za-z_][A-Za-z0-9_.-]*=[A-Za-z0-9_*!(][A-Za-z0-9_.*:|!&()-]*$`)
)

func matchesPattern(pattern string) func(string) bool {
	compiled := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
	return func(s string) bool { return compiled().MatchString(s) }
}

func isNothing(s string) bool { return s == "" }

func isOneOf(words ...string) func(string) bool {
	return func(s string) bool { return slices.Contains(words, s) }
}

// isHosts is a list of hosts.
func isHosts(s string) bool { return isFeatures(s) && hostlist.ExpandList(s) != nil }

func isPriority(s string) bool {
	return isSigned(s) && (s == "0" || s[0] == '-') // a user may lower it only
}

// slurmSyntax are the options that sbatch is told. Not among them are those that
// name files or other clusters, change how a job ends, or set limits of processes.
var slurmSyntax = map[string]func(string) bool{
	"account": isWord, "partition": isWords, "qos": isWord, "reservation": isWords, "wckey": isWord, "mcs-label": isWord,
	"constraint": isFeatures, "prefer": isFeatures, "nodelist": isHosts, "exclude": isHosts, "licenses": isAmounts,
	"gres": isAmounts, "gpus": isAmounts, "gpus-per-node": isAmounts, "gpus-per-socket": isAmounts,
	"gpus-per-task": isAmounts, "gpu-bind": isAmounts, "gpu-freq": isAmounts, "gres-flags": isWords,
	"cpus-per-gpu": isNumber, "mem-per-gpu": isSize, "ntasks-per-gpu": isNumber,
	"mem-per-cpu": isSize, "tmp": isSize, "mincpus": isNumber, "core-spec": isNumber, "thread-spec": isNumber,
	"cores-per-socket": isNumber, "sockets-per-node": isNumber, "threads-per-core": isNumber, "ntasks-per-core": isNumber,
	"ntasks-per-socket": isNumber,
	"extra-node-info":   matchesPattern(`^[0-9*]{1,9}(:[0-9*]{1,9}){0,2}$`),
	"switches":          matchesPattern(`^[0-9]{1,9}(@[0-9:-]{1,20})?$`),
	"hint":              isOneOf("compute_bound", "memory_bound", "multithread", "nomultithread"),
	"distribution":      matchesPattern(`^[A-Za-z*][A-Za-z0-9*=:,]*$`),
	"cpu-freq":          matchesPattern(`^[A-Za-z0-9][A-Za-z0-9:-]*$`), "network": isWords,
	"nice": func(s string) bool { return isNothing(s) || isNumber(s) }, "priority": isNumber,
	"exclusive":  isOneOf("", "user", "mcs", "topo"),
	"contiguous": isNothing, "oversubscribe": isNothing, "share": isNothing, "overcommit": isNothing,
	"spread-job": isNothing, "use-min-nodes": isNothing,
}

// gridLimits are resources that bound what a process may have, which is ours here
// before it is the user's.
var gridLimits = []string{"cpu", "vmem", "data", "stack", "fsize", "core", "rss", "rt"}

// gridSyntax are the options that qsub is told. Not among them is what would run
// something (jsv), write files or have jobs moved (ckpt).
var gridSyntax = map[string]func(string) bool{
	"q": isQueues, "masterq": isQueues, "P": isWord, "A": isWord, "p": isPriority, "ar": isNumber, "js": isNumber,
	"pe":      isWord,
	"binding": matchesPattern(`^((env|pe|set) )?(linear|striding|explicit)(:[0-9,:]{1,100})?$`),
	"l": func(s string) bool {
		name, _, _ := strings.Cut(s, "=")
		limit, is := strings.CutPrefix(name, "h_")
		if !is {
			limit, is = strings.CutPrefix(name, "s_")
		}
		return isResource(s) && !(is && slices.Contains(gridLimits, limit))
	},
}
