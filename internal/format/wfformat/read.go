package wfformat

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
)

// document is the part of a file that is read. Pointers tell what is missing
// from what is zero.
type document struct {
	Name     string      `json:"name"`
	Version  json.Number `json:"schemaVersion"`
	Workflow *struct {
		Specification *specification `json:"specification"`
		Execution     *execution     `json:"execution"`
	} `json:"workflow"`
}

type specification struct {
	Tasks []taskSpec `json:"tasks"`
	Files []fileSpec `json:"files"`
}

type taskSpec struct {
	ID       string   `json:"id"`
	Parents  []string `json:"parents"`
	Children []string `json:"children"`
	Inputs   []string `json:"inputFiles"`
	Outputs  []string `json:"outputFiles"`
}

type fileSpec struct {
	ID    string      `json:"id"`
	Bytes json.Number `json:"sizeInBytes"`
}

type execution struct {
	Tasks []taskRun `json:"tasks"`
}

type taskRun struct {
	ID      string      `json:"id"`
	Seconds json.Number `json:"runtimeInSeconds"`
	Memory  json.Number `json:"memoryInBytes"`
	Cores   json.Number `json:"coreCount"`
	Command command     `json:"command"`
}

type command struct {
	Program   string   `json:"program"`
	Arguments []string `json:"arguments"`
}

// UnmarshalJSON leaves out what is written in another way: only who runs the
// workflow needs it, and is told then.
func (c *command) UnmarshalJSON(data []byte) error {
	type plain command
	var p plain
	if json.Unmarshal(data, &p) == nil {
		*c = command(p)
	}
	return nil
}

// Load reads the workflow at path. What is wrong with it comes back as a
// *badinput.Error that names the file and, where there is one, the task.
func Load(path string) (*Workflow, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, unreadableFile(path, err)
	}
	defer func() { _ = f.Close() }() // only read from
	return Read(path, f)
}

func unreadableFile(path string, err error) error {
	return badinput.UnreadableFile(path, err)
}

// Read reads a workflow, plain or gzip; name is the file as the user knows it.
func Read(name string, r io.Reader) (*Workflow, error) {
	in, err := unpackReader(r)
	if err != nil {
		return nil, damagedFile(name, err)
	}
	limited := &io.LimitedReader{R: in, N: maxFile + 1}
	dec := json.NewDecoder(limited)
	var doc document
	if err := dec.Decode(&doc); err != nil {
		return nil, decodeProblem(name, err, limited)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		if err == nil || isSyntax(err) {
			return nil, &badinput.Error{File: name, Want: "one JSON object; more follows after it"}
		}
		return nil, decodeProblem(name, err, limited)
	}
	return buildWorkflow(name, &doc)
}

// unpackReader looks at the first bytes for the mark of gzip.
func unpackReader(r io.Reader) (io.Reader, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	mark, err := in.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if bytes.Equal(mark, []byte{0x1f, 0x8b}) {
		return gzip.NewReader(in)
	}
	return in, nil
}

func isSyntax(err error) bool {
	var syntax *json.SyntaxError
	return errors.As(err, &syntax)
}

// decodeProblem says why the JSON could not be read.
func decodeProblem(name string, err error, limited *io.LimitedReader) error {
	var kind *json.UnmarshalTypeError
	switch {
	case limited.N <= 0:
		return &badinput.Error{File: name, Want: fmt.Sprintf("at most %d MB of JSON; this file is larger", maxFile>>20)}
	case errors.As(err, &kind):
		return &badinput.Error{File: name, Field: kind.Field, Value: kind.Value, Problem: "WfFormat " + Version +
			" has another type here"}
	case isSyntax(err):
		return &badinput.Error{File: name, Want: "valid JSON", Err: err}
	case errors.Is(err, io.EOF):
		return &badinput.Error{File: name, Want: "a workflow in WfFormat " + Version + "; the file is empty"}
	}
	return damagedFile(name, err)
}

// damagedFile says that a file ends too early or was changed on its way.
func damagedFile(name string, err error) error {
	var corrupt flate.CorruptInputError
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, gzip.ErrHeader) ||
		errors.Is(err, gzip.ErrChecksum) || errors.As(err, &corrupt) {
		return &badinput.Error{File: name, Want: "a complete workflow file; this one is cut off or damaged", Err: err}
	}
	return unreadableFile(name, err)
}
