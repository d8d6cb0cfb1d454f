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
	if r.top(top); top.Err() != nil {
		return nil, r.named(top.Err())
	}
	for _, step := range []func(){r.expand, r.needs, r.there, r.acyclic} {
		if step(); r.err != nil {
			return nil, r.err
		}
	}
	return r.flow, nil
}

func (r *reader) top(top yamlfile.Value) {
	found := top.Mapping(
		yamlfile.Key("version", func(v yamlfile.Value) {
			if text := v.Text("the version of the format, 1"); text != strconv.Itoa(Version) && !v.Failed() {
				v.Wrong("1, the version of this format that is read")
			}
		}),
		yamlfile.Key("name", func(v yamlfile.Value) { r.flow.Name = name(v) }),
		yamlfile.Key("files", func(v yamlfile.Value) { r.files = paths(v, "files that every task gets") }),
		yamlfile.Key("tasks", r.tasks),
	)
	found.Need("version", "1")
	found.Need("tasks", "the tasks of the workflow")
	if r.flow.Name == "" {
		r.flow.Name = clean(strings.TrimSuffix(filepath.Base(r.file), filepath.Ext(r.file)))
	}
}

// clean makes a name of the name of a file.
func clean(s string) string {
	s = strings.Map(func(c rune) rune {
		if c < 0x80 && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("._-", c)) {
			return c
		}
		return '-'
	}, s)
	if s == "" || len(s) > 100 {
		return "flow"
	}
	return s
}

func (r *reader) tasks(v yamlfile.Value) {
	for item := range v.List("tasks: each with an id and what to run") {
		r.task(item)
	}
	if v.Kind() == yamlfile.List && v.Len() == 0 {
		v.Wrong("at least one task; there is none")
	}
}

func (r *reader) task(v yamlfile.Value) {
	t := template{line: v.Line()}
	at := len(r.list)
	r.list = append(r.list, t)
	job, found, err := jobfile.ReadTask(v, r.opt,
		yamlfile.Key("id", func(v yamlfile.Value) { t.id = name(v); r.list[at].id = t.id }),
		yamlfile.Key("inputs", func(v yamlfile.Value) { t.inputs = paths(v, "files") }),
		yamlfile.Key("outputs", func(v yamlfile.Value) { t.outputs = outputs(v) }),
		yamlfile.Key("after", func(v yamlfile.Value) { t.after = list(v, "ids of tasks", name) }),
		yamlfile.Key("sweep", func(v yamlfile.Value) { t.sweep = sweep(v) }),
		yamlfile.Key("estimate", func(v yamlfile.Value) { r.estimate(v, &t) }),
	)
	found.Need("id", "a name for the task")
	if err != nil {
		var bad *badinput.Error
		if errors.As(err, &bad) && bad.Line == 0 {
			bad.Line = v.Line()
		}
		v.Adopt(r.under(at, err))
		return
	}
	t.job = job
	r.list[at] = t
}

// under says in which task a field is.
func (r *reader) under(at int, err error) error {
	var bad *badinput.Error
	if errors.As(err, &bad) && r.list[at].id != "" && !strings.HasPrefix(bad.Field, "task") {
		located := *bad
		located.Field = strings.TrimSpace("task " + strconv.Quote(clip(r.list[at].id)) + " " + bad.Field)
		return &located
	}
	return err
}

// named puts the name of a task in the place of its number.
func (r *reader) named(err error) error {
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
	return r.under(at, &located)
}

// clip shortens an id that would fill the terminal.
func clip(id string) string {
	if r := []rune(id); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return id
}

const maxName = 100

func name(v yamlfile.Value) string {
	text := v.Text("a name")
	if !v.Failed() && (text == "" || len(text) > maxName || clean(text) != text) {
		v.Wrong("a name of letters, digits and . _ - (at most " + strconv.Itoa(maxName) + ")")
	}
	return text
}

