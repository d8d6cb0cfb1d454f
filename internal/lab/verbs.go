package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
)

// verb is something that can be done to a lab in one line.
type verb struct {
	name string
	args []argument
	less int // how many of the last arguments may be missing
	do   func(ctx context.Context, l *Lab, args []string) error
}

// argument of a verb: what the help calls it, and whether a word fits.
type argument struct {
	name string
	fits func(p *Plan, word string) error
}

func (v *verb) usageLine() string {
	s := v.name
	for i, a := range v.args {
		if i >= len(v.args)-v.less {
			s += " [" + a.name + "]"
		} else {
			s += " " + a.name
		}
	}
	return s
}

func (v *verb) checkWords(p *Plan, words []string) error {
	if len(words) > len(v.args) || len(words) < len(v.args)-v.less {
		return fmt.Errorf("it has %d words after the verb", len(words))
	}
	for i, w := range words {
		if err := v.args[i].fits(p, w); err != nil {
			return err
		}
	}
	return nil
}

func nameFrom(what string, names func(p *Plan) []string) argument {
	return argument{what, func(p *Plan, word string) error {
		if known := names(p); !slices.Contains(known, word) {
			return fmt.Errorf("%q is none of %s", word, strings.Join(known, ", "))
		}
		return nil
	}}
}

func numberFrom(what string, from, to float64) argument {
	return argument{what, func(_ *Plan, word string) error {
		if x, ok := yamlfile.ParseNumber(word); !ok || x < from || x > to {
			return fmt.Errorf("%q is no number from %g to %g", word, from, to)
		}
		return nil
	}}
}

// What stands for every site, and for every host of a cluster.
const (
	allSites = "all"
	allHosts = "all"
)

func allVerbs() []verb {
	aHost := nameFrom("HOST", (*Plan).hostNames)
	aHostOrAll := nameFrom("HOST", func(p *Plan) []string { return append(p.hostNames(), allHosts) })
	aSite := nameFrom("SITE", func(p *Plan) []string { return append(p.siteNames(), allSites) })
	either := nameFrom("NAME", func(p *Plan) []string { return append(p.hostNames(), p.siteNames()...) })
	onHost := func(do func(h *Host, ctx context.Context) error) func(context.Context, *Lab, []string) error {
		return func(ctx context.Context, l *Lab, args []string) error {
			h, err := l.FindHost(args[0])
			if err != nil {
				return err
			}
			return do(h, ctx)
		}
	}
	withNumber := func(do func(h *Host, ctx context.Context, x float64) error) func(context.Context, *Lab,
		[]string) error {
		return func(ctx context.Context, l *Lab, args []string) error {
			h, err1 := l.FindHost(args[0])
			x, err2 := strconv.ParseFloat(args[1], 64)
			if err := errors.Join(err1, err2); err != nil {
				return err
			}
			return do(h, ctx, x)
		}
	}
	return []verb{
		{"load", []argument{aHost, numberFrom("LOOPS", 0, 100)}, 0,
			withNumber(func(h *Host, ctx context.Context, x float64) error { return h.SetLoad(ctx, int(x)) })},
		{"speed", []argument{aHost, numberFrom("CPUS", minCPUs, maxCPUs)}, 0, withNumber((*Host).setSpeed)},
		{"rate", []argument{aHost, numberFrom("MBPS", 0, maxMbps)}, 0, withNumber((*Host).setRate)},
		{"pair", []argument{aHostOrAll, aHostOrAll, numberFrom("MBPS", 0, maxMbps)}, 0, doPair},
		{"wan", []argument{aSite, numberFrom("MBPS", 0, maxMbps), numberFrom("MS", 0, float64(maxDelay/time.Millisecond))}, 1,
			doWAN},
		{"cut", []argument{either}, 0,
			func(ctx context.Context, l *Lab, args []string) error { return l.CutOff(ctx, args[0]) }},
		{"join", []argument{either}, 0,
			func(ctx context.Context, l *Lab, args []string) error { return l.UndoCut(ctx, args[0]) }},
		{"freeze", []argument{aHost}, 0, onHost((*Host).FreezeHost)},
		{"thaw", []argument{aHost}, 0, onHost((*Host).ThawHost)},
		{"crash", []argument{aHost}, 0, onHost((*Host).CrashHost)},
		{"boot", []argument{aHost}, 0, onHost((*Host).BootHost)},
		{"restart", []argument{nameFrom("CLUSTER", (*Plan).siteNames)}, 0,
			func(ctx context.Context, l *Lab, args []string) error { return l.RestartController(ctx, args[0]) }},
	}
}

func (h *Host) setSpeed(ctx context.Context, x float64) error { return h.SetSpeed(ctx, x) }
func (h *Host) setRate(ctx context.Context, x float64) error  { return h.SetRate(ctx, x) }

// doWAN changes rate and delay of one site or all; a delay that is not given
// stays.
func doWAN(ctx context.Context, l *Lab, args []string) error {
	mbps, err := strconv.ParseFloat(args[1], 64)
	if err != nil {
		return err
	}
	for _, s := range l.allSites() {
		if s.Name != args[0] && args[0] != allSites {
			continue
		}
		link := Link{Mbps: mbps, Delay: s.WAN.Delay}
		if len(args) > 2 {
			ms, err := strconv.ParseFloat(args[2], 64)
			if err != nil {
				return err
			}
			link.Delay = time.Duration(ms * float64(time.Millisecond))
		}
		if err := l.SetWAN(ctx, s.Name, link); err != nil {
			return err
		}
	}
	return nil
}

func findVerb(name string) *verb {
	for _, v := range allVerbs() {
		if v.name == name {
			return &v
		}
	}
	return nil
}

// VerbNames are what can be done to a lab in one line, see DoVerb.
func VerbNames() []string {
	var names []string
	for _, v := range allVerbs() {
		names = append(names, v.name)
	}
	return names
}

// UsageLines says how each verb is used.
func UsageLines() []string {
	var lines []string
	for _, v := range allVerbs() {
		lines = append(lines, v.usageLine())
	}
	return lines
}

// DoVerb does to the lab what the words say: load north1 2.
func (l *Lab) DoVerb(ctx context.Context, words []string) error {
	if err := l.CheckWords(words); err != nil {
		return err
	}
	return findVerb(words[0]).do(ctx, l, words[1:])
}

// planShape is as much of the plan as names need.
func (l *Lab) planShape() *Plan {
	p := &Plan{Name: l.Name}
	for _, c := range l.Clusters {
		p.Clusters = append(p.Clusters, ClusterPlan{Name: c.Name, Manager: c.Manager, Hosts: len(c.Hosts)})
	}
	return p
}

// CheckWords says what is wrong with words for DoVerb, before anything is done.
func (l *Lab) CheckWords(words []string) error {
	if len(words) == 0 {
		return errors.New("nothing to do")
	}
	v := findVerb(words[0])
	if v == nil {
		return fmt.Errorf("there is no verb %q; there are %s", words[0], strings.Join(VerbNames(), ", "))
	}
	if err := v.checkWords(l.planShape(), words[1:]); err != nil {
		return fmt.Errorf("%s: %w", v.usageLine(), err)
	}
	return nil
}
