package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

func (a *app) clustersCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "clusters",
		Short: "List the clusters and how busy they are",
		Long: `Lists the clusters: their cores and how many are idle, their speed relative to the
reference host, the CPU share that a new process would get beside the work of
others, how many of the jobs that ended there succeeded (a failure of the program
itself does not count), and the checkpoint methods that work there. The state is up,
down, or, where nothing new is placed (godwit drain), draining while jobs are still
there and drained when none is.`,
		Example: `  godwit clusters
  godwit clusters -o json`,
		Args: term.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.AskBroker(cmd.Context(), func(c *api.Client) error {
				list, err := c.ListClusters(cmd.Context())
				if err != nil {
					return err
				}
				if output == "json" {
					return term.WriteJSON(a.Stdout, term.OrEmpty(list))
				}
				a.warnStale(cmd.Context(), c)
				t := term.NewTable("cluster", "state", "hosts", "cores", "idle", "speed", "CPU share", "running", "pending",
					"succeeded").AlignRight(2, 3, 4, 5, 6, 7, 8, 9)
				t.Optional = []string{"hosts", "speed"}
				if a.UsesColour() {
					t.Paint = term.PaintStates
				}
				for i := range list {
					x := &list[i]
					t.AddRow(x.Name, x.State, fmt.Sprint(x.Hosts), fmt.Sprint(x.Procs), fmt.Sprint(x.Idle), speedText(x.Speed),
						term.PartText(&x.Share),
						fmt.Sprint(x.Running), fmt.Sprint(x.Waiting), succeededText(x.Succeeded, x.Ended))
					t.AddNote(clusterNote(x))
				}
				return t.PrintTable(a.Stdout, a.TerminalWidth())
			})
		},
	}
	term.GroupFlags(cmd, term.OutputGroup(&output))
	return cmd
}

// speedText is the speed of a cluster; nothing if it has not been measured.
func speedText(speed float64) string {
	if speed == 0 {
		return "–"
	}
	return term.FormatDigits(speed)
}

// clusterNote is what there is to say about a cluster below its line.
func clusterNote(x *api.Cluster) string {
	var parts []string
	if x.Why != "" {
		parts = append(parts, x.Why)
	}
	if x.Others > 0 {
		parts = append(parts, term.PluralNoun(int64(x.Others), "core")+" held by jobs of others or out of service")
	}
	parts = append(parts, x.Notes...)
	if missing := unknownYet(x); missing != "" {
		parts = append(parts, missing)
	}
	if len(x.Methods) > 0 {
		parts = append(parts, "checkpoint methods: "+strings.Join(x.Methods, ", "))
	}
	return strings.Join(parts, "; ")
}

// unknownYet is what a cluster that is up has not said of itself.
func unknownYet(x *api.Cluster) string {
	var missing []string
	if x.Speed == 0 {
		missing = append(missing, "speed")
	}
	if len(x.Methods) == 0 {
		missing = append(missing, "checkpoint methods")
	}
	if x.State != "up" || len(missing) == 0 {
		return ""
	}
	text := strings.Join(missing, " and ") + " not known"
	if x.Asking {
		text += " yet: asking it"
	}
	return text
}

func (a *app) historyCommand() *cobra.Command {
	var output, program string
	var calibration bool
	cmd := &cobra.Command{
		Use:   "history [--program NAME] [--calibration]",
		Short: "Show what past runs were like, and how predictions held",
		Long: `Shows for each program and cluster what past runs were like: this is what
predictions and quotes are made from. With --calibration it shows how the
predictions themselves held: of all bands that were to hold in 90 of 100 cases, how
many did, and how often deadlines were met that were given a certain chance.`,
		Example: `  godwit history
  godwit history --program pi.py
  godwit history --calibration -o json`,
		Args:                  term.NoArguments,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.AskBroker(cmd.Context(), func(c *api.Client) error {
				if calibration {
					x, err := c.PredictionCalibration(cmd.Context())
					if err != nil {
						return err
					}
					return a.printCalibration(&x, output)
				}
				list, err := c.RunHistory(cmd.Context(), program)
				if err != nil {
					return err
				}
				return a.printHistory(list, program, output)
			})
		},
	}
	what := term.NewGroup("What to show")
	what.Flags.StringVar(&program, "program", "", "only runs of `NAME`")
	what.Flags.BoolVar(&calibration, "calibration", false, "how past predictions held")
	term.GroupFlags(cmd, what, term.OutputGroup(&output))
	return cmd
}

func (a *app) printHistory(list []api.History, program, output string) error {
	if output == "json" {
		return term.WriteJSON(a.Stdout, term.OrEmpty(list))
	}
	if len(list) == 0 {
		if program != "" {
			a.SayLine("no run of " + program + " yet")
			return nil
		}
		a.SayLine("nothing has run yet")
		return nil
	}
	t := term.NewTable("program", "cluster", "runs", "failed", "late", "CPU", "CPU p90", "wall", "wall p90", "waited",
		"succeeded", "last").AlignRight(2, 3, 4, 5, 6, 7, 8, 9, 10)
	t.Sparse, t.Shrinks, t.Optional = true, 0, []string{"last", "succeeded", "waited", "CPU p90", "wall p90"}
	for i := range list {
		h := &list[i]
		t.AddRow(h.Program, h.Cluster, fmt.Sprint(h.Runs), fmt.Sprint(h.Failed), fmt.Sprint(h.Missed),
			term.SecondsText(h.CPUP50), term.SecondsText(h.CPUP90),
			term.SecondsText(h.WallP50), term.SecondsText(h.WallP90), term.SecondsText(h.WaitMean),
			succeededText(h.Succeeded, h.Ended), a.MomentText(h.Last))
	}
	return t.PrintTable(a.Stdout, a.TerminalWidth())
}

func (a *app) printCalibration(c *api.Calibration, output string) error {
	if output == "json" {
		c.Bands, c.Chances = term.OrEmpty(c.Bands), term.OrEmpty(c.Chances)
		return term.WriteJSON(a.Stdout, c)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s\n", term.PluralNoun(int64(c.Predictions), "prediction"),
		term.PluralNoun(int64(c.Jobs), "job"))
	var t term.Rows
	if c.MedianError != nil {
		t.AddRow("time to the end", "median error %s of the quotes at submission", term.FormatPercent(*c.MedianError))
	}
	for _, x := range c.Bands {
		t.AddRow(fmt.Sprintf("%.0f %% interval", 100*x.Band), "%s held, of %d", term.FormatPercent(x.Held), x.Count)
	}
	for _, x := range c.Chances {
		t.AddRow(fmt.Sprintf("chance %.0f to %.0f %%", 100*x.From, 100*x.To), "%s met, mean chance given %s, of %d",
			term.FormatPercent(x.Met), term.FormatPercent(x.Mean), x.Count)
	}
	t.WriteRows(&b)
	_, err := fmt.Fprint(a.Stdout, b.String())
	return err
}

// succeededText is how many of the attempts that ended in a cluster it brought to their
// end: of few, a rate would say more than is known.
func succeededText(succeeded, ended int) string {
	if ended == 0 {
		return "–"
	}
	return fmt.Sprintf("%d of %d", succeeded, ended)
}
