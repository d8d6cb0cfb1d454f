package lab

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/lab"
)

// labReport is a lab as programs see it.
type labReport struct {
	Name  string          `json:"name"`
	Plan  string          `json:"plan"`
	Dir   string          `json:"dir"`
	Users []string        `json:"users"`
	Sites []labSiteReport `json:"sites"`
	Hosts []labHostReport `json:"hosts"`
}

type labSiteReport struct {
	Name  string  `json:"name"`
	Mbps  float64 `json:"mbps"` // 0: not limited
	Delay float64 `json:"delay_s"`
	Cut   bool    `json:"cut"`
}

type labHostReport struct {
	Name    string   `json:"name"`
	Site    string   `json:"site"`
	Manager string   `json:"manager"`
	Address string   `json:"address"`
	State   string   `json:"state"` // up, down, frozen
	Cut     bool     `json:"cut"`
	CPUs    float64  `json:"cpus"` // 0: not limited
	Mbps    float64  `json:"mbps"` // 0: not limited
	Load    int      `json:"load"`
	CPUTime float64  `json:"cpu_s"`
	Runs    []string `json:"runs"`
}

func (a *app) labListCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List labs, their hosts and what runs on them",
		Example: `  godwit lab list
  godwit lab list -o json`,
		Args: term.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			names, err := lab.ListLabs()
			if err != nil {
				return err
			}
			var list []labReport
			for _, name := range names {
				l, err := lab.Open(name)
				if err != nil {
					a.SayLine(fmt.Sprintf("lab %s is only partly there (%v): godwit lab down %s removes it", name, err, name))
					continue
				}
				list = append(list, reportLab(l))
			}
			plain, err := plainLabs()
			if err != nil {
				return err
			}
			for _, name := range plain {
				a.SayLine("reduced lab " + name + ": clusters of plain processes, see godwit clusters")
			}
			if output == "json" {
				return term.WriteJSON(a.Stdout, term.OrEmpty(list))
			}
			if len(names) == 0 && len(plain) > 0 {
				return nil
			}
			if len(names) == 0 {
				a.SayLine("no lab is up")
				return nil
			}
			return a.printLabs(list)
		},
	}
	term.GroupFlags(cmd, term.OutputGroup(&output))
	return cmd
}

func reportLab(l *lab.Lab) labReport {
	r := labReport{Name: l.Name, Plan: l.File, Dir: l.Dir, Users: []string{}}
	for _, u := range l.Users {
		r.Users = append(r.Users, u.Name)
	}
	site := func(s *lab.Site) {
		r.Sites = append(r.Sites, labSiteReport{s.Name, s.WAN.Mbps, s.WAN.Delay.Seconds(), s.Cut})
	}
	site(l.Site)
	r.Hosts = append(r.Hosts, reportHost(l.Head, ""))
	for _, c := range l.Clusters {
		site(c.Site)
		for _, h := range c.AllHosts() {
			r.Hosts = append(r.Hosts, reportHost(h, c.Manager))
		}
	}
	return r
}

func reportHost(h *lab.Host, manager string) labHostReport {
	used, _ := h.CPUTime() // 0 if nobody measures it
	state := "up"
	switch {
	case !h.IsUp():
		state = "down"
	case h.Frozen:
		state = "frozen"
	}
	return labHostReport{Name: h.Name, Site: h.Site, Manager: manager, Address: h.Address.String(), State: state,
		Cut:  h.Cut,
		CPUs: h.CPUs, Mbps: h.Mbps, Load: h.Load, CPUTime: used.Seconds(), Runs: term.OrEmpty(h.RunningPrograms())}
}

func (a *app) printLabs(list []labReport) error {
	t := term.NewTable("lab", "host", "manager", "address", "state", "cpus", "Mbit/s", "used", "runs").AlignRight(5, 6, 7)
	t.Optional = []string{"used", "address", "Mbit/s"}
	if a.UsesColour() {
		t.Paint = term.PaintStates
	}
	limit := func(x float64) string {
		if x == 0 {
			return "-"
		}
		return term.FormatDigits(x)
	}
	for i := range list {
		l := &list[i]
		cut := map[string]bool{}
		for _, s := range l.Sites {
			cut[s.Name] = s.Cut
		}
		for j := range l.Hosts {
			h := &l.Hosts[j]
			state := h.State
			if h.Cut || cut[h.Site] {
				state += ", cut off"
			}
			if h.Load > 0 {
				state += fmt.Sprintf(", load %d", h.Load)
			}
			t.AddRow(l.Name, h.Name, h.Manager, h.Address, state, limit(h.CPUs), limit(h.Mbps), term.FormatSeconds(h.CPUTime),
				strings.Join(h.Runs, ", "))
		}
	}
	return t.PrintTable(a.Stdout, a.TerminalWidth())
}
