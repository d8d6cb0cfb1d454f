package archtest

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
)

const whyOrder = "Go walks a map in random order and the same input must give the same output: sort the keys, keep a " +
	"slice beside the map, or say on this line or the one above why it cannot matter: // order-free: reason"

// orderFree is the comment that lets a loop over a map pass; the reason is
// part of it.
var orderFree = regexp.MustCompile(`(?m)^//\s*order-free:\s*\S`)

// checkMapOrder complains about loops over maps, and about the iterators of
// package maps unless they go straight into a sort.
func checkMapOrder(tr *tree, p *pkg, c *complaints) {
	for _, file := range p.files {
		excused := excusedLines(tr.fset, file)
		sorted := sortedIterators(p, file)
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.RangeStmt:
				if isMap(p.info.TypeOf(n.X)) && !excused[tr.fset.Position(n.Pos()).Line] {
					c.add(n.Pos(), whyOrder, "ranges over the map %s", types.ExprString(n.X))
				}
			case *ast.CallExpr:
				if name := mapIterator(p, n); name != "" && !sorted[n] && !excused[tr.fset.Position(n.Pos()).Line] {
					c.add(n.Pos(), whyOrder, "takes maps.%s without sorting", name)
				}
			}
			return true
		})
	}
}

// excusedLines are the lines with an order-free comment and those below one.
func excusedLines(fset *token.FileSet, file *ast.File) map[int]bool {
	lines := map[int]bool{}
	for _, group := range file.Comments {
		for _, comment := range group.List {
			if orderFree.MatchString(comment.Text) {
				lines[fset.Position(comment.Pos()).Line] = true
				// The reason may take more than one line.
				lines[fset.Position(group.End()).Line+1] = true
			}
		}
	}
	return lines
}

// sortedIterators are the calls of maps.Keys that are the argument of a sort.
// Values can be equal in a sort by key, so only keys are safe this way.
func sortedIterators(p *pkg, file *ast.File) map[*ast.CallExpr]bool {
	calls := map[*ast.CallExpr]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		if path, name := callee(p, call); path != "slices" || name != "Sorted" {
			return true
		}
		if inner, ok := call.Args[0].(*ast.CallExpr); ok {
			calls[inner] = true
		}
		return true
	})
	return calls
}

// mapIterator is the name of the function of package maps that call calls, if
// it yields in map order.
func mapIterator(p *pkg, call *ast.CallExpr) string {
	path, name := callee(p, call)
	if path == "maps" && slices.Contains([]string{"All", "Keys", "Values"}, name) {
		return name
	}
	return ""
}

// callee is the package and name of the function that call calls, where it is
// one by name.
func callee(p *pkg, call *ast.CallExpr) (path, name string) {
	fun := call.Fun
	switch f := fun.(type) { // explicit type arguments
	case *ast.IndexExpr:
		fun = f.X
	case *ast.IndexListExpr:
		fun = f.X
	}
	var id *ast.Ident
	switch f := fun.(type) {
	case *ast.SelectorExpr:
		id = f.Sel
	case *ast.Ident:
		id = f
	default:
		return "", ""
	}
	if obj, ok := p.info.Uses[id].(*types.Func); ok && obj.Pkg() != nil {
		return obj.Pkg().Path(), obj.Name()
	}
	return "", ""
}

// isMap reports whether t is a map, or a type parameter that can be one.
func isMap(t types.Type) bool {
	if t == nil {
		return false
	}
	switch u := t.Underlying().(type) {
	case *types.Map:
		return true
	case *types.Interface: // the constraint of a type parameter
		for i := range u.NumEmbeddeds() {
			if embeddedMap(u.EmbeddedType(i)) {
				return true
			}
		}
	}
	return false
}

func embeddedMap(t types.Type) bool {
	union, ok := t.(*types.Union)
	if !ok {
		return isMap(t)
	}
	for i := range union.Len() {
		if isMap(union.Term(i).Type()) {
			return true
		}
	}
	return false
}
