package flowfile

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
)

// A template is a task as it is written, before its sweep.
type template struct {
	id       string
	line     int
	job      *jobfile.Job
	inputs   []string
	outputs  []Output
	after    []string
	sweep    []parameter
	estimate time.Duration
	on       map[string]time.Duration
	model    *jobfile.Model // says what each instance needs, by
	size     string         // its size, with parameters in it
}

// A parameter takes one value in each instance of a sweep.
type parameter struct {
	name   string
	values []string
}

type reader struct {
	file  string
	opt   jobfile.Options
	flow  *Flow
	files []string
	list  []template
	index map[string]int   // of tasks by their id
	kinds map[string][]int // the instances of a task by the id as written
	err   error
}

// Load reads the workflow at path. Relative paths in it begin at its own folder.
func Load(file string, o jobfile.Options) (*Flow, error) {
	data, err := yamlfile.ReadFile(file, "a workflow", maxFile)
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(file)
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(o.Dir, dir)
	}
	return Parse(file, dir, data, o)
}

// Parse reads a workflow whose files are in dir.
func Parse(file, dir string, data []byte, o jobfile.Options) (*Flow, error) {
	r := &reader{file: file, opt: o, flow: &Flow{Dir: dir}, index: map[string]int{}, kinds: map[string][]int{}}
	top, err := yamlfile.Parse(file, "a workflow", data)
	if err != nil {
		return nil, err
	}
	if r.readTop(top); top.Err() != nil {
		return nil, r.nameTask(top.Err())
	}
	for _, step := range []func(){r.expandTasks, r.findNeeds, r.checkFilesExist, r.checkAcyclic} {
		if step(); r.err != nil {
			return nil, r.err
		}
	}
	return r.flow, nil
}

func (r *reader) readTop(top yamlfile.Value) {
	found := top.ReadMapping(
		yamlfile.ReadField("version", func(v yamlfile.Value) {
			if text := v.Text("the version of the format, 1"); text != strconv.Itoa(Version) && !v.HasFailed() {
				v.ReportWrong("1, the version of this format that is read")
			}
		}),
		yamlfile.ReadField("name", func(v yamlfile.Value) { r.flow.Name = readName(v) }),
		yamlfile.ReadField("files", func(v yamlfile.Value) { r.files = readPaths(v, "files that every task gets") }),
		yamlfile.ReadField("tasks", r.readTasks),
	)
	found.RequireField("version", "1")
	found.RequireField("tasks", "the tasks of the workflow")
	if r.flow.Name == "" {
		r.flow.Name = cleanName(strings.TrimSuffix(filepath.Base(r.file), filepath.Ext(r.file)))
	}
}

// cleanName makes a name of the name of a file.
func cleanName(s string) string {
	s = strings.Map(func(c rune) rune {
		if c < 0x80 && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			strings.ContainsRune("._-", c)) {
			return c
		}
		return '-'
	}, s)
	if s == "" || len(s) > 100 {
		return "flow"
	}
	return s
}

func (r *reader) readTasks(v yamlfile.Value) {
	for item := range v.EachItem("tasks: each with an id and what to run") {
		r.readTask(item)
	}
	if v.Kind() == yamlfile.List && v.Len() == 0 {
		v.ReportWrong("at least one task; there is none")
	}
}

func (r *reader) readTask(v yamlfile.Value) {
	t := template{line: v.Line()}
	at := len(r.list)
	r.list = append(r.list, t)
	job, found, err := jobfile.ReadTask(v, r.opt,
		yamlfile.ReadField("id", func(v yamlfile.Value) { t.id = readName(v); r.list[at].id = t.id }),
		yamlfile.ReadField("inputs", func(v yamlfile.Value) { t.inputs = readPaths(v, "files") }),
		yamlfile.ReadField("outputs", func(v yamlfile.Value) { t.outputs = readOutputs(v) }),
		yamlfile.ReadField("after", func(v yamlfile.Value) { t.after = readList(v, "ids of tasks", readName) }),
		yamlfile.ReadField("sweep", func(v yamlfile.Value) { t.sweep = readSweep(v) }),
		yamlfile.ReadField("estimate", func(v yamlfile.Value) { r.readEstimate(v, &t) }),
	)
	found.RequireField("id", "a name for the task")
	if err != nil {
		var bad *badinput.Error
		if errors.As(err, &bad) && bad.Line == 0 {
			bad.Line = v.Line()
		}
		v.AdoptError(r.locateError(at, err))
		return
	}
	t.job = job
	r.list[at] = t
}

// locateError says in which task a field is.
func (r *reader) locateError(at int, err error) error {
	var bad *badinput.Error
	if errors.As(err, &bad) && r.list[at].id != "" && !strings.HasPrefix(bad.Field, "task") {
		located := *bad
		located.Field = strings.TrimSpace("task " + strconv.Quote(badinput.ClipID(r.list[at].id)) + " " + bad.Field)
		return &located
	}
	return err
}

// nameTask puts the name of a task in the place of its number.
func (r *reader) nameTask(err error) error {
	var bad *badinput.Error
	if !errors.As(err, &bad) {
		return err
	}
	rest, ok := strings.CutPrefix(bad.Field, "tasks[")
	number, field, closed := strings.Cut(rest, "]")
	at, notNumber := strconv.Atoi(number)
	if !ok || !closed || notNumber != nil || at >= len(r.list) || r.list[at].id == "" {
		return err
	}
	located := *bad
	located.Field = strings.TrimPrefix(field, ".")
	return r.locateError(at, &located)
}

