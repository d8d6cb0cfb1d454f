package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// handled says which files together must have a case for every constant of an
// enumeration of core, so that one that is new is not dropped in silence.
var handled = []struct {
	kind   string // the type in internal/sched/core
	files  string // a pattern
	except string // constants that need no case
}{
	{"CommandKind", "internal/live/broker/dispatch.go", ""},
	// seen to before; nothing is found out about simulated jobs meanwhile; simulated managers give nobody more
	{"CommandKind", "internal/sim/carry.go", "Release Describe Acquire"},
	{"InputKind", "internal/sched/engine/[erv]*.go", ""},
	{"EventKind", "internal/sched/world/apply.go", ""},
}

func TestEveryMessageOfTheCoreIsHandled(t *testing.T) {
	for _, h := range handled {
		cases := casesOf(t, h.files)
		for _, name := range constantsOf(t, h.kind) {
			if !cases[name] && !strings.Contains(" "+h.except+" ", " "+name+" ") {
				t.Errorf("%s: no case for core.%s", h.files, name)
			}
		}
	}
}

// unproduced is the inputs that the live broker never gives, and why.
var unproduced = map[string]string{
	"StopJob":   "a user migrates a job instead; simulations and tests stop one",
	"HostsDown": "a host that is out of reach may come back, and what runs there may still run",
	"HostsUp":   "likewise",
}

func TestEveryInputOfTheCoreIsGivenByTheLiveBroker(t *testing.T) {
	given := map[string]bool{}
	for _, f := range parseFiles(t, "internal/live/broker/*.go") {
		ast.Inspect(f, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "core" {
					given[sel.Sel.Name] = true
				}
			}
			return true
		})
	}
	for _, name := range constantsOf(t, "InputKind") {
		if given[name] == (unproduced[name] != "") {
			t.Errorf("core.%s: given by the broker: %v; said not to be because: %q", name, given[name], unproduced[name])
		}
	}
}

// constantsOf lists the constants of an enumeration of core.
func constantsOf(t *testing.T, kind string) []string {
	var names []string
	for _, f := range parseFiles(t, "internal/sched/core/*.go") {
		ast.Inspect(f, func(n ast.Node) bool {
			block, ok := n.(*ast.GenDecl)
			if !ok || block.Tok != token.CONST || len(block.Specs) == 0 {
				return true
			}
			first := block.Specs[0].(*ast.ValueSpec)
			if is, ok := first.Type.(*ast.Ident); !ok || is.Name != kind {
				return true
			}
			for _, spec := range block.Specs {
				for _, name := range spec.(*ast.ValueSpec).Names {
					if name.Name != "_" {
						names = append(names, name.Name)
					}
				}
			}
			return true
		})
	}
	if len(names) < 3 {
		t.Fatalf("core has %d constants of %s", len(names), kind)
	}
	return names
}

// casesOf is what the cases of switches name of core.
func casesOf(t *testing.T, pattern string) map[string]bool {
	cases := map[string]bool{}
	for _, f := range parseFiles(t, pattern) {
		ast.Inspect(f, func(n ast.Node) bool {
			if c, ok := n.(*ast.CaseClause); ok {
				for _, expr := range c.List {
					if sel, ok := expr.(*ast.SelectorExpr); ok {
						cases[sel.Sel.Name] = true
					}
				}
			}
			return true
		})
	}
	return cases
}

func parseFiles(t *testing.T, pattern string) []*ast.File {
	paths, err := filepath.Glob(filepath.Join("../..", pattern))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no file is called %s: %v", pattern, err)
	}
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}
