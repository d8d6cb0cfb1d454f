package parallel

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// listed writes variables one a line.
func listed(set map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(set)) {
		fmt.Fprintf(&b, "%s=%s\n", name, set[name])
	}
	return strings.ReplaceAll(b.String(), hostName(), "HOST")
}

func TestAScriptOfSlurmFindsItsVariables(t *testing.T) {
	a := &wire.Attempt{Job: 17, Parent: 12, Index: 7, Epoch: 2, Procs: 8, Cluster: "here",
		Spec: jobfile.Job{Name: "fit", Memory: 1 << 30,
			Array: jobfile.ArrayRange{First: 2, Last: 10, Step: 1, List: "2,7,10"},
			Manager: jobfile.Manager{Kind: jobfile.Slurm, Threads: 2, PerNode: 4,
				Options: map[string][]string{"partition": {"batch"}}}}}
	const whole = `OMPI_MCA_plm=^slurm
PRTE_MCA_plm=^slurm
SLURMD_NODENAME=HOST
SLURM_ARRAY_JOB_ID=12
SLURM_ARRAY_TASK_COUNT=3
SLURM_ARRAY_TASK_ID=7
SLURM_ARRAY_TASK_MAX=10
SLURM_ARRAY_TASK_MIN=2
SLURM_ARRAY_TASK_STEP=1
SLURM_CLUSTER_NAME=here
SLURM_CPUS_ON_NODE=8
SLURM_CPUS_PER_TASK=2
SLURM_JOBID=17
SLURM_JOB_CPUS_PER_NODE=8
SLURM_JOB_ID=17
SLURM_JOB_NAME=fit
SLURM_JOB_NODELIST=HOST
SLURM_JOB_NUM_NODES=1
SLURM_JOB_PARTITION=batch
SLURM_JOB_USER=eve
SLURM_LOCALID=0
SLURM_MEM_PER_NODE=1024
SLURM_NNODES=1
SLURM_NODEID=0
SLURM_NODELIST=HOST
SLURM_NPROCS=4
SLURM_NTASKS=4
SLURM_NTASKS_PER_NODE=4
SLURM_PROCID=0
SLURM_RESTART_COUNT=1
SLURM_SUBMIT_DIR=/w
SLURM_SUBMIT_HOST=HOST
SLURM_TASKS_PER_NODE=4
`
	if got := listed(ManagerVariables(a, "/w", []string{"USER=eve"})); got != whole {
		t.Errorf("outside of Slurm:\n%s", got)
	}
	// Below Slurm: the job and its hosts are the manager's, the shape is ours on one
	// host, what no launcher reads is ours.
	const one = `SLURM_ARRAY_JOB_ID=12
SLURM_ARRAY_TASK_COUNT=3
SLURM_ARRAY_TASK_ID=7
SLURM_ARRAY_TASK_MAX=10
SLURM_ARRAY_TASK_MIN=2
SLURM_ARRAY_TASK_STEP=1
SLURM_CPUS_PER_TASK=2
SLURM_JOB_NAME=fit
SLURM_NPROCS=4
SLURM_NTASKS=4
SLURM_NTASKS_PER_NODE=4
SLURM_SUBMIT_DIR=/w
SLURM_TASKS_PER_NODE=4
`
	if got := listed(ManagerVariables(a, "/w", []string{"SLURM_JOB_ID=99", "SLURM_JOB_NUM_NODES=1"})); got != one {
		t.Errorf("below Slurm:\n%s", got)
	}
	for _, name := range []string{"SLURM_NTASKS", "SLURM_CPUS_PER_TASK", "SLURM_TASKS_PER_NODE"} {
		if v, ok := ManagerVariables(a, "/w", []string{"SLURM_JOB_ID=99", "SLURM_JOB_NUM_NODES=2"})[name]; ok {
			t.Errorf("on several hosts of Slurm %s=%s", name, v)
		}
	}
}

func TestAScriptOfGridEngineFindsItsVariables(t *testing.T) {
	a := &wire.Attempt{Job: 17, Parent: 12, Index: 7, Epoch: 1, Procs: 8, Cluster: "here", Spec: jobfile.Job{Name: "fit",
		Array: jobfile.ArrayRange{First: 1, Last: 10, Step: 3}, Manager: jobfile.Manager{Kind: jobfile.GridEngine}}}
	set := ManagerVariables(a, "/w", []string{"TMPDIR=/scratch"})
	for name, want := range map[string]string{"JOB_ID": "12", "JOB_NAME": "fit", "NSLOTS": "8", "SGE_TASK_ID": "7",
		"SGE_TASK_FIRST": "1",
		"SGE_TASK_LAST":  "10", "SGE_TASK_STEPSIZE": "3", "SGE_O_WORKDIR": "/w", "QUEUE": "here", "TMPDIR": ""} {
		if set[name] != want {
			t.Errorf("%s=%s, want %s", name, set[name], want)
		}
	}
	set = ManagerVariables(a, "/w", []string{"JOB_ID=4", "SGE_ROOT=/x", "NSLOTS=8"})
	if _, ok := set["JOB_ID"]; ok || set["SGE_TASK_ID"] != "7" || set["NSLOTS"] != "" {
		t.Errorf("below Grid Engine: %v", set)
	}
	a.Spec.Array, a.Parent = jobfile.ArrayRange{}, 0
	if set = ManagerVariables(a, "/w", nil); set["SGE_TASK_ID"] != "undefined" || set["JOB_ID"] != "17" {
		t.Errorf("without an array: %v", set)
	}
}

func TestAJobOfNoBatchSystemHasNoVariablesOfOne(t *testing.T) {
	if set := ManagerVariables(&wire.Attempt{}, "/w", nil); len(set) > 0 {
		t.Error(set)
	}
}
