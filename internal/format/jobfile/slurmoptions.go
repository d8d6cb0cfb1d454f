package jobfile

import (
	"slices"
	"strings"
)

// slurmOptions are all options of sbatch: those that mean something here, those
// that clusters of Slurm may be told, those that mean nothing, and those without
// which the script would not do what it says.
var slurmOptions = slices.Concat(
	[]slurmOption{
		{"job-name", "J", needs, func(s *slurmScript, v string) error { return s.setName(v) }},
		{"ntasks", "n", needs, func(s *slurmScript, v string) error { return s.parseCount(v, &s.tasks) }},
		{"cpus-per-task", "c", needs, func(s *slurmScript, v string) error { return s.parseCount(v, &s.threads) }},
		{"nodes", "N", needs, (*slurmScript).readNodes},
		{"ntasks-per-node", "", needs, func(s *slurmScript, v string) error { return s.parseCount(v, &s.perNode) }},
		{"time", "t", needs, (*slurmScript).readTime},
		{"mem", "", needs, func(s *slurmScript, v string) error { return s.parseAmount(v, &s.mem) }},
		{"mem-per-cpu", "", needs, func(s *slurmScript, v string) error { return s.parseAmount(v, &s.memPerCPU) }},
		{"array", "a", needs, (*slurmScript).readArray},
		{"dependency", "d", needs, (*slurmScript).readDependency},
		{"output", "o", needs, func(s *slurmScript, v string) error { return s.readName(v, &s.out) }},
		{"error", "e", needs, func(s *slurmScript, v string) error { return s.readName(v, &s.err) }},
		{"input", "i", needs, (*slurmScript).readInput},
		{"chdir", "D", needs, (*slurmScript).readFolder},
		{"export", "", needs, func(s *slurmScript, v string) error { s.export = v; return nil }},
		{"deadline", "", needs, (*slurmScript).readDeadline},
		{"begin", "b", needs, (*slurmScript).readBegin},
		{"requeue", "", bare, func(s *slurmScript, _ string) error { return s.setRetries(DefaultRetries) }},
		{"no-requeue", "", bare, func(s *slurmScript, _ string) error { return s.setRetries(0) }},
		{"open-mode", "", needs, (*slurmScript).readMode},
		{"signal", "", needs, (*slurmScript).readSignal},
	},
	keptBySlurm(needs, `account:A partition:p qos:q constraint:C nodelist:w exclude:x reservation licenses:L clusters:M cluster-constraint
		gres gpus:G gpus-per-node gpus-per-socket gpus-per-task gpu-bind gpu-freq gres-flags cpus-per-gpu mem-per-gpu ntasks-per-gpu
		tres-per-task tres-bind batch prefer switches segment extra extra-node-info:B cores-per-socket sockets-per-node threads-per-core
		ntasks-per-core ntasks-per-socket mem-bind hint distribution:m core-spec:S thread-spec mincpus tmp nodefile:F network
		cpu-freq power profile acctg-freq wckey comment mcs-label bb bbf time-min priority delay-boot`),
	keptBySlurm(bare, "contiguous oversubscribe:s share overcommit:O spread-job use-min-nodes reboot stepmgr"),
	keptBySlurm(may, "exclusive no-kill:k nice propagate resv-ports"),
	ignoredOfSlurm(needs, "mail-type mail-user", "left out: nobody is sent mail; godwit wait waits for a job"),
	ignoredOfSlurm(needs, "kill-on-invalid-dep", "left out: a job whose dependencies cannot be met is always ended"),
	ignoredOfSlurm(bare, "quiet:Q verbose:v parsable", "left out: it says what sbatch itself prints"),
	ignoredOfSlurm(bare, "wait:W", "left out: godwit wait waits for a job"),
	ignoredOfSlurm(bare, "ignore-pbs", "left out: lines of PBS are not read anyway"),
	ignoredOfSlurm(may, "get-user-env",
		"left out: the job has the environment in which it is submitted, unless --export says otherwise"),
	refusedOfSlurm(bare, "hold:H",
		"not supported: a job cannot be submitted to be released by hand; --begin names a moment, --dependency other jobs"),
	refusedOfSlurm(bare, "test-only", "not supported: the script would be run; godwit quote says what would become of it"),
	refusedOfSlurm(bare, "help:h usage version:V", "not supported: it makes sense on sbatch's own command line only"),
	refusedOfSlurm(needs, "wrap", "not supported: it makes sense on sbatch's own command line only"),
	refusedOfSlurm(needs, "export-file", "not supported: variables are not read from files; --export lists them"),
	refusedOfSlurm(needs, "uid gid", "not supported: a job runs as the user who submits it"),
	refusedOfSlurm(needs, "container container-id", "not supported: containers are not supported"),
)

// makeOptions makes options of names with their letters: name:n.
func makeOptions(kind arity, names string, read func(name string) func(*slurmScript, string) error) []slurmOption {
	var list []slurmOption
	for _, word := range strings.Fields(names) {
		name, short, _ := strings.Cut(word, ":")
		list = append(list, slurmOption{name, short, kind, read(name)})
	}
	return list
}

func keptBySlurm(kind arity, names string) []slurmOption {
	return makeOptions(kind, names, func(name string) func(*slurmScript, string) error {
		return func(s *slurmScript, value string) error { return s.keepOption(name, value) }
	})
}

func ignoredOfSlurm(kind arity, names, why string) []slurmOption {
	return makeOptions(kind, names, func(string) func(*slurmScript, string) error {
		return func(s *slurmScript, _ string) error { s.warnOption(why); return nil }
	})
}

func refusedOfSlurm(kind arity, names, want string) []slurmOption {
	return makeOptions(kind, names, func(string) func(*slurmScript, string) error {
		return func(s *slurmScript, _ string) error { return s.optionError(want) }
	})
}
