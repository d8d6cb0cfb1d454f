package lab

import "testing"

func TestTheNameOfCgroupsSaysOfWhichLabTheyAre(t *testing.T) {
	for _, name := range []string{"tiny", "three-managers", "x-1"} {
		for _, base := range []string{defaultBase, "/a", "/b"} {
			for _, asked := range []string{defaultBase, "/a", "/b"} {
				want := ""
				if asked == base {
					want = name
				}
				if got := labForGroup(asked, groupName(base, name)); got != want {
					t.Errorf("%s in %s is taken in %s for %q", name, base, asked, got)
				}
			}
		}
	}
	for _, other := range []string{"", "tiny", "system.slice", groupPrefix} {
		if got := labForGroup(defaultBase, other) + labForGroup("/a", other); got != "" {
			t.Errorf("%q is taken for %q", other, got)
		}
	}
}
