package slurm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Partition is the one that all nodes are in.
const Partition = "batch"

// writeConfig writes slurm.conf and makes the folders that it names.
func (s *Cluster) writeConfig() error {
	for _, dir := range []string{s.config.Dir, s.filePath("state"), s.filePath("spool"), s.EtcFolder()} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if err := os.Symlink(s.filePath("slurm.conf"), filepath.Join(s.EtcFolder(), "slurm.conf")); err != nil &&
		!errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.WriteFile(s.filePath("slurm.conf"), []byte(s.confText()), 0o644)
}

// confText is the text of slurm.conf.
func (s *Cluster) confText() string {
	c := s.config
	port, timeout := c.Port, c.NodeTimeout
	if port == 0 {
		port = 6817
	}
	if timeout == 0 {
		timeout = 15
	}
	lines := []string{
		"ClusterName=" + c.Name,
		fmt.Sprintf("SlurmctldHost=%s(%s)", c.Head.Name(), c.Head.Addr()),
		"SlurmctldPort=" + strconv.Itoa(port),
		"SlurmUser=root",
		"SlurmdUser=root",
		"AuthType=auth/munge",
		// A requeued job waits until its old credential is void.
		"AuthInfo=socket=" + c.Munge + ",cred_expire=5",
		"CommunicationParameters=NoInAddrAny",
		"StateSaveLocation=" + s.filePath("state"),
		"SlurmdSpoolDir=" + s.filePath("spool") + "/%n",
		"SlurmctldPidFile=" + s.filePath("slurmctld.pid"),
		"SlurmdPidFile=" + s.filePath("slurmd-%n.pid"),
		"SlurmctldLogFile=" + s.filePath("slurmctld.log"),
		"SlurmdLogFile=" + s.filePath("slurmd-%n.log"),
		"ProctrackType=proctrack/linuxproc",
		"TaskPlugin=task/none",
		"MpiDefault=none",
		"SchedulerType=sched/backfill",
		"SchedulerParameters=batch_sched_delay=0,sched_min_interval=1,sched_interval=5,bf_interval=5,permit_job_expansion",
		"SelectType=select/cons_tres",
		"SelectTypeParameters=CR_Core",
		"SlurmdParameters=config_overrides", // CPUs are what we say
		"ReturnToService=2",
		"SlurmdTimeout=" + strconv.Itoa(timeout),
		"KillWait=2",
		"MinJobAge=300",
		"InactiveLimit=0",
		"AccountingStorageType=accounting_storage/none",
		"JobAcctGatherType=jobacct_gather/none",
		"JobCompType=jobcomp/none",
	}
	lines = append(slices.DeleteFunc(lines, func(line string) bool { return setsSame(c.More, line) }), c.More...)
	for _, n := range c.Nodes {
		memory := n.Memory
		if memory == 0 {
			memory = 2000
		}
		lines = append(lines, fmt.Sprintf("NodeName=%s NodeAddr=%s CPUs=%d RealMemory=%d", n.Name(), n.Addr(), n.CPUs,
			memory))
	}
	lines = append(lines, "PartitionName="+Partition+" Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO",
		"")
	return strings.Join(lines, "\n")
}

// setsSame says whether one of the lines sets what this line sets: Slurm grumbles
// about what is said twice.
func setsSame(lines []string, line string) bool {
	key, _, _ := strings.Cut(line, "=")
	return slices.ContainsFunc(lines, func(other string) bool {
		k, _, _ := strings.Cut(other, "=")
		return strings.EqualFold(k, key)
	})
}
