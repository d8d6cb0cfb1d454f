package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/godwit-hpc/godwit/internal/badinput"
	"github.com/godwit-hpc/godwit/internal/platform"
)

const maxFileBytes = 16 << 20

// Load reads the scenario file at path. What is wrong with it, or with the
// platform it names, comes back as a *badinput.Error.
func Load(path string) (*Scenario, error) { return LoadOn(path, nil) }

// LoadOn is Load with another platform in place of the one that the file
// names; nil leaves that.
func LoadOn(path string, on *platform.Platform) (*Scenario, error) {
	data, err := read(path)
	if err != nil {
		return nil, &badinput.Error{File: path, Want: "a scenario file that can be read", Err: cause(err)}
	}
	return Parse(path, data, on)
}

// Parse reads a scenario from memory; name is the file as the user knows it,
// to which the paths in it are relative. With a platform given, that of the
// file is not looked at.
func Parse(name string, data []byte, on *platform.Platform) (*Scenario, error) {
	r := &reader{document: document{file: name}, data: data, s: &Scenario{File: name, Platform: on, Seed: 1}}
	if len(data) > maxFileBytes {
		r.fail(0, "", "", fmt.Sprintf("at most %d MB; this file is larger", maxFileBytes>>20))
		return nil, r.err
	}
	r.scenario()
	if r.err != nil {
		return nil, r.err
	}
	if r.s.Name == "" {
		base := filepath.Base(name)
		r.s.Name = strings.TrimSuffix(base, filepath.Ext(base))
	}
	return r.s, nil
}

func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read from
	return io.ReadAll(io.LimitReader(f, maxFileBytes+1))
}

// cause is err without the path, which the message has already.
func cause(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

// reader is a scenario while it is read.
type reader struct {
	document
	data []byte
	s    *Scenario
}

// scenario reads the top of the file. The platform comes first whatever the
// order of the fields, because the others name its clusters.
func (r *reader) scenario() {
	top := r.top(r.data)
	if top == nil {
		return
	}
	later := map[string]*yaml.Node{}
	keep := func(name string) field {
		return field{name, func(n *yaml.Node, _ string) {
			if n.Tag != "!!null" {
				later[name] = n
			}
		}}
	}
	lines := r.mapping(top, "",
		field{"name", func(n *yaml.Node, path string) { r.s.Name = r.scalar(n, path, "a name") }},
		keep("platform"),
		field{"seed", func(n *yaml.Node, path string) { r.s.Seed = uint64(r.whole(n, path, 0, 1<<53)) }},
		keep("policy"), keep("keep_free"), keep("workload"), keep("trace"),
		keep("background"), keep("failures"), keep("links"), keep("expect"),
	)
	if r.failed() {
		return
	}
	r.platform(later["platform"], after(top, "platform"), lines[""])
	for _, part := range []struct {
		name string
		read func(n *yaml.Node)
	}{
		{"policy", r.policy}, {"keep_free", r.keepFree}, {"workload", r.workload}, {"trace", r.trace},
		{"background", r.background}, {"failures", r.failures}, {"links", r.links}, {"expect", r.expect},
	} {
		if n := later[part.name]; n != nil && !r.failed() {
			part.read(n)
		}
	}
	if (later["workload"] == nil) == (later["trace"] == nil) {
		r.fail(lines[""], "workload", "", "either workload or trace, to say which jobs are run")
	}
}

func (r *reader) expect(n *yaml.Node) {
	if r.open(n).Kind != yaml.SequenceNode {
		r.s.Expect = []string{strings.TrimSpace(r.scalar(n, "expect", "a text"))}
		return
	}
	r.list(n, "expect", "texts", func(n *yaml.Node, path string) {
		r.s.Expect = append(r.s.Expect, strings.TrimSpace(r.scalar(n, path, "a text")))
	})
}

// platform reads the platform that the file names or contains. end is where
// the next field begins, nil at the end of the file.
func (r *reader) platform(n, end *yaml.Node, line int) {
	switch {
	case r.s.Platform != nil:
	case n == nil:
		r.fail(line, "platform", "", "a platform file, or a platform written out; it is missing")
	case r.open(n).Kind == yaml.MappingNode:
		p, err := platform.Parse(r.file, r.cut(r.open(n), end))
		r.adopt(err, n.Line, "platform")
		r.s.Platform = p
	default:
		r.platformFile(n)
	}
	if p := r.s.Platform; p != nil {
		for i := range p.Clusters {
			r.s.KeepFree = append(r.s.KeepFree, p.Clusters[i].KeepFree)
		}
	}
}

func (r *reader) platformFile(n *yaml.Node) {
	path := r.path(n, "platform", "a platform file, or a platform written out")
	if r.failed() {
		return
	}
	p, err := platform.Load(path)
	r.adopt(err, n.Line, "platform")
	r.s.Platform = p
}

// path is a file that is named relative to this one, and can be opened.
func (r *reader) path(n *yaml.Node, field, want string) string {
	name := r.scalar(n, field, want)
	if r.failed() {
		return ""
	}
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(r.file), path)
	}
	if _, err := os.Stat(path); err != nil || name == "" {
		bad := &badinput.Error{File: r.file, Line: n.Line, Field: field, Value: name, Want: want}
		if err != nil {
			bad.Err = cause(err)
		}
		r.err = bad
	}
	return path
}

// after is the key that follows the named one in the top mapping.
func after(top *yaml.Node, name string) *yaml.Node {
	for i := 0; i+2 < len(top.Content); i += 2 {
		if top.Content[i].Value == name {
			return top.Content[i+2]
		}
	}
	return nil
}

// cut is the text of a mapping within the file, up to where the next field
// begins, with blank lines before it so that mistakes are found in the lines
// in which they stand.
func (r *reader) cut(n, end *yaml.Node) []byte {
	lines := bytes.SplitAfter(r.data, []byte("\n"))
	last := len(lines)
	if end != nil {
		last = end.Line - 1
	}
	blank := bytes.Repeat([]byte("\n"), n.Line-1)
	if last < n.Line || !plainLines(r.data) {
		// All in one line, as in {platform: {…}, trace: {…}}, or in lines that
		// cannot be found again: written anew, which loses places in it.
		text, err := yaml.Marshal(n)
		r.adopt(err, n.Line, "platform")
		return append(blank, text...)
	}
	text := bytes.Join(lines[n.Line-1:last], nil)
	indent := min(n.Column-1, len(text))
	return slices.Concat(blank, bytes.Repeat([]byte(" "), indent), text[indent:])
}

// plainLines says whether the lines of data are what YAML takes them for, which
// knows more ends of lines than "\n" and "\r\n", and more encodings than one.
func plainLines(data []byte) bool {
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	return utf8.ValidString(text) && !strings.ContainsAny(text, "\r\u0085\u2028\u2029\ufeff")
}
