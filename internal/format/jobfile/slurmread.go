package jobfile

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/format/jobfile/batchscript"
	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
)

// parseCount reads a number of processes, hosts or processors.
func (s *slurmScript) parseCount(value string, to *int) error {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > maxProcs {
		return s.optionError(fmt.Sprintf("a whole number from 1 to %d", maxProcs))
	}
	*to = n
	return nil
}

// readNodes reads 4 or 1-4. Slurm also has 4k, and lists of sizes.
func (s *slurmScript) readNodes(value string) error {
	n, err := parseProcs(value)
	if err != nil {
		return s.optionError("a number of hosts such as 2, or the least and the most such as 1-4")
	}
	s.nodes = n
	return nil
}

func (s *slurmScript) readTime(value string) error {
	d, ok := batchscript.ParseSlurmTime(value)
	if !ok {
		return s.optionError("a time as Slurm has it: minutes, minutes:seconds, hours:minutes:seconds, days-hours, " +
			"days-hours:minutes or days-hours:minutes:seconds")
	}
	s.Time = d
	s.noteField("resources.time")
	return nil
}

// parseAmount reads a size whose unit is the megabyte unless it has one.
func (s *slurmScript) parseAmount(value string, to *int64) error {
	text := strings.TrimSuffix(strings.ToUpper(value), "B")
	if _, ok := yamlfile.ParseNumber(text); ok {
		text += "M"
	}
	n, ok := yamlfile.ParseSize(text)
	if !ok || n < 0 || strings.HasPrefix(value, "+") {
		return s.optionError("a size such as 4096 (megabytes), 512M or 4G")
	}
	if n == 0 {
		s.warnOption("left out: all the memory of a host cannot be asked for; --mem with a size says how much it needs")
	}
	*to = n
	return nil
}

func (s *slurmScript) readArray(value string) error {
	a, err := parseArray(value)
	if err != nil {
		return s.optionError(err.Error())
	}
	s.Array = a
	s.noteField("array")
	return nil
}

func (s *slurmScript) readDependency(value string) error {
	list, err := parseAfter(value, Over)
	if err != nil {
		return s.optionError(err.Error())
	}
	s.After = list
	s.noteField("after")
	return nil
}