// list reads a list, or a single value as a list of one.
func list(v yamlfile.Value, of string, read func(yamlfile.Value) string) []string {
	if v.Kind() == yamlfile.Scalar {
		return []string{read(v)}
	}
	var items []string
	for item := range v.List(of) {
		items = append(items, read(item))
	}
	return items
}

func paths(v yamlfile.Value, of string) []string { return list(v, of, inside) }

// inside reads a path within the flow's folder.
func inside(v yamlfile.Value) string {
	text := v.Text("a file")
	if v.Failed() {
		return ""
	}
	clean := path.Clean(text)
	if _, err := path.Match(clean, ""); text == "" || err != nil || strings.ContainsAny(text, "\x00\n") || path.IsAbs(clean) || clean == "." || clean == ".." || strings.HasPrefix(clean, "../") {
		v.Wrong("a file within the folder of the workflow, such as part.{i} or out/*.csv")
	}
	return clean
}

// outputs reads names, or names with sizes.
func outputs(v yamlfile.Value) []Output {
	one := func(v yamlfile.Value) Output {
		if v.Kind() != yamlfile.Mapping {
			return Output{Name: inside(v)}
		}
		var o Output
		found := v.Mapping(yamlfile.Set("file", &o.Name, inside), yamlfile.Key("size", func(v yamlfile.Value) { o.Bytes = v.Size(0) }))
		found.Need("file", "the name of the file")
		return o
	}
	if v.Kind() != yamlfile.List {
		return []Output{one(v)}
	}
	var items []Output
	for item := range v.List("files") {
		o := one(item)
		if strings.ContainsAny(o.Name, "*?[") && !item.Failed() {
			item.Wrong("the name of a file; what a task makes is named without * and ?, so that it is known who waits for it")
		}
		items = append(items, o)
	}
	return items
}

// estimate reads a time, one for each cluster, or a model of the program and a size.
func (r *reader) estimate(v yamlfile.Value, t *template) {
	if v.Kind() != yamlfile.Mapping {
		t.estimate = v.PositiveDuration()
		return
	}
	t.on = map[string]time.Duration{}
	for key, value := range v.Entries("clusters and how long the task runs there, or model and size") {
		switch name(key) {
		case "model":
			t.model = r.model(value)
		case "size":
			t.size = value.Text("the size at which the program is to run, such as 4000 or {n}")
		default:
			t.on[name(key)] = value.PositiveDuration()
		}
	}
	if (t.model != nil || t.size != "") && (t.model == nil || t.size == "" || len(t.on) > 0) && !v.Failed() {
		v.Wrong("both a model and a size, and nothing else; or clusters and how long the task runs there")
	}
}

func (r *reader) model(v yamlfile.Value) *jobfile.Model {
	file := v.Text("a file that godwit model fit wrote")
	if v.Failed() {
		return nil
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(r.flow.Dir, file)
	}
	m, err := jobfile.ReadModel(file)
	if err != nil {
		v.Wrong(err.Error())
	}
	return m
}

// sweep reads the values of parameters.
func sweep(v yamlfile.Value) []parameter {
	var all []parameter
	for key, value := range v.Entries("parameters and their values, such as {i: 1-110}") {
		p := parameter{name: key.Text("a parameter")}
		if !isParameter(p.name) && !v.Failed() {
			key.Wrong("a parameter's name of letters, digits and _")
		}
		if value.Kind() == yamlfile.List {
			for item := range value.List("values") {
				p.values = append(p.values, name(item))
			}
		} else {
			text := value.Text("a range such as 1-110 or 0-90:10, or a list of values")
			values, err := span(text)
			if err != nil && !value.Failed() {
				value.Wrong(err.Error())
			}
			p.values = values
		}
		if len(p.values) == 0 {
			value.Wrong("at least one value")
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

// span reads 7, 1-110 and 0-90:10.
func span(text string) ([]string, error) {
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
