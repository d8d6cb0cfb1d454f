package archtest

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

// vagueWords are words that say nothing of what a thing is. As the whole name of something
// at package level each would need its comment wherever it is used.
var vagueWords = wordSet(`
	again alike along apart enough few far got heard here how it lately
	little look looks many meant mine more most much near other others own
	put said same saw seen some stuff such them there theirs thing things told
	together very want wanted wants way ways what where which who whole whom word
	words known place flock gate door hand heirs kin limb shelf`)

// vagueNames are names that stand all the same, each with its reason.
var vagueNames = map[string]string{
	"internal/sched/place.Place": "placing a job is the field's own verb, and what the package does",
	"internal/lab/place.Place":   "where a lab's command runs, local or remote: the one thing the package is about",
}

func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		set[word] = true
	}
	return set
}

// checkWords complains about constants, variables, types and functions at package level
// whose name is a vague word.
func checkWords(tr *tree, p *pkg, c *complaints) {
	for _, file := range p.files {
		for _, decl := range file.Decls {
			for _, name := range declaredNames(decl) {
				if vagueWords[strings.ToLower(name.Name)] && vagueNames[p.rel+"."+name.Name] == "" {
					c.add(name.Pos(), "a name must survive without its comment: say what it bounds, counts or is (maxX, xTimeout, "+
						"isX)",
						"%s is the name of something at package level", name.Name)
				}
			}
		}
	}
}

// declaredNames are the names that a declaration gives at package level.
func declaredNames(decl ast.Decl) (names []*ast.Ident) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			names = append(names, d.Name)
		}
	case *ast.GenDecl:
		if d.Tok == token.IMPORT {
			return nil
		}
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name)
			case *ast.ValueSpec:
				names = append(names, s.Names...)
			}
		}
	}
	return names
}

func TestNamesAtPackageLevelSayWhatTheyName(t *testing.T) {
	tr := mustLoad(t)
	report(t, tr, apply(tr, checkWords, tr.pkgs...))
}

func TestNoExceptionForAVagueNameIsLeftOver(t *testing.T) {
	tr := mustLoad(t)
	there := map[string]bool{}
	for _, p := range tr.pkgs {
		for _, file := range p.files {
			for _, decl := range file.Decls {
				for _, name := range declaredNames(decl) {
					there[p.rel+"."+name.Name] = true
				}
			}
		}
	}
	for name, reason := range vagueNames {
		if !there[name] || len(strings.Fields(reason)) < 4 {
			t.Errorf("%s is not there any more, or has no reason: %q", name, reason)
		}
	}
}
