package platform

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/godwit-hpc/godwit/internal/badinput"
)

// Load reads the platform file at path. What is wrong with it comes back as a
// *badinput.Error.
func Load(path string) (*Platform, error) {
	data, err := read(path)
	if err != nil {
		var pathErr *fs.PathError
		if errors.As(err, &pathErr) {
			err = pathErr.Err // the path is in the message already
		}
		return nil, &badinput.Error{File: path, Want: "a platform file that can be read", Err: err}
	}
	return Parse(path, data)
}

func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, maxFileBytes+1))
}

// Parse reads a platform from memory; name is the file as the user knows it.
// A text that begins with "<" is SimGrid XML, any other is YAML.
func Parse(name string, data []byte) (*Platform, error) {
	r := &report{file: name}
	if len(data) > maxFileBytes {
		r.fail(0, "", "", fmt.Sprintf("at most %d MB; this file is larger", maxFileBytes>>20))
		return nil, r.err
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	text := bytes.TrimSpace(data)
	if len(text) == 0 {
		r.fail(0, "", "", "a platform description; the file is empty")
		return nil, r.err
	}
	var p *Platform
	if text[0] == '<' {
		p = parseSimGrid(r, data)
	} else {
		p = parseYAML(r, data)
	}
	if r.err != nil {
		return nil, r.err
	}
	if p.Name == "" {
		base := filepath.Base(name)
		p.Name = strings.TrimSuffix(base, filepath.Ext(base))
	}
	return p, nil
}

// A report keeps the first thing that is wrong with a file. Readers go on with
// zero values after it, so that they need not look back after every field;
// loops ask failed.
type report struct {
	file string
	err  error
}

func (r *report) fail(line int, field, value, want string) {
	if r.err == nil {
		r.err = &badinput.Error{File: r.file, Line: line, Field: field, Value: value, Want: want}
	}
}

func (r *report) failed() bool { return r.err != nil }
