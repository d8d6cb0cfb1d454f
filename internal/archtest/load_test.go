package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// module is the path of the module whose rules these are.
const module = "github.com/godwit-hpc/godwit"

// pkg is one package of the module with its parsed and type-checked source,
// tests left out.
type pkg struct {
	rel   string // the path inside the module: "internal/sched/core"
	name  string
	files []*ast.File
	types *types.Package
	info  *types.Info
}

// tree is the whole module.
type tree struct {
	root    string
	fset    *token.FileSet
	pkgs    []*pkg
	byRel   map[string]*pkg
	exports map[string]string // import path to export data file
}

// listed is what we read of an answer of go list.
type listed struct {
	ImportPath, Dir, Name, Export string
	GoFiles, CgoFiles             []string
	Standard                      bool
	Module                        *struct{ Path string }
	Error                         *struct{ Err string }
}

// load reads the module once for all tests.
var load = sync.OnceValues(loadTree)

// saidOnce keeps a module that does not build from failing every test with
// the same text.
var saidOnce bool

func mustLoad(t *testing.T) *tree {
	t.Helper()
	tr, err := load()
	if err != nil && saidOnce {
		t.Fatal("the module could not be read, see the first failure")
	}
	if err != nil {
		saidOnce = true
		t.Fatal(err)
	}
	return tr
}

// loadTree asks the go command for the packages of the module and for the
// compiled export data of all they import: type information in a second or
// two, offline, without parsing the dependencies.
func loadTree() (*tree, error) {
	root, err := filepath.Abs("../..")
	if err != nil {
		return nil, err
	}
	tr := &tree{root: root, fset: token.NewFileSet(), byRel: map[string]*pkg{}, exports: map[string]string{}}
	if err := touchSources(root); err != nil {
		return nil, err
	}
	// The sources under testdata use packages that the module itself may not.
	args := append([]string{"list", "-e", "-export", "-deps",
		"-json=ImportPath,Dir,Name,Export,GoFiles,CgoFiles,Standard,Module,Error", "./..."}, testdataImports...)
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.String())
	}
	var ours []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := dec.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("reading what go list wrote: %w", err)
		}
		tr.exports[l.ImportPath] = l.Export
		if l.Module != nil && l.Module.Path == module {
			ours = append(ours, l)
		}
	}
	for _, l := range ours {
		if len(l.GoFiles)+len(l.CgoFiles) == 0 {
			continue // tests alone: nothing that the rules are about
		}
		if l.Error != nil {
			return nil, fmt.Errorf("%s does not build: %s", l.ImportPath, l.Error.Err)
		}
		if err := tr.add(l); err != nil {
			return nil, err
		}
	}
	return tr, nil
}

func (tr *tree) add(l listed) error {
	p := &pkg{rel: strings.TrimPrefix(strings.TrimPrefix(l.ImportPath, module), "/"), name: l.Name}
	for _, name := range slices.Concat(l.GoFiles, l.CgoFiles) {
		f, err := parser.ParseFile(tr.fset, filepath.Join(l.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		p.files = append(p.files, f)
	}
	if err := tr.check(p); err != nil {
		return err
	}
	tr.pkgs = append(tr.pkgs, p)
	tr.byRel[p.rel] = p
	return nil
}

// check gives p its types.
func (tr *tree) check(p *pkg) error {
	p.info = &types.Info{
		Types:      map[ast.Expr]types.TypeAndValue{},
		Defs:       map[*ast.Ident]types.Object{},
		Uses:       map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	lookup := func(path string) (io.ReadCloser, error) {
		file := tr.exports[path]
		if file == "" {
			return nil, fmt.Errorf("no compiled package %s; does it build?", path)
		}
		return os.Open(file)
	}
	conf := types.Config{Importer: importer.ForCompiler(tr.fset, "gc", lookup), FakeImportC: true}
	var err error
	p.types, err = conf.Check(module+"/"+p.rel, tr.fset, p.files, p.info)
	return err
}

// touchSources opens every source folder, so that the go command knows that
// the result of these tests depends on them and does not answer from its
// cache after a change: it cannot see what the go list we start reads.
func touchSources(root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "build") {
			return filepath.SkipDir
		}
		return nil
	})
}

// imports calls f for each import of p.
func (p *pkg) imports(f func(path string, at token.Pos)) {
	for _, file := range p.files {
		for _, spec := range file.Imports {
			f(strings.Trim(spec.Path.Value, "`\""), spec.Pos())
		}
	}
}

// under reports whether the package path rel is dir or lies in it.
func under(rel string, dirs ...string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool {
		return rel == dir || strings.HasPrefix(rel, dir+"/")
	})
}
