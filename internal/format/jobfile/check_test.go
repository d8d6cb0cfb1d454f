package jobfile

import (
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// A request to the API is no job file: it must be refused by itself.
func TestAJobThatCannotBeRunAsItsKindIsRefused(t *testing.T) {
	for _, c := range []struct {
		kind     core.Kind
		min, max int
		want     string
	}{
		{core.Rigid, 2, 2, ""},
		{core.Moldable, 1, 4, ""},
		{core.Malleable, 1, 4, ""},
		{core.Malleable, 2, 2, ""},
		{core.Rigid, 1, 4, `kind "rigid": expected rigid, moldable or malleable`},
		{core.Malleable + 1, 1, 1, "rigid, moldable or malleable"},
	} {
		err := (&Job{Argv: []string{"true"}, Kind: c.kind, Min: c.min, Max: c.max}).CheckFields()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v with %d to %d processors: %v, want %q", c.kind, c.min, c.max, err, c.want)
		}
	}
}
