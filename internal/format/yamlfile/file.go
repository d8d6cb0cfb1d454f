package yamlfile

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
)

// aliasBudget bounds how many values aliases may repeat: a small file could
// describe very many. Those that are written out are bounded by its size.
const aliasBudget = 100_000

// file is what the values of one file have in common.
type file struct {
	name string
	left int // values behind aliases that may still be looked at
	err  error
}

// ReadFile is the content of the file at path, which is said to be what ("a
// platform file") where it cannot be read. One of more than limit bytes is
// refused.
func ReadFile(path, what string, limit int) ([]byte, error) {
	data, err := readUpTo(path, limit+1)
	if err == nil && bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		if data, err = unpackGzip(data, limit+1); err != nil {
			return nil, &badinput.Error{File: path, Want: "a whole gzip file", Err: err}
		}
	}
	switch {
	case err != nil:
		return nil, badinput.UnreadableFile(path, err)
	case len(data) > limit:
		return nil, &badinput.Error{File: path, Problem: fmt.Sprintf("too large for %s: more than %d MB", what, limit>>20)}
	}
	return data, nil
}

// unpackGzip is what a gzip file holds, up to n bytes.
func unpackGzip(data []byte, n int) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(z, int64(n)))
}

func readUpTo(path string, n int) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read from
	return io.ReadAll(io.LimitReader(f, int64(n)))
}

// Parse is the top of the only YAML document in data. name is the file as the
// user knows it, what it should hold ("a scenario").
func Parse(name, what string, data []byte) (Value, error) {
	top, err := parseDocument(what, data)
	if err != nil {
		err.File = name
		return Value{}, err
	}
	return Value{file: &file{name: name, left: aliasBudget}, node: top, line: top.Line}, nil
}

func parseDocument(what string, data []byte) (*yaml.Node, *badinput.Error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	empty := &badinput.Error{Problem: "the file is empty", Want: what}
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, empty
	} else if err != nil {
		return nil, syntaxError(err)
	}
	if err := dec.Decode(&second); err == nil {
		return nil, &badinput.Error{Line: second.Line, Problem: "a second YAML document begins here", Want: "one"}
	} else if !errors.Is(err, io.EOF) {
		return nil, syntaxError(err)
	}
	if len(doc.Content) == 0 || doc.Content[0].Tag == nullTag {
		return nil, empty
	}
	if knot := findEndlessAlias(&doc, map[*yaml.Node]bool{}); knot != nil {
		return nil, &badinput.Error{Line: knot.Line, Value: "*" + knot.Value,
			Want: "an alias of a value that does not contain it"}
	}
	return doc.Content[0], nil
}

// findEndlessAlias finds an alias that stands within what it names. open are the values
// around n.
func findEndlessAlias(n *yaml.Node, open map[*yaml.Node]bool) *yaml.Node {
	if n.Kind == yaml.AliasNode && open[n.Alias] {
		return n
	}
	if len(n.Content) == 0 {
		return nil
	}
	open[n] = true
	defer delete(open, n)
	for _, c := range n.Content {
		if knot := findEndlessAlias(c, open); knot != nil {
			return knot
		}
	}
	return nil
}

var yamlError = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^yaml: (?:line (\d+): )?(?s:(.*))$`)
})

// syntaxError is what the YAML package says, with its line where ours belongs.
func syntaxError(err error) *badinput.Error {
	line, text := 0, err.Error()
	if m := yamlError().FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = m[2]
	}
	return &badinput.Error{Line: line, Problem: "not valid YAML: " + strings.Join(strings.Fields(text), " ")}
}
