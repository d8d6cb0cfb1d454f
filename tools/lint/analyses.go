package main

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"github.com/golangci/misspell"
	"github.com/golangci/unconvert"
	"golang.org/x/tools/go/analysis"
	"honnef.co/go/tools/unused"
)

// conversions finds conversions of values to the type that they have.
var conversions = &analysis.Analyzer{
	Name: "unconvert",
	Doc:  "find conversions of values to the type that they have",
	Run: func(pass *analysis.Pass) (any, error) {
		for _, at := range unconvert.Run(pass) {
			reportAt(pass, at, "this conversion does nothing")
		}
		return nil, nil
	},
}

// spelling finds common misspellings, in comments as in messages.
var spelling = &analysis.Analyzer{
	Name: "misspell",
	Doc:  "find common misspellings",
	Run: func(pass *analysis.Pass) (any, error) {
		words := misspell.New()
		words.Compile()
		for _, f := range pass.Files {
			file := pass.Fset.File(f.Pos())
			text, err := os.ReadFile(file.Name())
			if err != nil {
				return nil, err
			}
			_, found := words.ReplaceGo(string(text))
			for _, d := range found {
				pass.Reportf(file.LineStart(d.Line)+token.Pos(d.Column), "%q is spelled %q", d.Original, d.Corrected)
			}
		}
		return nil, nil
	},
}

// unusedObjects finds what nobody in the package uses, its tests included.
var unusedObjects = &analysis.Analyzer{
	Name:     "unused",
	Doc:      "find functions, types, fields, constants and variables that nobody uses",
	Requires: []*analysis.Analyzer{unused.Analyzer.Analyzer},
	Run: func(pass *analysis.Pass) (any, error) {
		for _, o := range pass.ResultOf[unused.Analyzer.Analyzer].(unused.Result).Unused {
			// The compiler knows of the calls through a type parameter, as those of an
			// ordering by a generic heap; this analysis does not.
			if o.Kind == "func" && (strings.HasSuffix(o.Name, ".compare") || strings.HasSuffix(o.Name, ".less")) {
				continue
			}
			reportAt(pass, o.Position, o.Kind+" "+o.Name+" is unused")
		}
		return nil, nil
	},
}

// documented finds exported types and functions without a comment. Methods that fulfil an
// interface are documented there.
var documented = &analysis.Analyzer{
	Name: "documented",
	Doc:  "find exported types and functions that do not say what they are for",
	Run: func(pass *analysis.Pass) (any, error) {
		for _, f := range pass.Files {
			for _, decl := range f.Decls {
				switch d := decl.(type) {
				case *ast.FuncDecl:
					if d.Recv == nil && d.Name.IsExported() && d.Doc == nil {
						pass.Reportf(d.Pos(), "func %s has no comment", d.Name.Name)
					}
				case *ast.GenDecl:
					undocumentedTypes(pass, d)
				}
			}
		}
		return nil, nil
	},
}

func undocumentedTypes(pass *analysis.Pass, d *ast.GenDecl) {
	for _, spec := range d.Specs {
		t, ok := spec.(*ast.TypeSpec)
		if ok && t.Name.IsExported() && d.Doc == nil && t.Doc == nil && t.Comment == nil {
			pass.Reportf(t.Pos(), "type %s has no comment", t.Name.Name)
		}
	}
}

// reportAt reports a finding whose place is known by line and column.
func reportAt(pass *analysis.Pass, at token.Position, message string) {
	for _, f := range pass.Files {
		file := pass.Fset.File(f.Pos())
		if filepath.Base(file.Name()) == filepath.Base(at.Filename) && at.Line <= file.LineCount() {
			pass.Reportf(file.LineStart(at.Line)+token.Pos(max(at.Column-1, 0)), "%s", message)
			return
		}
	}
}
