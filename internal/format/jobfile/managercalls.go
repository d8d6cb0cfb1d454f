package jobfile

import (
	"bytes"
	"fmt"
	"path"
	"path/filepath"
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// callOf is the first call of a program in a script: 0 if there is none.
type callOf map[string]int

// managerCalls says where a script calls srun and module, which are not there on every
// cluster. One that it defines itself, or looks for before, is its own business.
func (d *draft) managerCalls(name string, data []byte) {
	if with := scriptInterpreter(data); bytes.HasPrefix(data, []byte("#!")) && !runsShell(with) {
		return
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(bytes.NewReader(data), name)
	if err != nil {
		return // the shell will say so
	}
	calls := findCalls(file, "srun", "module")
	if n := calls["srun"]; n > 0 {
		d.Manager.Srun = fmt.Sprintf("%s:%d", filepath.Base(name), n)
		d.warnings = append(d.warnings,
			Warning{name, n, "srun", "works in Slurm jobs only: the job runs on Slurm clusters, unless --on names others"})
	}
	if n := calls["module"]; n > 0 {
		d.warnings = append(d.warnings,
			Warning{name, n, "module", "needs environment modules on the cluster where the job runs; --on names clusters that " +
				"have them"})
	}
}

func runsShell(with []string) bool {
	shells := []string{"sh", "bash", "dash", "ksh", "zsh"}
	return slices.ContainsFunc(with, func(w string) bool { return slices.Contains(shells, path.Base(w)) })
}

// findCalls finds the lines on which programs are first called that the script neither
// defines nor looks for.
func findCalls(file *syntax.File, names ...string) callOf {
	calls, own := callOf{}, map[string]bool{}
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
