package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

func (a *app) hostsCommand() *cobra.Command {
	var output, on string
	cmd := &cobra.Command{
		Use:   "hosts [--on CLUSTER]",
		Short: "List the hosts of the clusters and what they have free",
		Long: `Lists the hosts of all clusters: their state, their cores and how many are free,
their speed relative to the reference host, the CPU share that a new
process will get there, with the expected error, and the free memory.
godwit weather shows the network between hosts.`,
		Example: `  godwit hosts
  godwit hosts --on leeds -o json`,
		Args:                  noArguments,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.askBroker(cmd.Context(), func(c *api.Client) error {
				list, err := c.ListHosts(cmd.Context(), on)
				if err != nil {
					return err
				}
				if output == "json" {
					return writeJSON(a.stdout, orEmpty(list))
				}
				t := newTable("host", "cluster", "cores", "free", "speed", "share", "±", "free memory", "measured", "state").alignRight(2, 3, 4, 5, 6, 7)
				for i := range list {
					h := &list[i]
					t.addRow(h.Name, h.Cluster, countText(h.Cores), countText(h.Free), digitsText(h.Speed), partText(h.Share), partText(h.ShareError),
						memoryText(h.Memory), a.momentText(h.Measured), hostStateText(h.State, h.Why))
				}
				return t.printTable(a.stdout, a.terminalWidth())
			})
		},
	}
	what := newGroup("What to show")
	what.flags.StringVar(&on, "on", "", "only the hosts of `CLUSTER`")
	groupFlags(cmd, what, outputGroup(&output))
	return cmd
}

func countText(n *int) string {
	if n == nil {
		return unknown
	}
	return fmt.Sprint(*n)
}

func digitsText(x *float64) string {
	if x == nil {
		return unknown
	}
	return formatDigits(*x)
}

func memoryText(n *int64) string {
	if n == nil {
		return unknown
	}
	return bytesText(*n)
}

// hostStateText is the state of a host. A batch manager's own word for one that is up
// (IDLE, MIXED, ALLOCATED) says more than "up" and stands for it.
func hostStateText(state, why string) string {
	if state == "up" && why != "" && why == strings.ToUpper(why) {
		return strings.ToLower(why)
	}
	return joinReason(state, why)
}
