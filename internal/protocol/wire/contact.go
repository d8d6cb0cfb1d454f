package wire

import (
	"fmt"
	"strings"

	"github.com/godwit-hpc/godwit/internal/protocol/rendezvous"
)

// Contact is where a part of a job runs, as the programs of the other parts are told.
type Contact struct {
	Part    int      `json:"part"`
	Cluster string   `json:"cluster"`
	Hosts   []string `json:"hosts,omitempty"`
	Ranks   int      `json:"ranks"` // cores of this part
	First   int      `json:"first"` // the number of its first rank among those of all parts

	// Slots are the cores on each of Hosts and Meet where its agent is reached, if the parts are one MPI program.
	// Meet is as good as a password.
	Slots []int                  `json:"slots,omitempty"`
	Meet  *rendezvous.Rendezvous `json:"meet,omitempty"`
}

// PartVariables are the environment variables that tell the program of a part where it and the
// others run.
func PartVariables(part int, all []Contact) map[string]string {
	if len(all) == 0 {
		return nil
	}
	set, ranks := map[string]string{"GODWIT_PARTS": fmt.Sprint(len(all)), "GODWIT_PART": fmt.Sprint(part)}, 0
	for _, c := range all {
		prefix := fmt.Sprintf("GODWIT_PART_%d_", c.Part)
		set[prefix+"CLUSTER"], set[prefix+"HOSTS"] = c.Cluster, strings.Join(c.Hosts, " ")
		set[prefix+"RANKS"], set[prefix+"FIRST_RANK"] = fmt.Sprint(c.Ranks), fmt.Sprint(c.First)
		if c.Part == part {
			set["GODWIT_FIRST_RANK"] = fmt.Sprint(c.First)
		}
		ranks += c.Ranks
	}
	set["GODWIT_RANKS"] = fmt.Sprint(ranks)
	return set
}
