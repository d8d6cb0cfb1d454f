package archtest

import (
	"strings"
	"testing"
)

// purePkgs are those of the pure packages that exist already.
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

// A rule for a package that was renamed would pass for ever.
func TestTheRulesSeeThePackagesTheyAreAbout(t *testing.T) {
	tr := mustLoad(t)
	for _, rel := range []string{"internal/sched/core", "internal/clock", "internal/archtest"} {
		if tr.byRel[rel] == nil {
			t.Errorf("the rules do not see %s", rel)
		}
	}
	for _, p := range tr.pkgs {
		if p.rel == "" || strings.HasPrefix(p.rel, "/") || len(p.files) == 0 {
			t.Errorf("package %q with %d files is not what the rules expect", p.rel, len(p.files))
		}
	}
}
