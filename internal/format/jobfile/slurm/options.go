package slurm

import (
	"slices"
	"strings"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
)

// sbatchOptions are all options of sbatch: those that mean something here, those
// that clusters of Slurm may be told, those that mean nothing, and those without
// which the script would not do what it says.
var sbatchOptions = slices.Concat(
	[]sbatchOption{
		{"job-name", "J", needs, func(s *sbatchScript, v string) error { return s.SetName(v) }},
		{"ntasks", "n", needs, func(s *sbatchScript, v string) error { return s.parseCount(v, &s.tasks) }},
		{"cpus-per-task", "c", needs, func(s *sbatchScript, v string) error { return s.parseCount(v, &s.threads) }},
		{"nodes", "N", needs, (*sbatchScript).readNodes},
		{"ntasks-per-node", "", needs, func(s *sbatchScript, v string) error { return s.parseCount(v, &s.perNode) }},
		{"time", "t", needs, (*sbatchScript).readTime},
		{"mem", "", needs, func(s *sbatchScript, v string) error { return s.parseAmount(v, &s.mem) }},
		{"mem-per-cpu", "", needs, func(s *sbatchScript, v string) error { return s.parseAmount(v, &s.memPerCPU) }},
		{"array", "a", needs, (*sbatchScript).readArray},
		{"dependency", "d", needs, (*sbatchScript).readDependency},
		{"output", "o", needs, func(s *sbatchScript, v string) error { return s.readName(v, &s.out) }},
		{"error", "e", needs, func(s *sbatchScript, v string) error { return s.readName(v, &s.err) }},
		{"input", "i", needs, (*sbatchScript).readInput},
		{"chdir", "D", needs, (*sbatchScript).readFolder},
		{"export", "", needs, func(s *sbatchScript, v string) error { s.export = v; return nil }},
		{"deadline", "", needs, (*sbatchScript).readDeadline},
		{"begin", "b", needs, (*sbatchScript).readBegin},
		{"hold", "H", bare, func(s *sbatchScript, _ string) error { s.SetHold(); return nil }},
		{"requeue", "", bare, func(s *sbatchScript, _ string) error { s.SetRetries(jobfile.DefaultRetries); return nil }},
		{"no-requeue", "", bare, func(s *sbatchScript, _ string) error { s.SetRetries(0); return nil }},
		{"open-mode", "", needs, (*sbatchScript).readMode},
		{"signal", "", needs, (*sbatchScript).readSignal},
	},
	keptOptions(needs, `account:A partition:p qos:q constraint:C nodelist:w exclude:x reservation licenses:L clusters:M cluster-constraint
		gres gpus:G gpus-per-node gpus-per-socket gpus-per-task gpu-bind gpu-freq gres-flags cpus-per-gpu mem-per-gpu ntasks-per-gpu
		tres-per-task tres-bind batch prefer switches segment extra extra-node-info:B cores-per-socket sockets-per-node threads-per-core
		ntasks-per-core ntasks-per-socket mem-bind hint distribution:m core-spec:S thread-spec mincpus tmp nodefile:F network
		cpu-freq power profile acctg-freq wckey comment mcs-label bb bbf time-min priority delay-boot`),
	keptOptions(bare, "contiguous oversubscribe:s share overcommit:O spread-job use-min-nodes reboot stepmgr"),
	keptOptions(may, "exclusive no-kill:k nice propagate resv-ports"),
	ignoredOptions(needs, "mail-type mail-user", "left out: nobody is sent mail; godwit wait waits for a job"),
	ignoredOptions(needs, "kill-on-invalid-dep", "left out: a job whose dependencies cannot be met is always ended"),
	ignoredOptions(bare, "quiet:Q verbose:v parsable", "left out: it says what sbatch itself prints"),
	ignoredOptions(bare, "wait:W", "left out: godwit wait waits for a job"),
	ignoredOptions(bare, "ignore-pbs", "left out: lines of PBS are not read anyway"),
	ignoredOptions(may, "get-user-env",
		"left out: the job has the environment in which it is submitted, unless --export says otherwise"),
	refusedOptions(bare, "test-only", "not supported: the script would be run; godwit quote says what would become of it"),
	refusedOptions(bare, "help:h usage version:V", "not supported: it makes sense on sbatch's own command line only"),
	refusedOptions(needs, "wrap", "not supported: it makes sense on sbatch's own command line only"),
	refusedOptions(needs, "export-file", "not supported: variables are not read from files; --export lists them"),
	refusedOptions(needs, "uid gid", "not supported: a job runs as the user who submits it"),
	refusedOptions(needs, "container container-id", "not supported: containers are not supported"),
)

// makeOptions makes options of names with their letters: name:n.
func makeOptions(kind arity, names string, read func(name string) func(*sbatchScript, string) error) []sbatchOption {
	var list []sbatchOption
	for _, word := range strings.Fields(names) {
		name, short, _ := strings.Cut(word, ":")
		list = append(list, sbatchOption{name, short, kind, read(name)})
	}
	return list
}

func keptOptions(kind arity, names string) []sbatchOption {
	return makeOptions(kind, names, func(name string) func(*sbatchScript, string) error {
		return func(s *sbatchScript, value string) error { return s.KeepOption(name, value) }
	})
}

func ignoredOptions(kind arity, names, why string) []sbatchOption {
	return makeOptions(kind, names, func(string) func(*sbatchScript, string) error {
		return func(s *sbatchScript, _ string) error { s.WarnOption(why); return nil }
	})
}

func refusedOptions(kind arity, names, want string) []sbatchOption {
	return makeOptions(kind, names, func(string) func(*sbatchScript, string) error {
		return func(s *sbatchScript, _ string) error { return s.OptionError(want) }
	})
}
