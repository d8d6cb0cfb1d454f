package broker

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
)

// explainScript explains what becomes, in the cluster in which the job was placed, of
// what its script says to a batch system.
func (t *turn) explainScript(j *job, c *cluster) {
	m := &j.spec.Manager
	if len(m.Options) == 0 {
		return
	}
	kind := managerOf(c.Kind)
	names := strings.Join(slices.Sorted(maps.Keys(m.Options)), ", ")
	switch known := kind == jobfile.Slurm || kind == jobfile.GridEngine; {
	case !known:
		t.explainJob(j, "script", "left out in "+c.Name, names+": the cluster has no batch system", nil)
		return
	case m.Kind != "" && m.Kind != kind:
		t.explainJob(j, "script", "left out in "+c.Name,
			fmt.Sprintf("%s: they are for clusters of %s, and this is one of %s", names, jobfile.ManagerName(m.Kind),
				jobfile.ManagerName(kind)), nil)
		return
	}
	told, left := m.OptionsFor(kind)
	var words []string
	for _, o := range told {
		words = append(words, o.String())
	}
	if len(words) > 0 {
		t.explainJob(j, "script", jobfile.ManagerName(kind)+" of "+c.Name+" is told", strings.Join(words, ", ")+
			"; the cluster's settings prevail", nil)
	}
	if len(left) > 0 {
		t.explainJob(j, "script", "left out in "+c.Name, strings.Join(left, ", "), nil)
	}
}

// managerOf is the manager of a kind of clusters: that of "slurm over ssh" is slurm.
func managerOf(kind string) string {
	manager, _, _ := strings.Cut(kind, " ")
	return manager
}

// slurmOnly says whether a job can run on clusters of Slurm alone: it asks for GPUs, of
// which other clusters have none that we know of, or its script calls srun and its user
// did not name clusters. It is an error if there is none where it may run.
func (b *Broker) slurmOnly(spec *jobfile.Job) (bool, error) {
	gpus, srun := spec.RequestedGPUs(), spec.Manager.Srun != "" && len(spec.On) == 0
	if gpus == "" && !srun {
		return false, nil
	}
	for _, c := range b.offeredClusters() {
		if managerOf(c.Kind) == jobfile.Slurm && (len(spec.On) == 0 || slices.Contains(spec.On, c.Name)) {
			return true, nil
		}
	}
	if gpus != "" {
		field, value, _ := strings.Cut("--"+gpus, "=")
		if field == "--gres" && spec.Manager.Kind == "" { // a job file says so in other words
			field, value = "accelerators", strings.TrimPrefix(value, "gpu:")
		}
		return false, &badinput.Error{Field: field, Value: value,
			Problem: "no cluster where the job may run is known to have GPUs; jobs with GPUs run on Slurm clusters"}
	}
	return false, &badinput.Error{Field: "srun", Value: spec.Manager.Srun,
		Problem: "srun works in Slurm jobs only, and no cluster here runs Slurm; use mpirun or call the program itself, or " +
			"name a cluster with --on"}
}
