package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/term"
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
		Args:                  term.NoArguments,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.AskBroker(cmd.Context(), func(c *api.Client) error {
				list, err := c.ListHosts(cmd.Context(), on)
				if err != nil {
					return err
				}
				if output == "json" {
					return term.WriteJSON(a.Stdout, term.OrEmpty(list))
				}
				t := term.NewTable("host", "cluster", "cores", "free", "speed", "share", "±", "free memory", "measured",
					"state").AlignRight(2, 3, 4, 5, 6, 7)
				t.Optional = []string{"±", "measured", "speed"}
				if a.UsesColour() {
					t.Paint = term.PaintStates
				}
				for i := range list {
					h := &list[i]
					state, why := hostStateText(h.State, h.Why)
					t.AddRow(h.Name, h.Cluster, countText(h.Cores), countText(h.Free), digitsText(h.Speed), term.PartText(h.Share),
						term.PartText(h.ShareError),
						memoryText(h.Memory), a.MomentText(h.Measured), state)
					t.AddNote(why)
				}
				return t.PrintTable(a.Stdout, a.TableWidth())
			})
		},
	}
	what := term.NewGroup("What to show")
	what.Flags.StringVar(&on, "on", "", "only the hosts of `CLUSTER`")
	term.GroupFlags(cmd, what, term.OutputGroup(&output))
	return cmd
}

func countText(n *int) string {
	if n == nil {
		return term.Unknown
	}
	return fmt.Sprint(*n)
}

func digitsText(x *float64) string {
	if x == nil {
		return term.Unknown
	}
	return term.FormatDigits(*x)
}

func memoryText(n *int64) string {
	if n == nil {
		return term.Unknown
	}
	return term.BytesText(*n)
}

// hostStateText is the state of a host, and what else there is to say of it. A batch
// manager's own word for one that is up (IDLE, MIXED, ALLOCATED) says more than "up" and
// stands for it.
func hostStateText(state, why string) (shown, note string) {
	if state == "up" && why != "" && why == strings.ToUpper(why) {
		return strings.ToLower(why), ""
	}
	return state, why
}