const maxName = 100

func readName(v yamlfile.Value) string {
	text := v.Text("a name")
	if !v.HasFailed() && (text == "" || len(text) > maxName || cleanName(text) != text) {
		v.ReportWrong("a name of letters, digits and . _ - (at most " + strconv.Itoa(maxName) + ")")
	}
	return text
}

// readList reads a list, or a single value as a list of one.
func readList(v yamlfile.Value, of string, read func(yamlfile.Value) string) []string {
	if v.Kind() == yamlfile.Scalar {
		return []string{read(v)}
	}
	var items []string
	for item := range v.EachItem(of) {
		items = append(items, read(item))
	}
	return items
}

func readPaths(v yamlfile.Value, of string) []string { return readList(v, of, readInsidePath) }

// readInsidePath reads a path within the flow's folder.
func readInsidePath(v yamlfile.Value) string {
	text := v.Text("a file")
	if v.HasFailed() {
		return ""
	}
	clean := path.Clean(text)
	if _, err := path.Match(clean, ""); text == "" || err != nil || strings.ContainsAny(text, "\x00\n") ||
		path.IsAbs(clean) || clean == "." || clean == ".." || strings.HasPrefix(clean, "../") {
		v.ReportWrong("a file within the folder of the workflow, such as part.{i} or out/*.csv")
	}
	return clean
}

// readOutputs reads names, or names with sizes.
func readOutputs(v yamlfile.Value) []Output {
	one := func(v yamlfile.Value) Output {
		if v.Kind() != yamlfile.Mapping {
			return Output{Name: readInsidePath(v)}
		}
		var o Output
		found := v.ReadMapping(yamlfile.StoreField("file", &o.Name, readInsidePath),
			yamlfile.ReadField("size", func(v yamlfile.Value) { o.Bytes = v.Size(0) }))
		found.RequireField("file", "the name of the file")
		return o
	}
	if v.Kind() != yamlfile.List {
		return []Output{one(v)}
	}
	var items []Output
	for item := range v.EachItem("files") {
		o := one(item)
		if strings.ContainsAny(o.Name, "*?[") && !item.HasFailed() {
			item.ReportWrong("the name of a file; what a task makes is named without * and ?, so that it is known who waits " +
				"for it")
		}
		items = append(items, o)
	}
	return items
}

// readEstimate reads a time, one for each cluster, or a model of the program and a size.
func (r *reader) readEstimate(v yamlfile.Value, t *template) {
	if v.Kind() != yamlfile.Mapping {
		t.estimate = v.PositiveDuration()
		return
	}
	t.on = map[string]time.Duration{}
	for key, value := range v.EachEntry("clusters and how long the task runs there, or model and size") {
		switch readName(key) {
		case "model":
			t.model = r.readModel(value)
		case "size":
			t.size = value.Text("the size at which the program is to run, such as 4000 or {n}")
		default:
			t.on[readName(key)] = value.PositiveDuration()
		}
	}
	if (t.model != nil || t.size != "") && (t.model == nil || t.size == "" || len(t.on) > 0) && !v.HasFailed() {
		v.ReportWrong("both a model and a size, and nothing else; or clusters and how long the task runs there")
	}
}

func (r *reader) readModel(v yamlfile.Value) *jobfile.Model {
	file := v.Text("a file that godwit model fit wrote")
	if v.HasFailed() {
		return nil
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(r.flow.Dir, file)
	}
	m, err := jobfile.ReadModel(file)
	if err != nil {
		v.ReportWrong(err.Error())
	}
	return m
}

// readSweep reads the values of parameters.
func readSweep(v yamlfile.Value) []parameter {
	var all []parameter
	for key, value := range v.EachEntry("parameters and their values, such as {i: 1-110}") {
		p := parameter{name: key.Text("a parameter")}
		if !isParameter(p.name) && !v.HasFailed() {
			key.ReportWrong("a parameter's name of letters, digits and _")
		}
		if value.Kind() == yamlfile.List {
			for item := range value.EachItem("values") {
				p.values = append(p.values, readName(item))
			}
		} else {
			text := value.Text("a range such as 1-110 or 0-90:10, or a list of values")
			values, err := parseSpan(text)
			if err != nil && !value.HasFailed() {
				value.ReportWrong(err.Error())
			}
			p.values = values
		}
		if len(p.values) == 0 {
			value.ReportWrong("at least one value")
		}
		all = append(all, p)
	}
	return all
}

func isParameter(s string) bool {
	ok := s != ""
	for i, c := range s {
		ok = ok && (c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || i > 0 && c >= '0' && c <= '9')
	}
	return ok
}

// parseSpan reads 7, 1-110 and 0-90:10.
func parseSpan(text string) ([]string, error) {
	bad := fmt.Errorf("a range such as 1-110 or 0-90:10, or a list of values, at most %d", maxTasks)
	text, step, stepped := strings.Cut(text, ":")
	first, last, ranged := strings.Cut(text, "-")
	if !ranged {
		last = first
	}
	from, err1 := strconv.Atoi(first)
	to, err2 := strconv.Atoi(last)
	by := 1
	var err3 error
	if stepped {
		by, err3 = strconv.Atoi(step)
	}
	if err := errors.Join(err1, err2, err3); err != nil || from < 0 || to < from || by < 1 || (to-from)/by >= maxTasks {
		return nil, bad
	}
	var values []string
	for i := from; i <= to; i += by {
		values = append(values, strconv.Itoa(i))
	}
	return values, nil
}
