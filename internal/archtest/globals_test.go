package archtest

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

const (
	whyGlobal = "a pure package has no state of its own: make it a constant, a field, an error value, or a table " +
		"written as a literal"
	whyWritten = "a table at package level is written once, in its declaration: everybody shares it"
)

// checkGlobals complains about package-level variables that are, or can
// become, state.
func checkGlobals(tr *tree, p *pkg, c *complaints) {
	for _, file := range p.files {
		for _, decl := range file.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok || gen.Tok != token.VAR {
				continue
			}
			for _, spec := range gen.Specs {
				checkVarSpec(p, spec.(*ast.ValueSpec), c)
			}
		}
		checkWrites(p, file, c)
	}
}

func checkVarSpec(p *pkg, spec *ast.ValueSpec, c *complaints) {
	for i, name := range spec.Names {
		if name.Name == "_" {
			continue // var _ Interface = Type{}
		}
		if len(spec.Values) != len(spec.Names) || !constantLike(p, name, spec.Values[i]) {
			c.add(name.Pos(), whyGlobal, "declares the variable %s", name.Name)
		}
	}
}

// constantLike reports whether a variable is what Go cannot declare as a
// constant: an error value or a table.
func constantLike(p *pkg, name *ast.Ident, value ast.Expr) bool {
	switch v := value.(type) {
	case *ast.CompositeLit:
		return true
	case *ast.CallExpr:
		path, fun := callee(p, v)
		isErr := path == "errors" && fun == "New" || path == "fmt" && fun == "Errorf"
		return isErr && strings.HasPrefix(strings.ToLower(name.Name), "err")
	}
	return false
}

// checkWrites complains about everything that changes a package-level
// variable, of this package or of another: assignment to it or into it,
// taking its address, delete and clear, methods with a pointer receiver.
func checkWrites(p *pkg, file *ast.File, c *complaints) {
	written := func(e ast.Expr, how string) {
		if v := rootVariable(p, e); v != nil {
			c.add(e.Pos(), whyWritten, "%s the package variable %s", how, v.Name())
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, lhs := range n.Lhs {
				written(lhs, "assigns to")
			}
		case *ast.IncDecStmt:
			written(n.X, "assigns to")
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				written(n.Key, "assigns to")
				written(n.Value, "assigns to")
			}
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				written(n.X, "takes the address of")
			}
		case *ast.CallExpr:
			if id, ok := n.Fun.(*ast.Ident); ok && len(n.Args) > 0 && changesArgument(p, id) {
				written(n.Args[0], "calls "+id.Name+" on")
			}
		case *ast.SelectorExpr:
			if pointerMethod(p, n) {
				written(n.X, "calls "+n.Sel.Name+" on the address of")
			}
		}
		return true
	})
}

// rootVariable is the package-level variable that e reaches into: x for
// x[i].f; nil if there is none or a pointer lies between.
func rootVariable(p *pkg, e ast.Expr) *types.Var {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return rootVariable(p, e.X)
	case *ast.IndexExpr:
		return rootVariable(p, e.X)
	case *ast.SelectorExpr:
		if v := packageVariable(p, e.Sel); v != nil {
			return v
		}
		return rootVariable(p, e.X)
	case *ast.Ident:
		return packageVariable(p, e)
	}
	return nil
}

func packageVariable(p *pkg, id *ast.Ident) *types.Var {
	v, ok := p.info.Uses[id].(*types.Var)
	if !ok || v.IsField() || v.Pkg() == nil || v.Parent() != v.Pkg().Scope() {
		return nil
	}
	return v
}

// changesArgument reports whether id is a built-in that changes what it is
// given.
func changesArgument(p *pkg, id *ast.Ident) bool {
	b, ok := p.info.Uses[id].(*types.Builtin)
	return ok && (b.Name() == "delete" || b.Name() == "clear" || b.Name() == "copy")
}

// pointerMethod reports whether sel calls a method on the address of what
// stands before the dot.
func pointerMethod(p *pkg, sel *ast.SelectorExpr) bool {
	s := p.info.Selections[sel]
	if s == nil || s.Kind() != types.MethodVal {
		return false
	}
	recv := s.Obj().(*types.Func).Signature().Recv().Type()
	_, takesPointer := recv.(*types.Pointer)
	_, hasPointer := s.Recv().(*types.Pointer)
	return takesPointer && !hasPointer
}
