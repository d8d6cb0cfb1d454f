package platform

import (
	"bytes"
	"path/filepath"
	"strings"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
)

// Load reads the platform file at path. What is wrong with it comes back as a
// *badinput.Error.
func Load(path string) (*Platform, error) {
	data, err := yamlfile.ReadFile(path, "a platform file", maxFileBytes)
	if err != nil {
		return nil, err
	}
	return Parse(path, data)
}

// Parse reads a platform from memory; name is the file as the user knows it.
// A text that begins with "<" is SimGrid XML, any other is YAML.
func Parse(name string, data []byte) (*Platform, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("<")) {
		r := &report{file: name}
		p := parseSimGrid(r, data)
		if r.err != nil {
			return nil, r.err
		}
		return p.defaultName(name), nil
	}
	top, err := yamlfile.Parse(name, "a platform description", data)
	if err != nil {
		return nil, err
	}
	return FromYAML(top)
}

// defaultName gives a platform that does not say its name that of its file.
func (p *Platform) defaultName(file string) *Platform {
	if p.Name == "" {
		base := filepath.Base(file)
		p.Name = strings.TrimSuffix(base, filepath.Ext(base))
	}
	return p
}

// A report keeps the first thing that is wrong with an XML file. Readers go on
// with zero values after it, so that they need not look back after every
// attribute; loops ask failed.
type report struct {
	file string
	err  error
}

func (r *report) failAt(line int, field, value, want string) {
	if r.err == nil {
		r.err = &badinput.Error{File: r.file, Line: line, Field: field, Value: value, Want: want}
	}
}

func (r *report) hasFailed() bool { return r.err != nil }