// readName reads the name of a file for output. A backslash in it says that %
// means nothing.
func (s *slurmScript) readName(value string, to *string) error {
	if value == "" {
		return s.optionError("the name of a file")
	}
	if strings.Contains(value, `\`) {
		value = plainName(strings.ReplaceAll(value, `\`, ""))
	}
	if letter, ok := unknownSymbol(value); ok {
		s.warnOption("%" + shortenValue(letter) + " stands for itself: known are %j %A %a %x %N %u %%")
	}
	*to = s.redirectPattern(value)
	return nil
}

// unknownSymbol finds a letter after % that means nothing here.
func unknownSymbol(pattern string) (string, bool) {
	for i := 0; i < len(pattern); i++ {
		if pattern[i] != '%' {
			continue
		}
		for i++; i < len(pattern) && pattern[i] >= '0' && pattern[i] <= '9'; i++ {
		}
		if i >= len(pattern) {
			return "", true
		}
		if strings.IndexByte(symbols, pattern[i]) < 0 {
			return strings.ToValidUTF8(pattern[i:i+1], ""), true
		}
	}
	return "", false
}

func (s *slurmScript) readInput(value string) error {
	if value == "/dev/null" || value == "none" {
		return nil
	}
	if strings.Contains(value, "%") {
		return s.optionError("the name of one file: patterns are not supported for input")
	}
	return s.setStdin(value)
}

// setStdin has the job read a file as its standard input.
func (m *imported) setStdin(file string) error {
	if _, err := parseHere(file); err != nil {
		return m.optionError(err.Error())
	}
	m.stdin = file
	m.noteField("stdin")
	return nil
}

func (s *slurmScript) readFolder(value string) error { return s.inFolder(value) }

// inFolder has the job run in a folder.
func (m *imported) inFolder(dir string) error {
	if _, err := parseText(dir); err != nil {
		return m.optionError("an existing directory")
	}
	m.Workdir = dir
	m.noteField("workdir")
	return nil
}

const wantMoment = "a moment to come such as 16:00, 2030-05-31T18:30, 05/31 or now+2hours"

func (s *slurmScript) readDeadline(value string) error {
	by, ok := batchscript.ParseSlurmMoment(value, s.opt.Now)
	if !ok || !by.After(s.opt.Now) {
		return s.optionError(wantMoment)
	}
	s.setDeadline(deadline{in: by.Sub(s.opt.Now), by: by})
	s.noteField("deadline")
	return nil
}

func (s *slurmScript) readBegin(value string) error {
	at, ok := batchscript.ParseSlurmMoment(value, s.opt.Now)
	if !ok {
		return s.optionError(wantMoment)
	}
	return s.notBefore(at)
}

// notBefore has the job start no sooner; a moment that is past says nothing.
func (m *imported) notBefore(at time.Time) error {
	if at.After(m.opt.Now) {
		m.Begin, m.BeginAt = at.Sub(m.opt.Now), at
	}
	m.noteField("begin")
	return nil
}

func (m *imported) setRetries(n int) error {
	m.Retries = n
	m.noteField("retry.max")
	return nil
}

func (s *slurmScript) readMode(value string) error {
	if value != "append" && value != "truncate" {
		return s.optionError("append or truncate")
	}
	s.Append = value == "append"
	return nil
}

// readSignal reads [R|B:]USR1[@60]. The signal tells a program to save itself
// before it is ended, which is what our checkpoints by signal do.
func (s *slurmScript) readSignal(value string) error {
	text, _, _ := strings.Cut(value, "@")
	if i := strings.LastIndex(text, ":"); i >= 0 {
		text = text[i+1:]
	}
	if n, err := strconv.Atoi(text); err == nil {
		text = unix.SignalName(unix.Signal(n))
	}
	name, err := parseSignal(text)
	if err != nil {
		return s.optionError("a signal and when, such as USR1@60 or B:TERM@120")
	}
	s.saveSignal, s.signalAt, s.signalText = name, s.at, value
	return nil
}

// finishJob makes the job of what all the lines said together.
func (s *slurmScript) finishJob() error {
	s.Manager.Kind = Slurm
	if err := s.settleShape(); err != nil {
		return err
	}
	switch {
	case s.err == "" || s.err == s.out:
		s.Merge = true
	default:
		s.Stderr = s.err
	}
	s.Stdout = s.out
	s.value, s.at = s.export, s.given["export"]
	return s.setEnvironment()
}

// settleShape is how many processors the processes need together, and how they are to
// be spread.
func (s *slurmScript) settleShape() error {
	tasks := s.tasks
	if tasks == 0 {
		tasks = max(1, s.nodes.min) * max(1, s.perNode)
	}
	threads := max(1, s.threads)
	if tasks > maxProcs/threads {
		s.at, s.value = s.given["ntasks"], ""
		return s.optionError(fmt.Sprintf("at most %d cores in all", maxProcs))
	}
	s.draft.procs = span{tasks * threads, tasks * threads}
	s.Manager.Threads, s.Nodes, s.Manager.PerNode = s.threads, min(s.nodes.min, tasks*threads), s.perNode
	if s.nodes.min > 1 {
		s.at, s.value = s.given["nodes"], ""
		s.warnOption(fmt.Sprintf("%d cores are asked for; Slurm spreads them over %d hosts, other clusters as they like",
			tasks*threads, s.Nodes))
	}
	for _, name := range []string{"cpus-per-task", "ntasks-per-node", "nodes", "ntasks"} { // the last one counts
		if at, ok := s.given[name]; ok {
			s.at = at
			s.noteField("procs")
		}
	}
	s.setMemory(tasks * threads)
	return nil
}

func (s *slurmScript) setMemory(procs int) {
	s.Memory = s.mem
	s.at = s.given["mem"]
	if s.memPerCPU > 0 {
		hosts := max(1, s.nodes.min)
		if s.nodes.min == 0 && s.perNode > 0 {
			hosts = max(1, procs/max(1, s.threads)/s.perNode)
		}
		s.Memory = s.memPerCPU * int64((procs+hosts-1)/hosts)
		s.at = s.given["mem-per-cpu"]
		s.addOption("mem-per-cpu", strconv.FormatInt(s.memPerCPU>>10, 10)+"K") // Slurm itself may spread it otherwise
	}
	if s.Memory > 0 {
		s.noteField("resources.memory")
	}
}

// setEnvironment is that of the caller unless --export says otherwise.
func (s *slurmScript) setEnvironment() error {
	if s.at.file == "" {
		s.inheritEnvironment(batchscript.IsManagerVariable)
		return nil
	}
	s.noteField("envs")
	all := false
	for _, item := range batchscript.SplitExports(s.export) {
		switch strings.ToUpper(item) {
		case "ALL":
			all = true
			continue
		case "NONE", "NIL", "":
			continue
		}
		name, _, valued := strings.Cut(item, "=")
		if _, set := s.lookupVariable(name); !valued && !set {
			s.value = item
			s.warnOption("left out: it is not set here")
			continue
		}
		if err := applyEnv(s.draft, item); err != nil {
			s.value = item
			return s.optionError(err.Error())
		}
	}
	if all {
		s.inheritEnvironment(batchscript.IsManagerVariable)
		s.Export = ExportAll
	}
	return nil
}
