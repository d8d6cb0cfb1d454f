package slurm

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/format/jobfile/batchscript"
	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
)

// parseCount reads a number of processes, hosts or processors.
func (s *sbatchScript) parseCount(value string, to *int) error {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > jobfile.MaxProcs {
		return s.OptionError(fmt.Sprintf("a whole number from 1 to %d", jobfile.MaxProcs))
	}
	*to = n
	return nil
}

// readNodes reads 4 or 1-4. Slurm also has 4k, and lists of sizes.
func (s *sbatchScript) readNodes(value string) error {
	n, err := jobfile.ParseProcs(value)
	if err != nil {
		return s.OptionError("a number of hosts such as 2, or the least and the most such as 1-4")
	}
	s.nodes = n
	return nil
}

func (s *sbatchScript) readTime(value string) error {
	d, ok := batchscript.ParseSlurmTime(value)
	if !ok {
		return s.OptionError("a time as Slurm has it: minutes, minutes:seconds, hours:minutes:seconds, days-hours, " +
			"days-hours:minutes or days-hours:minutes:seconds")
	}
	s.Time = d
	s.NoteField("resources.time")
	return nil
}

// parseAmount reads a size whose unit is the megabyte unless it has one.
func (s *sbatchScript) parseAmount(value string, to *int64) error {
	text := strings.TrimSuffix(strings.ToUpper(value), "B")
	if _, ok := yamlfile.ParseNumber(text); ok {
		text += "M"
	}
	n, ok := yamlfile.ParseSize(text)
	if !ok || n < 0 || strings.HasPrefix(value, "+") {
		return s.OptionError("a size such as 4096 (megabytes), 512M or 4G")
	}
	if n == 0 {
		s.WarnOption("left out: all the memory of a host cannot be asked for; --mem with a size says how much it needs")
	}
	*to = n
	return nil
}

func (s *sbatchScript) readArray(value string) error {
	a, err := jobfile.ParseArray(value)
	if err != nil {
		return s.OptionError(err.Error())
	}
	s.Array = a
	s.NoteField("array")
	return nil
}

func (s *sbatchScript) readDependency(value string) error {
	list, err := jobfile.ParseAfter(value, jobfile.Over)
	if err != nil {
		return s.OptionError(err.Error())
	}
	s.After = list
	s.NoteField("after")
	return nil
}

// readName reads the name of a file for output. A backslash in it says that %
// means nothing.
func (s *sbatchScript) readName(value string, to *string) error {
	if value == "" {
		return s.OptionError("the name of a file")
	}
	if strings.Contains(value, `\`) {
		value = jobfile.PlainName(strings.ReplaceAll(value, `\`, ""))
	}
	if letter, ok := jobfile.UnknownSymbol(value); ok {
		s.WarnOption("%" + jobfile.ShortenValue(letter) + " stands for itself: known are %j %A %a %x %N %u %%")
	}
	*to = s.OutputPattern(value)
	return nil
}

func (s *sbatchScript) readInput(value string) error {
	if value == "/dev/null" || value == "none" {
		return nil
	}
	if strings.Contains(value, "%") {
		return s.OptionError("the name of one file: patterns are not supported for input")
	}
	return s.SetStdin(value)
}

func (s *sbatchScript) readFolder(value string) error { return s.SetFolder(value) }

const wantMoment = "a moment to come such as 16:00, 2030-05-31T18:30, 05/31 or now+2hours"

func (s *sbatchScript) readDeadline(value string) error {
	by, ok := batchscript.ParseSlurmMoment(value, s.Options().Now)
	if !ok || !by.After(s.Options().Now) {
		return s.OptionError(wantMoment)
	}
	s.SetDeadline(by)
	return nil
}

func (s *sbatchScript) readBegin(value string) error {
	at, ok := batchscript.ParseSlurmMoment(value, s.Options().Now)
	if !ok {
		return s.OptionError(wantMoment)
	}
	s.SetBegin(at)
	return nil
}

func (s *sbatchScript) readMode(value string) error {
	if value != "append" && value != "truncate" {
		return s.OptionError("append or truncate")
	}
	s.Append = value == "append"
	return nil
}

// readSignal reads [R|B:]USR1[@60]. The signal tells a program to save itself
// before it is ended, which is what our checkpoints by signal do.
func (s *sbatchScript) readSignal(value string) error {
	text, _, _ := strings.Cut(value, "@")
	if i := strings.LastIndex(text, ":"); i >= 0 {
		text = text[i+1:]
	}
	if n, err := strconv.Atoi(text); err == nil {
		text = unix.SignalName(unix.Signal(n))
	}
	name, err := jobfile.ParseSignal(text)
	if err != nil {
		return s.OptionError("a signal and when, such as USR1@60 or B:TERM@120")
	}
	s.SetSaveSignal(name)
	return nil
}

// finishJob makes the job of what all the lines said together.
func (s *sbatchScript) finishJob() error {
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
	s.Value, s.At = s.export, s.given["export"]
	return s.setEnvironment()
}

// settleShape is how many processors the processes need together, and how they are to
// be spread.
func (s *sbatchScript) settleShape() error {
	tasks := s.tasks
	if tasks == 0 {
		tasks = max(1, s.nodes.Min) * max(1, s.perNode)
	}
	threads := max(1, s.threads)
	if tasks > jobfile.MaxProcs/threads {
		s.At, s.Value = s.given["ntasks"], ""
		return s.OptionError(fmt.Sprintf("at most %d cores in all", jobfile.MaxProcs))
	}
	s.SetProcs(jobfile.CoreSpan{Min: tasks * threads, Max: tasks * threads})
	s.Manager.Threads, s.Nodes, s.Manager.PerNode = s.threads, min(s.nodes.Min, tasks*threads), s.perNode
	if s.nodes.Min > 1 {
		s.At, s.Value = s.given["nodes"], ""
		s.WarnOption(fmt.Sprintf("%d cores are asked for; Slurm spreads them over %d hosts, other clusters as they like",
			tasks*threads, s.Nodes))
	}
	for _, name := range []string{"cpus-per-task", "ntasks-per-node", "nodes", "ntasks"} { // the last one counts
		if at, ok := s.given[name]; ok {
			s.At = at
			s.NoteField("procs")
		}
	}
	s.setMemory(tasks * threads)
	return nil
}

func (s *sbatchScript) setMemory(procs int) {
	s.Memory = s.mem
	s.At = s.given["mem"]
	if s.memPerCPU > 0 {
		hosts := max(1, s.nodes.Min)
		if s.nodes.Min == 0 && s.perNode > 0 {
			hosts = max(1, procs/max(1, s.threads)/s.perNode)
		}
		s.Memory = s.memPerCPU * int64((procs+hosts-1)/hosts)
		s.At = s.given["mem-per-cpu"]
		s.AddOption("mem-per-cpu", strconv.FormatInt(s.memPerCPU>>10, 10)+"K") // Slurm itself may spread it otherwise
	}
	if s.Memory > 0 {
		s.NoteField("resources.memory")
	}
}

// setEnvironment is that of the caller unless --export says otherwise.
func (s *sbatchScript) setEnvironment() error {
	if s.At.File == "" {
		s.InheritEnvironment()
		return nil
	}
	s.NoteField("envs")
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
		if _, set := s.LookupVariable(name); !valued && !set {
			s.Value = item
			s.WarnOption("left out: it is not set here")
			continue
		}
		if err := s.SetVariable(item); err != nil {
			s.Value = item
			return s.OptionError(err.Error())
		}
	}
	if all {
		s.InheritEnvironment()
		s.Export = jobfile.ExportAll
	}
	return nil
}
