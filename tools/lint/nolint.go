package main

import (
	"go/ast"
	"go/token"
	"regexp"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// An exception stands at the end of the line it is for, names its check and gives a reason:
//
//	defer f.Close() //nolint:errcheck // read only
var exception = regexp.MustCompile(`^//nolint:([A-Za-z0-9,]+) // \S`)

// checkExceptions finds those that name none of the checks, or give no reason.
func checkExceptions(checks map[string]bool) *analysis.Analyzer {
	return &analysis.Analyzer{
		Name: "nolint",
		Doc:  "find exceptions that name none of these checks, or give no reason",
		Run: func(pass *analysis.Pass) (any, error) {
			eachComment(pass.Files, func(c *ast.Comment) {
				m := exception.FindStringSubmatch(c.Text)
				if strings.HasPrefix(c.Text, "//nolint") && (m == nil || !allOf(checks, m[1])) {
					pass.Reportf(c.Pos(), "an exception names its check and its reason: //nolint:errcheck // why")
				}
			})
			return nil, nil
		},
	}
}

func allOf(checks map[string]bool, names string) bool {
	for name := range strings.SplitSeq(names, ",") {
		if !checks[name] {
			return false
		}
	}
	return true
}

// withExceptions leaves out the findings on lines that are an exception from the analysis.
func withExceptions(a *analysis.Analyzer) *analysis.Analyzer {
	return filterFindings(a, func(pass *analysis.Pass, d analysis.Diagnostic) bool {
		at := pass.Fset.Position(d.Pos)
		found := false
		eachComment(fileOf(pass, d.Pos), func(c *ast.Comment) {
			m := exception.FindStringSubmatch(c.Text)
			if m == nil || pass.Fset.Position(c.Pos()).Line != at.Line {
				return
			}
			for name := range strings.SplitSeq(m[1], ",") {
				found = found || name == a.Name
			}
		})
		return !found
	})
}

func fileOf(pass *analysis.Pass, pos token.Pos) []*ast.File {
	for _, f := range pass.Files {
		if f.FileStart <= pos && pos < f.FileEnd {
			return []*ast.File{f}
		}
	}
	return nil
}

func eachComment(files []*ast.File, do func(*ast.Comment)) {
	for _, f := range files {
		for _, group := range f.Comments {
			for _, c := range group.List {
				do(c)
			}
		}
	}
}
