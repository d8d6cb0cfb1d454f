package parallel

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// ManagerVariables are the variables that a script expects of the batch system
// for which it was written. They describe the job as its user knows it: our
// number, our array, the processors in the shape that the script asks for.
//
// Where the attempt runs below that very manager, the manager's own variables are
// there already, and the rule is:
//   - which job this is and where it lies (SLURM_JOB_ID, SLURM_JOB_NODELIST,
//     JOB_ID, PE_HOSTFILE …) is never overridden: srun, mpirun and qrsh talk to
//     the manager with it;
//   - the shape (tasks, processors of each) is overridden if all lies on one
//     host: it is then the same processors, counted as the script wants them;
//   - what no launcher reads (name, array, submit folder) is always ours: to the
//     manager the job has another name and is in no array.
//
// The folder from which the job was submitted is, to the script, the work folder:
// what was there was brought here, and what changes here goes back there.
func ManagerVariables(a *wire.Attempt, dir string, ours []string) map[string]string {
	switch a.Spec.Manager.Kind {
	case jobfile.Slurm:
		return slurmVariables(a, dir, ours)
	case jobfile.GridEngine:
		return gridVariables(a, dir, ours)
	}
	return nil
}

func slurmVariables(a *wire.Attempt, dir string, ours []string) map[string]string {
	m, spec := &a.Spec.Manager, &a.Spec
	set := map[string]string{"SLURM_SUBMIT_DIR": dir, "SLURM_JOB_NAME": spec.Name}
	if n := spec.Array.Len(); n > 0 {
		for name, value := range map[string]any{"JOB_ID": a.Parent, "TASK_ID": a.Index, "TASK_COUNT": n,
			"TASK_MIN": spec.Array.First, "TASK_MAX": spec.Array.Last, "TASK_STEP": spec.Array.Step} {
			set["SLURM_ARRAY_"+name] = fmt.Sprint(value)
		}
	}
	below := VariableValue(ours, "SLURM_JOB_ID") != ""
	if !below || VariableValue(ours, "SLURM_JOB_NUM_NODES") == "1" {
		tasks := strconv.Itoa(max(1, max(1, a.Procs)/max(1, m.Threads)))
		for _, name := range []string{"SLURM_NTASKS", "SLURM_NPROCS", "SLURM_TASKS_PER_NODE"} {
			set[name] = tasks
		}
		if m.Threads > 0 {
			set["SLURM_CPUS_PER_TASK"] = strconv.Itoa(m.Threads)
		}
		if m.PerNode > 0 {
			set["SLURM_NTASKS_PER_NODE"] = tasks
		}
	}
	if below {
		return set
	}
	host := hostName()
	for name, value := range map[string]any{"JOB_ID": a.Job, "JOBID": a.Job, "JOB_NUM_NODES": 1, "NNODES": 1,
		"JOB_NODELIST": host, "NODELIST": host,
		"CLUSTER_NAME": a.Cluster, "CPUS_ON_NODE": max(1, a.Procs), "JOB_CPUS_PER_NODE": max(1, a.Procs), "SUBMIT_HOST": host,
		"NODEID": 0, "PROCID": 0, "LOCALID": 0, "JOB_USER": VariableValue(ours, "USER"), "RESTART_COUNT": a.Epoch - 1} {
		set["SLURM_"+name] = fmt.Sprint(value)
	}
	set["SLURMD_NODENAME"] = host
	if spec.Memory > 0 {
		set["SLURM_MEM_PER_NODE"] = fmt.Sprint(spec.Memory >> 20)
	}
	if p := spec.Manager.Options["partition"]; len(p) > 0 {
		set["SLURM_JOB_PARTITION"] = p[0]
	}
	if p := spec.Manager.Options["account"]; len(p) > 0 {
		set["SLURM_JOB_ACCOUNT"] = p[0]
	}
	// Open MPI reads from these variables how many processes to start, as it should,
	// but must not start them with srun: there is no allocation.
	set["OMPI_MCA_plm"], set["PRTE_MCA_plm"] = "^slurm", "^slurm"
	return set
}

func gridVariables(a *wire.Attempt, dir string, ours []string) map[string]string {
	spec := &a.Spec
	set := map[string]string{"JOB_NAME": spec.Name, "SGE_O_WORKDIR": dir,
		"SGE_TASK_ID": "undefined", "SGE_TASK_FIRST": "undefined", "SGE_TASK_LAST": "undefined",
		"SGE_TASK_STEPSIZE": "undefined"}
	if spec.Array.Len() > 0 {
		for name, value := range map[string]int{"ID": a.Index, "FIRST": spec.Array.First, "LAST": spec.Array.Last,
			"STEPSIZE": spec.Array.Step} {
			set["SGE_TASK_"+name] = strconv.Itoa(value)
		}
	}
	if VariableValue(ours, "JOB_ID") != "" && VariableValue(ours, "SGE_ROOT") != "" {
		return set
	}
	job, host := a.Job, hostName()
	if a.Parent != 0 {
		job = a.Parent // the jobs of an array share its number
	}
	for name, value := range map[string]any{"JOB_ID": job, "NSLOTS": max(1, a.Procs), "NHOSTS": 1, "NQUEUES": 1,
		"QUEUE":    a.Cluster,
		"HOSTNAME": host, "SGE_O_HOST": host, "SGE_O_HOME": VariableValue(ours, "HOME"),
		"SGE_O_LOGNAME": VariableValue(ours, "USER"), "REQUEST": spec.Name,
		"RESTARTED": min(1, a.Epoch-1), "ENVIRONMENT": "BATCH"} {
		set[name] = fmt.Sprint(value)
	}
	if VariableValue(ours, "TMPDIR") == "" {
		set["TMPDIR"] = os.TempDir()
	}
	if pe := spec.Manager.Options["pe"]; len(pe) > 0 {
		set["PE"] = pe[0]
	}
	return set
}

// VariableValue is that of a variable in an environment; "" if it is not there.
func VariableValue(env []string, name string) string {
	i := slices.IndexFunc(env, func(v string) bool { return strings.HasPrefix(v, name+"=") })
	if i < 0 {
		return ""
	}
	return env[i][len(name)+1:]
}

// hostName is what this host is called; a host without a name is this one.
func hostName() string {
	if name, err := os.Hostname(); err == nil {
		return name
	}
	return "localhost"
}
