// Package psij reads job descriptions of PSI/J, the portable submission interface for
// jobs, which are JSON. It knows their fields, not what a file of ours says.
package psij

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/format/jobfile/batchscript"
	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
)

// jobSpec is a job description of PSI/J that is being read.
type jobSpec struct {
	*jobfile.Import
	executable       string
	arguments        []string
	inherit          bool
	nodes, processes int
	perNode, cores   int
	processesAt      yamlfile.Value
	launcher         string
	around           jobfile.Wrapping
	wrapped          bool // in an envelope
}

// ReadSpec reads a job description of PSI/J.
func ReadSpec(m *jobfile.Import, name string, data []byte) error {
	text, err := asYAML(name, data)
	if err != nil {
		return err
	}
	top, err := yamlfile.Parse(name, "a job description of PSI/J", text)
	if err != nil {
		return err
	}
	s := &jobSpec{Import: m, inherit: true}
	s.NoteFieldAt("workdir", jobfile.Origin{File: name})
	s.Workdir = s.Options().Dir
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

// specField is a field of a description. null says nothing in any of them.
type specField struct {
	name string
	read func(yamlfile.Value)
}

// readMapping reads a mapping and notes where each of its fields stands.
func (s *jobSpec) readMapping(v yamlfile.Value, prefix string, fields []specField) {
	keys := make([]yamlfile.Field, len(fields))
	for i, f := range fields {
		keys[i] = yamlfile.ReadField(f.name, func(v yamlfile.Value) {
			s.NoteFieldAt(prefix+f.name, jobfile.Origin{File: v.File(), Line: v.Line()})
			if v.Kind() != yamlfile.Blank {
				f.read(v)
			}
		})
	}
	v.ReadMapping(keys...)
}

func (s *jobSpec) topFields() []specField {
	return []specField{
		{"name", s.readName},
		scalarField("executable", &s.executable, jobfile.ParseText),
		{"arguments", s.readArguments},
		{"directory", s.readDirectory},
		{"inherit_environment", func(v yamlfile.Value) { s.inherit = v.Bool() }},
		{"environment", s.ReadVariables},
		{"stdin_path", s.readStdin},
		{"stdout_path", func(v yamlfile.Value) { s.Stdout = s.readOutputName(v) }},
		{"stderr_path", func(v yamlfile.Value) { s.Stderr = s.readOutputName(v) }},
		{"resources", func(v yamlfile.Value) { s.readMapping(v, "resources.", s.resourceFields()) }},
		{"attributes", func(v yamlfile.Value) { s.readMapping(v, "attributes.", s.attributeFields()) }},
		scalarField("pre_launch", &s.around.Pre, jobfile.ParseLocalPath),
		scalarField("post_launch", &s.around.Post, jobfile.ParseLocalPath),
		{"launcher", func(v yamlfile.Value) {
			s.launcher = v.OneOf("single", "multiple", "mpirun", "srun")
		}},
	}
}

// scalarField is a field whose single value is stored.
func scalarField[T any](name string, to *T, parse func(string) (T, error)) specField {
	return specField{name, func(v yamlfile.Value) { *to = jobfile.ReadScalar(v, parse) }}
}

func (s *jobSpec) resourceFields() []specField {
	count := func(to *int) func(yamlfile.Value) {
		return func(v yamlfile.Value) { *to = v.WholeNumber(1, jobfile.MaxProcs); s.processesAt = v }
	}
	return []specField{
		{"node_count", count(&s.nodes)}, {"process_count", count(&s.processes)}, {"processes_per_node", count(&s.perNode)},
		{"cpu_cores_per_process", count(&s.cores)},
		{"gpu_cores_per_process", func(v yamlfile.Value) {
			if v.WholeNumber(0, jobfile.MaxProcs) > 0 {
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
	}
}

func (s *jobSpec) attributeFields() []specField {
	return []specField{
		{"duration", s.readDuration},
		{"queue_name", func(v yamlfile.Value) { s.keepAttribute("queue_name", "partition", v) }},
		{"project_name", func(v yamlfile.Value) { s.keepAttribute("project_name", "account", v) }},
		{"account", func(v yamlfile.Value) { s.keepAttribute("account", "account", v) }},
		{"reservation_id", func(v yamlfile.Value) { s.keepAttribute("reservation_id", "reservation", v) }},
		{"custom_attributes", func(v yamlfile.Value) {
			for key, value := range v.EachEntry("attributes and their values") {
				name := jobfile.ReadScalar(key, jobfile.ParseText)
				s.keepAttribute(jobfile.ShortenValue(name), name, value)
			}
		}},
	}
}

// keepAttribute keeps an attribute for clusters that have a manager.
func (s *jobSpec) keepAttribute(field, name string, v yamlfile.Value) {
	text := v.Text("a text")
	if text == "" || text == "None" { // as older versions write what is not set
		return
	}
	s.AddOption(name, text)
	s.AddWarning(jobfile.Warning{File: v.File(), Line: v.Line(), Field: field + " " + jobfile.ShortenValue(text),
		Text: "applies to clusters with a batch system only; ignored elsewhere"})
}

// beginOption has messages name a field as the description does.
func (s *jobSpec) beginOption(field string, v yamlfile.Value, text string) {
	s.At, s.Value = jobfile.Origin{File: v.File(), Line: v.Line(), Flag: field}, text
}

func (s *jobSpec) readDirectory(v yamlfile.Value) {
	s.Workdir = jobfile.ReadScalar(v, jobfile.ParseText)
	s.beginOption("directory", v, s.Workdir)
	s.NoteField("workdir")
}

func (s *jobSpec) readStdin(v yamlfile.Value) {
	file := jobfile.ReadScalar(v, jobfile.ParseLocalPath)
	s.beginOption("stdin_path", v, file)
	_ = s.SetStdin(file) // what it would say was said of the value
}

// readOutputName is the name of a file, in which % means nothing.
func (s *jobSpec) readOutputName(v yamlfile.Value) string {
	return jobfile.PlainName(s.OutputPattern(jobfile.ReadScalar(v, jobfile.ParseText)))
}

// readName takes any text: what cannot be a name is made one.
func (s *jobSpec) readName(v yamlfile.Value) {
	text := v.Text("a name")
	if text == "" {
		return
	}
	s.beginOption("name", v, text)
	_ = s.SetName(text) // fails without a name alone
}

func (s *jobSpec) readArguments(v yamlfile.Value) {
	for item := range v.EachItem("arguments") {
		word := item.Text("an argument")
		if word != "" {
			word = jobfile.ReadScalar(item, jobfile.ParseText)
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
	s.SetProcs(jobfile.CoreSpan{Min: processes * threads, Max: processes * threads})
	s.Manager.Threads, s.Nodes, s.Manager.PerNode = s.cores, min(s.nodes, processes*threads), s.perNode
	argv := append([]string{s.executable}, s.arguments...)
	switch s.launcher {
	case "mpirun", "srun":
		s.Name = cmpName(s.Name, argv)
		argv = slices.Concat([]string{s.launcher, "-n", strconv.Itoa(processes)}, argv)
	case "multiple":
		s.around.Copies = processes
	}
	s.SetCommand(argv, jobfile.Origin{File: name})
	s.around.Clear = !s.inherit
	s.WrapCommand(s.around)
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
	return jobfile.DefaultName(argv)
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
	if wrong || n > jobfile.MaxProcs/max(1, s.cores) {
		s.processesAt.ReportError("", fmt.Sprintf("process_count = node_count × processes_per_node, and at most %d cores "+
			"in all", jobfile.MaxProcs))
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
