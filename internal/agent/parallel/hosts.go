package parallel

import (
	"os"
	"strings"

	"github.com/godwit-hpc/godwit/internal/format/hostlist"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// HostsOf are the hosts of an attempt: those that the driver chose, or allocatedHosts.
func HostsOf(a *wire.Attempt) []string {
	if len(a.Hosts) == 0 {
		return allocatedHosts(os.Getenv)
	}
	var list []string
	for _, h := range a.Hosts {
		list = append(list, h.Name)
	}
	return list
}

// allocatedHosts are the hosts that the attempt was given: those that the cluster's
// manager names, else this one.
func allocatedHosts(getenv func(string) string) []string {
	if list := hostlist.ExpandList(getenv("SLURM_JOB_NODELIST")); len(list) > 0 {
		return list
	}
	if list := hostsOfPE(getenv("PE_HOSTFILE")); len(list) > 0 {
		return list
	}
	name, err := os.Hostname()
	if err != nil {
		return nil
	}
	return []string{name}
}

// hostsOfPE reads Grid Engine's list: one host a line, its name first.
func hostsOfPE(file string) []string {
	if file == "" {
		return nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	var list []string
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 0 && len(list) < hostlist.MaxHosts {
			list = append(list, words[0])
		}
	}
	return list
}
