package jobfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile/batchscript"
	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
)

// jobSpec is a job description of PSI/J that is being read.
type jobSpec struct {
	*draft
	executable       string
	arguments        []string
	inherit          bool
	nodes, processes int
	perNode, cores   int
	processesAt      yamlfile.Value
	launcher         string
	wrapped          bool // in an envelope
}

// parseJobSpec reads a job description of PSI/J.
func (d *draft) parseJobSpec(name string, data []byte) error {
	text, err := asYAML(name, data)
	if err != nil {
		return err
	}
	top, err := yamlfile.Parse(name, "a job description of PSI/J", text)
	if err != nil {
		return err
	}
	d.at[""] = fieldOrigin{file: name}
	s := &jobSpec{draft: d, inherit: true}
	d.at["workdir"] = fieldOrigin{file: name}
	d.Workdir = d.opt.Dir
	s.readTop(top)
	if top.Err() != nil {
		return top.Err()
	}
	return s.finishJob(name)
}

// readTop reads the description, which may lie in an envelope.
func (s *jobSpec) readTop(v yamlfile.Value) {
	if !s.wrapped && isEnveloped(v) {
		s.wrapped = true
		v.ReadMapping(
			yamlfile.ReadField("version", func(yamlfile.Value) {}),
			yamlfile.ReadField("type", func(v yamlfile.Value) { v.OneOf("JobSpec") }),
			yamlfile.ReadField("data", s.readTop),
		)
		return
	}
	s.readMapping(v, "", s.topFields())
}

// isEnveloped says whether a value is {version, type, data}.
func isEnveloped(v yamlfile.Value) bool {
	found := false
	if v.Kind() == yamlfile.Mapping {
		for key := range v.EachEntry("fields") {
			found = found || key.Kind() == yamlfile.Scalar && key.Text("") == "data"
		}
	}
	return found
}

// unlessBlank makes fields of which null says nothing.
func unlessBlank(fields []field) []field {
	for i := range fields {
		read := fields[i].read
		fields[i].read = func(v yamlfile.Value) {
			if v.Kind() != yamlfile.Blank {
				read(v)
			}
		}
	}
	return fields
}

func (s *jobSpec) topFields() []field {
	return unlessBlank([]field{
		{"name", s.readName},
		scalarField("executable", &s.executable, parseText),
		{"arguments", s.readArguments},
		{"directory", s.knownField("workdir", "directory", &s.Workdir, parseText)},
		{"inherit_environment", func(v yamlfile.Value) { s.inherit = v.Bool() }},
		{"environment", s.readEnvs},
		{"stdin_path", s.knownField("stdin", "stdin_path", &s.stdin, parseHere)},
		{"stdout_path", func(v yamlfile.Value) { s.Stdout = plainName(s.redirectPattern(readScalar(v, parseText))) }},
		{"stderr_path", func(v yamlfile.Value) { s.Stderr = plainName(s.redirectPattern(readScalar(v, parseText))) }},
		{"resources", func(v yamlfile.Value) { s.readMapping(v, "resources.", s.resourceFields()) }},
		{"attributes", func(v yamlfile.Value) { s.readMapping(v, "attributes.", s.attributeFields()) }},
		scalarField("pre_launch", &s.around.pre, parseHere),
		scalarField("post_launch", &s.around.post, parseHere),
		{"launcher", func(v yamlfile.Value) {
			s.launcher = v.OneOf("single", "multiple", "mpirun", "srun")
		}},
	})
}

func (s *jobSpec) resourceFields() []field {
	count := func(to *int) func(yamlfile.Value) {
		return func(v yamlfile.Value) { *to = v.WholeNumber(1, maxProcs); s.processesAt = v }
	}
	return unlessBlank([]field{
		{"node_count", count(&s.nodes)}, {"process_count", count(&s.processes)}, {"processes_per_node", count(&s.perNode)},
		{"cpu_cores_per_process", count(&s.cores)},
		{"gpu_cores_per_process", func(v yamlfile.Value) {
			if v.WholeNumber(0, maxProcs) > 0 {
				s.keepAttribute("gpu_cores_per_process", "gpus-per-task", v)
			}
		}},
		{"exclusive_node_use", func(v yamlfile.Value) {
			if v.Bool() {
				s.keepAttribute("exclusive_node_use", "exclusive", v)
			}
		}},
		{"memory", func(v yamlfile.Value) { s.Memory = v.Size(1) }},
		{"version", func(yamlfile.Value) {}}, {"__version", func(yamlfile.Value) {}},
	})
}

func (s *jobSpec) attributeFields() []field {
	return unlessBlank([]field{
		{"duration", s.readDuration},
		{"queue_name", func(v yamlfile.Value) { s.keepAttribute("queue_name", "partition", v) }},
		{"project_name", func(v yamlfile.Value) { s.keepAttribute("project_name", "account", v) }},
		{"account", func(v yamlfile.Value) { s.keepAttribute("account", "account", v) }},
		{"reservation_id", func(v yamlfile.Value) { s.keepAttribute("reservation_id", "reservation", v) }},
		{"custom_attributes", func(v yamlfile.Value) {
			for key, value := range v.EachEntry("attributes and their values") {
				name := readScalar(key, parseText)
				s.keepAttribute(shortenValue(name), name, value)
			}
		}},
	})
}

