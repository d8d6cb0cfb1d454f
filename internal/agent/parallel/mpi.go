package parallel

import (
	"fmt"
	"os"
	"strings"

	"github.com/godwit-hpc/godwit/internal/mpi/mpirun"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// yieldVariable tells the launcher that ranks are to sleep while they wait.
const yieldVariable = "GODWIT_MPI_YIELD"

// MPIVariables make an mpirun without arguments start as many ranks as the attempt
// has processors, on its hosts, with our launcher. Below a manager of the cluster
// mpirun asks that one; all that is said then is how ranks wait. hosts is the file for
// the list of hosts, lost the one in which launchers note that a host was lost.
func MPIVariables(a *wire.Attempt, hosts, lost string, ours []string) map[string]string {
	set := map[string]string{}
	if v := mpirun.SessionVariable(ours); v != "" {
		set[v] = mpirun.SessionFolder()
	}
	if a.MPI.Yield {
		if lib := mpirun.YieldLibrary(); lib != "" {
			set["LD_PRELOAD"] = lib
			set[yieldVariable] = "1"
		}
		set["OMPI_MCA_mpi_yield_when_idle"] = "1"
	}
	if a.MPI.Network != "" && !IsJoint(a) { // the network within a cluster is not the one between clusters
		set["OMPI_MCA_btl_tcp_if_include"], set["OMPI_MCA_oob_tcp_if_include"] = a.MPI.Network, a.MPI.Network
	}
	if VariableValue(ours, "SLURM_JOB_ID") != "" || VariableValue(ours, "PE_HOSTFILE") != "" || a.Spec.Manager.Kind != "" {
		return set
	}
	if err := os.WriteFile(hosts, []byte(hostFile(a)), 0o600); err != nil {
		return set // mpirun will find this host by itself
	}
	set["GODWIT_HOSTFILE"], set["OMPI_MCA_orte_default_hostfile"] = hosts, hosts
	set["OMPI_MCA_hwloc_base_binding_policy"] = "none" // another program may bind itself to the same processors
	if len(a.Hosts) < 2 {
		return set
	}
	if self, err := os.Executable(); err == nil && !strings.ContainsAny(self, " :,") {
		set["OMPI_MCA_plm_rsh_agent"] = self + " launch"
	}
	_ = os.Remove(lost) // of another program in this folder, if any
	set[LostVariable] = lost
	set["OMPI_MCA_plm_rsh_no_tree_spawn"] = "1"
	set["OMPI_MCA_plm_rsh_num_concurrent"] = fmt.Sprint(len(a.Hosts) + 1) // our launcher stays
	set["OMPI_MCA_orte_leave_session_attached"] = "1"
	set["OMPI_MCA_btl"] = "tcp,self,vader"
	return set
}

// hostFile lists the hosts of the attempt as mpirun reads them. The first is this
// one, by the name that it has here.
func hostFile(a *wire.Attempt) string {
	if len(a.Hosts) < 2 {
		return fmt.Sprintf("localhost slots=%d\n", max(a.Procs, 1))
	}
	var b strings.Builder
	for i, h := range a.Hosts {
		name := h.Name
		if i == 0 {
			name = hostName()
		}
		fmt.Fprintf(&b, "%s slots=%d\n", name, h.Procs)
	}
	return b.String()
}
