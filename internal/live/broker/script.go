package broker

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
)

// script explains what becomes, in the cluster in which the job was placed, of
// what its script says to a batch system.
func (t *turn) script(j *job, c *cluster) {
	m := &j.spec.Manager
	if len(m.Options) == 0 {
		return
	}
	kind, _, _ := strings.Cut(c.Kind, " ") // "slurm over ssh"
	names := strings.Join(slices.Sorted(maps.Keys(m.Options)), ", ")
	switch known := kind == jobfile.Slurm || kind == jobfile.GridEngine; {
	case !known:
		t.explain(j, "script", "left out in "+c.Name, names+": the cluster has no batch system", nil)
		return
	case m.Kind != "" && m.Kind != kind:
		t.explain(j, "script", "left out in "+c.Name, fmt.Sprintf("%s: they are for clusters of %s, and this is one of %s", names, jobfile.Calls(m.Kind), jobfile.Calls(kind)), nil)
		return
	}
	told, left := m.For(kind)
	var words []string
	for _, o := range told {
		words = append(words, o.String())
	}
	if len(words) > 0 {
		t.explain(j, "script", jobfile.Calls(kind)+" of "+c.Name+" is told", strings.Join(words, ", ")+"; the cluster's settings prevail", nil)
	}
	if len(left) > 0 {
		t.explain(j, "script", "left out in "+c.Name, strings.Join(left, ", "), nil)
	}
}