// keepAttribute keeps an attribute for clusters that have a manager.
func (s *jobSpec) keepAttribute(field, name string, v yamlfile.Value) {
	text := v.Text("a text")
	if text == "" || text == "None" { // as older versions write what is not set
		return
	}
	s.addOption(name, text)
	s.warnings = append(s.warnings, Warning{v.File(), v.Line(), field + " " + shortenValue(text),
		"applies to clusters with a batch system only; ignored elsewhere"})
}

// knownField makes a field of ours that is called otherwise there.
func (s *jobSpec) knownField(ours, theirs string, to *string, parse func(string) (string, error)) func(yamlfile.Value) {
	return func(v yamlfile.Value) {
		*to = readScalar(v, parse)
		s.draft.at[ours] = fieldOrigin{file: v.File(), line: v.Line(), flag: theirs}
	}
}

// readName takes any text: what cannot be a name is made one.
func (s *jobSpec) readName(v yamlfile.Value) {
	text := v.Text("a name")
	if text == "" {
		return
	}
	m := imported{draft: s.draft, at: fieldOrigin{file: v.File(), line: v.Line(), flag: "name"}, value: text}
	_ = m.setName(text) // fails without a name alone
}

func (s *jobSpec) readArguments(v yamlfile.Value) {
	for item := range v.EachItem("arguments") {
		word := item.Text("an argument")
		if word != "" {
			word = readScalar(item, parseText)
		}
		s.arguments = append(s.arguments, word)
	}
}

func (s *jobSpec) readDuration(v yamlfile.Value) {
	text := v.Text("a time")
	if text == "" || text == "None" {
		return
	}
	d, ok := batchscript.ParsePSIJTime(text, v.IsQuoted())
	if !ok || d <= 0 {
		v.ReportWrong(`a time such as "1:30:00", "0:30", "90" (minutes), "2 h" or 600 (seconds, without quotes)`)
		return
	}
	s.Time = d
}

// finishJob makes the job of what the description says.
func (s *jobSpec) finishJob(name string) error {
	if s.executable == "" {
		return &badinput.Error{File: name, Field: "executable", Problem: "missing", Want: "what to run"}
	}
	processes, err := s.countProcesses()
	if err != nil {
		return err
	}
	threads := max(1, s.cores)
	s.draft.procs = span{processes * threads, processes * threads}
	s.Manager.Threads, s.Nodes, s.Manager.PerNode = s.cores, min(s.nodes, processes*threads), s.perNode
	s.listed = append([]string{s.executable}, s.arguments...)
	switch s.launcher {
	case "mpirun", "srun":
		s.Name = cmpName(s.Name, s.listed)
		s.listed = slices.Concat([]string{s.launcher, "-n", strconv.Itoa(processes)}, s.listed)
	case "multiple":
		s.around.copies = processes
	}
	s.draft.at["argv"] = fieldOrigin{file: name}
	s.around.clear = !s.inherit
	s.Merge = s.Stdout != "" && s.Stdout == s.Stderr
	if s.Merge {
		s.Stderr = ""
	}
	return nil
}

// cmpName is the name of a job that a launcher starts: the program's, not the
// launcher's.
func cmpName(given string, argv []string) string {
	if given != "" {
		return given
	}
	return defaultName(argv)
}

// countProcesses is how many processes there are: process_count is node_count times
// processes_per_node, and each may be left out.
func (s *jobSpec) countProcesses() (int, error) {
	n := s.processes
	if n == 0 {
		n = max(1, s.nodes) * max(1, s.perNode)
	}
	wrong := s.processes > 0 && (s.nodes > 0 && s.perNode > 0 && s.nodes*s.perNode != n ||
		s.nodes > 0 && s.perNode == 0 && n%s.nodes != 0 || s.perNode > 0 && s.nodes == 0 && n%s.perNode != 0)
	if wrong || n > maxProcs/max(1, s.cores) {
		s.processesAt.ReportError("", fmt.Sprintf("process_count = node_count × processes_per_node, and at most %d cores "+
			"in all", maxProcs))
		return 0, s.processesAt.Err()
	}
	return n, nil
}

// asYAML makes JSON a text that is YAML too, line for line: YAML knows neither
// tabs nor all the escapes of JSON.
func asYAML(name string, data []byte) ([]byte, error) {
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		line := 1
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			line += bytes.Count(data[:min(int(syntax.Offset), len(data))], []byte("\n"))
		}
		return nil, &badinput.Error{File: name, Line: line, Want: "a PSI/J job description in JSON", Err: err}
	}
	var b bytes.Buffer
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '\t', '\r':
			b.WriteByte(' ')
		case '"':
			end := i + 1
			for data[end] != '"' {
				if data[end] == '\\' {
					end++
				}
				end++
			}
			var text string
			if err := json.Unmarshal(data[i:end+1], &text); err != nil {
				return nil, err // it was read before
			}
			word, err := json.Marshal(text)
			if err != nil {
				return nil, err
			}
			b.Write(word)
			i = end
		case ':':
			b.WriteString(": ")
		default:
			b.WriteByte(data[i])
		}
	}
	return b.Bytes(), nil
}
