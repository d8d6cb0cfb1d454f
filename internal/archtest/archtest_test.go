package archtest

import (
	"go/token"
	"slices"
	"strings"
	"testing"
)

// purePkgs are the packages inside the seam.
func purePkgs(tr *tree) []*pkg {
	var list []*pkg
	for _, p := range tr.pkgs {
		if under(p.rel, pure...) {
			list = append(list, p)
		}
	}
	return list
}

func TestPurePackagesImportNothingFromOutside(t *testing.T) {
	tr := mustLoad(t)
	report(t, tr, apply(tr, checkPureImports, purePkgs(tr)...))
}

func TestPurePackagesAskNeitherTheTimeNorForChance(t *testing.T) {
	tr := mustLoad(t)
	report(t, tr, apply(tr, checkPureNames, purePkgs(tr)...))
}

func TestPurePackagesStartNothing(t *testing.T) {
	tr := mustLoad(t)
	report(t, tr, apply(tr, checkPureStatements, purePkgs(tr)...))
}

func TestPurePackagesHaveNoStateAtPackageLevel(t *testing.T) {
	tr := mustLoad(t)
	report(t, tr, apply(tr, checkGlobals, purePkgs(tr)...))
}

func TestPurePackagesDoNotDependOnMapOrder(t *testing.T) {
	tr := mustLoad(t)
	report(t, tr, apply(tr, checkMapOrder, purePkgs(tr)...))
}

func TestOnlyTheClockReadsTheWallClock(t *testing.T) {
	tr := mustLoad(t)
	report(t, tr, apply(tr, checkClock, tr.pkgs...))
}

func TestNothingSlowIsDoneBeforeMain(t *testing.T) {
	tr := mustLoad(t)
	report(t, tr, apply(tr, checkStart, tr.pkgs...))
}

func TestImportsPointDownwards(t *testing.T) {
	tr := mustLoad(t)
	report(t, tr, apply(tr, checkDirections, tr.pkgs...))
}

func TestPackageNamesSayWhatIsInside(t *testing.T) {
	tr := mustLoad(t)
	report(t, tr, apply(tr, checkNames, tr.pkgs...))
}

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	tr := mustLoad(t)
	report(t, tr, apply(tr, checkDocs, tr.pkgs...))
}

func TestFilesAndFunctionsOutsideTestsStayReadable(t *testing.T) {
	tr := mustLoad(t)
	report(t, tr, apply(tr, checkSizes, tr.pkgs...))
}

// onlyTests are the rooms without a line outside tests.
var onlyTests = map[string]bool{"internal/e2e": true}

// A rule for a package that was renamed would pass for ever.
func TestTheRulesSeeThePackagesTheyAreAbout(t *testing.T) {
	tr := mustLoad(t)
	for _, rel := range []string{"internal/sched/core", "internal/clock", "internal/archtest"} {
		if tr.byRel[rel] == nil {
			t.Errorf("the rules do not see %s", rel)
		}
	}
	for i, r := range rooms {
		if !slices.ContainsFunc(tr.pkgs, func(p *pkg) bool { return roomOf(p.rel) == r.path }) && !onlyTests[r.path] {
			t.Errorf("a rule is about %s, which is not there", r.path)
		}
		for _, name := range r.imports {
			if !slices.ContainsFunc(rooms[:i], func(above room) bool { return above.path == "internal/"+name }) {
				t.Errorf("%s may import %s, which stands below it in the table: no circles", r.path, name)
			}
		}
	}
	for _, in := range insides {
		for _, dir := range slices.Concat(in.dirs, in.only) {
			if !slices.ContainsFunc(tr.pkgs, func(p *pkg) bool { return under(p.rel, dir) }) {
				t.Errorf("a rule is about %s, which is not there", dir)
			}
		}
	}
	for _, p := range tr.pkgs {
		if p.rel == "" || strings.HasPrefix(p.rel, "/") || len(p.files) == 0 {
			t.Errorf("package %q with %d files is not what the rules expect", p.rel, len(p.files))
		}
	}
}

func TestTheProductDoesNotReachTheExperiments(t *testing.T) {
	tr := mustLoad(t)
	const product, experiments = "cmd/godwit", "internal/experiment"
	if tr.byRel[product] == nil || !slices.ContainsFunc(tr.pkgs, func(p *pkg) bool { return under(p.rel, experiments) }) {
		t.Fatal("the binary or the experiments are not where this test looks for them")
	}
	for rel, by := range reachedFrom(tr, product) {
		if under(rel, experiments) {
			t.Errorf("%s reaches %s, imported by %s: measuring is no part of the product", product, rel, by)
		}
	}
	if reachedFrom(tr, "cmd/godwit-experiments")["internal/experiment/koala"] == "" {
		t.Error("what a binary reaches is not found")
	}
}

// reachedFrom maps each package of the module that one needs to one that imports it.
func reachedFrom(tr *tree, from string) map[string]string {
	reached := map[string]string{}
	left := []string{from}
	for len(left) > 0 {
		p := tr.byRel[left[0]]
		left = left[1:]
		if p == nil {
			continue
		}
		ourImports(p, func(rel string, _ token.Pos) {
			if reached[rel] == "" {
				reached[rel] = p.rel
				left = append(left, rel)
			}
		})
	}
	return reached
}
