package archtest

import (
	"go/ast"
	"go/token"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxColumns is how wide a line may be, tabs counted as one column. Lines with a long text in
// quotes may be wider, since a text that is cut is not found by who looks for it, and so may
// tables in comments.
const (
	maxColumns  = 120
	longLiteral = 60
)

func checkWidth(tr *tree, p *pkg, c *complaints) {
	for _, file := range p.files {
		if ast.IsGenerated(file) {
			continue
		}
		at := tr.fset.File(file.FileStart)
		text, err := os.ReadFile(at.Name())
		if err != nil {
			c.add(file.Package, "its lines cannot be counted", "%v", err)
			continue
		}
		exempt := linesWithLongTexts(tr.fset, file)
		for i, line := range strings.Split(string(text), "\n") {
			if n := utf8.RuneCountInString(line); n > maxColumns && !exempt[i+1] && !strings.HasPrefix(line, "//\t") {
				c.add(at.LineStart(i+1), "break it after a comma or an operator", "the line has %d columns, more than %d", n,
					maxColumns)
			}
		}
	}
}

// linesWithLongTexts are the lines of raw strings, and of others that are long themselves.
func linesWithLongTexts(fset *token.FileSet, file *ast.File) map[int]bool {
	lines := map[int]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			from, to := fset.Position(lit.Pos()).Line, fset.Position(lit.End()).Line
			for line := from; (from != to || len(lit.Value) > longLiteral) && line <= to; line++ {
				lines[line] = true
			}
		}
		return true
	})
	return lines
}

func TestLinesAreNoWiderThanAScreen(t *testing.T) {
	tr := mustLoad(t)
	report(t, tr, apply(tr, checkWidth, tr.pkgs...))
}
