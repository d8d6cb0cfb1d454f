package platform

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"io"
	"slices"
	"sort"
	"strings"
)

// maxDepth bounds how deep elements nest; zones are walked recursively.
const maxDepth = 100

// An element of the XML file, with the line it begins in.
type element struct {
	name     string
	line     int
	attrs    map[string]string
	children []*element
}

// An xmlFile reports the first mistake, and counts what it leaves out.
type xmlFile struct {
	*report
	left map[string]int
}

// readTree reads the whole file. The document type is skipped unread: nothing is
// fetched, and no entities but XML's own five are known.
func (x *xmlFile) readTree(data []byte) *element {
	dec := xml.NewDecoder(bytes.NewReader(data))
	dec.CharsetReader = func(charset string, _ io.Reader) (io.Reader, error) {
		return nil, fmt.Errorf("the file says that it is in %s", charset)
	}
	var open []*element
	var root *element
	for {
		line, _ := dec.InputPos() // where the next token begins
		token, err := dec.Token()
		if err != nil {
			x.reportSyntax(err, line, root)
			return root
		}
		switch t := token.(type) {
		case xml.StartElement:
			e := &element{name: t.Name.Local, line: line, attrs: x.readAttributes(t, line)}
			switch {
			case len(open) > 0:
				top := open[len(open)-1]
				top.children = append(top.children, e)
			case root == nil:
				root = e
			default:
				x.failAt(line, "<"+e.name+">", "", "one <platform>; the file goes on after its end")
			}
			if open = append(open, e); len(open) > maxDepth {
				x.failAt(line, "<"+e.name+">", "", fmt.Sprintf("elements nested at most %d deep", maxDepth))
			}
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if text := strings.TrimSpace(string(t)); text != "" && !inTrace(open) {
				x.failAt(line, "", text, "elements only; this text belongs to none")
			}
		}
		if x.hasFailed() {
			return nil
		}
	}
}

// inTrace tells the one element that may hold text.
func inTrace(open []*element) bool {
	return len(open) > 0 && open[len(open)-1].name == "trace"
}

func (x *xmlFile) reportSyntax(err error, line int, root *element) {
	var bad *xml.SyntaxError
	switch {
	case errors.Is(err, io.EOF) && root != nil: // the end
	case errors.Is(err, io.EOF):
		x.failAt(0, "", "", "a <platform>; the file has no elements")
	case errors.As(err, &bad):
		x.failAt(bad.Line, "", "", "valid XML ("+bad.Msg+")")
	default:
		x.failAt(line, "", "", "valid XML in UTF-8 ("+strings.TrimPrefix(err.Error(), "xml: ")+")")
	}
}

func (x *xmlFile) readAttributes(t xml.StartElement, line int) map[string]string {
	attrs := make(map[string]string, len(t.Attr))
	for _, a := range t.Attr {
		if _, ok := attrs[a.Name.Local]; ok {
			x.failAt(line, attributeName(t.Name.Local, a.Name.Local), a.Value, "each attribute once")
		}
		attrs[a.Name.Local] = a.Value
	}
	return attrs
}

func attributeName(element, name string) string { return "<" + element + "> " + name }

// checkAttributes fails on attributes that are not known, and on required ones that are
// missing; those are marked by an exclamation mark, as in "id!".
func (x *xmlFile) checkAttributes(e *element, known ...string) {
	for i, k := range known {
		name, required := strings.CutSuffix(k, "!")
		known[i] = name
		if _, ok := e.attrs[name]; required && !ok {
			x.failAt(e.line, attributeName(e.name, name), "", "a value; the attribute is missing")
		}
	}
	var extra []string
	for a := range e.attrs {
		if !slices.Contains(known, a) {
			extra = append(extra, a)
		}
	}
	sort.Strings(extra)
	for _, a := range extra {
		x.failAt(e.line, attributeName(e.name, a), "", badinput.UnknownName("attribute", a, known))
	}
}

// reportValue reports the value of an attribute.
func (x *xmlFile) reportValue(e *element, attr, want string) {
	x.failAt(e.line, attributeName(e.name, attr), e.attrs[attr], want)
}

// ignoreElement notes that something is not imported.
func (x *xmlFile) ignoreElement(what string) {
	if x.left == nil {
		x.left = map[string]int{}
	}
	x.left[what]++
}

// ignoreAttr notes attributes that have no equivalent here.
func (x *xmlFile) ignoreAttr(e *element, why string, attrs ...string) {
	for _, a := range attrs {
		if e.attrs[a] != "" {
			x.ignoreElement(fmt.Sprintf("%s is not imported: %s", attributeName(e.name, a), why))
		}
	}
}

// ignoredNotes is what was left out, one line each.
func (x *xmlFile) ignoredNotes() []string {
	var lines []string
	for what, n := range x.left {
		if n > 1 {
			what = fmt.Sprintf("%s (%d times)", what, n)
		}
		lines = append(lines, what)
	}
	sort.Strings(lines)
	return lines
}
