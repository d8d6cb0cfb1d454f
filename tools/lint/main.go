// Lint is the linter of Godwit: a few analyses, each for a reason, run by the go command
// (go vet -vettool), which knows what has changed. It is a program of ours so that nothing
// has to be compiled that is not used. Rules on the architecture (purity, directions of
// imports, sizes) are tests in internal/archtest.
package main

import (
	"strings"

	"codeberg.org/polyfloyd/go-errorlint/errorlint"
	"github.com/gordonklaus/ineffassign/pkg/ineffassign"
	"github.com/gostaticanalysis/nilerr"
	"github.com/kisielk/errcheck/errcheck"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/unitchecker"
	"honnef.co/go/tools/analysis/lint"
	"honnef.co/go/tools/simple"
	"honnef.co/go/tools/staticcheck"
	"honnef.co/go/tools/stylecheck"
)

func main() {
	errcheck.DefaultExcludedSymbols = append(errcheck.DefaultExcludedSymbols, droppable...)
	analyzers := []*analysis.Analyzer{
		withExceptions(outsideTests(errcheck.Analyzer)), // a dropped error is a lost decision
		withExceptions(errorlint.NewAnalyzer()),         // errors are wrapped with %w, compared with errors.Is and errors.As
		withExceptions(ineffassign.Analyzer),            // a value that nobody reads is usually the wrong variable
		withExceptions(nilerr.Analyzer),                 // returning nil after a failed call
		withExceptions(conversions),                     // a conversion that does nothing hides the ones that do
		withExceptions(spelling),                        // users read our messages
		withExceptions(outsideTests(documented)),        // exported types and functions say what they are for
		withExceptions(unusedObjects),                   // code that nobody calls
	}
	for _, checks := range [][]*lint.Analyzer{staticcheck.Analyzers, simple.Analyzers, stylecheck.Analyzers} {
		for _, a := range checks {
			if !notOurs[a.Analyzer.Name] {
				analyzers = append(analyzers, withExceptions(a.Analyzer))
			}
		}
	}
	analyzers = append(analyzers, vetAnalyses...)
	checks := map[string]bool{}
	for _, a := range analyzers {
		checks[a.Name] = true
	}
	unitchecker.Main(append(analyzers, checkExceptions(checks))...)
}

// The checks of staticcheck that are left out: package comments are archtest's, and the
// form of comments is a matter of taste.
var notOurs = map[string]bool{"ST1000": true, "ST1020": true, "ST1021": true, "ST1022": true}

// Errors that may be dropped.
var droppable = []string{
	// Writers that keep their first error and return it at Flush or Close.
	"fmt.Fprint(*bufio.Writer)", "fmt.Fprintf(*bufio.Writer)", "fmt.Fprintln(*bufio.Writer)",
	"(*bufio.Writer).WriteString", "(*bufio.Writer).WriteByte", "(*bufio.Writer).Write",
	"fmt.Fprint(*text/tabwriter.Writer)", "fmt.Fprintf(*text/tabwriter.Writer)", "fmt.Fprintln(*text/tabwriter.Writer)",
	// A file opened for reading: nothing is lost when closing it fails.
	"(*compress/gzip.Reader).Close",
}

// outsideTests leaves tests alone: they may ignore what they do not test.
func outsideTests(a *analysis.Analyzer) *analysis.Analyzer {
	return filterFindings(a, func(pass *analysis.Pass, d analysis.Diagnostic) bool {
		return !strings.HasSuffix(pass.Fset.Position(d.Pos).Filename, "_test.go")
	})
}

// filterFindings reports only those findings of an analysis that keep says.
func filterFindings(a *analysis.Analyzer, keep func(*analysis.Pass, analysis.Diagnostic) bool) *analysis.Analyzer {
	b := *a
	b.Run = func(pass *analysis.Pass) (any, error) {
		inner := *pass
		inner.Report = func(d analysis.Diagnostic) {
			if keep(pass, d) {
				pass.Report(d)
			}
		}
		return a.Run(&inner)
	}
	return &b
}
