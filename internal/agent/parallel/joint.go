package parallel

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/godwit-hpc/godwit/internal/protocol/rendezvous"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// A job whose parts are one MPI program runs its command in part 0 alone, below LeadCommand. An mpirun in it
// finds the hosts of all parts in its list. For those of its own part our launcher goes there as ever; for one of
// another part it asks the rank server there (ServeCommand, which is that part's program), through the agent of that
// part, whom it reaches by what the broker told. So ranks run below the agent of their own part, as its processes, with
// its limits; and nobody can have something run there but who has what only the agents of the job were told.
const (
	LeadCommand  = "lead-parts"
	ServeCommand = "serve-ranks"
)

// peersVariable names the file that says where the other parts are.
const peersVariable = "GODWIT_PEERS"

// peer is another part of the job, as launchers of part 0 see it.
type peer struct {
	Part    int                   `json:"part"`
	Cluster string                `json:"cluster"`
	Hosts   []peerHost            `json:"hosts"`
	Meet    rendezvous.Rendezvous `json:"meet"`
}

// peerHost is a host of another part, by the name that mpirun knows it by and by its own: two clusters may have
// hosts of one name.
type peerHost struct {
	Name string `json:"name"`
	Own  string `json:"own"`
}

// JointFiles are files of the attempt.
type JointFiles struct {
	Hosts string // for mpirun's list of hosts
	Peers string // for where the other parts are
	Lost  string // in which launchers note that a host was lost
}

// IsJoint reports whether an attempt is one part of several that are one program.
func IsJoint(a *wire.Attempt) bool { return a.Parts > 1 && a.Spec.MPI }

// HostSlots are the processors of the attempt on each of its hosts.
func HostSlots(a *wire.Attempt) []int {
	var list []int
	for _, h := range a.Hosts {
		list = append(list, max(h.Procs, 1))
	}
	if len(list) > 0 {
		return list
	}
	hosts, procs := len(HostsOf(a)), max(a.Procs, 1)
	if given := slotsOfPE(os.Getenv("PE_HOSTFILE")); len(given) == hosts {
		return given
	}
	for i := range hosts { // a manager deals them out evenly
		list = append(list, max(1, (procs+hosts-1-i)/hosts))
	}
	return list
}

// slotsOfPE reads Grid Engine's list: a host and its slots on each line.
func slotsOfPE(file string) []int {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	var list []int
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		n := 0
		if len(words) > 1 {
			n, _ = strconv.Atoi(words[1])
		}
		list = append(list, max(n, 1))
	}
	return list
}

// JointVariables make an mpirun of part 0 start ranks on the hosts of all parts. They go before what MPIVariables
// gives.
func JointVariables(a *wire.Attempt, all []wire.Contact, f JointFiles) (map[string]string, error) {
	list, peers := jointHosts(a, all)
	text, err := json.Marshal(peers)
	if err == nil {
		err = os.WriteFile(f.Hosts, []byte(list), 0o600)
	}
	if err == nil {
		err = os.WriteFile(f.Peers, text, 0o600)
	}
	self, e := os.Executable()
	if err != nil || e != nil {
		return nil, fmt.Errorf("telling mpirun of the other parts: %w", firstOf(err, e))
	}
	if strings.ContainsAny(self, " :,") {
		return nil, fmt.Errorf("%s: such a name cannot be given to mpirun", self)
	}
	_ = os.Remove(f.Lost) // of another program in this folder, if any
	return map[string]string{
		peersVariable: f.Peers, LostVariable: f.Lost, "GODWIT_HOSTFILE": f.Hosts,
		"OMPI_MCA_orte_default_hostfile":       f.Hosts,
		"OMPI_MCA_orte_keep_fqdn_hostnames":    "1", // our launcher knows them by these names
		"OMPI_MCA_orte_leave_session_attached": "1",
		"OMPI_MCA_hwloc_base_binding_policy":   "none",
		// The manager of the cluster of part 0 knows nothing of the others.
		"OMPI_MCA_plm": "rsh", "OMPI_MCA_plm_rsh_disable_qrsh": "1", "OMPI_MCA_ras": "^slurm,gridengine,tm,lsf",
		"OMPI_MCA_plm_rsh_agent":          self + " launch",
		"OMPI_MCA_plm_rsh_no_tree_spawn":  "1",
		"OMPI_MCA_plm_rsh_num_concurrent": fmt.Sprint(strings.Count(list, "\n") + 1), // our launcher stays
		"OMPI_MCA_btl":                    jointTransports(all),
		// Every part has the working directory elsewhere, and mpirun tells all the name of its own. By this name
		// each finds the one that it is started in.
		"PWD": "/proc/self/cwd",
	}, nil
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// jointTransports are the ways on which ranks talk: not through memory if parts are on one machine, whose ranks take
// each other's for their own.
func jointTransports(all []wire.Contact) string {
	seen := map[string]bool{}
	for _, c := range all {
		for _, h := range c.Hosts {
			if seen[h] {
				return "tcp,self"
			}
			seen[h] = true
		}
	}
	return "tcp,self,vader"
}

// jointHosts are the hosts of all parts as mpirun reads them, the own part's first, and where the others are.
func jointHosts(a *wire.Attempt, all []wire.Contact) (string, []peer) {
	var list strings.Builder
	var peers []peer
	taken := map[string]bool{}
	for i := range all {
		c := &all[i]
		p := peer{Part: c.Part, Cluster: c.Cluster}
		for k, own := range c.Hosts {
			name, slots := own, 1
			if c.Part == a.Part && k == 0 {
				name = hostName() // by which mpirun knows that it is there
			}
			if taken[name] {
				name = fmt.Sprintf("%s-part%d", own, c.Part)
			}
			if k < len(c.Slots) {
				slots = c.Slots[k]
			}
			taken[name] = true
			fmt.Fprintf(&list, "%s slots=%d\n", name, slots)
			p.Hosts = append(p.Hosts, peerHost{name, own})
		}
		if c.Part != a.Part && c.Meet != nil {
			p.Meet = *c.Meet
			peers = append(peers, p)
		}
	}
	return list.String(), peers
}

// readPeers reads where the other parts are; none if this is not a job of several.
func readPeers() ([]peer, error) {
	file := os.Getenv(peersVariable)
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var list []peer
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return list, nil
}

// findPeer finds the part of a host that mpirun names; nil: it is of our own.
func findPeer(list []peer, name string) (*peer, string) {
	for i := range list {
		if k := slices.IndexFunc(list[i].Hosts, func(h peerHost) bool { return h.Name == name }); k >= 0 {
			return &list[i], list[i].Hosts[k].Own
		}
	}
	return nil, ""
}
