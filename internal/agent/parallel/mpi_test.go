package parallel

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

func TestMpirunIsToldWhereToStart(t *testing.T) {
	two := []wire.Host{{Name: "far1", Procs: 2}, {Name: "far2", Procs: 1}}
	for _, c := range []struct {
		name    string
		attempt wire.Attempt
		ours    []string
		hosts   string // of the file
		has     string // all of these variables
		not     string // and none of these
	}{
		{"one host", wire.Attempt{Procs: 3}, nil, "localhost slots=3\n",
			"GODWIT_HOSTFILE OMPI_MCA_orte_default_hostfile OMPI_MCA_orte_top_session_dir",
			"OMPI_MCA_plm_rsh_agent LD_PRELOAD OMPI_MCA_btl"},
		{"two hosts", wire.Attempt{Procs: 3, Hosts: two}, nil, hostName() + " slots=2\nfar2 slots=1\n",
			"OMPI_MCA_plm_rsh_agent OMPI_MCA_plm_rsh_no_tree_spawn OMPI_MCA_btl",
			"OMPI_MCA_btl_tcp_if_include OMPI_MCA_mpi_yield_when_idle"},
		{"below Slurm", wire.Attempt{Procs: 3, MPI: wire.MPI{Yield: true}}, []string{"SLURM_JOB_ID=7"}, "",
			"OMPI_MCA_mpi_yield_when_idle", "GODWIT_HOSTFILE OMPI_MCA_orte_default_hostfile OMPI_MCA_hwloc_base_binding_policy"},
		{"below Grid Engine", wire.Attempt{Procs: 3}, []string{"PE_HOSTFILE=/x", "TMPDIR=/tmp/7.all.q"}, "", "",
			"GODWIT_HOSTFILE OMPI_MCA_orte_default_hostfile OMPI_MCA_orte_top_session_dir"},
		{"a script for Slurm", wire.Attempt{Procs: 3, Spec: jobfile.Job{Manager: jobfile.Manager{Kind: jobfile.Slurm}}}, nil,
			"", "", "OMPI_MCA_orte_default_hostfile"},
		{"a network", wire.Attempt{MPI: wire.MPI{Network: "eth1"}}, nil, "localhost slots=1\n",
			"OMPI_MCA_btl_tcp_if_include OMPI_MCA_oob_tcp_if_include", ""},
	} {
		dir := t.TempDir()
		set := MPIVariables(&c.attempt, filepath.Join(dir, "hosts"), filepath.Join(dir, "lost-host"), c.ours)
		for name := range strings.FieldsSeq(c.has) {
			if set[name] == "" {
				t.Errorf("%s: no %s in %v", c.name, name, set)
			}
		}
		for name := range strings.FieldsSeq(c.not) {
			if _, ok := set[name]; ok {
				t.Errorf("%s: %s=%s", c.name, name, set[name])
			}
		}
		text, _ := os.ReadFile(filepath.Join(dir, "hosts"))
		if string(text) != c.hosts {
			t.Errorf("%s: the file of hosts says %q, want %q", c.name, text, c.hosts)
		}
	}
}

func TestTheLineForTheOtherHostComesThroughShells(t *testing.T) {
	line, err := rankRunnerLine(true, `echo "a  b" 'c'; $HOME`)
	if err != nil || !strings.HasSuffix(line, " limb yield 6563686f20226120206222202763273b2024484f4d45") {
		t.Error(line, err)
	}
}
