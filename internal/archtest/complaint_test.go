package archtest

import (
	"cmp"
	"fmt"
	"go/token"
	"path/filepath"
	"slices"
	"testing"
)

// complaint is one broken rule: where, what stands there, and why it may not.
type complaint struct {
	at   token.Position
	what string
	why  string
}

// complaints collects what one run of a rule finds.
type complaints struct {
	fset *token.FileSet
	list []complaint
}

func (c *complaints) add(pos token.Pos, why, what string, args ...any) {
	c.list = append(c.list, complaint{c.fset.Position(pos), fmt.Sprintf(what, args...), why})
}

func (c complaint) String() string { return c.what + ": " + c.why }

// rule looks at one package and complains.
type rule func(tr *tree, p *pkg, c *complaints)

// apply runs a rule over packages and returns its complaints in file order.
func apply(tr *tree, r rule, pkgs ...*pkg) []complaint {
	c := &complaints{fset: tr.fset}
	for _, p := range pkgs {
		r(tr, p, c)
	}
	slices.SortStableFunc(c.list, func(a, b complaint) int {
		return cmp.Or(cmp.Compare(a.at.Filename, b.at.Filename), cmp.Compare(a.at.Line, b.at.Line))
	})
	return c.list
}

// report fails the test once for each complaint.
func report(t *testing.T, tr *tree, list []complaint) {
	t.Helper()
	for _, c := range list {
		file, err := filepath.Rel(tr.root, c.at.Filename)
		if err != nil {
			file = c.at.Filename
		}
		t.Errorf("%s:%d: %v", file, c.at.Line, c)
	}
}
