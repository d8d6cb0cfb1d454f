package archtest

import (
	"go/ast"
	"path"
	"slices"
	"strings"
)

// Sizes above which a file or a function outside tests is no longer one
// thing. Tests are left out: a table of cases is long and easy.
const (
	maxFileLines = 600
	maxFuncLines = 100
)

// nameless are package names that say nothing, so everything ends up there.
var nameless = []string{"util", "utils", "common", "helper", "helpers", "types", "misc", "base", "shared", "lib"}

func checkNames(tr *tree, p *pkg, c *complaints) {
	for _, name := range []string{p.name, path.Base(p.rel)} {
		if slices.Contains(nameless, name) {
			c.add(p.files[0].Package, "a package is named after what it holds, this name would fit anything", "package %s", name)
			return
		}
	}
}

// checkDocs wants one doc comment a package, in the form that go doc expects.
func checkDocs(tr *tree, p *pkg, c *complaints) {
	want := "Package " + p.name + " "
	if p.name == "main" {
		want = "Command "
	}
	for _, file := range p.files {
		if file.Doc != nil && strings.HasPrefix(strings.ReplaceAll(file.Doc.Text(), "\n", " "), want) {
			return
		}
	}
	c.add(p.files[0].Package, "it tells a newcomer what the package decides and what it must not know",
		"package %s has no doc comment that begins %q", p.name, want+"…")
}

// checkSizes leaves generated files alone: nobody reads them.
func checkSizes(tr *tree, p *pkg, c *complaints) {
	for _, file := range p.files {
		if ast.IsGenerated(file) {
			continue
		}
		if n := tr.fset.File(file.FileStart).LineCount(); n > maxFileLines {
			c.add(file.Package, "a file is one thing or one verb: split it", "the file has %d lines, more than %d", n,
				maxFileLines)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch f := n.(type) {
			case *ast.FuncDecl:
				checkFunc(tr, f, "func "+f.Name.Name, c)
			case *ast.FuncLit:
				checkFunc(tr, f, "a function literal", c)
			}
			return true
		})
	}
}

func checkFunc(tr *tree, f ast.Node, what string, c *complaints) {
	lines := tr.fset.Position(f.End()).Line - tr.fset.Position(f.Pos()).Line + 1
	if lines > maxFuncLines {
		c.add(f.Pos(), "a reader holds one screen in mind: split it", "%s has %d lines, more than %d", what, lines,
			maxFuncLines)
	}
}
