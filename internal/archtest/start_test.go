package archtest

import (
	"go/ast"
	"go/token"
)

const whyLate = "every agent is a start of the whole program, so nothing is compiled before main begins: " +
	"do it at first use, as with sync.OnceValue"

// slowToMake are the calls that take long enough to matter at every start, by
// package.
var slowToMake = map[string][]string{
	"regexp":        {"MustCompile", "MustCompilePOSIX"},
	"text/template": {"Must"},
	"html/template": {"Must"},
}

// checkStart complains about package-level variables that take long to make.
func checkStart(tr *tree, p *pkg, c *complaints) {
	for _, file := range p.files {
		for _, decl := range file.Decls {
			if gen, ok := decl.(*ast.GenDecl); ok && gen.Tok == token.VAR {
				ast.Inspect(gen, func(n ast.Node) bool { return checkMaking(p, n, c) })
			}
		}
	}
}

// checkMaking looks at one node, and says whether what is inside it is done
// before main: the body of a function is not.
func checkMaking(p *pkg, n ast.Node, c *complaints) bool {
	switch n := n.(type) {
	case *ast.FuncLit:
		return false
	case *ast.CallExpr:
		path, fun := callee(p, n)
		for _, slow := range slowToMake[path] {
			if fun == slow {
				c.add(n.Pos(), whyLate, "calls %s.%s for a package variable", path, fun)
			}
		}
	}
	return true
}
