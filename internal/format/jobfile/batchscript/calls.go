package batchscript

import (
	"bytes"
	"path"
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

func runsShell(with []string) bool {
	shells := []string{"sh", "bash", "dash", "ksh", "zsh"}
	return slices.ContainsFunc(with, func(w string) bool { return slices.Contains(shells, path.Base(w)) })
}

// FindCalls finds the lines on which programs are first called in a shell script that the
// script neither defines nor looks for. One that no shell runs, or understands, has none.
func FindCalls(name string, data []byte, names ...string) map[string]int {
	if with := FindInterpreter(data); bytes.HasPrefix(data, []byte("#!")) && !runsShell(with) {
		return nil
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(bytes.NewReader(data), name)
	if err != nil {
		return nil // the shell will say so
	}
	calls, own := map[string]int{}, map[string]bool{}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.FuncDecl:
			if n.Name != nil {
				own[n.Name.Value] = true
			}
		case *syntax.CallExpr:
			if len(n.Args) == 0 {
				return true
			}
			called := n.Args[0].Lit()
			switch called {
			case "command", "type", "which", "hash": // it looks whether they are there
				for _, w := range n.Args[1:] {
					own[w.Lit()] = true
				}
			case "exec", "time", "nohup":
				if len(n.Args) > 1 {
					called = n.Args[1].Lit()
				}
			}
			if slices.Contains(names, called) && calls[called] == 0 {
				calls[called] = int(n.Pos().Line())
			}
		}
		return true
	})
	for name := range own { // order-free: each is deleted
		delete(calls, name)
	}
	return calls
}
