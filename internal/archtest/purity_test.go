package archtest

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"
)

const (
	whyIO         = "a pure package does no I/O: the caller reads and writes"
	whyClock      = "a pure package is told the time and never asks or waits for it"
	whyThreads    = "a pure package runs in one thread: the same input must give the same steps"
	whySeed       = "random numbers come from a seed that the caller gives: rand.New(rand.NewPCG(…))"
	whyRuntime    = "the result may not depend on the machine or the process it runs in"
	whyTest       = "tests belong into _test.go files"
	whyReflect    = "reflection walks maps in random order and hides what these rules check"
	whyThirdParty = "a pure package imports the standard library and pure packages, so that all of its behaviour is in " +
		"this tree"
)

// denied are the imports that pure packages may not have; a path ending in /
// stands for everything below it.
var denied = []struct{ path, why string }{
	{"os", whyIO}, {"os/", whyIO}, {"net", whyIO}, {"net/", whyIO}, {"io/fs", whyIO}, {"io/ioutil", whyIO},
	{"path/filepath", whyIO}, {"syscall", whyIO}, {"log", whyIO}, {"log/", whyIO}, {"database/", whyIO},
	{"flag", whyIO}, {"expvar", whyIO}, {"plugin", whyIO},
	{"sync", whyThreads}, {"sync/", whyThreads}, {"context", whyThreads},
	{"math/rand", whySeed}, {"crypto/rand", whySeed}, {"hash/maphash", whySeed},
	{"runtime", whyRuntime}, {"runtime/", whyRuntime}, {"unsafe", whyRuntime}, {"weak", whyRuntime}, {"C", whyRuntime},
	{"testing", whyTest}, {"testing/", whyTest}, {"reflect", whyReflect},
}

// checkPureImports complains about imports that bring the outside in.
func checkPureImports(tr *tree, p *pkg, c *complaints) {
	p.imports(func(path string, at token.Pos) {
		if under(path, module) {
			return // checkDirections sees to our own
		}
		if first, _, _ := strings.Cut(path, "/"); strings.Contains(first, ".") {
			c.add(at, whyThirdParty, "imports %q", path)
			return
		}
		for _, d := range denied {
			if path == d.path || strings.HasSuffix(d.path, "/") && strings.HasPrefix(path, d.path) {
				c.add(at, d.why, "imports %q", path)
				return
			}
		}
	})
}

// readsClock are the names of package time that read the wall clock.
var readsClock = []string{"Now", "Since", "Until"}

// waits are the names of package time that wait for it, or that depend on
// the zone the machine is in.
var waits = []string{"Sleep", "After", "Tick", "NewTimer", "NewTicker", "AfterFunc", "Local", "LoadLocation"}

// seeded are the functions of math/rand/v2 that take their randomness from
// an argument.
var seeded = []string{"New", "NewPCG", "NewChaCha8", "NewZipf"}

// printing matches the functions of package fmt that speak to the terminal.
var printing = regexp.MustCompile(`^(Print|Printf|Println|Scan|Scanf|Scanln)$`)

// checkPureNames complains about single functions of allowed packages.
func checkPureNames(tr *tree, p *pkg, c *complaints) {
	eachUse(p, func(id *ast.Ident, path, name string, method bool) {
		switch {
		case path == "time" && (slices.Contains(readsClock, name) || slices.Contains(waits, name)) &&
			(!method || name == "Local"):
			c.add(id.Pos(), whyClock, "uses time.%s", name)
		case path == "math/rand/v2" && !method && isFunc(p, id) && !slices.Contains(seeded, name):
			c.add(id.Pos(), whySeed, "uses the shared source of rand.%s", name)
		case path == "fmt" && !method && printing.MatchString(name):
			c.add(id.Pos(), whyIO, "uses fmt.%s", name)
		case path == "" && (name == "print" || name == "println"):
			c.add(id.Pos(), whyIO, "uses %s", name)
		}
	})
}

// checkClock complains about code outside the pure packages that reads the
// wall clock by itself. It may wait: a live loop has timers.
func checkClock(tr *tree, p *pkg, c *complaints) {
	if under(p.rel, "internal/clock", "cmd") || under(p.rel, pure...) {
		return
	}
	eachUse(p, func(id *ast.Ident, path, name string, method bool) {
		if path == "time" && !method && slices.Contains(readsClock, name) {
			c.add(id.Pos(), "internal/clock is the only owner of the wall clock: take a clock.Clock, so that tests decide "+
				"what time it is",
				"uses time.%s", name)
		}
	})
}

// checkPureStatements complains about concurrency and hidden initialisation.
func checkPureStatements(tr *tree, p *pkg, c *complaints) {
	for _, file := range p.files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				c.add(n.Pos(), whyThreads, "starts a goroutine")
			case *ast.SelectStmt:
				c.add(n.Pos(), whyThreads, "selects on channels")
			case *ast.ChanType:
				c.add(n.Pos(), whyThreads, "uses a channel")
			case *ast.SendStmt:
				c.add(n.Pos(), whyThreads, "sends on a channel")
			case *ast.UnaryExpr:
				if n.Op == token.ARROW {
					c.add(n.Pos(), whyThreads, "receives from a channel")
				}
			case *ast.FuncDecl:
				if n.Recv == nil && n.Name.Name == "init" {
					c.add(n.Pos(), "a pure package has no state that would need preparing", "declares func init")
				}
			}
			return true
		})
	}
}

// eachUse calls f for each name that p uses: the package that declares it
// (empty for built-in names) and whether it belongs to a type.
func eachUse(p *pkg, f func(id *ast.Ident, path, name string, method bool)) {
	for _, file := range p.files {
		ast.Inspect(file, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			obj := p.info.Uses[id]
			if obj == nil {
				return true
			}
			if obj.Pkg() == nil {
				if _, builtin := obj.(*types.Builtin); builtin {
					f(id, "", obj.Name(), false)
				}
				return true
			}
			f(id, obj.Pkg().Path(), obj.Name(), obj.Parent() != obj.Pkg().Scope())
			return true
		})
	}
}

func isFunc(p *pkg, id *ast.Ident) bool {
	_, ok := p.info.Uses[id].(*types.Func)
	return ok
}
